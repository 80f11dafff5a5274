"""What the benchmark beside KataGo reads: folders that grow, and what the programs say."""

from __future__ import annotations

from pathlib import Path

import pytest

from client.selfplay.messages import Progress
from client.selfplay.status import Status
from common.rows import Rows, write_npz
from tests.benchmarks.beside_katago import Counts, Tally, katago_evaluations, our_evaluations

GAME = "(;FF[4]C[startTurnIdx=0];B[aa]C[0.5 0.5 0 0 v=12 weight=1.00];W[]C[0.5 0.5 0 0 v=3 weight=0.00])"


def write_rows(path: Path, count: int) -> None:
    rows = Rows.zeros(count, 5)
    rows.policy_targets[:] = 1
    rows.score_distribution[:, 0] = 100
    write_npz(rows, path)


def test_what_lies_in_a_folder_is_counted_once(tmp_path: Path) -> None:
    tally = Tally(tmp_path)
    assert tally.counts() == Counts()
    records = tmp_path / "net" / "sgfs" / "a.sgfs"
    records.parent.mkdir(parents=True)
    records.write_text(f"{GAME}\n{GAME[:30]}")  # the second is being written
    write_rows(tmp_path / "net" / "a.npz", 4)
    assert tally.counts() == Counts(rows=4, games=1, turns=2, visits=15)
    records.write_text(f"{GAME}\n{GAME}\n")
    write_rows(tmp_path / "net" / "b.npz", 3)
    now = tally.counts()
    assert now == Counts(rows=7, games=2, turns=4, visits=30) == tally.counts()
    assert now.since(Counts(4, 1, 2, 15)) == Counts(3, 1, 2, 15)


@pytest.mark.parametrize("rows", [0, 1234])
def test_how_many_evaluations_our_lines_mean(rows: int) -> None:
    now, lines = 100.0, list[str]()
    status = Status(lines.append, clock=lambda: now)
    status.rows = rows
    for seconds, evaluations in ((20.4, 123_456), (41.3, 345_678)):
        now = 100.0 + seconds
        status.hear("cpu0", Progress(games_running=3, evaluations=evaluations, found=17))
        status.report()
    assert our_evaluations("\n".join(["loading …", *lines])) == pytest.approx(
        [123_456, 345_678], rel=0.02 if not rows else 2e-3
    )


def test_how_many_evaluations_katago_tells() -> None:
    assert katago_evaluations("2026-01-01 00:00:00+0000: Final NN rows: 4711\n… Final NN batches: 12") == 4711
    assert katago_evaluations("") == 0
