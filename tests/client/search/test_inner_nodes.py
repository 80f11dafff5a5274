"""Positions inside a tree against the slow twin's tree: which there are, and what is told of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from client.search.inner_nodes import MOST_DEPTH, InnerNode, inner_nodes
from client.search.pool import SearchPool
from common.go.points import NO_POINT, WHITE, point_of, position_of
from tests.client.search.helpers import SELFPLAY, record
from tests.client.search.naive import NaiveSearch, Node
from tests.client.search.scripted import ScriptedEvaluator, empty, hashed_answer

LENGTH, VISITS = 5, 300
QUIET: dict[str, Any] = {"root_policy_temperature_early": 1.0, "root_policy_temperature": 1.0}


def lines_of(root: Node, least: int, played: int) -> Iterator[tuple[tuple[int, ...], Node]]:
    """The lines of a tree that are told, from the rule itself: who moves at the end has only played best moves."""

    def walk(node: Node, line: tuple[tuple[Node, int], ...]) -> Iterator[tuple[tuple[int, ...], Node]]:
        mover = len(line) % 2
        own = [move == best_of(before) for before, move in line[mover::2]]
        if line and all(own) and node.children:
            yield tuple(move for _, move in line), node
        if len(line) < 5:
            for move, child in node.children.items():
                if child.visits >= least and (line or point_of(move, LENGTH) != played):
                    yield from walk(child, (*line, (node, move)))

    return walk(root, ())


def best_of(node: Node) -> int:
    """The first of the moves with most visits."""
    return max(node.children, key=lambda move: node.children[move].visits)


def searched(**changes: Any) -> tuple[SearchPool, Node]:
    parameters = record(SELFPLAY, **QUIET | changes)
    twin = NaiveSearch(hashed_answer, LENGTH, parameters).search(*empty(LENGTH), VISITS)
    pool = SearchPool(ScriptedEvaluator(LENGTH, hashed_answer), slots=2, max_visits=VISITS)
    pool.start(1, *empty(LENGTH), parameters=parameters, visits=VISITS, seed=3)
    while 1 not in pool.step():
        pass
    return pool, twin


def by_line(found: list[InnerNode]) -> dict[tuple[int, ...], InnerNode]:
    named = {tuple(position_of(point, LENGTH) for point in node.moves): node for node in found}
    assert len(named) == len(found)
    return named


@pytest.mark.parametrize("least", [10, 25])
def test_lines_and_values_are_those_of_the_twin(least: int) -> None:
    pool, twin = searched(use_lcb_for_selection=False)
    played = pool.choose_move(1)
    expected = dict(lines_of(twin, least, played))
    found = by_line(inner_nodes(pool, 1, least, played))
    assert found.keys() == expected.keys()
    assert [len(line) for line in found] == sorted(len(line) for line in found), "near the root first"
    for line, node in expected.items():
        told = found[line]
        assert node.mean is not None
        assert node.own is not None
        assert told.found["visits"] == VISITS
        assert told.found["mean"].tolist() == pytest.approx(list(node.mean), rel=1e-6, abs=1e-6)
        assert told.found["raw"].tolist() == pytest.approx(list(node.own), rel=1e-6, abs=1e-6)
        policy = np.array(list(node.policy.values()))
        entropy = float(-(policy * np.log(policy)).sum())
        assert (told.found["policy_entropy"], told.found["raw_policy_entropy"]) == pytest.approx(
            (entropy,) * 2, abs=1e-5
        )
        weights = np.zeros(LENGTH * LENGTH + 1)
        for move, child in node.children.items():
            weights[move] = child.weight
        assert told.target == pytest.approx(weights * max(1.0, 10.0 / weights.max()), rel=1e-5)
        shares = weights[weights > 0] / weights.sum()
        priors = np.array([node.policy[move] for move in np.flatnonzero(weights).tolist()])
        assert told.found["search_entropy"] == pytest.approx(float(-(shares * np.log(shares)).sum()), abs=1e-5)
        assert told.found["policy_surprise"] == pytest.approx(float((shares * np.log(shares / priors)).sum()), abs=1e-5)
        children = {int(child["point"]): child for child in told.children}
        assert children.keys() == {point_of(move, LENGTH) for move in node.children}
        assert told.found["num_children"] == len(children)
        for move, child in node.children.items():
            assert child.mean is not None
            kept = children[point_of(move, LENGTH)]
            assert kept["visits"] == child.visits
            assert (kept["win_loss"], kept["score_mean"]) == pytest.approx(
                (child.mean.win_loss, child.mean.score_mean), abs=1e-5
            )
    depths = {len(line) for line in expected}
    assert depths >= ({1, 2, 3} if least == 10 else {1})


def test_the_move_that_is_played_is_left_out_with_all_behind_it() -> None:
    pool, _ = searched()
    all_of_them = inner_nodes(pool, 1, 5, NO_POINT)
    played = all_of_them[0].moves[0]
    left = inner_nodes(pool, 1, 5, played)
    assert [node.moves for node in left] == [node.moves for node in all_of_them if node.moves[0] != played]
    assert 0 < len(left) < len(all_of_them)


@pytest.mark.parametrize("least", [1, 2, 7])
def test_there_are_no_more_than_visits_allow(least: int) -> None:
    for pool in (searched()[0], searched_graph()):
        found = inner_nodes(pool, 1, least, NO_POINT)
        assert 0 < len(found) <= MOST_DEPTH * VISITS // least
        assert max(len(node.moves) for node in found) <= MOST_DEPTH
        assert all(node.found["num_children"] > 0 for node in found)


def searched_graph() -> SearchPool:
    pool = SearchPool(ScriptedEvaluator(LENGTH, hashed_answer), slots=2, max_visits=VISITS)
    parameters = record(SELFPLAY, use_graph_search=True)
    pool.start(1, *empty(LENGTH), parameters=parameters, visits=VISITS, seed=3)
    while 1 not in pool.step():
        pass
    return pool


def test_lower_bounds_count_where_the_search_uses_them() -> None:
    """As at the root (search.md 10.4), in float64 from the children's own sums."""
    changes = {"value_weight_exponent": 0.0, "lcb_stdevs": 5.0, "min_visit_prop_for_lcb": 0.15}
    pool, twin = searched(use_lcb_for_selection=True, **changes)
    nodes = dict(lines_of(twin, 12, NO_POINT))
    found = by_line(inner_nodes(pool, 1, 12, NO_POINT))
    raised = 0
    for line, node in nodes.items():
        expected = with_lower_bounds(node, pool.forest.parameters[1])
        assert found[line].target == pytest.approx(expected, rel=1e-4)
        weights = [child.weight for child in node.children.values()]
        raised += not np.isclose(expected.max() / sorted(weights)[-1], max(1.0, 10.0 / max(weights)))
    assert raised > 0


def with_lower_bounds(node: Node, parameters: Any) -> np.ndarray:
    values = {move: child.weight for move, child in node.children.items()}
    goodness = {
        move: child.weight * max(0, child.visits - 1) / max(1, child.visits) + 2 * node.policy[move]
        for move, child in node.children.items()
    }
    best_weight = values[max(goodness, key=lambda move: goodness[move])]
    radius = 1.0 + float(parameters["static_score_utility_factor"]) + float(parameters["dynamic_score_utility_factor"])
    sign = 1.0 if node.state["to_move"] == WHITE else -1.0
    bounds, radii = {}, {}
    for move, child in node.children.items():
        squares = child.visits  # each playout weighs 1
        effective = child.weight**2 / squares
        prior = child.weight / effective**3
        second = max(child.utility_sq, child.utility**2 + 1e-8)
        second = (second * child.weight + (second + radius**2) * prior) / (child.weight + prior)
        effective = (child.weight + prior) ** 2 / (squares + prior**2)
        radii[move] = 5.0 * math.sqrt((second - child.utility**2) / effective)
        bounds[move] = sign * child.utility - radii[move]
    able = [move for move in values if values[move] > 0 and values[move] >= 0.15 * best_weight]
    best = max(able, key=lambda move: bounds[move])
    raised = values[best]
    for move in values:
        if move != best and bounds[best] >= bounds[move]:
            excess = bounds[best] - bounds[move]
            ratio = (radii[move] + excess) / (radii[move] + 0.2 * excess)
            raised = max(raised, ratio**2 * values[move])
    values[best] = raised
    target = np.zeros(LENGTH * LENGTH + 1)
    for move, value in values.items():
        target[move] = value
    target *= max(1.0, 10.0 / float(target.max()))
    return target
