"""Reports of searches with real nets beside those of a real KataGo (search.md 17): cases A, B and G."""

from __future__ import annotations

import functools

import pytest

from client.search.pool import SearchPool
from client.search.report import MoveReport, Report, ReportOptions
from client.search.reporter import Reporter
from common.go.game import Game
from common.go.points import WHITE, from_vertex
from common.go.rules import Rules
from common.go.start import GameStart
from tests.client.search.helpers import record
from tests.client.search.test_oracles import CASES, EDGE, evaluator


@functools.cache
def report(name: str) -> Report:
    case = CASES[name]
    game = Game(GameStart(EDGE, EDGE, Rules.parse("tromp-taylor").with_komi(7.5)))
    for vertex in case.moves.split():
        game.play(vertex)
    pool = SearchPool(evaluator(case.net), slots=1, max_visits=case.visits, ownership=True)
    pool.start(0, game.state, game.history, parameters=record(case.parameters), visits=case.visits, seed=0)
    while not pool.step():
        pass
    return Reporter(pool).report(0, ReportOptions(ownership=True, moves_ownership=True))


def move(name: str, vertex: str) -> MoveReport:
    return next(move for move in report(name).moves if move.point == from_vertex(vertex, EDGE, EDGE))


@pytest.mark.parametrize(
    ("name", "utility", "winrate", "lead"),
    [("A", 0.131567, 0.570379, 0.66953), ("B", 0.0442605, 0.530008, None), ("G", 0.730092913, None, None)],
)
def test_pruned_root_values(name: str, utility: float, winrate: float | None, lead: float | None) -> None:
    root = report(name).root
    assert root.to_move == WHITE
    assert root.values.utility == pytest.approx(utility, abs=2e-6)
    if winrate is not None:
        assert root.values.winrate == pytest.approx(winrate, abs=2e-6)
    if lead is not None:
        assert root.values.score_lead == pytest.approx(lead, abs=2e-5)


def test_raw_root_values() -> None:
    raw = report("A").root.raw
    assert raw.winrate == pytest.approx(0.644568, abs=2e-6)
    assert raw.score_lead == pytest.approx(1.34900, abs=2e-5)
    assert raw.score_selfplay == pytest.approx(2.34841, abs=2e-5)
    root = report("A").root
    assert (root.raw_win_loss_error, root.raw_score_error, root.raw_variance_time) == (-1.0, -1.0, -1.0)
    assert (root.win_loss_error, root.score_error) == (-1.0, -1.0)
    told = report("G").root
    assert told.raw.winrate == pytest.approx(0.873295486, abs=2e-6)
    assert told.raw.score_selfplay == pytest.approx(1.55356002, abs=2e-5)
    assert told.raw_win_loss_error == pytest.approx(0.1769272686, abs=2e-6)
    assert told.raw_score_error == pytest.approx(1.1870141, abs=2e-5)
    assert 0.05 < told.win_loss_error < 0.5
    assert told.raw_variance_time > 0


@pytest.mark.parametrize("name", ["A", "B", "G"])
def test_moves_and_their_bounds(name: str) -> None:
    case = CASES[name]
    for vertex, (visits, utility, value) in case.children.items():
        found = move(name, vertex)
        assert found.visits == found.edge_visits == visits
        assert found.values.utility == pytest.approx(utility, abs=1e-5)
        assert found.play_selection_value == pytest.approx(value, abs=1e-3)
    for vertex, bound in case.lower_bounds.items():
        assert move(name, vertex).utility_lcb == pytest.approx(bound, abs=2e-5)
    ordered = [found.play_selection_value for found in report(name).moves]
    assert ordered == sorted(ordered, reverse=True)


def test_score_of_a_move() -> None:
    values = move("A", "D7").values
    assert values.score_lead == pytest.approx(0.7865, abs=1e-4)
    assert values.score_selfplay == pytest.approx(1.1105, abs=1e-4)
