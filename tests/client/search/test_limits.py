"""How far a search goes (search.md 8 and 4.7)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from client.search.limits import (
    Limits,
    is_decided,
    leaves_in_flight,
    limits_of,
    pass_factor,
    playouts_in,
    pondering_limits,
    scaled_count,
    winning_factor,
)
from client.search.pool import SearchPool
from client.search.select import select_move
from client.search.tree import EDGE, NO_EDGE, NODE, ROOT, new_scratch
from common.go.play import play
from common.go.points import PASS, point_at
from common.parameters import SearchParameters, ThinkingParameters
from tests.client.search.helpers import GTP, node, record
from tests.client.search.scripted import ScriptedEvaluator, empty, hashed_answer
from tests.client.search.test_pool import search


def test_limits_are_scaled_and_combined() -> None:
    parameters = SearchParameters(max_visits=101, max_playouts=7, max_time=3.0)
    limits = limits_of(parameters)
    assert limits == Limits(101, 7, 3.0)
    assert limits.scaled(0.5) == Limits(51, 4, 1.5)
    assert limits.scaled(1.0) == limits
    assert Limits(5).scaled(0.0).visits == 1
    assert limits.within(Limits(visits=20, seconds=9.0)) == Limits(20, 7, 3.0)
    assert pondering_limits(ThinkingParameters()) == Limits()
    assert pondering_limits(ThinkingParameters(max_visits_pondering=9)) == Limits(9)
    assert scaled_count(10, 0.25) == 3


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], 1.0),
        ([0.99, 0.99], 1.0),
        ([0.99, 0.95, 0.99], 1.0),
        ([1.0, 1.0, 1.0], 0.4),
        ([0.975, 1.0, 0.99], 1 + 0.5 * (0.4 - 1)),
        ([-1.0, 0.96, 0.97, 0.98], 1 + 0.2 * (0.4 - 1)),
    ],
)
def test_a_winner_searches_less(values: list[float], expected: float) -> None:
    parameters = ThinkingParameters(search_factor_when_winning=0.4, search_factor_when_winning_threshold=0.95)
    assert winning_factor(values, 1.0, parameters) == pytest.approx(expected)
    assert winning_factor(values, 1.0, ThinkingParameters()) == 1.0
    assert winning_factor(values, 0.5, parameters) == 1.0


def test_passes_of_the_opponent_shorten_the_search() -> None:
    state, history = empty(5)
    parameters = record(search_factor_after_one_pass=0.5, search_factor_after_two_pass=0.25)
    expected = [1.0, 0.5, 0.5, 0.25, 1.0, 0.25]
    for turn, point in enumerate((point_at(0, 0), PASS, PASS, PASS, point_at(1, 1), PASS)):
        play(state, history, point)
        assert pass_factor(state, parameters) == expected[turn], turn
    state["recent_colour"][0] = state["to_move"]
    assert pass_factor(state, parameters) == 1.0


@pytest.mark.parametrize(
    ("playouts", "most", "least", "expected"),
    [(100, 8, 0.0, 8), (64, 8, 8.0, 8), (63, 8, 8.0, 7), (15, 8, 8.0, 1), (3, 8, 8.0, 1), (0, 8, 8.0, 1)],
)
def test_each_leaf_under_evaluation_stands_for_playouts(playouts: int, most: int, least: float, expected: int) -> None:
    assert leaves_in_flight(playouts, most, least) == expected


def tree(visits: list[int]) -> tuple[Any, Any]:
    """A root whose children have so many visits, of weight 1 each."""
    nodes, edges = np.zeros(len(visits) + 1, NODE), np.zeros(len(visits), EDGE)
    nodes["first_edge"] = NO_EDGE
    nodes[ROOT]["visits"] = nodes[ROOT]["weight"] = 1 + sum(visits)
    nodes[ROOT]["first_edge"] = 0
    for e, count in enumerate(visits):
        nodes[e + 1]["visits"] = nodes[e + 1]["weight"] = edges[e]["visits"] = count
        edges[e]["child"], edges[e]["next_edge"] = e + 1, e + 1
    edges[-1]["next_edge"] = NO_EDGE
    return nodes, edges


@pytest.mark.parametrize(
    ("visits", "left", "threshold", "expected"),
    [
        ([10, 40, 3], 9.0, 0.5, True),  # 10 + 9 < 20
        ([10, 40, 3], 10.0, 0.5, False),
        ([10, 40, 3], 6.0, 0.25, False),
        ([10, 40, 3], 6.0, 0.0, False),
        ([40], 19.0, 0.5, True),  # a new move needs 20
        ([40], 20.0, 0.5, False),
        ([40], 19.0, 0.45, False),
    ],
)
def test_when_a_search_is_decided(visits: list[int], left: float, threshold: float, expected: bool) -> None:
    assert is_decided(*tree(visits), left, threshold) == expected


def test_time_in_playouts() -> None:
    assert playouts_in(2.0, 100, 4.0) == 50
    assert playouts_in(-1.0, 100, 4.0) == 0
    assert playouts_in(2.0, 1, 4.0) == playouts_in(2.0, 100, 0.0) == math.inf


# -- in the pool --


def new_pool(leaves: int = 1) -> tuple[SearchPool, ScriptedEvaluator]:
    evaluator = ScriptedEvaluator(5, hashed_answer)
    return SearchPool(evaluator, slots=1, max_visits=200, leaves=leaves), evaluator


def test_playouts_are_a_limit_of_their_own() -> None:
    pool, _ = new_pool()
    search(pool, 0, empty(5), record(GTP), 60)
    assert (pool.result(0).visits, pool.playouts_done(0)) == (60, 60)
    search(pool, 0, empty(5), record(GTP), 200, playouts=25)
    assert (pool.result(0).visits, pool.playouts_done(0)) == (25, 25)
    search(pool, 0, empty(5), record(GTP), 200, playouts=30, keep_tree=True)
    assert (pool.result(0).visits, pool.playouts_done(0)) == (55, 30)
    search(pool, 0, empty(5), record(GTP), 60, playouts=30, keep_tree=True)
    assert (pool.result(0).visits, pool.playouts_done(0)) == (60, 5)


@pytest.mark.parametrize(("passes", "visits", "playouts"), [(0, 60, 25), (1, 30, 13), (3, 6, 3)])
def test_a_search_after_passes(passes: int, visits: int, playouts: int) -> None:
    state, history = empty(5)
    for _ in range(passes):
        play(state, history, PASS)
    state["finished"] = 0
    factors = record(GTP, search_factor_after_one_pass=0.5, search_factor_after_two_pass=0.1)
    pool, _ = new_pool()
    search(pool, 0, (state, history), factors, 60)
    assert pool.result(0).visits == visits
    search(pool, 0, (state, history), factors, 60, playouts=25)
    assert pool.result(0).visits == playouts


def test_few_playouts_are_not_spread_over_many_leaves() -> None:
    for least, most in ((0.0, 8), (8.0, 5), (40.0, 1)):
        pool, evaluator = new_pool(leaves=8)
        search(pool, 0, empty(5), record(GTP, min_playouts_per_thread=least), 40)
        assert max(evaluator.batch_sizes) == most


def test_a_search_is_stopped_after_its_least_playouts() -> None:
    pool, _ = new_pool()
    search(pool, 0, empty(5), record(GTP), 20)
    pool.start(0, *empty(5), parameters=record(GTP), visits=100, seed=2, keep_tree=True)
    pool.stop(0, least_playouts=2)
    while not pool.step():
        pass
    assert (pool.result(0).visits, pool.playouts_done(0)) == (22, 2)
    pool.start(0, *empty(5), parameters=record(GTP), visits=100, seed=2)
    pool.stop(0)
    assert pool.step() == [0]
    assert pool.result(0).visits == 1


def test_time_told_to_a_search_makes_it_decided() -> None:
    pool, _ = new_pool()
    pool.start(0, *empty(5), parameters=record(GTP, futile_visits_threshold=1.0), visits=200, seed=2)
    for _ in range(60):
        pool.step()
    assert not pool.is_decided(0)
    pool.expect(0, 0.0)
    assert pool.is_decided(0)


@pytest.mark.parametrize("losses", [0.5, 1.0, 3.0])
def test_virtual_losses_have_a_weight(losses: float) -> None:
    """One playout under way in A (.4 and weight 4, prior .5): White's move, nothing else but B of utility u."""
    parameters = record(GTP, num_virtual_losses_per_thread=losses, cpuct_utility_stdev_scale=0.0)
    nodes, edges = np.zeros(3, NODE), np.zeros(2, EDGE)
    nodes[ROOT] = node(first_edge=0, last_edge=1, num_edges=2, visits=9, weight=9.0, next_position=-1)
    for e, (visits, prior) in enumerate(((4, 0.5), (4, 0.5))):
        nodes[e + 1]["visits"] = nodes[e + 1]["weight"] = edges[e]["visits"] = visits
        edges[e]["prior"], edges[e]["position"], edges[e]["child"], edges[e]["next_edge"] = prior, e, e + 1, 1 - 2 * e
    nodes[1]["utility"], nodes[1]["virtual_losses"] = 0.4, 1
    total, lost = 8.0, -1.4
    scale = (1.0 + 0.45 * np.log((total + 500) / 500)) * np.sqrt(total + 0.01)
    utility = 0.4 + (lost - 0.4) * losses / (losses + 4)
    value = utility + scale * 0.5 / (1 + 4 + losses)
    even = value - scale * 0.5 / (1 + 4)
    for offset, expected in ((-1e-6, 0), (1e-6, 1)):
        nodes[2]["utility"] = even + offset
        found = select_move(nodes, edges, np.zeros(3, np.float32), 0, parameters, new_scratch(2, 3, 2))
        assert found[0] == expected
