"""The name of an evaluation: positions that share it look alike to the net, in whole or but for the moves before."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from client.search.evaluation_key import evaluation_key, key_symmetry, with_symmetry
from common.features import FeatureOptions, encode, new_scratch
from common.go.play import legal_points, play
from common.go.points import BLACK, NUM_POINTS, PASS, WHITE, point_at
from common.go.rules import Ko, Scoring
from common.go.symmetry import NUM_SYMMETRIES
from common.rows import GlobalInput, InputPlane
from tests.client.search.scripted import empty

Start = tuple[Any, Any]
PLAIN = FeatureOptions()
HISTORY_PLANES = [
    *range(InputPlane.MOVE_1_AGO, InputPlane.MOVE_1_AGO + 5),
    *(InputPlane.LADDERED_1_AGO, InputPlane.LADDERED_2_AGO),
]
PASSES = slice(GlobalInput.PASS_1_AGO, GlobalInput.PASS_1_AGO + 5)


def shown(start: Start, options: FeatureOptions = PLAIN) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Planes and global inputs of a 3x3 tensor."""
    planes, inputs = np.zeros((22, 3, 3), np.float32), np.zeros(19, np.float32)
    encode(np.array([start[0]])[0], start[1], 3, options, planes, inputs, new_scratch())
    return planes, inputs


def key(
    start: Start, options: FeatureOptions = PLAIN, optimism: float = 0.0, *, history: bool = True
) -> tuple[int, int]:
    first, second = evaluation_key(*start, options, optimism, history)
    return int(first), int(second)


OPTIONS = (
    PLAIN,
    FeatureOptions(max_history=1),
    FeatureOptions(conservative_pass_at_root=True),
    FeatureOptions(passing_hacks=True),
)


def wanderings(games: int, turns: int) -> list[tuple[Start, FeatureOptions]]:
    """Positions of random games on a tiny board under all kinds of rules, many of which meet again."""
    random, met = np.random.default_rng(4), []
    for game in range(games):
        rules = game % 6
        start = empty(2, 3, komi=0.5, ko=Ko(rules % 3))
        start[0]["scoring_rule"] = int(Scoring.AREA if rules < 3 else Scoring.TERRITORY)
        start[0]["friendly_pass_ok"] = rules == 1
        start[0]["suicide"] = rules % 2
        options = OPTIONS[(rules + game // 6 % 2) % len(OPTIONS)]
        for _ in range(turns):
            legal = np.zeros(NUM_POINTS, np.int8)
            legal_points(*start, legal)
            moves = [int(point) for point in np.flatnonzero(legal) if point != PASS]
            point = int(random.choice(moves)) if moves and random.random() < 0.8 else PASS
            assert play(*start, point)
            met.append(((np.array([start[0]])[0], np.array([start[1]])[0]), options))
    return met


def test_one_key_means_the_same_inputs_and_the_same_legal_moves() -> None:
    by_inputs: dict[Any, set[bytes]] = defaultdict(set)
    by_situation: dict[Any, set[bytes]] = defaultdict(set)
    legal_by: dict[Any, set[bytes]] = defaultdict(set)
    whole: set[bytes] = set()
    for start, options in wanderings(480, 9):
        planes, inputs = shown(start, options)
        legal = np.zeros(NUM_POINTS, np.int8)
        legal_points(*start, legal)
        seen = planes.tobytes() + inputs.tobytes()
        whole.add(seen)
        by_inputs[key(start, options)].add(seen)
        planes[HISTORY_PLANES], inputs[PASSES] = 0, 0
        situation = key(start, options, history=False)
        by_situation[situation].add(planes.tobytes() + inputs.tobytes())
        legal_by[situation].add(legal.tobytes())
    assert {len(seen) for seen in by_inputs.values()} == {1}
    assert {len(seen) for seen in legal_by.values()} == {1}
    # a pass that is hidden, or a finished game, is told by what the net is shown, and by the key
    assert {len(seen) for seen in by_situation.values()} == {1}
    assert len(by_inputs) < 0.9 * 480 * 9  # keys do meet again
    assert len(by_situation) < 0.9 * len(by_inputs)  # without history more of them
    assert len(by_inputs) < 1.1 * len(whole)  # and no more are told apart than need be


def test_a_situation_is_the_same_whatever_the_order_of_moves() -> None:
    one, other = empty(5), empty(5)
    for point in ((0, 0), (4, 4), (2, 2), (3, 1), (1, 3)):
        assert play(*one, point_at(*point))
    for point in ((2, 2), (3, 1), (0, 0), (4, 4), (1, 3)):
        assert play(*other, point_at(*point))
    assert key(one, history=False) == key(other, history=False)
    assert key(one) != key(other)
    for start in (one, other):  # the first moves are no longer shown
        for point in ((4, 0), (0, 4), (2, 0), (0, 2), (2, 4)):
            assert play(*start, point_at(*point))
    assert key(one) == key(other)


@pytest.mark.parametrize("history", [True, False])
def test_what_else_the_net_is_told_is_in_the_key(history: bool) -> None:
    start = empty(5)
    for point in ((0, 0), (4, 4)):
        assert play(*start, point_at(*point))
    keys = {
        key(start, history=history),
        key(start, FeatureOptions(playout_doubling_advantage=1.5), history=history),
        key(start, FeatureOptions(playout_doubling_advantage=-1.5), history=history),
        key(start, FeatureOptions(max_history=0), history=history),
        key(start, optimism=0.2, history=history),
        key(start, optimism=1.0, history=history),
    }
    assert len(keys) == 6
    assert key(start, FeatureOptions(playout_doubling_advantage=-0.0), history=history) == key(start, history=history)
    # hiding a pass matters only where one would end the game
    hidden = FeatureOptions(conservative_pass_at_root=True)
    assert key(start, hidden, history=history) == key(start, history=history)
    assert play(*start, PASS)
    assert key(start, hidden, history=history) != key(start, history=history)


def test_boards_before_count_as_far_as_their_ladders_are_shown() -> None:
    start = empty(5)
    for point in ((0, 0), (4, 4), (2, 2)):
        assert play(*start, point_at(*point))
    keys, situations = {key(start)}, {key(start, history=False)}
    for field, place, value in (
        ("earlier_colour", (0, point_at(3, 3)), WHITE),
        ("earlier_colour", (1, point_at(3, 3)), WHITE),
        ("earlier_ko_point", 0, point_at(3, 3)),
        ("earlier_ko_point", 1, point_at(3, 3)),
    ):
        other = np.array([start[0]])[0], start[1]
        other[0][field][place] = value
        keys.add(key(other))
        situations.add(key(other, history=False))
        assert key(other, FeatureOptions(max_history=0)) == key(start, FeatureOptions(max_history=0))
    assert len(keys) == 5
    assert len(situations) == 1


def test_komi_counts_to_the_last_bit_where_inputs_are_meant() -> None:
    near, far = (empty(5, komi=6.0, draw=draw) for draw in (0.5, 0.5001))
    assert key(near, history=False) == key(far, history=False)
    assert key(near) != key(far)
    assert shown(empty(3, komi=6.0, draw=0.5))[1].tolist() != shown(empty(3, komi=6.0, draw=0.5001))[1].tolist()


def test_symmetries_of_keys_are_even_and_salts_exchange_them() -> None:
    counts = np.zeros((8, NUM_SYMMETRIES), int)
    names = set()
    for number in range(400):
        start = empty(3, komi=number / 2, to_move=BLACK if number % 2 else WHITE)
        first, second = evaluation_key(*start, PLAIN, 0.0, True)
        for salt in range(8):
            counts[salt, key_symmetry(np.uint64(second), salt)] += 1
        names |= {
            tuple(int(word) for word in with_symmetry(np.uint64(first), np.uint64(second), symmetry))
            for symmetry in range(8)
        }
    assert len(names) == 400 * 8
    assert counts.sum(axis=0).tolist() == [400] * 8
    assert counts.min() > 25  # of 50 expected
