"""Files of games grow whole, and can be gone on with from where they ended."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from client.games.folder import FolderError, GameFolder, Place
from common.parameter_classes import RowFileParameters
from common.rows import GlobalTarget, read_npz
from tests.client.selfplay.made_games import expected, finished, on_disk, order

GAMES = [finished(order(seed), rows) for seed, rows in enumerate((3, 0, 4, 5, 1, 6))]
"""19 rows."""
SEVEN = RowFileParameters(max_rows_per_train_file=7)


def sizes(folder: Path) -> list[int]:
    return sorted(read_npz(path).count for path in folder.glob("tdata/*.npz"))


def test_what_was_taken_is_there_after_it_was_saved(tmp_path: Path) -> None:
    written = GameFolder(tmp_path, 1)
    assert on_disk(tmp_path) == ([], [])
    for number, game in enumerate(GAMES, start=1):
        written.add(game)
        written.save()
        assert on_disk(tmp_path) == expected(GAMES[:number])
    (records,) = tmp_path.glob("sgfs/*.sgfs")
    assert records.read_text().splitlines() == [game.sgf for game in GAMES]
    assert all("_" not in path.name for path in tmp_path.rglob("*.*"))


@pytest.mark.parametrize(("least_share", "first"), [(1.0, {7}), (0.15, set(range(1, 8)))])
@pytest.mark.parametrize("saves", [True, False])
def test_files_hold_as_many_rows_as_the_text_says(
    tmp_path: Path, least_share: float, first: set[int], saves: bool
) -> None:
    files = RowFileParameters(max_rows_per_train_file=7, first_file_rand_min_prop=least_share)
    firsts = set()
    for seed in range(12):
        folder = tmp_path / str(seed)
        written = GameFolder(folder, seed, files=files)
        for game in GAMES:
            written.add(game)
            if saves:
                written.save()
        written.save()
        assert on_disk(folder) == expected(GAMES)
        counts = sizes(folder)
        assert counts[2:] == [7] * (len(counts) - 2), "all but the first and the last are full"
        firsts.add(next(part.count for part in (read_npz(path) for path in folder.glob("tdata/*")) if has_first(part)))
    assert firsts <= first
    assert len(firsts) > 3 or least_share == 1.0


def has_first(rows: object) -> bool:
    """Whether the first row of all is among them: that of the game of seed 0."""
    return bool(rows.global_targets[0, GlobalTarget.TURN] == 0)  # type: ignore[attr-defined]


def test_rows_in_the_older_format(tmp_path: Path) -> None:
    written = GameFolder(tmp_path, 1, version=2)
    for game in GAMES:
        written.add(game)
    written.save()
    (path,) = tmp_path.glob("tdata/*.npz")
    with np.load(path) as arrays:
        columns = arrays["globalTargetsNC"]
    assert columns.shape == (19, 64)
    assert (columns[:, 63] == 2).all()


def test_folders_of_a_seed_have_names_of_their_own(tmp_path: Path) -> None:
    for seed, name in ((1, "a"), (1, "b"), (2, "a")):
        written = GameFolder(tmp_path, seed, name)
        written.add(GAMES[0])
        written.save()
    assert len(list(tmp_path.rglob("*.sgfs"))) == len(list(tmp_path.rglob("*.npz"))) == 3


def test_an_interrupted_writing_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = GameFolder(tmp_path, 1)
    written.add(GAMES[0])
    written.save()

    def interrupted(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    written.add(GAMES[2])
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", interrupted)
        with pytest.raises(OSError, match="No space"):
            written.save()
    written.save()
    assert on_disk(tmp_path) == expected([GAMES[0], GAMES[2]])


@pytest.mark.parametrize("kept", range(len(GAMES) + 1))
def test_it_goes_on_where_it_was_whatever_was_written_after(tmp_path: Path, kept: int) -> None:
    """For each number of games that somebody has noted: those after them are written again, once."""
    before, place = GameFolder(tmp_path, 1, files=SEVEN), Place()
    for number, game in enumerate(GAMES, start=1):
        before.add(game)
        saved = before.save()
        place = saved if number == kept else place
    again = GameFolder(tmp_path, 1, files=SEVEN, place=place)
    assert on_disk(tmp_path)[0] == expected(GAMES[:kept])[0], "records beyond are gone at once"
    for game in GAMES[kept:]:
        again.add(game)
    assert again.save() == saved
    assert on_disk(tmp_path) == expected(GAMES)
    assert sizes(tmp_path) == [5, 7, 7]


def test_it_goes_on_with_fewer_games_than_were_written(tmp_path: Path) -> None:
    """What nobody noted leaves no files behind, also where no game follows."""
    before = GameFolder(tmp_path, 1, files=SEVEN)
    before.add(GAMES[0])
    place = before.save()
    for game in GAMES[1:]:
        before.add(game)
    before.save()
    (tmp_path / "tdata" / "x.npz").write_bytes(next(tmp_path.glob("tdata/*")).read_bytes())  # another program's
    again = GameFolder(tmp_path, 1, files=SEVEN, place=place)
    again.save()
    assert len(sizes(tmp_path)) == 2
    assert sorted(on_disk(tmp_path)[0]) == expected(GAMES[:1])[0]


def test_files_that_lost_something(tmp_path: Path) -> None:
    before = GameFolder(tmp_path, 1)
    before.add(GAMES[0])
    place = before.save()
    (records,) = tmp_path.glob("sgfs/*")
    (rows,) = tmp_path.glob("tdata/*")
    content = records.read_bytes()
    records.write_bytes(content[:-3])
    with pytest.raises(FolderError, match=f"{records.name} is shorter than it was: name another --output"):
        GameFolder(tmp_path, 1, place=place)
    records.write_bytes(content)
    rows.unlink()
    with pytest.raises(FolderError, match=f"{rows.name} has fewer rows than it had"):
        GameFolder(tmp_path, 1, place=place)
