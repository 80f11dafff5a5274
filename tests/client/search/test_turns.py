"""Turns ordered and told by arrays, against the pool's calls for a single search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from client.search.guidance import Avoided, Guidance
from client.search.pool import SearchPool
from client.search.turns import Turns, new_turns
from client.search.values import SCORE_MEAN, WIN_LOSS
from common.go.history import copy_history
from common.go.play import play
from common.go.points import BLACK, NO_POINT, PASS, WHITE, point_at
from common.go.state import new_histories, new_states
from common.parameter_classes import UNLIMITED
from tests.client.search.helpers import SELFPLAY, record
from tests.client.search.scripted import ScriptedEvaluator, empty, hashed_answer

LENGTH, SLOTS, VISITS = 5, 3, 30


def made(slots: int) -> SearchPool:
    return SearchPool(ScriptedEvaluator(LENGTH, hashed_answer), slots=slots, max_visits=VISITS)


def finish(pool: SearchPool, slot: int) -> None:
    while slot not in pool.step():
        pass


class Ordered:
    """A game in one slot of a pool, by orders."""

    def __init__(self, slot: int) -> None:
        self.pool, self.slot = made(SLOTS), slot
        states, histories = new_states(SLOTS), new_histories(SLOTS)
        states[slot], histories[slot] = empty(LENGTH)
        self.turns: Turns = new_turns(states, histories, LENGTH)
        self.slots = np.array([slot], np.int32)

    def search(self, parameters: np.void, **order: Any) -> None:
        plain = {"begins": True, "tells": True, "playouts": UNLIMITED, "point": NO_POINT, "selects_by_lcb": False}
        for name, value in (plain | order).items():
            self.turns.orders[self.slot][name] = value
        self.turns.parameters[self.slot] = parameters
        self.pool.begin(self.turns, self.slots, np.ones((SLOTS, 1), np.bool_))
        finish(self.pool, self.slot)
        self.pool.find(self.turns, self.slots)


@pytest.mark.parametrize("slot", [0, 2])
def test_a_game_by_orders_is_that_of_single_calls(slot: int) -> None:
    single, ordered = made(1), Ordered(slot)
    state, history = empty(LENGTH)
    parameters = record(SELFPLAY, root_noise_enabled=True, chosen_move_temperature=0.7)
    point = NO_POINT
    for turn in range(8):
        keeps, lcb, visits = turn % 3 != 1, turn % 2 == 0, VISITS - 2 * turn
        single.start(0, state, history, parameters=parameters, visits=visits, seed=turn, keep_tree=keeps)
        finish(single, 0)
        ordered.search(
            parameters, visits=visits, seed=turn, keep_tree=keeps, selects_by_lcb=lcb, wants_target=True, point=point
        )
        result, target = single.result(0), single.policy_target(0)
        point = single.choose_move(0, lcb=lcb)
        found, count = ordered.turns.found[slot], int((result.children.visits > 0).sum())
        assert (found["point"], found["visits"], found["num_children"]) == (point, result.visits, count)
        assert tuple(found["mean"]) == result.mean
        assert tuple(found["raw"]) == result.raw
        for name in ("raw_policy_entropy", "policy_entropy", "search_entropy", "policy_surprise"):
            assert found[name] == getattr(result, name), name
        np.testing.assert_array_equal(ordered.turns.targets[slot], target)
        children, visited = ordered.turns.children[slot, :count], result.children.visits > 0
        np.testing.assert_array_equal(children["point"], result.children.points[visited])
        np.testing.assert_array_equal(children["visits"], result.children.visits[visited])
        np.testing.assert_array_equal(children["win_loss"], result.children.means[WIN_LOSS][visited])
        np.testing.assert_array_equal(children["score_mean"], result.children.means[SCORE_MEAN][visited])
        play(state, history, point)
        play(ordered.turns.states[slot], ordered.turns.histories[slot], point)
        single.advance(0, point)


def test_a_turn_owes_nothing_to_what_was_asked_of_the_slot_before() -> None:
    state, history = empty(LENGTH)
    parameters = record(SELFPLAY)
    fresh, used = Ordered(1), Ordered(1)
    avoided = [Avoided(colour, point_at(2, 2)) for colour in (BLACK, WHITE)]
    guidance = Guidance(hint=point_at(1, 1), avoid=avoided, rescale_avoided=True)
    used.pool.start(1, state, history, parameters=parameters, visits=9, seed=4, guidance=guidance)
    finish(used.pool, 1)
    for each in (fresh, used):
        each.search(parameters, visits=20, seed=1, keep_tree=True)
    assert used.turns.found[1]["visits"] == 20
    assert used.turns.found[1].tobytes() == fresh.turns.found[1].tobytes()


def test_only_the_seats_of_a_pool_are_searched_in_it() -> None:
    ordered = Ordered(0)
    ordered.search(record(SELFPLAY), visits=20, seed=1)
    point, tree = ordered.turns.found[0]["point"], ordered.pool.visits(0)
    ordered.turns.orders[0]["point"] = point
    ordered.pool.begin(ordered.turns, ordered.slots, np.zeros((SLOTS, 1), np.bool_))
    assert ordered.pool.running() == 0
    assert 0 < ordered.pool.visits(0) < tree, "the tree was moved on"


@pytest.mark.parametrize("visits", [0, VISITS + 1])
def test_more_visits_than_there_is_room_for(visits: int) -> None:
    with pytest.raises(ValueError, match=f"1 to {VISITS} visits"):
        Ordered(0).search(record(SELFPLAY), visits=visits, seed=1)


def test_histories_are_copied_as_far_as_they_go() -> None:
    state, history = empty(LENGTH)
    other, target = empty(LENGTH)
    for turn in range(12):
        play(state, history, point_at(turn % 5, turn // 5))
        play(other, target, PASS if turn == 3 else point_at(4 - turn % 5, 4 - turn // 5))
    play(other, target, PASS)
    copy_history(target, history)
    count = int(history["count"])
    assert target["count"] == count
    for name in ("key", "slot"):
        np.testing.assert_array_equal(target[name][:count], history[name][:count])
    np.testing.assert_array_equal(target["table_index"], history["table_index"])
