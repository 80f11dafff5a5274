"""Symmetry codes: the laws of a group, and the examples of features.md 6."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from common.go.symmetry import FLIP_X, FLIP_Y, NUM_SYMMETRIES, TRANSPOSE, compose, inverse, symmetry_table


def test_a_corner_of_three_lines() -> None:
    table = symmetry_table(3)
    # position 1 is (x, y) = (1, 0)
    assert table[0, 1] == 1
    assert table[FLIP_Y, 1] == 7
    assert table[FLIP_X, 1] == 1
    assert table[TRANSPOSE, 1] == 3
    assert table[FLIP_Y | TRANSPOSE, 1] == 5  # (1, 0) -> (1, 2) -> (2, 1)
    assert table[FLIP_X | TRANSPOSE, 1] == 3
    assert (table[:, 9] == 9).all()


@pytest.mark.parametrize("length", [2, 5, 19])
def test_tables_follow_inverse_and_composition(length: int) -> None:
    table = symmetry_table(length)
    identity = np.arange(length * length + 1)
    for first in range(NUM_SYMMETRIES):
        assert np.array_equal(table[inverse(first)][table[first]], identity)
        assert inverse(inverse(first)) == first
        for following in range(NUM_SYMMETRIES):
            assert np.array_equal(table[following][table[first]], table[compose(first, following)])
    assert len({tuple(row) for row in table}) == NUM_SYMMETRIES


def test_only_the_quarter_turns_are_not_their_own_inverse() -> None:
    assert [inverse(code) for code in range(8)] == [0, 1, 2, 3, 4, 6, 5, 7]


def test_composition_is_associative() -> None:
    for a, b, c in itertools.product(range(8), repeat=3):
        assert compose(compose(a, b), c) == compose(a, compose(b, c))
