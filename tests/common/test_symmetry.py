"""Symmetry codes: the examples of features.md 6."""

from __future__ import annotations

import numpy as np
import pytest

from common.go.symmetry import FLIP_X, FLIP_Y, NUM_SYMMETRIES, TRANSPOSE, symmetry_table


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
def test_the_tables_are_eight_permutations(length: int) -> None:
    table = symmetry_table(length)
    assert (np.sort(table, axis=1) == np.arange(length * length + 1)).all()
    assert len({tuple(row) for row in table}) == NUM_SYMMETRIES
