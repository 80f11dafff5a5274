"""The search with real nets, visit by visit as a real KataGo did it: all cases of search.md 17."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pytest

from client.search.play_selection import gather_children, play_selection_values
from client.search.pool import SearchPool
from client.search.tree import ROOT
from common.go.game import Game
from common.go.points import from_vertex, position_of
from common.go.rules import Rules
from common.go.start import GameStart
from common.precision import Precision
from nets.evaluation.batch import Evaluator
from nets.evaluation.evaluator import load_evaluator
from tests.client.search.helpers import GTP, SELFPLAY, record
from tests.oracles import oracle_path

EDGE = 9
G170 = "g170-b6c96-s175395328-d26788732.bin.gz"
B7C96 = "b7c96h3tfrs-test5-cnorm.bin.gz"
UNCERTAIN: dict[str, Any] = {**GTP, "use_uncertainty": True}
OPTIMISTIC: dict[str, Any] = {**UNCERTAIN, "root_policy_optimism": 0.2, "policy_optimism": 1.0}
SELFPLAY_BIAS: dict[str, Any] = {
    **SELFPLAY,
    "subtree_value_bias_factor": 0.3,
    "subtree_value_bias_weight_exponent": 0.8,
}
GTP_BIAS: dict[str, Any] = {"subtree_value_bias_factor": 0.45, "subtree_value_bias_weight_exponent": 0.85}


class Case(NamedTuple):
    net: str
    moves: str
    parameters: dict[str, Any]
    visits: int
    children: dict[str, tuple[int, float | None, float | None]]  # visits, utility (White's), PSV
    lower_bounds: dict[str, float]
    priors: dict[str, float]
    root_weight: float
    pruned_utility: float
    utility: float | None


CASES = {
    "A": Case(
        G170, "E5 C5 G4", GTP, 60,
        {"D7": (44, 0.153663, 44), "D3": (10, 0.024976, 9), "E7": (3, 0.076693, 2), "E6": (2, 0.094928, 2)},
        {"D7": 0.03528, "D3": -0.22162, "E7": -0.67557, "E6": -1.39563},
        {"D7": 0.390485, "D3": 0.388906, "E7": 0.075188, "E6": 0.048475},
        60, 0.131567, 0.12996,
    ),
    "B": Case(
        G170, "E5 C5 G4 D7 D6", SELFPLAY, 150,
        {
            "C6": (90, 0.037011, 90), "C7": (44, 0.071697, 43), "E7": (5, -0.296077, 2), "D5": (3, -0.165762, 0),
            "D3": (3, -0.256357, 0), "F4": (2, -0.106973, 0), "F7": (2, -0.144827, 0),
        },
        {"C6": -0.06657, "C7": -0.13109},
        {"C6": 0.635656, "C7": 0.192495},
        150, 0.0442605, 0.027930,
    ),
    "C": Case(
        G170, "E5 C5 G4 D7 D6", SELFPLAY_BIAS, 150,
        {
            "C6": (91, 0.030584, 91), "C7": (43, 0.058050, 39), "E7": (5, -0.283222, 2), "D5": (3, -0.140063, 0),
            "D3": (3, -0.253120, 0), "F4": (2, -0.094236, 0), "F7": (2, -0.141078, 0),
        },
        {}, {}, 150, 0.0351747, 0.020367,
    ),
    "D": Case(
        G170, "E5 C5 G4 D7 D6", {**SELFPLAY_BIAS, "use_graph_search": True}, 200,
        {
            "C7": (83, 0.170772, 317.4513), "C6": (99, 0.013151, 99), "E7": (6, None, 3), "D5": (3, None, 1),
            "D3": (3, None, 0), "F4": (3, None, 0), "F7": (2, None, 0),
        },
        {"C7": 0.03522, "C6": -0.08204},
        {}, 200, 0.0797259, None,
    ),
    "E": Case(
        G170, "E5 C5 G4", {**GTP, **GTP_BIAS, "use_graph_search": True}, 60,
        {"D7": (42, 0.094288, 39.9269), "D3": (11, 0.009625, 11), "E7": (3, 0.051783, 3), "E6": (3, 0.071529, 3)},
        {}, {}, 57.92695, 0.0784104, None,
    ),
    "F": Case(
        G170, "E5", SELFPLAY, 16,
        {
            "E3": (2, None, 2.0654), "G5": (2, None, 2), "C5": (2, None, 2), "E7": (2, None, 2), "G4": (2, None, 1),
            "F7": (2, None, 1), "D7": (2, None, 0), "G6": (1, None, 0),
        },
        {}, {}, 16, 0.111300, None,
    ),
    "G": Case(
        B7C96, "E5 C5 G4", UNCERTAIN, 60,
        {
            "D7": (33, 0.749188, 33.7409), "D3": (20, 0.723620, 18), "E7": (3, 0.666557, 2), "G5": (1, 0.562720, 1),
            "D4": (1, 0.568343, 1), "F7": (1, 0.662523, 1),
        },
        {"D7": 0.65630, "D3": 0.58670, "E7": -0.13986},
        {"D7": 0.302441},
        58.255211, 0.730092913, 0.730083033,
    ),
    "H": Case(
        B7C96, "E5 C5 G4", OPTIMISTIC, 60,
        {
            "D7": (35, 0.749548, 35.8274), "D3": (18, 0.722244, 18), "E7": (3, None, 2), "G5": (1, None, 1),
            "D4": (1, None, 1), "F7": (1, None, 1),
        },
        {"D7": 0.66305, "D3": 0.58385},
        {"D7": 0.308811},
        57.882110, 0.730409678, 0.730641399,
    ),
    "I": Case(
        B7C96, "E5 C5 G4 D7 D6", {**OPTIMISTIC, **GTP_BIAS}, 120,
        {"C6": (113, 0.597201, 88.776), "C7": (6, 0.587538, 5)},
        {"C6": 0.50965, "C7": 0.31297},
        {}, 94.521675, 0.598165319, 0.598178766,
    ),
}  # fmt: skip


@functools.cache
def evaluator(net: str) -> Evaluator:
    return load_evaluator(oracle_path(f"nets/{net}"), length=EDGE, precision=Precision.FLOAT32)


def pruned_utility(pool: SearchPool) -> float:
    """The root's utility averaged by pruned play-selection values (search.md 12)."""
    root, table = pool.forest.nodes[0, ROOT], pool._children
    count = gather_children(pool.forest.nodes[0], pool.forest.edges[0], pool.forest.priors[0, ROOT], ROOT, table)
    play_selection_values(root, table, count, False, 1.0, pool.forest.parameters[0])
    values = table.values[:count]
    total = values @ table.utilities[:count] + root["own_weight"] * root["own_utility"]
    return float(total / (values.sum() + root["own_weight"]))


@pytest.mark.parametrize("name", CASES)
def test_visit_by_visit(name: str) -> None:
    case = CASES[name]
    game = Game(GameStart(EDGE, EDGE, Rules.parse("tromp-taylor").with_komi(7.5)))
    for vertex in case.moves.split():
        game.play(vertex)
    pool = SearchPool(evaluator(case.net), slots=1, max_visits=case.visits)
    pool.start(0, game.state, game.history, parameters=record(case.parameters), visits=case.visits, seed=0)
    while not pool.step():
        pass
    result = pool.result(0)
    values = dict(zip(result.children.points.tolist(), pool.play_selection_values(0), strict=True))
    lower_bounds = dict(zip(result.children.points.tolist(), pool._children.lower_bounds, strict=False))
    index = {point: row for row, point in enumerate(result.children.points.tolist())}
    expected = {from_vertex(vertex, EDGE, EDGE): wanted for vertex, wanted in case.children.items()}
    assert {point: int(result.children.visits[row]) for point, row in index.items()} == {
        point: visits for point, (visits, _, _) in expected.items()
    }
    for point, (_, utility, value) in expected.items():
        if utility is not None:
            assert result.children.utilities[index[point]] == pytest.approx(utility, abs=1e-5)
        assert values[point] == pytest.approx(value, abs=1e-3)
    for vertex, bound in case.lower_bounds.items():
        assert lower_bounds[from_vertex(vertex, EDGE, EDGE)] == pytest.approx(bound, abs=2e-5)
    for vertex, prior in case.priors.items():
        position = position_of(from_vertex(vertex, EDGE, EDGE), EDGE)
        assert result.noised_policy[position] == pytest.approx(prior, abs=2e-6)
    assert result.weight == pytest.approx(case.root_weight, abs=1e-4)
    assert pruned_utility(pool) == pytest.approx(case.pruned_utility, abs=2e-6)
    if case.utility is not None:
        assert result.utility == pytest.approx(case.utility, abs=1e-5)


def test_every_case_is_compared() -> None:
    assert sum(len(case.children) for case in CASES.values()) == 4 + 7 + 7 + 7 + 4 + 8 + 6 + 6 + 2
    assert np.all([sum(visits for visits, _, _ in c.children.values()) == c.visits - 1 for c in CASES.values()])
