"""A run goes on where it was, with nothing twice and nothing lost, wherever it was killed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from client.games.starts import Fork, ForkKind
from client.networks import Network
from client.selfplay.ledger import PlayedGame, Run, RunError, RunFiles
from common.go.points import BLACK, WHITE, point_at
from common.go.rules import Ko, Rules, Scoring
from common.go.start import GameStart
from common.parameter_classes import RowFileParameters
from tests.client.selfplay.made_games import NET, expected, finished, on_disk, order

OTHER = Network("net-b", None)
HOW = RunFiles(seed=3, text="maxVisits = 5\n", files=RowFileParameters(max_rows_per_train_file=5), version=3)
WHAT = {"config": ["a = 1", "b = 2"], "length": 5}
FORK = Fork(
    ForkKind.SEKI,
    GameStart(
        5,
        4,
        Rules(ko=Ko.SIMPLE, scoring=Scoring.TERRITORY, komi=-3.5),
        stones=((BLACK, int(point_at(1, 2))), (WHITE, int(point_at(0, 0)))),
        to_move=WHITE,
        first_turn=4,
    ),
    ((BLACK, int(point_at(3, 3))), (WHITE, int(point_at(2, 2)))),
    1.5,
)
GAMES = [
    finished(order(seed, NET if seed % 3 else OTHER), rows=seed % 4, forks=(FORK,) * (seed == 2)) for seed in range(9)
]


def write(run: Run, games: Any) -> None:
    for game in games:
        run.add(game)
        run.save()


def test_games_lie_by_their_nets_beside_the_text(tmp_path: Path) -> None:
    run = Run(tmp_path, WHAT, HOW)
    for game in GAMES:
        run.add(game)
    assert run.unsaved == len(GAMES)
    run.save()
    assert run.unsaved == 0
    for net in (NET, OTHER):
        assert on_disk(tmp_path / net.name) == expected([game for game in GAMES if game.order.black == net])
        (text,) = (tmp_path / net.name).glob("selfplay-*.cfg")
        assert text.read_text() == HOW.text


def test_another_process_knows_what_was_played(tmp_path: Path) -> None:
    write(Run(tmp_path, WHAT, HOW), GAMES)
    again = Run(tmp_path, WHAT, HOW)
    assert again.played == {
        seed: PlayedGame(seed, seed % 4, (FORK,) if seed == 2 else ()) for seed in range(len(GAMES))
    }
    assert on_disk(tmp_path) == expected(GAMES)
    again.save()
    assert on_disk(tmp_path) == expected(GAMES)


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_killed_at_any_moment_of_a_saving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends at the n-th time that something is brought to the disk, for every n that there is."""
    times = 0
    fsync = os.fsync

    class KilledError(BaseException):
        pass

    for last in range(1, 200):
        folder, times = tmp_path / str(last), 0

        def killed(descriptor: int, last: int = last) -> None:
            nonlocal times
            times += 1
            if times >= last:
                raise KilledError
            fsync(descriptor)

        folder.mkdir()
        run = Run(folder, WHAT, HOW)
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", killed)
            try:
                write(run, GAMES)
                ended = True
            except KilledError:
                ended = False
        again = Run(folder, WHAT, HOW)
        rest = [game for game in GAMES if game.order.seed not in again.played]
        assert not (ended and rest)
        write(again, rest)
        assert on_disk(folder) == expected(GAMES), last
        if ended:
            assert last > 2 * len(GAMES)
            return
    raise AssertionError("it never came to its end")


def test_half_a_line_is_played_again(tmp_path: Path) -> None:
    write(Run(tmp_path, WHAT, HOW), GAMES[:4])
    ledger = tmp_path / "runs" / "3" / "games.jsonl"
    ledger.write_bytes(ledger.read_bytes()[:-5])
    again = Run(tmp_path, WHAT, HOW)
    assert sorted(again.played) == [0, 1, 2]
    write(again, GAMES[3:])
    assert on_disk(tmp_path) == expected(GAMES)


def test_a_damaged_line_is_told(tmp_path: Path) -> None:
    write(Run(tmp_path, WHAT, HOW), GAMES[:4])
    ledger = tmp_path / "runs" / "3" / "games.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join([lines[0], b'{"net": 5}\n', *lines[2:]]))
    with pytest.raises(RunError, match=r"games.jsonl, line 2, is damaged: name another --output or --seed"):
        Run(tmp_path, WHAT, HOW)


def test_what_is_played_otherwise_is_another_run(tmp_path: Path) -> None:
    write(Run(tmp_path, WHAT, HOW), GAMES[:2])
    told = r"holds games of seed 3 that were played otherwise \(config, a: 1 there, 5 here\): name another --seed"
    with pytest.raises(RunError, match=told):
        Run(tmp_path, WHAT | {"config": ["a = 5", "b = 2"]}, HOW)
    with pytest.raises(RunError, match="length: 5 there, 7 here"):
        Run(tmp_path, WHAT | {"length": 7}, HOW)
    (tmp_path / "runs" / "3" / "run.json").unlink()
    with pytest.raises(RunError, match=r"has games but no run.json"):
        Run(tmp_path, WHAT, HOW)


def test_where_no_game_was_written_anything_may_begin(tmp_path: Path) -> None:
    Run(tmp_path, WHAT, HOW)
    write(Run(tmp_path, WHAT | {"length": 7}, HOW), GAMES[:2])
    with pytest.raises(RunError, match="length: 7 there"):
        Run(tmp_path, WHAT, HOW)


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path, WHAT, HOW)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    for game in GAMES:
        run.add(game)
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(OSError, match="No space left"):
                run.save()
    assert run.unsaved == len(GAMES)
    run.save()
    assert on_disk(tmp_path) == expected(GAMES)
    assert len(Run(tmp_path, WHAT, HOW).played) == len(GAMES)
