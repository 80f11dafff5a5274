"""Passes in the tree (search.md 4.6), against the slow twin and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from client.search.passing import NOT_SUPPRESSED, cap_pass, is_left_open, suppressed_pass
from client.search.play_selection import Children, play_selection_values
from client.search.pool import SearchPool
from client.search.tree import EVALUATED, NO_EDGE, ROOT, TERMINAL
from client.search.values import LEAD, SCORE_MEAN
from common.go.play import play
from common.go.points import PASS, WHITE
from common.go.rules import Ko, Scoring
from tests.client.search.helpers import GTP, SELFPLAY, children, node, record
from tests.client.search.naive_passing import NaivePassing
from tests.client.search.scripted import Answer, Floats, ScriptedEvaluator, empty, hashed_answer, position
from tests.client.search.test_pool import ENDGAME, assert_same_tree, search

ROUGH = ["XX.O", "X.XO", "XXOO", ".XO."]


def passed(
    rows: list[str], *, friendly: bool = False, scoring: Scoring = Scoring.AREA, **options: Any
) -> tuple[np.void, np.void]:
    """A position whose last turn was a pass."""
    state, history = position(rows, **options)
    state["friendly_pass_ok"] = friendly
    state["scoring_rule"] = int(scoring)
    play(state, history, PASS)
    return state, history


def keen_to_pass(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
    """As `hashed_answer`, but the pass is often likely."""
    answer = hashed_answer(planes, global_inputs, symmetry)
    answer.policy[-1] += 2.0
    return answer


def bent_on_passing(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
    """The pass is nearly certain now and then."""
    answer = hashed_answer(planes, global_inputs, symmetry)
    answer.policy[-1] += 6.0 if planes.sum() % 3 == 0 else 0.0
    return answer


RULES: dict[str, dict[str, Any]] = {
    "conservative": {"conservative_pass": True},
    "friendly": {},
    "capped": {"enable_passing_hacks": True},
    "aside": {"enable_more_passing_hacks": True},
    "all": {"conservative_pass": True, "enable_passing_hacks": True, "enable_more_passing_hacks": True},
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", [1, 2])
def test_equals_the_slow_twin(name: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    drawn = {
        "cpuct_exploration": random.uniform(0.5, 2.0),
        "fpu_reduction_max": random.uniform(0.0, 0.5),
        "value_weight_exponent": random.uniform(0.0, 1.0),
    }
    parameters = record(GTP, **drawn, **RULES[name])
    rows, length = (ENDGAME, 3) if seed == 1 else (ROUGH, 5)
    start = passed(rows, friendly=name in ("friendly", "all"), komi=0.5)
    answer = bent_on_passing if parameters["enable_passing_hacks"] else keen_to_pass
    answer = hashed_answer if name == "aside" else answer
    naive = NaivePassing(answer, length, parameters)
    twin = naive.search(*start, 100)
    pool = SearchPool(ScriptedEvaluator(length, answer), slots=1, max_visits=200)
    search(pool, 0, start, parameters, 100)
    assert assert_same_tree(pool, 0, twin) > 7
    assert {"conservative": naive.left_open, "friendly": naive.left_open, "capped": naive.capped}.get(name, 1) > 0
    assert (naive.looks_aside > 0) == bool(parameters["enable_more_passing_hacks"])


def root_pass(pool: SearchPool) -> np.void:
    """The node of the root's pass."""
    nodes, edges = pool.forest.nodes[0], pool.forest.edges[0]
    e = nodes[ROOT]["first_edge"]
    while edges[e]["position"] != pool.length**2:
        e = edges[e]["next_edge"]
        assert e != NO_EDGE
    found: np.void = nodes[edges[e]["child"]]
    return found


@pytest.mark.parametrize("conservative", [False, True])
def test_a_conservative_root_neither_ends_the_game_nor_is_told_that_it_could(conservative: bool) -> None:
    seen: list[Floats] = []

    def answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
        seen.append(global_inputs.copy())
        return keen_to_pass(planes, global_inputs, symmetry)

    pool = SearchPool(ScriptedEvaluator(3, answer), slots=1, max_visits=20)
    search(pool, 0, passed(ENDGAME, komi=0.5), record(GTP, conservative_pass=conservative), 20)
    assert root_pass(pool)["status"] == (EVALUATED if conservative else TERMINAL)
    assert seen[0][14] == (0.0 if conservative else 1.0)
    assert seen[0][0] == (0.0 if conservative else 1.0)


def test_a_kept_tree_that_counted_on_the_end_is_dropped() -> None:
    pool = SearchPool(ScriptedEvaluator(3, keen_to_pass), slots=1, max_visits=40)
    for conservative, kept in ((False, True), (True, False)):
        parameters = record(GTP, conservative_pass=conservative)
        state, history = position(ENDGAME, komi=0.5)
        search(pool, 0, (state, history), parameters, 40)
        assert pool.advance(0, PASS)
        visits = pool.forest.nodes[0, ROOT]["visits"]
        play(state, history, PASS)
        pool.start(0, state, history, parameters=parameters, visits=40, seed=1, keep_tree=True)
        assert pool.forest.nodes[0, ROOT]["visits"] == (visits if kept else 0)
        while not pool.step():
            pass


def test_which_passes_are_left_open() -> None:
    bold, careful = record(), record(conservative_pass=True)
    for start, at_root, parameters, expected in (
        (passed(ENDGAME), True, careful, True),
        (passed(ENDGAME), True, bold, False),
        (passed(ENDGAME), False, careful, False),
        (position(ENDGAME), True, careful, False),  # ends nothing
        (passed(ENDGAME, friendly=True), False, bold, True),
        (passed(ENDGAME, friendly=True), True, bold, False),
        (passed(ENDGAME, friendly=True, scoring=Scoring.TERRITORY), False, bold, False),
    ):
        assert is_left_open(*start, at_root, parameters) == expected
    state, history = passed(ENDGAME, friendly=True)
    play(state, history, PASS)
    assert not is_left_open(state, history, False, bold)  # the third in a row


def test_a_pass_in_the_same_position_again_is_not_friendly() -> None:
    state, history = position(["...", ".X.", "..."], ko=Ko.SIMPLE)
    state["friendly_pass_ok"] = 1
    for point in (PASS, PASS):
        play(state, history, point)
    assert state["finished"]
    state["consecutive_passes"] = 1
    assert not is_left_open(state, history, False, record())


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ([0.01, 0.005, 0.985], [0.01 / 0.3, 0.005 / 0.3, 0.95]),
        ([0.2, -1.0, 0.8], [0.2, -1.0, 0.8]),
        ([-1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]),
        ([0.0, -1.0, 1.0], [0.0, -1.0, 1.0]),
    ],
)
def test_a_pass_is_never_quite_certain(policy: list[float], expected: list[float]) -> None:
    capped = np.array(policy, np.float32)
    cap_pass(capped)
    np.testing.assert_allclose(capped, expected, rtol=1e-6)


# -- neutral points before the pass --


def dame_children(**changes: Any) -> tuple[Children, int]:
    """A move at the upper left and a pass as good; White's view, White to move. 3x3 in a tensor of 3."""
    table, count = children([0.3, 0.6], [30, 100], [0.20, 0.25], [0.1, 0.1])
    table.positions[:] = [0, 9]
    table.means[:, SCORE_MEAN] = [2.0, 2.3]
    table.means[:, LEAD] = [1.0, 1.4]
    for name, (index, value) in changes.items():
        getattr(table, name)[index] = value
    return table, count


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 1),
        ({"utilities": (0, 0.149)}, NOT_SUPPRESSED),
        ({"means": ((0, SCORE_MEAN), 1.79)}, NOT_SUPPRESSED),
        ({"means": ((0, LEAD), 0.89)}, NOT_SUPPRESSED),
        ({"weights": (0, 20.0)}, NOT_SUPPRESSED),
        ({"weights": (0, 20.1)}, 1),
        ({"weights": (0, 20.0), "visits": (0, 501)}, 1),
        ({"priors": (0, -1.0)}, NOT_SUPPRESSED),
        ({"positions": (1, 8)}, NOT_SUPPRESSED),  # no pass there
    ],
)
def test_when_neutral_points_come_first(changes: dict[str, Any], expected: int) -> None:
    state, _ = empty(3, to_move=WHITE)
    state["scoring_rule"] = int(Scoring.TERRITORY)
    table, count = dame_children(**changes)
    assert suppressed_pass(table, count, np.zeros(9, np.float32), state, 3) == expected


def test_black_fills_too_but_nobody_in_area_scoring_or_cleanup() -> None:
    state, _ = empty(3)
    table, count = dame_children()
    table.utilities[:] *= -1.0
    table.means[:] *= -1.0
    owner = np.zeros(9, np.float32)
    assert suppressed_pass(table, count, owner, state, 3) == NOT_SUPPRESSED
    state["scoring_rule"] = int(Scoring.TERRITORY)
    assert suppressed_pass(table, count, owner, state, 3) == 1
    state["phase"] = 1
    assert suppressed_pass(table, count, owner, state, 3) == NOT_SUPPRESSED


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ([-0.96, 0, 0, 0, 0, 0, 0, 0, 0], NOT_SUPPRESSED),
        ([-0.94, 0, 0, 0, 0, 0, 0, 0, 0], 1),
        ([-0.96, 0.96, 0, 0, 0, 0, 0, 0, 0], 1),
        ([-0.96, 0, 0, 0.96, 0, 0, 0, 0, 0], 1),
        ([-0.96, 0, 0.96, 0, 0.96, 0, 0, 0, 0], NOT_SUPPRESSED),
    ],
)
def test_a_point_inside_the_opponents_territory_is_not_neutral(owner: list[float], expected: int) -> None:
    state, _ = empty(3, to_move=WHITE)
    state["scoring_rule"] = int(Scoring.TERRITORY)
    table, count = dame_children()
    assert suppressed_pass(table, count, np.array(owner, np.float32), state, 3) == expected


def test_a_suppressed_pass_has_no_value_but_counts_in_the_total() -> None:
    parameters = record(SELFPLAY)
    root = node(visits=118, weight=118.0, utility=0.07, utility_sq=0.034, own_utility=0.05)
    priors, visits = [0.45, 0.30, 0.15], [60, 40, 17]
    table, count = children(priors, visits, [0.080, 0.130, -0.050], [0.030, 0.035, 0.040])
    play_selection_values(root, table, count, False, 0.0, parameters)
    before = table.values.copy()
    table.suppressed[1] = True
    play_selection_values(root, table, count, False, 0.0, parameters)
    assert before[1] > 0.0
    assert table.values[1] == 0.0
    np.testing.assert_array_equal(np.delete(table.values, 1), np.delete(before, 1))


@pytest.mark.parametrize("leaves", [1, 6])
def test_trees_with_looks_aside_add_up(leaves: int) -> None:
    pool = SearchPool(ScriptedEvaluator(5, hashed_answer), slots=1, max_visits=300, leaves=leaves)
    search(pool, 0, passed(ROUGH, komi=0.5), record(GTP, enable_more_passing_hacks=True), 150)
    nodes, edges = pool.forest.nodes[0], pool.forest.edges[0]
    assert nodes[ROOT]["visits"] == 150
    behind = 0
    for index in range(pool.forest.searches[0]["num_nodes"]):
        node_, entered, e = nodes[index], 0, nodes[index]["first_edge"]
        assert node_["virtual_losses"] == 0
        while e != NO_EDGE:
            child = nodes[edges[e]["child"]]
            assert edges[e]["visits"] in (child["visits"], 0)
            behind += edges[e]["visits"] < child["visits"]
            entered += edges[e]["visits"]
            e = edges[e]["next_edge"]
        if node_["status"] == EVALUATED:
            assert node_["visits"] == 1 + entered
    assert behind > 0


def test_a_search_ends_when_its_memory_is_full() -> None:
    pool = SearchPool(ScriptedEvaluator(5, hashed_answer), slots=1, max_visits=150)
    pool.forest = pool.forest._replace(nodes=pool.forest.nodes[:, :100])
    search(pool, 0, empty(5), record(GTP), 150)
    assert pool.forest.searches[0]["num_nodes"] == 100
    assert 100 <= pool.result(0).visits < 150


@pytest.mark.parametrize("owner", [0.0, -1.0])
@pytest.mark.parametrize("fills", [False, True])
def test_a_search_fills_neutral_points_before_it_passes(fills: bool, owner: float) -> None:
    """``owner`` is the opponent's sign everywhere, as the player to move sees it: then there is nothing to fill."""
    policy = np.full(10, -9.0, np.float32)
    policy[0], policy[9] = 0.0, 0.4
    evaluator = ScriptedEvaluator(3, lambda *_: Answer(policy, ownership=owner))
    state, history = empty(3)
    state["scoring_rule"] = int(Scoring.TERRITORY)
    pool = SearchPool(evaluator, slots=1, max_visits=60)
    search(pool, 0, (state, history), record(GTP, fill_dame_before_pass=fills), 60)
    passing = pool.result(0).children.points.tolist().index(PASS)
    assert (pool.play_selection_values(0)[passing] == 0.0) == (fills and owner == 0.0)
