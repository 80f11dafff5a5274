"""The root's own rules in selection: numbers by hand, whole trees against the slow twin, each switch by itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from client.search.guidance import NO_GUIDANCE, Avoided, Guidance
from client.search.pool import SearchPool
from client.search.rng import new_generators, normal, seed_generator, uniform
from client.search.root_select import hint_is_owed, is_forced, is_futile, is_futile_to_enter, widened
from common.go.play import play
from common.go.points import BLACK, PASS, WHITE, point_at, position_of
from tests.client.search.helpers import GTP, SELFPLAY, record
from tests.client.search.naive_root import NaiveRootSearch
from tests.client.search.scripted import Answer, Floats, ScriptedEvaluator, empty, hashed_answer, position
from tests.client.search.test_pool import CROWDED, PAPER, QUIET, assert_same_tree, search, summary

SYMMETRIC = [".....", ".X.O.", ".....", ".O.X.", "....."]


def test_forced_playouts() -> None:
    assert not is_forced(0.5, 6.0, 8.0, 2.0)
    assert is_forced(0.3, 2.0, 8.0, 2.0)
    assert not is_forced(0.0, 0.0, 8.0, 2.0)


def test_futile_moves() -> None:
    # node W 9, visits 9; the best child has 6, this one 2: 2 + left < t·6·3/(2 + 1)
    assert is_futile(2, 2, 2.0, 1.0, 0.9, 6.0, 0.5)
    assert not is_futile(2, 2, 2.0, 1.0, 1.0, 6.0, 0.5)
    assert is_futile_to_enter(1.5, 1.9, 6.0, 0.5)
    assert not is_futile_to_enter(1.5, 2.0, 6.0, 0.5)


def test_hint_is_followed_up_to_four_fifths_of_the_others() -> None:
    # weight 3 in 3 visits, 1 a visit: one more makes 4, as much as .8 of 5
    assert not hint_is_owed(3.0, 3, 1.0, 5.0)
    assert hint_is_owed(3.0, 3, 1.0, 5.01)


def test_wide_noise_is_for_the_player_and_half_the_time() -> None:
    generator, same = new_generators(2)
    for each in (generator, same):
        seed_generator(each, np.uint64(3))
    raised = 0
    for _ in range(200):
        utility, prior = widened(0.1, 0.2, -1.0, 0.5, generator)
        assert prior == pytest.approx(0.2 ** (1 / 3))
        noise = 0.5 * abs(normal(same)) if uniform(same) < 0.5 else 0.0
        assert utility == pytest.approx(0.1 - noise)
        raised += noise > 0.0
    assert 70 < raised < 130


def random_rules(seed: int, size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and guidance (as the twin takes it) in which about half of the rules are on."""
    random = np.random.default_rng(seed)

    def sometimes(value: Any, otherwise: Any) -> Any:
        return value if random.random() < 0.6 else otherwise

    parameters = {
        "root_ending_bonus_points": sometimes(float(random.uniform(-1, 1)), 0.0),
        "root_symmetry_pruning": sometimes(True, False),
        "futile_visits_threshold": sometimes(float(random.uniform(0.05, 0.6)), 0.0),
        "wide_root_noise": sometimes(float(random.uniform(0.02, 0.3)), 0.0),
        "root_desired_per_child_visits_coeff": sometimes(float(random.uniform(0.5, 2)), 0.0),
    }
    moves = random.permutation(size * size + 1)
    avoid = {(int(c), int(m)): int(random.integers(1, 5)) for c, m in zip([1, 2] * 4, moves[:8], strict=True)}
    asked = {
        "hint": sometimes(int(moves[9]), None),
        "avoid": sometimes(avoid, {}),
        "rescale": sometimes(True, False),
    }
    return parameters, asked


def guidance_of(asked: dict[str, Any], length: int) -> Guidance:
    def point(position: int) -> int:
        return PASS if position == length * length else point_at(position % length, position // length)

    return Guidance(
        hint=None if asked["hint"] is None else point(asked["hint"]),
        avoid=[Avoided(colour, point(move), depth) for (colour, move), depth in asked["avoid"].items()],
        rescale_avoided=asked["rescale"],
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("rows", "to_move", "base"),
    [(SYMMETRIC, BLACK, {**SELFPLAY, **QUIET}), (CROWDED, WHITE, GTP), (["....."] * 5, WHITE, PAPER)],
    ids=["symmetric", "crowded", "empty"],
)
def test_equals_the_slow_twin(rows: list[str], to_move: int, base: dict[str, Any], seed: int) -> None:
    rules, asked = random_rules(seed, len(rows[0]))
    length = 5
    if len(rows) < length and asked["avoid"]:
        asked["avoid"] = {entry: depth for entry, depth in asked["avoid"].items() if entry[1] < 5 * len(rows)}
    if asked["hint"] is not None:  # its share is met exactly at times, which only whole weights tell alike
        rules |= {"value_weight_exponent": 0.0, "use_noise_pruning": False}
    parameters = record(base, **rules)
    start = position(rows, to_move=to_move, komi=6.0)
    twin = NaiveRootSearch(hashed_answer, length, parameters, seed=9, **asked).search(*start, 60)
    pool = SearchPool(ScriptedEvaluator(length, hashed_answer), slots=1, max_visits=60)
    search(pool, 0, start, parameters, 60, seed=9, guidance=guidance_of(asked, length))
    assert assert_same_tree(pool, 0, twin) > 15


SWITCHES: dict[str, tuple[dict[str, Any], Guidance]] = {
    "symmetry": ({"root_symmetry_pruning": True}, NO_GUIDANCE),
    "futile": ({"futile_visits_threshold": 0.5}, NO_GUIDANCE),
    "wide": ({"wide_root_noise": 0.1}, NO_GUIDANCE),
    "hint": ({}, Guidance(hint=PASS)),
    "avoid": ({}, Guidance(avoid=[Avoided(BLACK, point_at(2, 2))])),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_changes_the_search_and_not_what_the_net_says(name: str) -> None:
    changes, guidance = SWITCHES[name]
    pool = SearchPool(ScriptedEvaluator(5, hashed_answer), slots=2, max_visits=60)
    search(pool, 0, empty(5), record(GTP), 60)
    search(pool, 1, empty(5), record(GTP, **changes), 60, guidance=guidance)
    plain, other = pool.result(0), pool.result(1)
    assert summary(pool, 0) != summary(pool, 1)
    np.testing.assert_array_equal(plain.raw_policy, other.raw_policy)
    assert plain.raw == other.raw
    search(pool, 1, empty(5), record(GTP), 60)
    assert summary(pool, 1) == summary(pool, 0)  # nothing of it is left behind


def flat(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
    return Answer(np.zeros(planes.shape[1] ** 2 + 1, np.float32))


def test_the_ending_bonus_turns_from_what_is_owned_anyway() -> None:
    def answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
        ownership = np.zeros((5, 5), np.float32)
        ownership[2, 2] = 1.0
        return Answer(np.zeros(26, np.float32), score_stdev=2.0, ownership=ownership.ravel())

    pool = SearchPool(ScriptedEvaluator(5, answer), slots=2, max_visits=100)
    for slot, bonus in enumerate((0.0, 0.5)):
        search(pool, slot, empty(5), record(GTP, root_ending_bonus_points=bonus), 100)
    plain, other = pool.result(0), pool.result(1)
    middle = point_at(2, 2)
    visits = [dict(zip(r.children.points.tolist(), r.children.visits.tolist(), strict=True)) for r in (plain, other)]
    assert visits[1][middle] < visits[0][middle]
    assert plain.raw == other.raw
    values = dict(zip(other.children.points.tolist(), pool.play_selection_values(1), strict=True))
    assert values[middle] < min(value for point, value in values.items() if point != middle)
    np.testing.assert_array_equal(pool._children.bonuses[: len(values)] > 0, other.children.points == middle)


def test_avoided_moves_are_not_entered_before_their_depth() -> None:
    pool = SearchPool(ScriptedEvaluator(2, flat), slots=1, max_visits=60)
    avoid = [Avoided(BLACK, PASS, 1), Avoided(WHITE, point_at(1, 1), 3), Avoided(WHITE, PASS)]
    search(pool, 0, empty(2), record(PAPER), 60, guidance=Guidance(avoid=avoid))
    nodes, edges = pool.forest.nodes[0], pool.forest.edges[0]
    taken: set[tuple[int, int, int]] = set()
    waiting = [(0, 0)]
    while waiting:
        index, depth = waiting.pop()
        e = nodes[index]["first_edge"]
        while e >= 0:
            taken.add((int(nodes[index]["to_move"]), int(edges[e]["position"]), depth))
            waiting.append((int(edges[e]["child"]), depth + 1))
            e = edges[e]["next_edge"]
    corner, passing = position_of(point_at(1, 1), 2), 4
    assert (BLACK, passing, 0) not in taken
    assert (BLACK, passing, 2) in taken
    assert (WHITE, corner, 1) not in taken
    assert (WHITE, corner, 3) in taken
    assert not any(colour == WHITE and move == passing for colour, move, _ in taken)


def test_where_everything_is_avoided_a_node_counts_itself_again() -> None:
    pool = SearchPool(ScriptedEvaluator(3, hashed_answer), slots=1, max_visits=12)
    everything = [Avoided(BLACK, point_at(x, y)) for x in range(3) for y in range(3)] + [Avoided(BLACK, PASS)]
    search(pool, 0, empty(3), record(PAPER), 12, guidance=Guidance(avoid=everything))
    result = pool.result(0)
    assert (result.visits, result.weight) == (12, pytest.approx(12.0))
    assert result.mean == pytest.approx(result.raw)
    assert pool.choose_move(0) in {point_at(x, y) for x in range(3) for y in range(3)} | {PASS}


def test_without_children_the_values_are_those_of_what_may_be_entered() -> None:
    pool = SearchPool(ScriptedEvaluator(5, flat), slots=1, max_visits=1)
    avoid = [Avoided(BLACK, point_at(2, 2))]
    parameters = record(PAPER, root_symmetry_pruning=True)
    search(pool, 0, empty(5), parameters, 1, guidance=Guidance(avoid=avoid))
    kept = {point_at(x, y) for x, y in ((4, 0), (4, 1), (4, 2), (3, 1), (3, 2))} | {PASS}
    target = pool.policy_target(0)
    assert {point for point in range(400) if point in kept and target[position_of(point, 5)] > 0} == kept
    assert np.count_nonzero(target) == len(kept)


def test_optimism_at_the_root_and_below() -> None:
    class Watching(ScriptedEvaluator):
        def run(self, batch: Any, count: int) -> None:
            seen.extend(batch.optimism[:count].tolist())
            super().run(batch, count)

    seen: list[float] = []
    pool = SearchPool(Watching(5, hashed_answer), slots=1, max_visits=9)
    search(pool, 0, empty(5), record(GTP, policy_optimism=0.75, root_policy_optimism=0.25), 9)
    assert seen == [0.25] + [0.75] * 8


@pytest.mark.parametrize("named", [None, BLACK, WHITE])
def test_doubling_advantage_is_the_named_players(named: int | None) -> None:
    seen: set[tuple[bool, float]] = set()

    def answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
        seen.add((bool(planes[0].any() and global_inputs[5] > 0), round(float(global_inputs[16]), 6)))
        return hashed_answer(planes, global_inputs, symmetry)

    pool = SearchPool(ScriptedEvaluator(5, answer), slots=1, max_visits=30)
    parameters = record(GTP, playout_doubling_advantage=1.5, playout_doubling_advantage_pla=named)
    search(pool, 0, empty(5, to_move=BLACK, komi=20.0), parameters, 30)
    whites = 0.75 if named == WHITE else -0.75  # the net sees half of it; komi is positive for White
    assert seen == {(True, whites), (False, -whites)}


@pytest.mark.parametrize(
    ("hidden", "turns"), [({"ignore_pre_root_history": True}, {0, 1}), ({"ignore_all_history": True}, {0})]
)
def test_history_is_hidden(hidden: dict[str, Any], turns: set[int]) -> None:
    shown: list[int] = []

    def answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
        shown.append(int(planes[9:14].sum() + global_inputs[:5].sum()))
        return hashed_answer(planes, global_inputs, symmetry)

    start = position(["....."] * 5)
    for point in (point_at(1, 1), point_at(3, 3), point_at(1, 3)):
        play(*start, point)
    pool = SearchPool(ScriptedEvaluator(5, answer), slots=1, max_visits=3)
    search(pool, 0, start, record(GTP), 2)
    assert shown == [3, 4]
    shown.clear()
    search(pool, 0, start, record(GTP, **hidden), 2)
    assert set(shown) == turns


def test_a_kept_root_is_evaluated_anew_where_its_evaluation_will_not_do() -> None:
    for changes, anew in (
        ({}, 0),
        ({"root_policy_optimism": 0.2}, 1),
        ({"ignore_pre_root_history": True}, 1),
        ({"root_num_symmetries_to_sample": 3}, 3),
        ({"root_ending_bonus_points": 0.5}, 1),
    ):
        evaluator = ScriptedEvaluator(5, hashed_answer)
        pool = SearchPool(evaluator, slots=1, max_visits=60)
        state, history = empty(5)
        search(pool, 0, (state, history), record(PAPER), 40)
        children = pool.result(0).children
        point = int(children.points[int(np.argmax(children.visits))])
        assert pool.advance(0, point)
        play(state, history, point)
        before = len(evaluator.symmetries)
        search(pool, 0, (state, history), record(PAPER, **changes), 2, keep_tree=True)
        assert len(evaluator.symmetries) - before == anew
        assert pool.result(0).visits == int(children.visits.max())


def test_a_kept_tree_is_cleared_by_other_guidance_and_loses_what_is_no_candidate() -> None:
    pool = SearchPool(ScriptedEvaluator(5, flat), slots=1, max_visits=90)
    state, history = empty(5)
    search(pool, 0, (state, history), record(PAPER), 80)
    assert pool.advance(0, point_at(2, 2))
    play(state, history, point_at(2, 2))
    search(pool, 0, (state, history), record(PAPER), 30, keep_tree=True)
    kept = pool.result(0)
    search(pool, 0, (state, history), record(PAPER, root_symmetry_pruning=True), 2, keep_tree=True)
    pruned = pool.result(0)
    lower_left = {point_at(0, 4), point_at(0, 3), point_at(0, 2), point_at(1, 3), point_at(1, 2), PASS}
    assert set(pruned.children.points.tolist()) <= lower_left
    staying = [visits for point, visits in zip(kept.children.points, kept.children.visits, strict=True)
               if int(point) in lower_left]  # fmt: skip
    assert pruned.children.visits.tolist() == staying
    assert pruned.visits == 1 + sum(staying) < kept.visits
    assert pool.forest.searches[0]["num_nodes"] == pruned.visits
    search(pool, 0, (state, history), record(PAPER), 2, keep_tree=True, guidance=Guidance(hint=PASS))
    assert pool.result(0).visits == 2


def test_the_hint_gets_its_share() -> None:
    def answer(planes: Floats, global_inputs: Floats, symmetry: int) -> Answer:
        policy = np.zeros(26, np.float32)
        policy[7] = -3.0
        return Answer(policy)

    pool = SearchPool(ScriptedEvaluator(5, answer), slots=1, max_visits=200)
    hint = point_at(2, 1)
    search(pool, 0, empty(5), record(PAPER), 200)
    without = dict(zip(pool.result(0).children.points.tolist(), pool.result(0).children.visits, strict=True))
    search(pool, 0, empty(5), record(PAPER), 200, guidance=Guidance(hint=hint))
    result = pool.result(0)
    with_hint = dict(zip(result.children.points.tolist(), result.children.visits, strict=True))
    assert with_hint[hint] > without.get(hint, 0)
    assert with_hint[hint] + 1 >= 0.8 * max(with_hint.values())
    assert result.noised_policy[7] == pytest.approx(0.98 * result.raw_policy[7] + 0.02, abs=1e-6)
    assert result.noised_policy.sum() == pytest.approx(1.0, abs=1e-5)
    assert math.isfinite(result.utility)
