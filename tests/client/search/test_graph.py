"""Graph search and subtree value bias, against the slow twin and against the laws that both keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from client.search.backup import recompute
from client.search.bias import bias_key, correction, has_bias, release_bias, update_bias
from client.search.graph import repetition_is_impossible
from client.search.grow import new_forest
from client.search.pool import SearchPool
from client.search.tables import find_node
from client.search.tree import (
    BIAS,
    EDGE,
    EVALUATED,
    NO_BIAS,
    NO_EDGE,
    NODE,
    ROOT,
    TERMINAL,
    UNKNOWN_POSITION,
    new_playouts,
    new_scratch,
)
from common.go.board import reset, set_stone
from common.go.play import begin, legal_points, play
from common.go.points import BLACK, EMPTY, NUM_POINTS, PASS, WHITE, point_of
from common.go.rules import Ko, Scoring, Tax
from common.go.state import MAX_READINGS, new_histories, new_states
from tests.client.search.helpers import GTP, SELFPLAY, record
from tests.client.search.naive import Node
from tests.client.search.naive_graph import NaiveGraph, is_settled, surroundings
from tests.client.search.scripted import Answer, Floats, ScriptedEvaluator, empty, hashed_answer

Start = tuple[Any, Any]
QUIET: dict[str, Any] = {"root_policy_temperature_early": 1.0, "root_policy_temperature": 1.0}
BASES: list[dict[str, Any]] = [{**SELFPLAY, **QUIET}, GTP]


def even_answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
    """Opinions that differ little, so that a search tries moves in every order."""
    found = hashed_answer(planes, global_inputs, symmetry)
    found.policy *= np.float32(0.2)
    found.win_loss *= 0.2
    found.score_mean *= 0.2
    return found


def random_start(random: np.random.Generator, length: int) -> Start:
    """A board up to ``length`` after some random turns, under random rules."""
    states, histories = new_states(1), new_histories(1)
    state, history = states[0], histories[0]
    state["scoring_rule"] = int(random.choice([Scoring.AREA, Scoring.TERRITORY]))
    state["ko_rule"] = int(random.choice(list(Ko)))
    state["tax_rule"] = int(random.choice(list(Tax)))
    state["suicide"] = random.integers(2)
    state["has_button"] = state["scoring_rule"] == Scoring.AREA and random.random() < 0.3
    state["pass_alive_suicide"] = state["suicide"]
    state["komi"] = random.integers(-6, 7) / 2
    state["draw_white_wins"] = random.random()
    x_size, y_size = random.integers(2, length + 1, 2)
    reset(state, x_size, y_size)
    phase = int(random.integers(3)) if state["scoring_rule"] == Scoring.TERRITORY else 0
    begin(state, history, BLACK, phase)
    legal = np.zeros(NUM_POINTS, np.int8)
    for _ in range(random.integers(2 * x_size * y_size)):
        legal_points(state, history, legal)
        moves = np.flatnonzero(legal)
        moves = moves[1:] if len(moves) > 1 and random.random() < 0.9 else moves
        kept = states.copy(), histories.copy()
        play(state, history, int(random.choice(moves)))
        if state["finished"]:
            return kept[0][0], kept[1][0]
    return state, history


def run(pool: SearchPool, start: Start, parameters: np.void, visits: int, **options: Any) -> None:
    pool.start(0, *start, parameters=parameters, visits=visits, **{"seed": 1, **options})
    while pool.running():
        pool.step()


def assert_same_graph(pool: SearchPool, twin: Node) -> dict[int, Node]:
    """Compare whole graphs in order of creation; returns which node is which."""
    nodes, edges = pool.forest.nodes[0], pool.forest.edges[0]
    partner: dict[int, Node] = {int(ROOT): twin}
    waiting = [int(ROOT)]
    while waiting:
        index = waiting.pop()
        node, other = nodes[index], partner[index]
        assert node["visits"] == other.visits
        assert (node["status"] == TERMINAL) == other.terminal
        for name in ("weight", "utility", "utility_sq"):
            assert node[name] == pytest.approx(getattr(other, name), abs=1e-6), name
        assert other.own is not None
        assert other.mean is not None
        np.testing.assert_allclose(node["own"], other.own, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(node["mean"], other.mean, rtol=1e-6, atol=1e-6)
        e, moves = node["first_edge"], []
        while e != NO_EDGE:
            move, child = int(edges[e]["position"]), int(edges[e]["child"])
            moves.append(move)
            assert edges[e]["visits"] == other.edge_visits[move]
            if child not in partner:
                partner[child] = other.children[move]
                waiting.append(child)
            assert partner[child] is other.children[move]
            e = edges[e]["next_edge"]
        assert moves == list(other.children)
    assert len({id(node) for node in partner.values()}) == len(partner) == pool.forest.searches[0]["num_nodes"]
    return partner


def random_parameters(random: np.random.Generator) -> dict[str, Any]:
    return {
        **BASES[random.integers(2)],
        "use_graph_search": bool(random.random() < 0.9),
        "graph_search_rep_bound": int(random.integers(3, 8)),
        "graph_search_catch_up_leak_prob": float(random.random() < 0.2),
        "subtree_value_bias_factor": float(random.choice([0.0, 0.35, 1.0])),
        "subtree_value_bias_weight_exponent": float(random.uniform(0.3, 1)),
        "cpuct_exploration": float(random.uniform(0.3, 4)),
    }


def compared(answer: Callable[..., Answer], length: int, start: Start, parameters: np.void, visits: int) -> NaiveGraph:
    """The slow twin of a search that was compared with it."""
    twin = NaiveGraph(answer, length, parameters)
    root = twin.search(*start, visits)
    pool = SearchPool(ScriptedEvaluator(length, answer), slots=1, max_visits=visits)
    run(pool, start, parameters, visits)
    assert_same_graph(pool, root)
    assert pool.forest.searches[0]["num_biases"] == len(twin.biases)
    return twin


def test_equals_the_slow_twin_on_random_positions() -> None:
    random = np.random.default_rng(7)
    shared = caught_up = corrected = 0
    for case in range(40):
        parameters = record(random_parameters(random))
        length = int(random.integers(2, 5))
        answer = (hashed_answer, even_answer)[case % 2]
        twin = compared(answer, length, random_start(random, length), parameters, 150)
        shared, caught_up = shared + twin.shared, caught_up + twin.caught_up
        corrected += sum(entry.weight > 0 for entry in twin.biases.values())
    assert shared > 20
    assert caught_up > 20
    assert corrected > 500


def test_equals_the_slow_twin_where_circles_are_met() -> None:
    """Boards on which whole positions come again soon, with keys that forget the way as soon as they may."""
    random = np.random.default_rng(5)
    always = {"use_graph_search": True, "graph_search_rep_bound": 3, "graph_search_catch_up_leak_prob": 0.0}
    twins = [
        compared(hashed_answer, 2, random_start(random, 2), record({**random_parameters(random), **always}), 60)
        for _ in range(60)
    ]
    assert sum(twin.cycles for twin in twins) > 0
    assert sum(twin.again for twin in twins) > 0  # superko forbade what was legal on another way


def test_names_of_surroundings_are_equal_where_the_surroundings_are() -> None:
    """Of two boards that differ by a stone, for all moves that both allow."""
    random = np.random.default_rng(3)
    counts = [0, 0]
    for _ in range(60):
        state, _ = random_start(random, 7)
        other = np.array([state])[0]
        if not set_stone(other, int(random.choice(np.flatnonzero(state["colour"] == EMPTY))), WHITE):
            continue
        for point in np.flatnonzero(other["colour"] == EMPTY).tolist():
            wanted = surroundings(state, point)
            assert has_bias(state, point) == (wanted is not None)
            if wanted is None:
                continue
            same = wanted == surroundings(other, point)
            counts[same] += 1
            for one, two in zip(bias_key(state, point), bias_key(other, point), strict=True):
                assert (one == two) == same
    assert min(counts) > 50
    assert not has_bias(state, PASS)


def test_where_repetition_is_impossible() -> None:
    random = np.random.default_rng(4)
    scratch = new_scratch(6, 1, 1)
    counts = [0, 0]
    for _ in range(150):
        state, _ = random_start(random, 6)
        for bound in (3, 5, 11, 20):
            found = repetition_is_impossible(state, bound, scratch)
            assert found == is_settled(state, bound)
            counts[found] += 1
    assert min(counts) > 100


def test_the_examples_of_the_bias() -> None:
    biases, node = np.zeros(1, BIAS), np.zeros(1, NODE)[0]
    biases[0]["sum"], biases[0]["weight"] = -0.06, 1.5
    assert correction(biases, node, 0.3) == pytest.approx(-0.012)
    biases[0]["weight"] = 0.001
    assert correction(biases, node, 0.3) == 0.0
    biases[0]["sum"] = biases[0]["weight"] = 0.0
    node["own_utility"] = 0.2
    update_bias(biases, node, 0.12, 19.0, 20.0, 0.8)
    assert biases[0]["weight"] == pytest.approx(10.985605)
    assert biases[0]["sum"] == pytest.approx(-0.878848)
    update_bias(biases, node, 0.22, 20.0, 21.0, 0.8)  # in place of what it said before
    assert biases[0]["weight"] == pytest.approx(21**0.8)
    assert biases[0]["sum"] == pytest.approx(0.02 * 21**0.8)
    update_bias(biases, node, 0.5, 1e-10, 21.0, 0.8)
    assert biases[0]["sum"] == pytest.approx(0.02 * 21**0.8)
    release_bias(biases, node, 0.75)
    assert biases[0]["weight"] == pytest.approx(0.25 * 21**0.8)
    assert biases[0]["sum"] == pytest.approx(0.25 * 0.02 * 21**0.8)
    assert (node["bias"], node["bias_weight"]) == (NO_BIAS, 0.0)
    assert correction(biases, node, 0.3) == 0.0


# -- laws --

GRAPH: dict[str, Any] = {
    **SELFPLAY,
    "use_graph_search": True,
    "graph_search_rep_bound": 4,
    "subtree_value_bias_factor": 0.35,
    "root_noise_enabled": True,
}


def children_of(pool: SearchPool, index: int) -> list[tuple[np.void, int]]:
    edges, found = pool.forest.edges[0], []
    e = pool.forest.nodes[0, index]["first_edge"]
    while e != NO_EDGE:
        found.append((edges[e], int(edges[e]["child"])))
        e = edges[e]["next_edge"]
    return found


def below(pool: SearchPool, top: int) -> list[int]:
    """Nodes that ways from ``top`` lead to, itself included, each once."""
    found, waiting = {top}, [top]
    while waiting:
        near = {child for _, child in children_of(pool, waiting.pop())} - found
        found |= near
        waiting += near
    return sorted(found)


def node_of_key(pool: SearchPool, node: np.void) -> int:
    first, second = node["key"]
    return int(find_node(pool.forest, 0, first, second, node["to_move"]))


def assert_whole(pool: SearchPool, fresh: bool = True) -> int:
    """What holds of any graph at rest; returns the number of nodes that several edges lead to."""
    search, nodes = pool.forest.searches[0], pool.forest.nodes[0]
    assert search["pending"] == 0
    assert below(pool, int(ROOT)) == list(range(search["num_nodes"]))
    parents = np.zeros(search["num_nodes"], int)
    num_edges = 0
    for index in range(search["num_nodes"]):
        node, pairs = nodes[index], children_of(pool, index)
        assert node["virtual_losses"] == 0
        assert len({int(edge["position"]) for edge, _ in pairs}) == len(pairs) == node["num_edges"]
        num_edges += len(pairs)
        for edge, child in pairs:
            assert edge["visits"] > 0
            assert edge["prior"] == pool.forest.priors[0, index, edge["position"]] >= 0
            parents[child] += 1
        assert node["status"] in (EVALUATED, TERMINAL)
        if node["status"] == EVALUATED:
            assert node["visits"] == 1 + sum(int(edge["visits"]) for edge, _ in pairs)
        if search["is_graph"] and index != ROOT:
            assert node_of_key(pool, node) == index
    assert parents[ROOT] == 0
    assert (parents[1:] > 0).all()
    assert num_edges == search["num_edges"]
    assert np.count_nonzero(pool.forest.node_table[0]) == (search["num_nodes"] - 1 if search["is_graph"] else 0)
    biases = nodes["bias"][: search["num_nodes"]]
    assert nodes[ROOT]["bias"] == NO_BIAS
    assert set(biases.tolist()) - {NO_BIAS} == set(range(search["num_biases"]))
    for entry in range(search["num_biases"]) if fresh else ():
        users = nodes[: search["num_nodes"]][biases == entry]
        for name in ("sum", "weight"):
            assert pool.forest.biases[0, entry][name] == pytest.approx(users[f"bias_{name}"].sum(), abs=1e-9)
    return int((parents > 1).sum())


@pytest.mark.parametrize("leaves", [1, 2, 7])
def test_every_graph_adds_up(leaves: int) -> None:
    random = np.random.default_rng(leaves)
    shared = 0
    for _ in range(12):
        length = int(random.integers(2, 5))
        start = random_start(random, length)
        parameters = record(
            GRAPH,
            graph_search_catch_up_leak_prob=float(random.choice([0.0, 0.3])),
            nn_randomize=True,
            cpuct_exploration=float(random.choice([0.3, 1.05, 4])),
        )
        pool = SearchPool(ScriptedEvaluator(length, even_answer), slots=1, max_visits=150, leaves=leaves)
        run(pool, start, parameters, 150, seed=int(random.integers(100)))
        assert pool.forest.nodes[0, ROOT]["visits"] == 150
        shared += assert_whole(pool)
    assert shared > 15


def test_a_graph_saves_evaluations_and_a_tree_shares_nothing() -> None:
    evaluated = {}
    for graph in (False, True):
        pool = SearchPool(ScriptedEvaluator(3, even_answer), slots=1, max_visits=300)
        run(pool, empty(3), record(GRAPH, use_graph_search=graph, graph_search_rep_bound=3), 300)
        assert (assert_whole(pool) > 0) == graph
        evaluated[graph] = int(pool.forest.searches[0]["num_nodes"])
    assert evaluated[True] < evaluated[False]


# -- a child becomes the root --


def best_edge(pool: SearchPool) -> tuple[np.void, int]:
    return max(children_of(pool, int(ROOT)), key=lambda pair: int(pair[0]["visits"]))


def test_what_is_below_the_new_root_is_kept_and_nothing_else() -> None:
    random = np.random.default_rng(11)
    gone = 0
    for case in range(10):
        state, history = random_start(random, 5)
        parameters = record(GRAPH, cpuct_exploration=float(random.choice([0.5, 3])))
        pool = SearchPool(ScriptedEvaluator(5, even_answer), slots=1, max_visits=250)
        run(pool, (state, history), parameters, 120, seed=case)
        for _ in range(3):
            edge, top = best_edge(pool)
            if pool.forest.nodes[0, top]["status"] == TERMINAL:
                break
            forest, kept = pool.forest, below(pool, top)
            before = {tuple(forest.nodes[0, i]["key"]): forest.nodes[0, i].copy() for i in kept}
            priors = {tuple(forest.nodes[0, i]["key"]): forest.priors[0, i].copy() for i in kept}
            entries = forest.biases[0, : forest.searches[0]["num_biases"]].copy()
            leaving = set(range(forest.searches[0]["num_nodes"])) - set(kept) | {top}
            for index in leaving:
                node = forest.nodes[0, index]
                if node["bias"] != NO_BIAS:
                    entries[node["bias"]]["sum"] -= 0.8 * node["bias_sum"]
                    entries[node["bias"]]["weight"] -= 0.8 * node["bias_weight"]
            move = point_of(int(edge["position"]), 5)
            assert pool.advance(0, move)
            gone += len(leaving)
            assert_whole(pool, fresh=False)
            assert pool.forest.searches[0]["num_nodes"] == len(kept)
            left = {tuple(entry["key"]): entry for entry in entries}
            for entry in pool.forest.biases[0, : pool.forest.searches[0]["num_biases"]]:
                assert entry["sum"] == pytest.approx(left[tuple(entry["key"])]["sum"], abs=1e-12)
                assert entry["weight"] == pytest.approx(left[tuple(entry["key"])]["weight"], abs=1e-12)
            for index in range(len(kept)):
                node = forest.nodes[0, index]
                old = before[tuple(node["key"])]
                for name in ("visits", "utility", "weight", "num_edges", "to_move"):
                    assert node[name] == old[name]
                np.testing.assert_array_equal(forest.priors[0, index], priors[tuple(node["key"])])
            play(state, history, move)
            visits = int(forest.nodes[0, ROOT]["visits"]) + 40
            run(pool, (state, history), parameters, visits, seed=case, keep_tree=True)
            assert forest.nodes[0, ROOT]["visits"] == visits
            assert_whole(pool, fresh=False)
    assert gone > 500


def test_averages_of_a_kept_graph_follow_from_its_children() -> None:
    """After the recomputation another pass over all nodes changes nothing, in whatever order."""
    pool = SearchPool(ScriptedEvaluator(3, hashed_answer), slots=1, max_visits=500)
    state, history = empty(3)
    parameters = record(GRAPH, subtree_value_bias_factor=0.0, root_noise_enabled=False, **QUIET)
    run(pool, (state, history), parameters, 500)
    edge, _ = best_edge(pool)
    move = point_of(int(edge["position"]), 3)
    assert pool.advance(0, move)
    play(state, history, move)
    pool.start(0, state, history, parameters=parameters, visits=1, seed=0, keep_tree=True)
    forest = pool.forest
    assert assert_whole(pool) > 0
    means = forest.nodes[0]["utility"].copy()
    for index in range(int(forest.searches[0]["num_nodes"])):
        arguments = (index == ROOT, forest.parameters[0], pool.context.student_table, pool.scratch)
        recompute(forest.nodes[0], forest.edges[0], forest.biases[0], index, *arguments)
    np.testing.assert_allclose(forest.nodes[0]["utility"], means, atol=1e-12)


def test_a_root_that_is_met_again_below_becomes_two_nodes() -> None:
    pool = SearchPool(ScriptedEvaluator(4, hashed_answer), slots=1, max_visits=120)
    state, history = empty(4)
    play(state, history, point_of(0, 4))  # with a turn before it, the root's children have biases
    run(pool, (state, history), record(GRAPH, root_noise_enabled=False), 80)
    forest = pool.forest
    edge, top = best_edge(pool)
    lowest = [index for index in below(pool, top) if index != top and forest.nodes[0, index]["num_edges"] > 0][-1]
    back, _ = children_of(pool, lowest)[0]
    back["child"] = top  # as if a way led back
    kept, visits = below(pool, top), int(forest.nodes[0, top]["visits"])
    children = [(int(edge["position"]), int(edge["visits"])) for edge, _ in children_of(pool, top)]
    key = forest.nodes[0, top]["key"].copy()
    assert pool.advance(0, point_of(int(edge["position"]), 4))
    again = node_of_key(pool, forest.nodes[0, ROOT])
    assert again != ROOT
    for index in (int(ROOT), again):
        pairs = children_of(pool, index)
        assert [(int(edge["position"]), int(edge["visits"])) for edge, _ in pairs] == children
        assert forest.nodes[0, index]["visits"] == visits
        np.testing.assert_array_equal(forest.nodes[0, index]["key"], key)
    assert forest.nodes[0, again]["bias"] != NO_BIAS
    assert forest.searches[0]["num_nodes"] == len(kept) + 1
    assert_whole(pool, fresh=False)


def test_a_tree_grown_otherwise_is_not_kept() -> None:
    for change in ({"use_graph_search": False}, {"subtree_value_bias_factor": 0.0}):
        pool = SearchPool(ScriptedEvaluator(4, hashed_answer), slots=1, max_visits=60)
        state, history = empty(4)
        run(pool, (state, history), record(GRAPH), 60)
        edge, top = best_edge(pool)
        move, visits = point_of(int(edge["position"]), 4), int(pool.forest.nodes[0, top]["visits"])
        assert visits > 5
        pool.advance(0, move)
        play(state, history, move)
        run(pool, (state, history), record({**GRAPH, **change}), 2, keep_tree=True)
        assert pool.forest.nodes[0, ROOT]["visits"] == 2
        assert_whole(pool)


def test_a_move_that_another_history_forbids_has_its_node_evaluated_again() -> None:
    """End of search.md 4.3; no collision of keys can be had, so a policy is made wrong by hand."""
    evaluator = ScriptedEvaluator(4, hashed_answer)
    pool = SearchPool(evaluator, slots=1, max_visits=200)
    pool.start(0, *empty(4), parameters=record(GRAPH, root_noise_enabled=False, **QUIET), visits=200, seed=1)
    for _ in range(40):
        pool.step()
    edge, top = best_edge(pool)
    occupied = int(edge["position"])
    forest = pool.forest
    forest.priors[0, top, occupied] = 0.9
    forest.nodes[0, top]["next_position"] = UNKNOWN_POSITION
    evaluations = sum(evaluator.batch_sizes)
    nodes = int(forest.searches[0]["num_nodes"])
    while forest.priors[0, top, occupied] >= 0:
        visits, through = int(forest.nodes[0, top]["visits"]), int(edge["visits"])
        pool.step()
        assert pool.running()
    assert (forest.nodes[0, top]["visits"], edge["visits"]) == (visits, through + 1)
    assert forest.nodes[0, top]["status"] == EVALUATED
    assert sum(evaluator.batch_sizes) - evaluations - (int(forest.searches[0]["num_nodes"]) - nodes) == 1
    while pool.running():
        pool.step()
    assert_whole(pool)


def test_memory_of_the_largest_pool_with_graph_search() -> None:
    """512 games of 1,000 visits on 19x19; untouched, so nothing is taken from the system."""
    forest = new_forest(512, 1000, 19)
    playouts = new_playouts(512, forest.nodes.shape[1], 19)
    assert sum(array.nbytes for array in (*forest, *playouts)) < 2e9
    per_node = NODE.itemsize + BIAS.itemsize + 2 * EDGE.itemsize + 4 * 362 + 361 + 8 * MAX_READINGS
    assert per_node == pytest.approx(2230, rel=0.02)
