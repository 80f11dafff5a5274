"""Numbers of folders, against values taken by hand; KataGo's folders are read as ours are."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from client.selfplay.statistics import Sample, pruned_shares, statistics_of
from client.selfplay.statistics_table import table
from common.rows import GlobalTarget, PolicyTarget, QTarget, Rows, write_npz
from tests.oracles import oracle_path

ROOT = "startTurnIdx={start},initTurnNum=0,gameHash=" + "0" * 32 + ",gtype={kind}"
GAMES = (
    "(;FF[4]GM[1]SZ[5]KM[7]RU[koPOSITIONALscoreAREAtaxNONEsui1]RE[B+2]C["
    + ROOT.format(start=1, kind="normal")
    + "];B[cc];W[dd]C[0.50 0.50 0.00 0.0 v=10 weight=1.00];B[bb]C[0.50 0.50 0.00 0.0 v=4 weight=0.00]"
    + ";W[]C[0.50 0.50 0.00 0.0 v=10 weight=0.50])\n"
    + "(;FF[4]GM[1]SZ[5:4]KM[6.5]RU[koSIMPLEscoreTERRITORYtaxSEKIsui0]RE[W+0.5]C["
    + ROOT.format(start=0, kind="fork")
    + ",usedInitialPosition=1,pdaWhite=0.5];B[cc]C[0.50 0.50 0.00 0.0 v=10 weight=1.50];W[])\n"
)
G = GlobalTarget


def rows() -> Rows:
    """Four rows, of which one is a side row and one of a game without result."""
    made = Rows.zeros(4, 5)
    made.policy_targets[:] = 1
    made.score_distribution[:, 0] = 100
    made.global_targets[:, G.ROW_WEIGHT] = (1, 1, 2, 1)
    made.global_targets[:, G.OUTCOME_WEIGHT] = (1, 0, 1, 0)
    made.global_targets[:, G.NO_RESULT] = (0, 0, 0, 1)
    made.global_targets[:, G.POLICY_SURPRISE] = (0.5, 0.1, 0.2, 0.4)
    made.global_targets[:, G.LEAD_WEIGHT] = (1, 0, 0, 0)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net" / "sgfs").mkdir(parents=True)
    (tmp_path / "net" / "sgfs" / "a.sgfs").write_text(GAMES)
    (tmp_path / "net" / "tdata").mkdir()
    write_npz(rows(), tmp_path / "net" / "tdata" / "a.npz")
    return tmp_path


def test_numbers_of_a_folder(folder: Path) -> None:
    found = statistics_of(folder)
    assert (found.games, found.rows, found.unread) == (2, 4, [])
    assert found.shares["ko"] == {"positional": 1, "simple": 1}
    assert found.shares["scoring"] == {"area": 1, "territory": 1}
    assert found.shares["size"] == {"5x5": 1, "5x4": 1}
    assert found.shares["komi in whole points"] == {"yes": 1, "no": 1}
    assert found.shares["game type"] == {"normal": 1, "fork": 1}
    assert found.shares["goes on from a position"] == {"no": 1, "yes": 1}
    assert found.shares["asymmetric playouts"] == {"no": 1, "yes": 1}
    assert found.shares["result"] == {"B": 1, "W": 1}
    assert found.visits == {10: 3, 4: 1}
    samples = found.samples
    assert samples["komi"].mean == 6.75
    assert samples["komi on 5x5"].mean == 7
    assert (samples["moves a game"].mean, samples["moves a game"].deviation) == (3, 1)
    assert samples["turns before the first search"].mean == 0.5
    assert samples["visits a turn"].mean == 8.5
    assert samples["turns with weight, share"].mean == 0.75
    assert samples["weight of these turns"].mean == 1.0
    assert samples["side rows, share"].mean == 0.25
    assert samples["row weight"].mean == 1.25
    assert samples["policy surprise"].mean == pytest.approx(0.3)
    assert samples["rows with a lead, share"].mean == 0.25


def test_the_deviation_of_numbers() -> None:
    numbers = np.random.default_rng(1).normal(3, 2, 100)
    sample = Sample()
    sample.take(numbers[:30])
    sample.add(*numbers[30:].tolist())
    assert sample.mean == pytest.approx(numbers.mean())
    assert sample.deviation == pytest.approx(numbers.std())


def test_the_error_of_a_mean_is_that_of_games_drawn_anew() -> None:
    """Beside the deviation of means over games that are drawn again from the same ones (the bootstrap)."""
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 9, 200)
    games = [rng.normal(rng.normal(5, 2), 1, size) for size in sizes]
    sample = Sample()
    for number in range(0, 200, 50):  # as files: of some games each
        part = games[number : number + 50]
        sample.take(np.concatenate(part), np.repeat(np.arange(50), sizes[number : number + 50]))
    drawn = [np.concatenate([games[index] for index in rng.integers(0, 200, 200)]).mean() for _ in range(2000)]
    assert sample.mean == pytest.approx(np.concatenate(games).mean())
    assert sample.error == pytest.approx(float(np.std(drawn)), rel=0.06)
    every = Sample()
    every.take(np.concatenate(games))
    assert every.error == pytest.approx(every.deviation / math.sqrt(every.count - 1))


def test_how_much_of_the_visits_a_policy_lacks() -> None:
    """10, 5 and 5 visits, of which the target has 10, 5 and 2, in whatever unit; rows without a target do not count."""
    made = Rows.zeros(4, 5)
    made.q_values[:, QTarget.VISITS, 3:6] = (10, 5, 5)
    made.policy_targets[:, PolicyTarget.OWN, 3:6] = (10, 5, 2)
    made.policy_targets[1] *= 7
    made.policy_targets[2, PolicyTarget.OWN, 3:6] = (10, 5, 5)
    made.global_targets[:3, G.POLICY_WEIGHT] = 1
    assert pruned_shares(made).tolist() == pytest.approx([0.15, 0.15, 0.0, math.nan], nan_ok=True)


def test_the_table_has_a_column_for_each_folder(folder: Path) -> None:
    (folder / "broken.npz").write_bytes(b"no rows")
    found = statistics_of(folder)
    lines = table({"ours": found, "theirs": found}).splitlines()
    cells = {name.strip(): values for name, *values in (re.split(r" {2,}", line) for line in lines[1:])}
    assert lines[0].split() == ["ours", "theirs", "apart"]
    assert cells["games"] == ["2", "2", "-"]
    assert cells["rows a game"] == ["2 ± 2 (sd 2)", "2 ± 2 (sd 2)", "+0.0"]  # all rows are of one game
    assert cells["size: 5x4"] == ["50.0% ± 35.4%", "50.0% ± 35.4%", "+0.0"]
    assert cells["side rows, share"] == ["25.00% ± nan%", "25.00% ± nan%", "-"]
    assert cells["turns with 10 visits"] == ["75.0%", "75.0%", "-"]
    assert len(table({"ours": found}).splitlines()[0].split()) == 1
    assert all("+" not in line for line in table({"a": found, "b": found, "c": found}).splitlines())
    assert sum(line.startswith(f"left out: {folder}/broken.npz: ") for line in lines) == 2


def test_a_folder_without_games(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"has no files of games \(.sgfs, .sgf, .npz\)"):
        statistics_of(tmp_path)


def test_games_of_katago() -> None:
    found = statistics_of(oracle_path("vectors/selfplay/full"))
    assert (found.games, found.rows, found.unread) == (14, 226, [])
    assert found.samples["side rows, share"].mean > 0.1
    assert found.shares["asymmetric playouts"]["yes"] == 4
