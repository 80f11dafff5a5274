"""Rows to tensors and back: symmetries, and the edge that boards have in common."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis.strategies import integers, lists, tuples

from common.go.symmetry import symmetry_table
from nets.evaluation.orientation import common_edge
from tests.nets.evaluation.evaluators import (
    LENGTH,
    boards,
)


def test_symmetry_codes_of_the_spec() -> None:
    places = symmetry_table(3)[:, :-1]
    x, y = 1, 0
    expected = {0: (1, 0), 1: (1, 2), 2: (1, 0), 3: (1, 2), 4: (0, 1), 5: (2, 1), 6: (0, 1), 7: (2, 1)}
    for symmetry, (to_x, to_y) in expected.items():
        assert places[symmetry][y * 3 + x] == to_y * 3 + to_x
    inverse = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 5, 7: 7}
    for symmetry, back in inverse.items():
        assert np.array_equal(places[back][places[symmetry]], np.arange(9))


EDGES = integers(2, LENGTH)


@settings(max_examples=200, deadline=None)
@given(lists(tuples(EDGES, EDGES) | EDGES.map(lambda edge: (edge, edge)), min_size=1, max_size=3))
def test_common_edge(sizes: list[tuple[int, int]]) -> None:
    one_square = len(set(sizes)) == 1 and sizes[0][0] == sizes[0][1]
    assert common_edge(boards(len(sizes), sizes).planes[:, 0]) == (sizes[0][0] if one_square else LENGTH)
    assert common_edge(boards(1, sizes).planes[:0, 0]) == LENGTH
