"""The search as a whole, against its slow twin and against the laws that any search keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba.core.runtime._nrt_python import memsys_enable_stats
from numba.core.runtime.nrt import rtsys

from client.search.grow import new_forest
from client.search.parameters import without_exploration
from client.search.pool import NonFiniteEvaluationError, SearchPool
from client.search.tree import EVALUATED, NO_EDGE, ROOT, TERMINAL
from common.go.play import play
from common.go.points import PASS, WHITE, position_of
from common.go.rules import Ko
from common.parameters import SearchParameters
from tests.client.search.helpers import GTP, SELFPLAY, record
from tests.client.search.naive import NaiveSearch, Node
from tests.client.search.scripted import Answer, Floats, ScriptedEvaluator, empty, hashed_answer, position

PAPER: dict[str, Any] = {
    "static_score_utility_factor": 0.0,
    "dynamic_score_utility_factor": 0.4,
    "dynamic_score_center_zero_weight": 0.0,
    "dynamic_score_center_scale": 1.0,
    "cpuct_exploration": 1.1,
    "cpuct_exploration_log": 0.0,
    "fpu_parent_weight_by_visited_policy": True,
    "fpu_parent_weight_by_visited_policy_pow": 2.0,
    "root_fpu_reduction_max": 0.0,
    "root_desired_per_child_visits_coeff": 2.0,
    "value_weight_exponent": 0.0,
    "use_lcb_for_selection": False,
    "nn_randomize": False,
}
QUIET: dict[str, Any] = {"root_policy_temperature_early": 1.0, "root_policy_temperature": 1.0}
NOISY: dict[str, Any] = {**SELFPLAY, "root_noise_enabled": True, "nn_randomize": True}

ENDGAME = ["XXO", "X.O", "XXO"]
CROWDED = [".XO.O", "XXO.O", ".XOOO", "X.XO."]


def search(
    pool: SearchPool, slot: int, start: tuple[np.void, np.void], parameters: np.void, visits: int, **options: Any
) -> None:
    """Run one search in ``slot`` to its end."""
    pool.start(slot, *start, parameters=parameters, visits=visits, **{"seed": 1, **options})
    while slot not in pool.step():
        pass


def assert_same_tree(pool: SearchPool, slot: int, twin: Node) -> int:
    """Compare whole trees in order of creation; returns the number of nodes."""
    nodes, edges = pool.forest.nodes[slot], pool.forest.edges[slot]
    waiting, compared = [(ROOT, twin)], 0
    while waiting:
        index, node = waiting.pop()
        compared += 1
        assert nodes[index]["visits"] == node.visits
        assert (nodes[index]["status"] == TERMINAL) == node.terminal
        for name in ("weight", "utility", "utility_sq"):
            assert nodes[index][name] == pytest.approx(getattr(node, name), abs=1e-6), name
        assert node.mean is not None
        assert node.own is not None
        np.testing.assert_allclose(nodes[index]["mean"], node.mean, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(nodes[index]["own"], node.own, rtol=1e-6, atol=1e-6)
        e, moves = nodes[index]["first_edge"], []
        while e != NO_EDGE:
            moves.append(int(edges[e]["position"]))
            waiting.append((int(edges[e]["child"]), node.children[moves[-1]]))
            e = edges[e]["next_edge"]
        assert moves == list(node.children)
    return compared


@pytest.mark.parametrize("base", [PAPER, {**SELFPLAY, **QUIET}, GTP], ids=["paper", "self-play", "gtp"])
@pytest.mark.parametrize(
    ("start", "length"),
    [
        (empty(5), 5),
        (position(ENDGAME, komi=0.5), 3),
        (position(CROWDED, to_move=WHITE, komi=6.0, draw=0.3), 6),
    ],
    ids=["empty", "endgame", "crowded"],
)
def test_equals_the_slow_twin(base: dict[str, Any], start: tuple[np.void, np.void], length: int) -> None:
    parameters = record(base)
    twin = NaiveSearch(hashed_answer, length, parameters).search(*start, 120)
    pool = SearchPool(ScriptedEvaluator(length, hashed_answer), slots=1, max_visits=120)
    search(pool, 0, start, parameters, 120)
    assert assert_same_tree(pool, 0, twin) > 20


def summary(pool: SearchPool, slot: int) -> tuple[Any, ...]:
    result = pool.result(slot)
    return (
        result.visits,
        result.utility,
        result.noised_policy.tolist(),
        result.children.points.tolist(),
        result.children.visits.tolist(),
        pool.policy_target(slot).tolist(),
        pool.choose_move(slot, lcb=False),
    )


def test_a_seed_decides_whatever_else_is_searched() -> None:
    evaluator = ScriptedEvaluator(5, hashed_answer)
    parameters = record(NOISY, root_num_symmetries_to_sample=4)
    alone = SearchPool(evaluator, slots=1, max_visits=60)
    expected = {}
    for seed in (3, 4):
        search(alone, 0, empty(5), parameters, 60, seed=seed)
        expected[seed] = summary(alone, 0)
    assert expected[3] != expected[4]
    busy = SearchPool(evaluator, slots=4, max_visits=200)
    busy.start(0, *position(CROWDED), parameters=parameters, visits=200, seed=9)
    busy.start(2, *empty(5), parameters=parameters, visits=60, seed=4)
    for _ in range(17):
        busy.step()
    busy.start(1, *empty(5), parameters=parameters, visits=60, seed=3)
    while busy.running():
        busy.step()
    assert summary(busy, 1) == expected[3]
    assert summary(busy, 2) == expected[4]


@pytest.mark.parametrize("leaves", [1, 6])
def test_every_tree_adds_up(leaves: int) -> None:
    pool = SearchPool(ScriptedEvaluator(6, hashed_answer), slots=3, max_visits=150, leaves=leaves)
    for slot, visits in enumerate((150, 1, 77)):
        pool.start(slot, *position(CROWDED), parameters=record(NOISY), visits=visits, seed=slot)
    while pool.running():
        pool.step()
    for slot, visits in enumerate((150, 1, 77)):
        nodes, edges = pool.forest.nodes[slot], pool.forest.edges[slot]
        assert nodes[ROOT]["visits"] == visits
        for index in range(pool.forest.searches[slot]["num_nodes"]):
            node = nodes[index]
            assert node["virtual_losses"] == 0
            entered, e, taken = 0, node["first_edge"], []
            while e != NO_EDGE:
                assert edges[e]["visits"] == nodes[edges[e]["child"]]["visits"] > 0
                entered += int(edges[e]["visits"])
                taken.append(int(edges[e]["position"]))
                e = edges[e]["next_edge"]
            assert len(set(taken)) == len(taken) == node["num_edges"]
            if node["status"] == EVALUATED:
                assert node["visits"] == 1 + entered
                assert pool.forest.priors[slot, index].clip(0).sum() == pytest.approx(1, abs=1e-5)
                assert node["weight"] == pytest.approx(node["visits"])
            else:
                assert node["status"] == TERMINAL


def test_many_leaves_of_one_game_share_a_batch() -> None:
    evaluator = ScriptedEvaluator(6, hashed_answer)
    pool = SearchPool(evaluator, slots=1, max_visits=200, leaves=8)
    search(pool, 0, empty(6), record(GTP), 200)
    assert max(evaluator.batch_sizes) == 8
    assert sum(evaluator.batch_sizes) <= 200
    assert np.mean(evaluator.batch_sizes) > 6


def test_nothing_is_allocated_per_playout() -> None:
    class Silent(ScriptedEvaluator):
        def run(self, batch: Any, count: int) -> None:
            pass

    memsys_enable_stats()
    pool = SearchPool(Silent(7, hashed_answer), slots=250, max_visits=40)

    def allocations(rounds: int) -> tuple[int, ...]:
        before = rtsys.get_allocation_stats()  # type: ignore[no-untyped-call]
        for _ in range(rounds):
            pool.step()
        after = rtsys.get_allocation_stats()  # type: ignore[no-untyped-call]
        return tuple(np.subtract(after, before).tolist())

    pool.start(0, *empty(7), parameters=record(NOISY), visits=40, seed=0)
    of_one_call = allocations(1)  # what it takes to hand the arrays from Python to the kernels
    assert of_one_call[0] == of_one_call[1]
    for slot in range(1, 250):
        pool.start(slot, *empty(7), parameters=record(NOISY), visits=40, seed=slot)
    visits = pool.forest.nodes[:, ROOT]["visits"].sum()
    assert allocations(4) == tuple(4 * count for count in of_one_call)
    assert pool.forest.nodes[:, ROOT]["visits"].sum() - visits == 1000


def test_a_child_becomes_the_root() -> None:
    pool = SearchPool(ScriptedEvaluator(6, hashed_answer), slots=1, max_visits=300)
    parameters = record(PAPER)  # every playout has weight 1, so averages survive a change of the score centre
    state, history = position(CROWDED)
    search(pool, 0, (state, history), parameters, 120)
    children = pool.result(0).children
    best = int(np.argmax(children.visits))
    kept, point = int(children.visits[best]), int(children.points[best])
    assert pool.advance(0, point)
    play(state, history, point)
    search(pool, 0, (state, history), parameters, kept, keep_tree=True)
    moved = pool.result(0)
    assert moved.visits == kept
    np.testing.assert_allclose(moved.mean, [means[best] for means in children.means])
    pool.start(0, state, history, parameters=parameters, visits=200, seed=2, keep_tree=True)
    rounds = 0
    while pool.running():
        pool.step()
        rounds += 1
    assert pool.result(0).visits == 200
    assert rounds <= 200 - kept
    assert not pool.advance(0, point)  # occupied now, so no child has it
    search(pool, 0, (state, history), parameters, 5, keep_tree=True)
    assert pool.result(0).visits == 5


def test_a_slot_that_was_never_started_has_an_empty_tree() -> None:
    pool = SearchPool(ScriptedEvaluator(5, hashed_answer), slots=2, max_visits=20)
    assert not pool.advance(1, PASS)
    search(pool, 1, empty(5), record(PAPER), 20, keep_tree=True)
    fresh = summary(pool, 1)
    search(pool, 0, empty(5), record(PAPER), 20)
    assert summary(pool, 0) == fresh


def test_a_kept_root_is_noised_anew_and_its_children_know() -> None:
    evaluator = ScriptedEvaluator(5, hashed_answer)
    pool = SearchPool(evaluator, slots=1, max_visits=300)
    state, history = empty(5)
    search(pool, 0, (state, history), record({**SELFPLAY, **QUIET}), 100)
    raw = pool.result(0)
    point = int(raw.children.points[int(np.argmax(raw.children.visits))])
    assert pool.advance(0, point)
    play(state, history, point)
    evaluations = len(evaluator.symmetries)
    search(pool, 0, (state, history), record(NOISY, root_num_symmetries_to_sample=3), 5, keep_tree=True)
    assert len(evaluator.symmetries) == evaluations + 3
    assert len(set(evaluator.symmetries[-3:])) == 3
    result = pool.result(0)
    noised = result.noised_policy[[position_of(int(move), 5) for move in result.children.points]]
    np.testing.assert_allclose(result.children.priors, noised)
    assert not np.allclose(result.noised_policy, result.raw_policy)


def test_root_is_the_mean_of_its_symmetries() -> None:
    def answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
        policy = np.zeros(26, np.float32)
        policy[symmetry] = 2.0
        return Answer(policy, win_loss=symmetry / 10, score_mean=symmetry, score_stdev=1.0, lead=-symmetry)

    evaluator = ScriptedEvaluator(5, answer)
    pool = SearchPool(evaluator, slots=1, max_visits=10)
    search(pool, 0, empty(5), record(PAPER, root_num_symmetries_to_sample=8, nn_randomize=True), 1)
    assert sorted(evaluator.symmetries) == list(range(8))
    result = pool.result(0)
    assert result.visits == 1
    assert result.raw.win_loss == pytest.approx(-0.35)  # Black to move
    assert result.raw.lead == pytest.approx(3.5)
    assert result.raw.score_mean_sq == pytest.approx(1 + np.mean(np.square(range(8))))
    expected = np.full(26, 1.0)
    expected[:8] += (np.exp(2.0) - 1) / 8
    np.testing.assert_allclose(result.raw_policy, expected / (25 + np.exp(2.0)), rtol=1e-5)
    np.testing.assert_allclose(pool.policy_target(0), 10 * expected / expected.max(), rtol=1e-5)
    assert result.policy_surprise == pytest.approx(0, abs=1e-6)
    assert len(result.children.points) == 0


def test_a_won_pass_is_found_and_scored_by_the_rules() -> None:
    start = position(ENDGAME, komi=0.5)
    play(*start, PASS)  # Black passes, so White's pass ends the game
    evaluator = ScriptedEvaluator(3, lambda *_: Answer(np.zeros(10, np.float32)))
    pool = SearchPool(evaluator, slots=1, max_visits=50)
    search(pool, 0, start, record(PAPER), 50)
    children = pool.result(0).children
    passing = children.points.tolist().index(PASS)
    final = 3 - 5 + 0.5  # the middle belongs to nobody
    assert children.means.score_mean[passing] == pytest.approx(final)
    assert children.means.win_loss[passing] == -1.0
    assert children.means.lead[passing] == pytest.approx(final)


def test_draws_count_what_the_game_says() -> None:
    start = position(ENDGAME, komi=2.0, draw=0.3)
    play(*start, PASS)
    evaluator = ScriptedEvaluator(3, lambda *_: Answer(np.zeros(10, np.float32)))
    pool = SearchPool(evaluator, slots=1, max_visits=50)
    search(pool, 0, start, record(PAPER), 50)
    children = pool.result(0).children
    passing = children.points.tolist().index(PASS)
    assert children.means.win_loss[passing] == pytest.approx(2 * 0.3 - 1)
    assert children.means.score_mean[passing] == pytest.approx(-0.2)


def test_repetition_without_result_ends_a_line() -> None:
    start = position(["X.O", "XXO"], ko=Ko.SIMPLE, komi=0.0)
    evaluator = ScriptedEvaluator(3, lambda *_: Answer(np.zeros(10, np.float32), no_result=0.25, score_mean=0.75))
    pool = SearchPool(evaluator, slots=1, max_visits=20)
    search(pool, 0, start, record(PAPER), 1)
    result = pool.result(0)
    assert result.mean.no_result == pytest.approx(0.25)
    assert result.mean.score_mean == pytest.approx(-0.75)
    assert result.mean.score_mean_sq == pytest.approx(0.75, abs=1e-6)  # 1 in three of four games


def test_choice_follows_the_temperature_of_the_turn() -> None:
    pool = SearchPool(ScriptedEvaluator(5, hashed_answer), slots=1, max_visits=60)
    cold = record(PAPER, chosen_move_temperature=0.0, chosen_move_temperature_early=0.0)
    search(pool, 0, empty(5), cold, 60)
    best = int(pool.result(0).children.points[int(np.argmax(pool.play_selection_values(0)))])
    assert {pool.choose_move(0) for _ in range(20)} == {best}
    warm = record(PAPER, chosen_move_temperature=0.0, chosen_move_temperature_early=1.0)
    search(pool, 0, empty(5), warm, 60)
    assert len({pool.choose_move(0) for _ in range(200)}) > 3
    search(pool, 0, empty(5), warm, 60, first_turn=1000)
    assert {pool.choose_move(0) for _ in range(20)} == {best}


def test_between_submission_and_end_of_a_round_other_slots_may_begin_and_end() -> None:
    pool = SearchPool(ScriptedEvaluator(5, hashed_answer), slots=3, max_visits=50)
    assert pool.expand() == []
    search(pool, 1, empty(5), record(PAPER), 20)
    alone = pool.result(1)
    pool.start(0, *empty(5), parameters=record(PAPER), visits=20, seed=0)
    pool.descend()
    with pytest.raises(RuntimeError, match="call expand"):
        pool.descend()
    pool.forget(1)
    pool.start(2, *empty(5), parameters=record(PAPER), visits=20, seed=0)
    assert pool.expand() == []
    finished = []
    while pool.running():
        finished += pool.step()
    assert finished == [0, 2]
    for slot in (0, 2):
        assert pool.result(slot).visits == 20
        np.testing.assert_array_equal(pool.result(slot).raw_policy, alone.raw_policy)


def test_stop_and_forget() -> None:
    pool = SearchPool(ScriptedEvaluator(5, hashed_answer), slots=2, max_visits=500)
    for slot in range(2):
        pool.start(slot, *empty(5), parameters=record(PAPER), visits=500, seed=slot)
    for _ in range(10):
        pool.step()
    pool.stop(0)
    assert pool.step() == [0]
    assert 10 <= pool.result(0).visits <= 11
    pool.descend()
    with pytest.raises(RuntimeError, match="call expand"):
        pool.forget(1)
    pool.expand()
    pool.forget(1)
    assert pool.running() == 0
    with pytest.raises(RuntimeError, match="found nothing"):
        pool.result(1)


def test_bad_requests_are_refused() -> None:
    evaluator = ScriptedEvaluator(5, hashed_answer)
    with pytest.raises(ValueError, match="at least 1"):
        SearchPool(evaluator, slots=0, max_visits=10)
    pool = SearchPool(evaluator, slots=1, max_visits=10)
    with pytest.raises(ValueError, match="11 visits does not fit"):
        pool.start(0, *empty(5), parameters=record(), visits=11, seed=0)
    with pytest.raises(ValueError, match="6x5 does not fit"):
        pool.start(0, *empty(6, 5), parameters=record(), visits=10, seed=0)
    pool.start(0, *empty(5), parameters=record(), visits=10, seed=0)
    with pytest.raises(RuntimeError, match="still searching"):
        pool.start(0, *empty(5), parameters=record(), visits=10, seed=0)


@pytest.mark.parametrize("broken", ["policy", "win_loss", "score_mean"])
def test_a_broken_net_is_reported(broken: str) -> None:
    def answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
        found = hashed_answer(planes, global_inputs, symmetry)
        setattr(found, broken, np.full(26, np.nan, np.float32) if broken == "policy" else float("nan"))
        return found

    pool = SearchPool(ScriptedEvaluator(5, answer), slots=1, max_visits=10)
    pool.start(0, *empty(5), parameters=record(PAPER), visits=10, seed=0)
    with pytest.raises(NonFiniteEvaluationError, match="another net"):
        pool.step()


def test_cheap_searches_explore_nothing() -> None:
    full = SearchParameters(max_visits=600, **{**NOISY, "root_num_symmetries_to_sample": 4})
    cheap = without_exploration(full)
    assert not cheap.root_noise_enabled
    assert cheap.root_policy_temperature == cheap.root_policy_temperature_early == 1.0
    assert cheap.root_fpu_reduction_max == full.fpu_reduction_max == 0.2
    assert cheap.root_desired_per_child_visits_coeff == 0.0
    assert cheap.root_num_symmetries_to_sample == 1


def test_forced_playouts_visit_what_noise_prefers() -> None:
    forcing = record(PAPER, root_desired_per_child_visits_coeff=2.0)
    free = record(PAPER, root_desired_per_child_visits_coeff=0.0)
    pool = SearchPool(ScriptedEvaluator(5, hashed_answer), slots=1, max_visits=300)
    search(pool, 0, empty(5), forcing, 300)
    forced = pool.result(0).children
    owed = np.sqrt(2.0 * forced.priors * 299)
    assert (forced.visits >= np.floor(owed * 0.9)).all()
    search(pool, 0, empty(5), free, 300)
    assert pool.result(0).children.visits.max() > forced.visits.max()


def test_memory_of_the_largest_pool() -> None:
    forest = new_forest(512, 1000, 19)  # untouched, so nothing is taken from the system
    assert sum(array.nbytes for array in forest) < 2e9
