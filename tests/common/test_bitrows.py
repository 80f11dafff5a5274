"""Components of sets as rows of bits, against a flood point by point."""

from __future__ import annotations

import numpy as np
import pytest

from common.go.bitrows import ROWS, beside, fill_connected, lowest_index, take_component
from tests.common import naive


def rows_of(points: set[tuple[int, int]]) -> np.ndarray:
    rows = np.zeros(ROWS, np.int32)
    for x, y in points:
        rows[y + 1] |= 1 << x
    return rows


@pytest.mark.parametrize("size", [2, 9, 19])
def test_components_are_those_of_a_flood(size: int) -> None:
    rng = np.random.default_rng(size)
    for density in (0.3, 0.55, 0.6, 0.65, 0.7, 0.9, 1.0):
        board = {(x, y): "X" if rng.random() < density else "." for y in range(size) for x in range(size)}
        points = {point for point, letter in board.items() if letter == "X"}
        expected = {tuple(rows_of(component).tolist()) for component in naive.components(board, points)}
        inside, found = rows_of(points), np.full(ROWS, -1, np.int32)
        taken = set()
        for row in range(1, size + 1):
            while inside[row]:
                first, last = take_component(inside, row, found)
                assert np.flatnonzero(found)[[0, -1]].tolist() == [first, last]
                taken.add(tuple(found.tolist()))
        assert taken == expected
        assert not inside.any()


@pytest.mark.parametrize("size", [2, 9, 19])
def test_two_boards_are_filled_at_once(size: int) -> None:
    rng = np.random.default_rng(size)
    for density in (0.3, 0.55, 0.6, 0.65, 0.7, 0.9, 1.0):
        inside, seeds, expected = (np.zeros(ROWS, np.int64) for _ in range(3))
        for shift in (0, 32):
            board = {(x, y): "X" if rng.random() < density else "." for y in range(size) for x in range(size)}
            points = {point for point, letter in board.items() if letter == "X"}
            chosen = {point for point in points if rng.random() < 0.1}
            filled = set().union(*(part for part in naive.components(board, points) if part & chosen))
            for rows, part in ((inside, points), (seeds, chosen), (expected, filled)):
                rows |= rows_of(part).astype(np.int64) << shift
        inside[[0, size + 1]] = seeds[[0, size + 1]] = -1  # of another board: not looked at
        fill_connected(inside, seeds, size)
        assert np.array_equal(seeds[1 : size + 1], expected[1 : size + 1])


def test_a_spiral_is_one_component() -> None:
    picture = "XXXXXXX ......X XXXXX.X X...X.X X.XXX.X X.....X XXXXXXX"
    board = naive.board_of(picture)
    points = {point for point, letter in board.items() if letter == "X"}
    inside, found = rows_of(points), np.zeros(ROWS, np.int32)
    assert take_component(inside, 1, found) == (1, 7)
    assert found.tolist() == rows_of(points).tolist()


def test_bits_and_neighbours() -> None:
    assert [lowest_index(1 << index) for index in range(19)] == list(range(19))
    assert lowest_index(0b101000) == 3
    rows = rows_of({(2, 1)})
    assert [beside(rows, row) for row in (1, 2, 3)] == [0b100, 0b1010, 0b100]
