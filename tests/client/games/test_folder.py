"""Finished games are on disk as they finish, whatever ends the program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from client.commands import selfplay as command
from client.games.folder import GameFolder
from client.games.orders import FinishedGame
from common.parameters import parse_row_files
from common.rows import Rows, read_npz
from common.sgf import read_all
from nets.evaluation.batch import Batch
from tests.client.commands.test_match import options_of
from tests.client.games.evaluators import OpinionatedEvaluator
from tests.client.games.games import orders, play, selfplay_text

WITHIN_S = 300.0
"""For a start on a busy machine that has compiled nothing yet."""


@pytest.fixture(scope="module")
def games() -> list[FinishedGame]:
    return play(orders(4, selfplay_text()))


def on_disk(directory: Path) -> tuple[int, int]:
    """Records and rows that can be read."""
    records = sum(len(list(read_all(path.read_bytes()))) for path in directory.glob("sgfs/*.sgfs"))
    return records, sum(read_npz(path).count for path in directory.glob("tdata/*.npz"))


def rows_of(games: list[FinishedGame]) -> int:
    return sum(game.rows.count for game in games if game.rows is not None)


def test_each_game_is_there_when_it_was_taken(tmp_path: Path, games: list[FinishedGame]) -> None:
    now = iter(range(0, 10**6, 1000))
    written = GameFolder(tmp_path, 1, clock=lambda: float(next(now)))
    for number, game in enumerate(games, start=1):
        written.add(game)
        assert on_disk(tmp_path)[0] == number
    written.flush()
    assert on_disk(tmp_path) == (len(games), rows_of(games))


def test_rows_that_come_fast_are_written_together(tmp_path: Path, games: list[FinishedGame]) -> None:
    written = GameFolder(tmp_path, 1, clock=lambda: 0.0)
    for game in games:
        written.add(game)
    assert on_disk(tmp_path) == (len(games), rows_of(games[:1]))
    written.flush()
    assert on_disk(tmp_path) == (len(games), rows_of(games))


@pytest.mark.parametrize(("least_share", "first"), [(1.0, {7}), (0.15, set(range(1, 8)))])
def test_files_hold_as_many_rows_as_the_text_says(
    tmp_path: Path, games: list[FinishedGame], least_share: float, first: set[int]
) -> None:
    files = parse_row_files(selfplay_text(maxRowsPerTrainFile=7, firstFileRandMinProp=least_share))
    firsts = set()
    for seed in range(12):
        folder = tmp_path / str(seed)
        written = GameFolder(folder, seed, files)
        for game in games:
            written.add(game)
        written.flush()
        rows = Rows.concatenate([game.rows for game in games if game.rows is not None])
        sizes = sorted(read_npz(path).count for path in folder.glob("tdata/*.npz"))
        assert sum(sizes) == rows.count
        assert sizes[2:] == [7] * (len(sizes) - 2), "all but the first and the last are full"
        firsts.add(sizes_in_order(folder, rows)[0])
    assert firsts <= first
    assert len(firsts) > 3 or least_share == 1.0


def sizes_in_order(folder: Path, rows: Rows) -> list[int]:
    """Rows of each file, in the order of the games; all rows are there in it."""
    parts = [read_npz(path) for path in folder.glob("tdata/*.npz")]
    sizes, begun = [], 0
    while parts:
        part = next(
            part
            for part in parts
            if np.array_equal(part.global_targets, rows.global_targets[begun : begun + part.count])
        )
        parts = [other for other in parts if other is not part]
        begun += part.count
        sizes.append(part.count)
    assert begun == rows.count
    return sizes


def test_rows_in_the_older_format(tmp_path: Path, games: list[FinishedGame]) -> None:
    written = GameFolder(tmp_path, 1, version=2)
    for game in games:
        written.add(game)
    written.flush()
    (path,) = tmp_path.glob("tdata/*.npz")
    with np.load(path) as arrays:
        columns = arrays["globalTargetsNC"]
    rows = Rows.concatenate([game.rows for game in games if game.rows is not None])
    assert columns.shape == (rows.count, 64)
    assert (columns[:, 63] == 2).all()
    np.testing.assert_array_equal(columns[:, :63], rows.global_targets[:, :63])
    np.testing.assert_array_equal(read_npz(path).q_values, rows.q_values)


def test_an_interrupted_writing_is_done_again(
    tmp_path: Path, games: list[FinishedGame], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = GameFolder(tmp_path, 1)
    written.add(games[0])

    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            written.add(games[1])
    written.flush()
    assert on_disk(tmp_path) == (2, rows_of(games[:2]))


class Interrupting(OpinionatedEvaluator):
    """Sends signals while it evaluates: one at each of ``at`` batches."""

    def __init__(self, length: int, at: set[int]) -> None:
        super().__init__(length)
        self.at, self.batches = at, 0

    def submit(self, batch: Batch, count: int) -> Callable[[], None]:
        self.batches += 1
        if self.batches in self.at:
            signal.raise_signal(signal.SIGTERM)
        return super().submit(batch, count)


INTERRUPTED = """
import json, sys
from client.__main__ import main
from client.commands import local
from tests.client.games.test_folder import Interrupting
at = set(json.loads(sys.argv[1]))
local.evaluator_loader = lambda *_: lambda network, length: Interrupting(length, at)
sys.exit(main(["selfplay", "--model", "random", "--parallel-games", "3", "--games", "1000", *sys.argv[2:]]))
"""


@pytest.mark.parametrize(("at", "running_are_finished"), [([2], True), ([2, 3], False), ([150, 151], False)])
def test_signals(tmp_path: Path, at: list[int], running_are_finished: bool) -> None:
    """In a process of its own: a signal that its handler did not get would end the tests' process."""
    config = tmp_path / "tiny.cfg"
    config.write_text(selfplay_text())
    words = ["--config", str(config), "--output", str(tmp_path)]
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, json.dumps(at), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
    )
    assert ended.returncode == 0, ended.stderr
    assert "finishing the 3 running games; once more (Ctrl-C) stops at once" in ended.stderr
    records, rows = on_disk(tmp_path)
    last = ended.stdout.splitlines()[-1]
    assert last.startswith(f"{records} games, ")
    assert f" {rows} rows in " in last
    if running_are_finished:
        assert records == 3
    else:
        assert f"stopping at once; {records} finished games are kept" in ended.stderr
        assert records < 1000


def test_an_output_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "tiny.cfg"
    config.write_text(selfplay_text())
    words = ("--model", "random", "--config", config, "--games", 1, "--output", config / "below")
    assert command.run(options_of(command, *words)) == 1
    assert (
        f"{config}/below cannot be written: Not a directory; name another folder by --output" in capsys.readouterr().err
    )
