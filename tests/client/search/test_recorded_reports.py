"""Reports, key by key, beside those that a real KataGo's analysis engine gave for the same searches.

``fixtures/katago/reports.jsonl.gz`` holds one search per line: net, moves from the empty 9x9 board, rules, visits and
the engine's answer, winrates as White's, without hashes; it ran as search.md 17 says.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest

from client.search.pool import SearchPool
from client.search.report import MoveReport, Report, ReportOptions
from client.search.reporter import Reporter
from common.go.game import Game
from common.go.points import WHITE, to_vertex
from common.go.rules import Rules
from common.go.start import GameStart
from common.precision import Precision
from nets.evaluation.evaluator import load_evaluator
from tests import FIXTURES
from tests.client.search.helpers import GTP, SELFPLAY, record
from tests.oracles import oracle_path

EDGE = 9
G170 = "g170-b6c96-s175395328-d26788732.bin.gz"
B7C96 = "b7c96h3tfrs-test5-cnorm.bin.gz"
with gzip.open(FIXTURES / "katago" / "reports.jsonl.gz", "rt", encoding="utf-8") as lines:
    RECORDED: dict[str, dict[str, Any]] = {f"{r['net']}-{r['name']}": r for r in map(json.loads, lines)}


def found(recorded: dict[str, Any]) -> Report:
    """The same search by us."""
    nets = {
        "g170": lambda: oracle_path(f"nets/{G170}"),
        "b7c96": lambda: oracle_path(f"nets/{B7C96}"),
        "b2c32": lambda: FIXTURES / "katago" / "trained-b2c32-bn.bin.gz",
    }
    evaluator = load_evaluator(nets[recorded["net"]](), length=EDGE, precision=Precision.FLOAT32)
    game = Game(GameStart(EDGE, EDGE, Rules.parse(recorded["rules"]).with_komi(7.5)))
    for vertex in recorded["moves"].split():
        game.play(vertex)
    parameters = SELFPLAY if recorded["selfplay"] else {**GTP, "use_uncertainty": True}
    visits = recorded["visits"]
    pool = SearchPool(evaluator, slots=1, max_visits=visits, ownership=True)
    pool.start(0, game.state, game.history, parameters=record(parameters), visits=visits, seed=0)
    while not pool.step():
        pass
    options = ReportOptions(cut_at_phase_end=True, ownership=True, moves_ownership=True)
    return Reporter(pool).report(0, options)


def move_numbers(move: MoveReport) -> dict[str, float]:
    """A move under the engine's keys."""
    return {
        "visits": move.visits,
        "edgeVisits": move.edge_visits,
        "weight": move.weight,
        "edgeWeight": move.edge_weight,
        "winrate": move.values.winrate,
        "utility": move.values.utility,
        "scoreLead": move.values.score_lead,
        "scoreMean": move.values.score_lead,
        "scoreSelfplay": move.values.score_selfplay,
        "scoreStdev": move.values.score_stdev,
        "noResultValue": move.values.no_result,
        "lcb": move.lcb,
        "utilityLcb": move.utility_lcb,
        "prior": move.prior,
        "playSelectionValue": move.play_selection_value,
    }


def root_numbers(report: Report) -> dict[str, float]:
    root = report.root
    return {
        "visits": root.visits,
        "weight": root.weight,
        "winrate": root.values.winrate,
        "utility": root.values.utility,
        "scoreLead": root.values.score_lead,
        "scoreSelfplay": root.values.score_selfplay,
        "scoreStdev": root.values.score_stdev,
        "rawWinrate": root.raw.winrate,
        "rawLead": root.raw.score_lead,
        "rawScoreSelfplay": root.raw.score_selfplay,
        "rawScoreSelfplayStdev": root.raw.score_stdev,
        "rawNoResultProb": root.raw.no_result,
        "rawStWrError": 0.5 * root.raw_win_loss_error,
        "rawStScoreError": root.raw_score_error,
        "rawVarTimeLeft": root.raw_variance_time,
    }


def assert_near(ours: dict[str, float], theirs: dict[str, Any], of: str) -> None:
    for key, value in ours.items():
        assert value == pytest.approx(theirs[key], rel=2e-4, abs=5e-5), f"{of}: {key}"


@pytest.mark.parametrize("name", RECORDED)
def test_every_number_is_the_engines(name: str) -> None:
    theirs = RECORDED[name]
    report = found(theirs)
    assert [to_vertex(move.point, EDGE) for move in report.moves] == [move["move"] for move in theirs["moveInfos"]]
    assert (report.root.to_move == WHITE) == (theirs["rootInfo"]["currentPlayer"] == "W")
    assert_near(root_numbers(report), theirs["rootInfo"], "root")
    for move, info in zip(report.moves, theirs["moveInfos"], strict=True):
        assert_near(move_numbers(move), info, info["move"])
        assert [to_vertex(point, EDGE) for point in move.pv.points] == info["pv"]
        assert list(move.pv.visits) == info["pvVisits"]
        assert list(move.pv.edge_visits) == info["pvEdgeVisits"]
        if "ownership" in info:
            assert move.ownership is not None
            np.testing.assert_allclose(move.ownership.mean.ravel(), info["ownership"], atol=1e-4)
            np.testing.assert_allclose(move.ownership.stdev.ravel(), info["ownershipStdev"], atol=1e-3)
    assert report.ownership is not None
    np.testing.assert_allclose(report.ownership.mean.ravel(), theirs["ownership"], atol=1e-4)
    np.testing.assert_allclose(report.ownership.stdev.ravel(), theirs["ownershipStdev"], atol=1e-3)


def test_what_is_recorded_covers_what_can_differ() -> None:
    infos = [info for recorded in RECORDED.values() for info in recorded["moveInfos"]]
    assert max(len(info["pv"]) for info in infos) == 16
    assert min(len(info["pv"]) for info in infos) == 0
    assert any(info["noResultValue"] > 0.1 for info in infos)
    assert any("ownership" in info and not any(info["ownership"]) for info in infos)
    assert {recorded["rootInfo"]["currentPlayer"] for recorded in RECORDED.values()} == {"B", "W"}
