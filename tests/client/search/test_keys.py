"""The name of a position: equal however it came about, another for everything that the future depends on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from client.search.keys import mixed_words, situation_key, state_key
from common.go.history import add
from common.go.play import is_superko_banned, play
from common.go.points import BLACK, FIRST_CLEANUP, NO_POINT, PASS, SECOND_CLEANUP, WHITE, point_at
from common.go.rules import HandicapBonus, Ko, Scoring, Tax
from common.go.zobrist import PASS_KEYS, TO_MOVE_KEYS
from tests.client.search.scripted import empty, position

Start = tuple[Any, Any]
KO_SHAPE = [".XO..", "XO.O.", ".XO..", "....."]


def play_all(start: Start, moves: list[tuple[int, int] | None]) -> Start:
    for move in moves:
        assert play(*start, PASS if move is None else point_at(*move))
    return start


def test_transpositions_have_one_name() -> None:
    one = play_all(empty(5), [(0, 0), (1, 1), (2, 2), (3, 3)])
    other = play_all(empty(5), [(2, 2), (3, 3), (0, 0), (1, 1)])
    assert situation_key(*one) == situation_key(*other)
    assert state_key(*one) == state_key(*other)


def test_names_do_not_depend_on_passes_long_ago_but_on_those_just_made() -> None:
    straight = play_all(empty(5), [(0, 0), (1, 1), (2, 2)])
    passed = play_all(empty(5), [None, (1, 1), (0, 0), None, (2, 2)])
    assert state_key(*straight) == state_key(*passed)
    after_pass = play_all(empty(5), [(0, 0), (1, 1), None])
    never = play_all(empty(5), [(0, 0), None, None, (1, 1)])
    assert after_pass[0]["to_move"] != never[0]["to_move"]
    never = play_all(empty(5), [None, (1, 1), (0, 0)])
    assert situation_key(*after_pass) == situation_key(*never)
    assert state_key(*after_pass) != state_key(*never)


def changed(start: Start, field: str, value: Any) -> Start:
    states, histories = np.array([start[0]]), np.array([start[1]])
    states[0][field] = value
    return states[0], histories[0]


CHANGES: list[tuple[str, Any]] = [
    ("to_move", WHITE),
    ("x_size", 5),
    ("y_size", 5),
    ("ko_rule", int(Ko.SIMPLE)),
    ("ko_rule", int(Ko.SITUATIONAL)),
    ("scoring_rule", int(Scoring.TERRITORY)),
    ("tax_rule", int(Tax.SEKI)),
    ("tax_rule", int(Tax.ALL)),
    ("suicide", 1),
    ("has_button", 1),
    ("button_left", 1),
    ("friendly_pass_ok", 1),
    ("pass_alive_suicide", 1),
    ("komi", 6.5),
    ("komi", -7.5),
    ("white_bonus", 1.0),
    ("handicap_bonus", 2.0),
    ("phase", FIRST_CLEANUP),
    ("phase", SECOND_CLEANUP),
    ("ko_point", point_at(3, 3)),
    ("ko_point", point_at(2, 3)),
]


def test_every_ingredient_changes_both_words() -> None:
    start = play_all(empty(6), [(0, 0), (1, 1)])
    names = [situation_key(*start)] + [situation_key(*changed(start, *change)) for change in CHANGES]
    for word in (0, 1):
        assert len({int(name[word]) for name in names}) == len(CHANGES) + 1


def test_komi_is_read_with_the_value_of_a_draw() -> None:
    half, third = (empty(5, komi=6.0, draw=draw) for draw in (0.5, 0.3))
    assert situation_key(*half) != situation_key(*third)
    half, third = (empty(5, komi=6.5, draw=draw) for draw in (0.5, 0.3))  # cannot be drawn
    assert situation_key(*half) == situation_key(*third)
    near = (empty(5, komi=6.0, draw=0.5 + step / 256) for step in (0.25, 0.75, 1.25))
    names = [situation_key(*start) for start in near]
    assert names[0] == names[1] != names[2]


def test_stones_and_markings_are_told_apart_by_point_and_colour() -> None:
    names = {situation_key(*empty(5))}
    for y, x in np.ndindex(5, 5):
        for letter in "XO":
            rows = ["".join(letter if (x, y) == (column, row) else "." for column in range(5)) for row in range(5)]
            names.add(situation_key(*position(rows)))
    for phase, field, values in (
        (FIRST_CLEANUP, "ko_blocked", (1,)),
        (SECOND_CLEANUP, "second_cleanup_start", (BLACK, WHITE)),
    ):
        for value in values:
            for y, x in np.ndindex(5, 5):
                state, history = changed(empty(5), "phase", phase)
                state[field][point_at(x, y)] = value
                names.add(situation_key(state, history))
    assert len(names) == 1 + 2 * 25 + 25 + 2 * 25


def test_markings_of_a_past_phase_do_not_matter() -> None:
    marked, plain = empty(5), empty(5)
    marked[0]["ko_blocked"][point_at(1, 1)] = 1
    marked[0]["second_cleanup_start"][point_at(1, 1)] = BLACK
    assert situation_key(*marked) == situation_key(*plain)


def test_what_superko_forbids_counts() -> None:
    state, history = play_all(position(KO_SHAPE, ko=Ko.POSITIONAL), [(2, 1), None, None])
    assert state["to_move"] == WHITE
    assert state["ko_point"] == NO_POINT
    assert is_superko_banned(state, history, point_at(1, 1))
    forgotten, _ = changed((state, history), "repetition_start", state["history_count"])
    assert not is_superko_banned(forgotten, history, point_at(1, 1))
    names = situation_key(state, history), situation_key(forgotten, history)
    assert all(one != other for one, other in zip(*names, strict=True))
    # the board has grown since the capture, so nothing is banned and its story is forgotten
    fought = play_all(position(KO_SHAPE, ko=Ko.POSITIONAL), [(2, 1), (4, 3), (0, 3)])
    unaware, _ = changed(fought, "repetition_start", fought[0]["history_count"])
    assert fought[0]["vacated"].any()
    assert situation_key(*fought) == situation_key(unaware, fought[1])


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.__setitem__("finished", 1),
        lambda state: state.__setitem__("no_result", 1),
        lambda state: state.__setitem__("consecutive_passes", 1),
        lambda state: state.__setitem__("consecutive_passes", 2),
    ],
    ids=["over", "no result", "one pass", "two passes"],
)
def test_where_the_game_stands_is_in_the_state_key_alone(change: Callable[[Any], None]) -> None:
    start = play_all(empty(5), [(0, 0)])
    before = situation_key(*start), state_key(*start)
    change(start[0])
    assert situation_key(*start) == before[0]
    assert all(old != new for old, new in zip(before[1], state_key(*start), strict=True))


def test_a_pass_that_repeats_ends_a_phase_and_is_told_apart() -> None:
    start = play_all(position(KO_SHAPE, ko=Ko.SIMPLE), [None, (0, 3)])
    state, history = start
    before = situation_key(state, history), state_key(state, history)
    colour = int(state["to_move"])
    assert state["consecutive_passes"] == 0
    # the key of a pass made here before, as common.go.play would have left it
    add(history, state["grid_key"] ^ TO_MOVE_KEYS[colour] ^ PASS_KEYS[colour], 0)
    assert situation_key(state, history) == before[0]
    assert state_key(state, history) != before[1]


def test_mixing_loses_nothing_and_spreads() -> None:
    salt = np.uint64(5)
    seen = set()
    flipped = []
    for bit in range(64):
        for words in ((np.uint64(1 << bit), np.uint64(0)), (np.uint64(0), np.uint64(1 << bit))):
            mixed = mixed_words(*words, salt)
            seen.add(mixed)
            base = mixed_words(np.uint64(0), np.uint64(0), salt)
            flipped.append(sum(int(a ^ b).bit_count() for a, b in zip(mixed, base, strict=True)))
    assert len(seen) == 128
    assert 60 < np.mean(flipped) < 68
    assert mixed_words(np.uint64(1), np.uint64(2), salt) != mixed_words(np.uint64(1), np.uint64(2), np.uint64(6))


def test_handicap_bonus_rule_matters_through_komi_alone() -> None:
    one, other = empty(5), empty(5)
    other[0]["white_handicap_bonus"] = int(HandicapBonus.N)
    assert situation_key(*one) == situation_key(*other)
