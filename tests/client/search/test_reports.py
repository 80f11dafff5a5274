"""Reports: averages over trees and graphs against a slow twin, their parts by hand, their order and perspective."""

from __future__ import annotations

import dataclasses
import math
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from client.search.grow import new_forest
from client.search.ownership import short_term_errors, tree_ownership
from client.search.play_selection import new_children
from client.search.pool import SearchPool
from client.search.report import MoveReport, Outlook, Ownership, Report, ReportOptions, Variation, seen_by
from client.search.reporter import Reporter, with_mirror_images
from client.search.shares import Walk, divide_by_squares, fill_shares, new_walk, ownership_shares
from client.search.tree import EVALUATED, NO_EDGE, OWNERSHIP_SCALE, ROOT, TERMINAL, Context, Forest, new_scratch
from client.search.utility import score_table
from client.search.variation import follow_line, new_line
from client.search.weights import student_table
from common.go.play import play
from common.go.points import BLACK, PASS, WHITE, from_vertex, point_of, position_of
from common.go.rules import Scoring
from nets.evaluation.batch import Batch
from tests.client.search import naive_reports
from tests.client.search.helpers import GTP, SELFPLAY, record
from tests.client.search.scripted import Answer, Floats, ScriptedEvaluator, empty, hashed_answer, position
from tests.client.search.test_pool import search

LENGTH = 3
AREA = LENGTH**2
CONTEXT = Context(LENGTH, 1, 1, True, score_table(), student_table())
BOARD = ["X....", ".....", "..O..", ".....", "....."]


class Owning(ScriptedEvaluator):
    """Has opinions on ownership, errors and time, too."""

    def run(self, batch: Batch, count: int) -> None:
        super().run(batch, count)
        for row in range(count):
            random = np.random.default_rng(zlib.crc32(batch.policy[row].tobytes()))
            for kind in (batch.variance_time, batch.short_term_win_loss_error, batch.short_term_score_error):
                kind[row] = random.uniform(0, 1)
            batch.ownership[row] = random.uniform(-1, 1, batch.ownership.shape[1])


def owning_pool(length: int = 5, visits: int = 100, **options: Any) -> SearchPool:
    evaluator = Owning(length, hashed_answer, has_short_term_errors=True)
    return SearchPool(evaluator, slots=1, max_visits=visits, **{"ownership": True, **options})


def add_edge(forest: Forest, parent: int, child: int, position: int, visits: int, prior: float) -> None:
    """Append an edge to a made-up graph."""
    search = forest.searches[0]
    index = int(search["num_edges"])
    search["num_edges"] += 1
    forest.edges[0, index] = (child, NO_EDGE, visits, prior, position)
    node = forest.nodes[0, parent]
    if node["first_edge"] == NO_EDGE:
        node["first_edge"] = index
    else:
        forest.edges[0, node["last_edge"]]["next_edge"] = index
    node["last_edge"] = index
    node["num_edges"] += 1


def made_up(seed: int, count: int, joins: int, **changes: Any) -> Forest:
    """A random tree of ``count`` nodes, with ``joins`` edges more to any of its nodes: a graph, cycles included."""
    random = np.random.default_rng(seed)
    forest = new_forest(1, count + joins, LENGTH, ownership=True)
    forest.parameters[0] = record(GTP, **changes)
    forest.states[0]["x_size"] = forest.states[0]["y_size"] = LENGTH
    forest.searches[0]["num_nodes"] = count
    nodes = forest.nodes[0, :count]
    nodes["first_edge"] = NO_EDGE
    nodes["status"] = EVALUATED
    nodes["to_move"] = random.integers(BLACK, WHITE + 1, count)
    nodes["own_weight"] = random.uniform(0.2, 2, count)
    nodes["utility"] = random.uniform(-1, 1, count)
    nodes["utility_sq"] = nodes["utility"] ** 2 + random.uniform(0, 0.1, count)
    nodes["own_win_loss_error"] = random.uniform(0, 1, count)
    nodes["own_score_error"] = random.uniform(0, 9, count)
    forest.ownership[0, :count] = random.integers(-32767, 32768, (count, AREA))
    parents = [int(random.integers(0, min(child, 1 + child // 3))) for child in range(1, count)]
    below = np.ones(count, np.int64)
    for child in range(count - 1, 0, -1):
        below[parents[child - 1]] += below[child]
    for child, parent in enumerate(parents, start=1):
        visits = int(below[child]) if random.random() < 0.95 else 0
        add_edge(forest, parent, child, child % (AREA + 1), visits, random.random())
    nodes["visits"] = below
    nodes["weight"] = below * random.uniform(0.5, 2, count)
    nodes["weight_sq"] = nodes["weight"] * random.uniform(0.5, 1.5, count)
    for _ in range(joins):
        parent, child = (int(index) for index in random.integers(0, count, 2))
        add_edge(forest, parent, child, int(random.integers(0, AREA + 1)), int(random.integers(0, 20)), random.random())
    nodes["status"][(nodes["num_edges"] == 0) & (random.random(count) < 0.2)] = TERMINAL
    return forest


def walk_for(forest: Forest) -> Walk:
    return new_walk(forest.nodes.shape[1], forest.edges.shape[1])


SHAPES = [(1, 1, 0), (2, 7, 0), (3, 60, 0), (4, 400, 0), (5, 60, 12), (6, 300, 150), (7, 25, 60), (8, 12, 12)]


@pytest.mark.parametrize(("seed", "count", "joins"), SHAPES)
def test_ownership_is_the_twins(seed: int, count: int, joins: int) -> None:
    forest = made_up(seed, count, joins)
    walk = walk_for(forest)
    nodes = naive_reports.twins(forest, 0)
    for index in {0, count // 2, count - 1}:
        if forest.nodes[0, index]["status"] == TERMINAL:
            continue
        found = tree_ownership(forest, 0, [index], walk)[0]
        mean, stdev = naive_reports.ownership(nodes[index])
        np.testing.assert_allclose(found.mean.ravel(), mean, atol=1e-12)
        np.testing.assert_allclose(found.stdev.ravel(), stdev, atol=1e-7)
        assert not walk.on_path.any()
        assert not walk.shares.any()


@pytest.mark.parametrize(("seed", "count", "joins"), SHAPES)
@pytest.mark.parametrize("base", [GTP, SELFPLAY], ids=["gtp", "self-play"])
def test_short_term_errors_are_the_twins(base: dict[str, Any], seed: int, count: int, joins: int) -> None:
    forest = made_up(seed, count, joins, **{key: base[key] for key in ("use_noise_pruning", "value_weight_exponent")})
    root = naive_reports.twins(forest, 0)[0]
    nodes = max(forest.nodes.shape[1], AREA + 1)
    scratch = new_scratch(LENGTH, 1, 1)._replace(
        edges=np.zeros(nodes, np.int32),
        **{name: np.zeros(nodes) for name in ("weights", "utilities", "priors", "factors")},
    )
    found = short_term_errors(forest, 0, scratch, CONTEXT, walk_for(forest))
    for value, name in zip(found, ("own_win_loss_error", "own_score_error"), strict=True):
        assert value == pytest.approx(naive_reports.error(root, name, forest.parameters[0]), rel=1e-9)


def test_a_net_without_short_term_errors_has_none_averaged() -> None:
    forest = made_up(1, 20, 0)
    context = CONTEXT._replace(has_errors=False)
    assert short_term_errors(forest, 0, new_scratch(LENGTH, 1, 1), context, walk_for(forest)) == (-1.0, -1.0)


def hand_made(weights: list[float], visits: int) -> Forest:
    """A root of own weight 1 whose children have these weights and no children."""
    forest = made_up(0, len(weights) + 1, 0)
    forest.searches[0]["num_edges"] = 0
    forest.nodes[0]["first_edge"] = NO_EDGE
    forest.nodes[0]["num_edges"] = 0
    forest.nodes[0]["status"] = EVALUATED
    forest.nodes[0, 0]["visits"] = visits
    forest.nodes[0, 0]["own_weight"] = 1.0
    for child, weight in enumerate(weights, start=1):
        forest.nodes[0, child]["visits"] = 1
        forest.nodes[0, child]["weight"] = weight
        add_edge(forest, 0, child, child, 1, 0.1)
    return forest


def test_shares_by_hand() -> None:
    forest = hand_made([3.0, 1.0], visits=5)
    walk = walk_for(forest)
    divide_by_squares(forest, 0, walk)
    ownership_shares(forest, 0, 0, walk)
    # 1 of 5 stays, 4 of 5 go on as 9 to 1
    np.testing.assert_allclose(walk.shares[:3], [0.2, 0.72, 0.08])


def test_shares_of_decided_and_of_tiny_children_stay_with_the_parent() -> None:
    forest = hand_made([3.0, 1.0, 0.01], visits=5)
    walk = walk_for(forest)
    forest.nodes[0, 1]["status"] = TERMINAL
    divide_by_squares(forest, 0, walk)
    ownership_shares(forest, 0, 0, walk)
    below = 4.01 / 5.01 / 10.0001
    least = 0.5 / 5**0.75
    assert below * 1e-4 < 0.01 * least < below
    np.testing.assert_allclose(walk.shares[:4], [1 - below, 0.0, below, 0.0])


@pytest.mark.parametrize("least", [0.3, 0.05])
def test_a_cycle_ends_where_it_closes(least: float) -> None:
    forest = hand_made([4.0], visits=5)
    add_edge(forest, 1, 0, 0, 1, 0.5)
    forest.nodes[0, 0]["weight"] = 20.0  # through one of five visits: 4
    forest.nodes[0, 1]["own_weight"] = 1.0
    walk = walk_for(forest)
    divide_by_squares(forest, 0, walk)
    fill_shares(forest, 0, 0, least, 0.0, walk)
    # the child gets 4/5 and hands 4/5 of it back to the root, which keeps it
    np.testing.assert_allclose(walk.shares[:2], [0.2 + 0.64, 0.16])


def test_ownership_is_kept_to_within_16_bits_and_for_white() -> None:
    pool = owning_pool()
    search(pool, 0, empty(5, to_move=BLACK), record(GTP), 1)
    said = pool.batch.ownership[0].astype(np.float64)
    kept = Reporter(pool).ownership(0).mean.ravel()
    np.testing.assert_allclose(kept, -said, atol=0.5001 / OWNERSHIP_SCALE)
    eight_bits = np.round(said * 127) / 127
    assert np.abs(eight_bits - said).max() > 100 / OWNERSHIP_SCALE


def test_ownership_of_several_root_samples_is_their_mean() -> None:
    pool = owning_pool()
    said = []
    pool.start(0, *empty(5), parameters=record(GTP, root_num_symmetries_to_sample=4), visits=1, seed=1)
    done: list[int] = []
    while not done:
        done = pool.step()
        said.append(-pool.batch.ownership[0].astype(np.float64))
    assert len(said) == 4
    np.testing.assert_allclose(Reporter(pool).ownership(0).mean.ravel(), np.mean(said, axis=0), atol=1e-4)


def test_ownership_stays_with_its_nodes_when_a_tree_is_kept() -> None:
    pool = owning_pool()
    start = empty(5)
    search(pool, 0, start, record(GTP), 60)
    reporter = Reporter(pool)
    before = reporter.report(0, ReportOptions(moves_ownership=True)).moves[0]
    assert before.ownership is not None
    assert pool.advance(0, before.point)
    after = tree_ownership(pool.forest, 0, [0], walk_for(pool.forest))[0]
    np.testing.assert_allclose(after.mean, before.ownership.mean, atol=1e-12)
    assert np.ptp(after.mean) > 0


def test_a_pool_without_ownership_keeps_and_decodes_none() -> None:
    pool = owning_pool(ownership=False)
    search(pool, 0, empty(5), record(GTP), 10)
    assert pool.forest.ownership.nbytes == 0
    assert not pool.batch.wants_ownership.any()
    reporter = Reporter(pool)
    assert reporter.report(0).ownership is None
    with pytest.raises(ValueError, match="keeps no ownership"):
        reporter.ownership(0)


def test_keeping_ownership_changes_no_search() -> None:
    with_it, without = owning_pool(), owning_pool(ownership=False)
    for pool in (with_it, without):
        search(pool, 0, empty(5), record(SELFPLAY, root_noise_enabled=True), 80)
    for name in ("nodes", "edges", "priors"):
        np.testing.assert_array_equal(getattr(with_it.forest, name), getattr(without.forest, name))


# -- lines of play --


@pytest.mark.parametrize(("seed", "count", "joins"), SHAPES)
@pytest.mark.parametrize("lcb", [True, False], ids=["lcb", "visits"])
def test_lines_are_the_twins(seed: int, count: int, joins: int, lcb: bool) -> None:
    forest = made_up(seed, count, joins, use_lcb_for_selection=lcb)
    root = naive_reports.twins(forest, 0)[0]
    made = new_line(9, forest.nodes.shape[1])
    table = new_children(forest.nodes.shape[1])
    edge = int(forest.nodes[0, ROOT]["first_edge"])
    for child in root.children:
        length = follow_line(forest, 0, edge, table, made)
        found = list(zip(*(column[:length].tolist() for column in made[:3]), strict=True))
        assert found == naive_reports.line(root, child, 9, forest.parameters[0])
        assert not made.met.any()
        edge = int(forest.edges[0, edge]["next_edge"])


def test_a_line_of_a_graph_does_not_loop() -> None:
    forest = hand_made([4.0], visits=5)
    add_edge(forest, 1, 0, 0, 1, 0.5)
    made = new_line(9, forest.nodes.shape[1])
    assert follow_line(forest, 0, 0, new_children(AREA + 1), made) == 1


def test_lines_have_at_most_the_length_asked_for() -> None:
    pool = owning_pool()
    search(pool, 0, empty(5), record(GTP), 100)
    reporter = Reporter(pool)
    whole = reporter.report(0, ReportOptions(pv_length=15)).moves
    cut = reporter.report(0, ReportOptions(pv_length=1)).moves
    assert max(len(move.pv.points) for move in whole) > 2
    for long, short in zip(whole, cut, strict=True):
        assert short.pv.points == long.pv.points[:2]
        assert long.pv.points[0] == long.point
        assert (long.pv.visits[0], long.pv.edge_visits[0]) == (long.visits, long.edge_visits)


def passing_answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
    policy = np.zeros(planes.shape[1] ** 2 + 1, np.float32)
    policy[-1] = 9.0
    return Answer(policy=policy)


def test_lines_end_with_the_phase_if_asked() -> None:
    state, history = empty(5)
    state["scoring_rule"] = int(Scoring.TERRITORY)
    pool = SearchPool(ScriptedEvaluator(5, passing_answer), slots=1, max_visits=40)
    search(pool, 0, (state, history), record(GTP), 40)
    reporter = Reporter(pool)
    assert reporter.report(0).moves[0].pv.points[:3] == (PASS, PASS, PASS)
    kept = reporter.report(0, ReportOptions(cut_at_phase_end=True)).moves[0].pv
    assert kept.points == (PASS,)
    assert (len(kept.visits), len(kept.edge_visits)) == (1, 1)
    assert pool.advance(0, PASS)
    play(state, history, PASS)
    search(pool, 0, (state, history), record(GTP), 40, keep_tree=True)
    assert reporter.report(0, ReportOptions(cut_at_phase_end=True)).moves[0].pv == Variation((), (), ())


def test_a_move_that_ends_the_game_has_no_ownership() -> None:
    start = empty(5)
    play(*start, PASS)
    pool = owning_pool()
    pool.evaluator.answer = passing_answer  # type: ignore[attr-defined]
    search(pool, 0, start, record(GTP), 10)
    moves = Reporter(pool).report(0, ReportOptions(moves_ownership=True)).moves
    assert moves[0].point == PASS
    assert moves[0].ownership is not None
    assert not moves[0].ownership.mean.any()
    assert not moves[0].ownership.stdev.any()


# -- the numbers of search.md 16.4 --

CHILDREN = {
    "A": (0.45, 60, 0.080, 0.030), "B": (0.30, 40, 0.130, 0.035), "C": (0.15, 12, -0.050, 0.040),
    "D": (0.06, 4, -0.300, 0.120), "E": (0.04, 1, 0.020, 0.0004),
}  # fmt: skip


def pool_of_the_example(base: dict[str, Any]) -> tuple[SearchPool, Reporter]:
    """A pool whose tree is the root of search.md 16.4 with its five children at positions 0 to 4."""
    pool = owning_pool(visits=10)
    search(pool, 0, empty(5, to_move=WHITE), record(base), 1)
    forest = pool.forest
    root = forest.nodes[0, ROOT]
    for name, value in {
        "visits": 118, "weight": 118, "utility": 0.07, "utility_sq": 0.034, "own_utility": 0.05, "own_weight": 1,
        "mean": (0.1, 0.01, 2.0, 20.0, 1.5), "own": (0.2, 0.02, 1.0, 10.0, 0.5),
    }.items():  # fmt: skip
        root[name] = value
    for index, (prior, visits, utility, square) in enumerate(CHILDREN.values(), start=1):
        forest.searches[0]["num_nodes"] += 1
        child = forest.nodes[0, index]
        for name, value in {
            "visits": visits, "weight": visits, "weight_sq": visits, "utility": utility, "utility_sq": square,
            "first_edge": NO_EDGE, "status": EVALUATED, "to_move": BLACK, "own_weight": 1,
            "mean": (utility, 0.0, 10 * utility, 200 * utility**2, 8 * utility),
        }.items():  # fmt: skip
            child[name] = value
        forest.priors[0, 0, index - 1] = prior
        add_edge(forest, 0, index, index - 1, visits, prior)
    return pool, Reporter(pool)


def test_root_without_what_forced_playouts_and_noise_added() -> None:
    _, reporter = pool_of_the_example({**SELFPLAY})
    root = reporter.report(0).root
    weights = np.array([60, 40, 8, 1, 1, 1.0])
    utilities = np.array([0.08, 0.13, -0.05, -0.3, 0.02, 0.05])
    assert root.values.utility == pytest.approx(weights @ utilities / 111, abs=1e-12)
    win_loss = weights @ np.append(utilities[:5], 0.2) / 111
    mean = weights @ np.append(10 * utilities[:5], 1.0) / 111
    square = weights @ np.append(200 * utilities[:5] ** 2, 10.0) / 111
    assert root.values.winrate == pytest.approx(0.5 + 0.5 * win_loss, abs=1e-12)
    assert root.values.no_result == pytest.approx(0.02 / 111, abs=1e-12)
    assert root.values.score_selfplay == pytest.approx(mean, abs=1e-12)
    assert root.values.score_stdev == pytest.approx(math.sqrt(square - mean**2), abs=1e-9)
    assert root.values.score_lead == pytest.approx(weights @ np.append(8 * utilities[:5], 0.5) / 111, abs=1e-12)
    assert (root.visits, root.weight, root.to_move) == (118, 118.0, WHITE)
    assert root.raw == Outlook(
        utility=0.05, winrate=0.6, no_result=0.02, score_lead=0.5, score_selfplay=1.0, score_stdev=3.0
    )


def test_bounds_and_values_of_moves() -> None:
    _, reporter = pool_of_the_example({**SELFPLAY})
    moves = {move.point: move for move in reporter.report(0).moves}
    expected = {
        0: (0.080, -0.019180, 0.099180, 60.0), 1: (0.130, 0.023558, 0.106442, 104.129172),
        2: (-0.050, -0.333246, 0.283246, 8.0), 3: (-0.300, -0.893303, 0.593303, 1.0), 4: (0.020, -3.355, 3.375, 1.0),
    }  # fmt: skip
    for position_, (utility, bound, radius, value) in expected.items():
        move = moves[int(point_of(position_, 5))]
        assert move.values.utility == utility
        assert move.utility_lcb == pytest.approx(bound, abs=2e-6)
        assert move.lcb == pytest.approx(0.5 + 0.5 * utility - radius * 0.5 / 1.35, abs=2e-6)
        assert move.play_selection_value == pytest.approx(value, abs=1e-5)
    assert [move.point for move in reporter.report(0).moves[:2]] == [point_of(1, 5), point_of(0, 5)]


def test_bounds_are_told_though_moves_are_chosen_without() -> None:
    _, reporter = pool_of_the_example({**SELFPLAY, "use_lcb_for_selection": False})
    first = reporter.report(0).moves[0]
    assert first.point == point_of(0, 5)
    assert first.utility_lcb == pytest.approx(-0.019180, abs=2e-6)
    assert [move.play_selection_value for move in reporter.report(0).moves] == [60, 40, 8, 1, 1]


def test_equal_moves_are_ordered_by_visits_and_prior() -> None:
    pool, reporter = pool_of_the_example({**SELFPLAY})
    order = [position_of(move.point, 5) for move in reporter.report(0).moves]
    assert order == [1, 0, 2, 3, 4]  # D and E have the same value, D more visits
    edges = pool.forest.edges[0]
    edges["visits"][4] = pool.forest.nodes[0, 5]["visits"] = 4
    pool.forest.nodes[0, 5]["weight"] = 1.0
    edges["prior"][4] = 0.061
    assert [position_of(move.point, 5) for move in reporter.report(0).moves] == [1, 0, 2, 4, 3]


def test_moves_without_visits_are_what_the_search_assumes() -> None:
    _, reporter = pool_of_the_example({**GTP})
    report = reporter.report(0, ReportOptions(min_moves=7, unlisted=frozenset({int(point_of(5, 5))})))
    assert [move.visits > 0 for move in report.moves] == [True] * 5 + [False] * 2
    pool = reporter._pool
    priors = pool.forest.priors[0, 0].copy()
    priors[:6] = -1
    best = np.argsort(-priors, kind="stable")[:2]
    assert [position_of(move.point, 5) for move in report.moves[5:]] == best.tolist()
    # all of the prior is visited, so that the parent's utility counts alone
    urgency = 0.07 - 0.1 * 1.0
    for move, position_ in zip(report.moves[5:], best.tolist(), strict=True):
        assert move.values.utility == pytest.approx(urgency, abs=1e-7)
        assert move.values.winrate == pytest.approx(0.5 + 0.5 * (0.1 + urgency - 0.07), abs=1e-7)
        assert (move.values.score_lead, move.values.score_selfplay) == (1.5, 2.0)
        assert move.prior == pytest.approx(float(priors[position_]))
        assert move.utility_lcb == pytest.approx(-2 * 1.4 * 5)
        assert move.lcb == pytest.approx(move.values.winrate - 14 * 0.5 / 1.4)
        assert move.pv == Variation((move.point,), (0,), (0,))
    assert reporter.report(0, ReportOptions(min_moves=5)).moves == reporter.report(0).moves


def test_a_root_alone_reports_its_own_values_and_no_move() -> None:
    pool = owning_pool()
    search(pool, 0, empty(5), record(GTP), 1)
    report = Reporter(pool).report(0, ReportOptions(ownership=True))
    assert report.moves == ()
    assert dataclasses.replace(report.root.values, no_result=0.0) == dataclasses.replace(report.root.raw, no_result=0.0)
    assert report.root.win_loss_error == pytest.approx(report.root.raw_win_loss_error)
    assert report.ownership is not None
    assert report.ownership.stdev.max() < 1e-6
    assert report.root.raw_variance_time == pytest.approx(float(pool.batch.variance_time[0]))


# -- a search that runs --


def test_a_running_search_reports_between_rounds_and_stays_as_it_is() -> None:
    quiet, watched = owning_pool(), owning_pool()
    search(quiet, 0, empty(5), record(GTP), 60)
    reporter = Reporter(watched)
    options = ReportOptions(min_moves=4, ownership=True, moves_ownership=True)
    with pytest.raises(RuntimeError, match="searched nothing"):
        reporter.report(0)
    watched.start(0, *empty(5), parameters=record(GTP), visits=60, seed=1)
    with pytest.raises(RuntimeError, match="searched nothing"):
        reporter.report(0)
    visits = 0
    while True:
        watched.descend()
        if visits:
            assert reporter.report(0, options).root.visits >= visits
        finished = watched.expand()
        report = reporter.report(0, options)
        assert report.root.visits > visits
        visits = report.root.visits
        assert sum(move.edge_visits for move in report.moves) == visits - 1
        if finished:
            break
    np.testing.assert_array_equal(watched.forest.nodes, quiet.forest.nodes)
    assert report.root.visits == 60
    assert report.root == Reporter(quiet).report(0).root


def test_policy_is_the_boards_part_of_the_raw_one() -> None:
    start = position(["X..", ".O."], to_move=BLACK)
    pool = owning_pool(length=5)
    search(pool, 0, start, record(SELFPLAY, root_noise_enabled=True), 20)
    report = Reporter(pool).report(0, ReportOptions(ownership=True))
    raw = pool.result(0).raw_policy
    assert report.policy.shape == (7,)
    assert (report.policy[0], report.policy[4]) == (-1, -1)
    np.testing.assert_allclose(report.policy[[1, 2, 3, 5, 6]], raw[[1, 2, 5, 7, 25]])
    assert report.policy[report.policy >= 0].sum() == pytest.approx(1, abs=1e-6)
    assert report.ownership is not None
    assert report.ownership.mean.shape == (2, 3)


# -- perspective --


def reported() -> Report:
    pool = owning_pool()
    search(pool, 0, position(BOARD, to_move=BLACK), record(GTP), 40)
    return Reporter(pool).report(0, ReportOptions(min_moves=30, ownership=True, moves_ownership=True))


def test_black_sees_the_mirror_of_what_white_sees() -> None:
    white = reported()
    black = seen_by(white, BLACK)
    assert seen_by(white, WHITE) is white
    pairs = [(white.root.values, black.root.values), (white.root.raw, black.root.raw)]
    pairs += [(a.values, b.values) for a, b in zip(white.moves, black.moves, strict=True)]
    for a, b in pairs:
        assert (b.winrate, b.utility, b.score_lead) == (1 - a.winrate, -a.utility, -a.score_lead)
        assert (b.score_selfplay, b.score_stdev, b.no_result) == (-a.score_selfplay, a.score_stdev, a.no_result)
    for move, other in zip(white.moves, black.moves, strict=True):
        assert (other.lcb, other.utility_lcb) == (1 - move.lcb, -move.utility_lcb)
        # Black moves: bounds lie below his values, and above White's
        assert other.lcb < other.values.winrate
        assert move.lcb > move.values.winrate
        if move.ownership is not None and other.ownership is not None:
            np.testing.assert_array_equal(other.ownership.mean, -move.ownership.mean)
            np.testing.assert_array_equal(other.ownership.stdev, move.ownership.stdev)
    assert white.ownership is not None
    assert black.ownership is not None
    np.testing.assert_array_equal(black.ownership.mean, -white.ownership.mean)
    np.testing.assert_array_equal(black.policy, white.policy)


# -- mirror images --


def plain_move(vertex: str, line: str, ownership: npt.NDArray[np.float64] | None = None) -> MoveReport:
    points = tuple(from_vertex(text, 5, 5) for text in line.split())
    values = Outlook(utility=0.1, winrate=0.5, no_result=0.0, score_lead=1.0, score_selfplay=2.0, score_stdev=3.0)
    counts = (1,) * len(points)
    owned = None if ownership is None else Ownership(mean=ownership, stdev=ownership + 1)
    return MoveReport(
        point=from_vertex(vertex, 5, 5), values=values, visits=1, edge_visits=1, weight=1.0, edge_weight=1.0, prior=0.1,
        lcb=0.0, utility_lcb=0.0, play_selection_value=1.0, symmetry_of=None, pv=Variation(points, counts, counts),
        ownership=owned,
    )  # fmt: skip


def test_mirror_images_follow_their_original() -> None:
    ownership = np.arange(25.0).reshape(5, 5)
    moves = [plain_move("B1", "B1 A3 pass", ownership), plain_move("C3", "C3"), plain_move("pass", "pass B1")]
    options = ReportOptions(symmetries=(0, 2, 4, 6), unlisted=frozenset({from_vertex("D1", 5, 5)}))
    # 4 mirrors at the main diagonal from the upper left, 2 flips left and right
    listed = with_mirror_images(moves, options, 5, 5)
    names = [(move.point, move.symmetry_of) for move in listed]
    b1, c3 = from_vertex("B1", 5, 5), from_vertex("C3", 5, 5)
    e4, e2 = from_vertex("E4", 5, 5), from_vertex("E2", 5, 5)
    assert names == [(b1, None), (e4, b1), (e2, b1), (c3, None), (PASS, None)]
    assert listed[1].pv.points == (e4, from_vertex("C5", 5, 5), PASS)
    owned = listed[1].ownership
    assert owned is not None
    np.testing.assert_array_equal(owned.mean, ownership.T)
    np.testing.assert_array_equal(owned.stdev, ownership.T + 1)
    assert listed[2].pv.points == (e2, from_vertex("C1", 5, 5), PASS)
    turned = listed[2].ownership
    assert turned is not None
    # what lies at B1 in the original lies at E2 in the image
    assert turned.mean[3, 4] == ownership[4, 1]
    assert listed[2].values == moves[0].values


def test_listed_moves_are_not_listed_again_as_images() -> None:
    moves = [plain_move("B1", "B1"), plain_move("D1", "D1")]
    assert with_mirror_images(moves, ReportOptions(symmetries=(0, 2)), 5, 5) == moves
