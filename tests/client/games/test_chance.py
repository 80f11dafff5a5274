"""Streams of draws: each its own, and evenly spread."""

from __future__ import annotations

import numpy as np
import pytest

from client.games.chance import Draw, coin, generator, search_seed
from client.games.playing import Purpose
from client.search.rng import new_generators, next_uint64, seed_generator


def test_seeds_of_searches_are_their_own() -> None:
    seeds = {search_seed(seed, turn, purpose) for seed in (0, 1, 2**63) for turn in range(50) for purpose in Purpose}
    assert len(seeds) == 3 * 50 * len(Purpose)
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert np.mean([seed / 2**64 for seed in seeds]) == pytest.approx(0.5, abs=0.04)


def test_a_seed_is_a_word_of_the_searchs_own_generator() -> None:
    state = new_generators(1)[0]
    seed_generator(state, np.uint64(2**63 + 5))
    state[1] = np.uint64(7 + ((Draw.SEARCH + Purpose.TURN) << 32))
    assert search_seed(2**63 + 5, 7, Purpose.TURN) == int(next_uint64(state))


def test_coins_come_as_often_as_they_should() -> None:
    tosses = [coin(np.uint64(seed), turn, int(Draw.LIMITS), 0.75) for seed in range(40) for turn in range(100)]
    assert np.mean(tosses) == pytest.approx(0.75, abs=0.03)
    assert not coin(np.uint64(1), 1, int(Draw.LIMITS), 0.0)
    assert coin(np.uint64(1), 1, int(Draw.LIMITS), 1.0)


def test_generators_differ_by_turn_and_purpose() -> None:
    first = {generator(5, turn, draw).random() for turn in (0, 1) for draw in Draw}
    assert len(first) == 2 * len(Draw)
    assert generator(5, 1, Draw.ROWS).random() == generator(5, 1, Draw.ROWS).random()
