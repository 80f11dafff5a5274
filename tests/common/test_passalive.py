"""Pass-alive and independent-life areas: against pictures worked out by hand and against the slow twin."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from common.go.passalive import AREA_SCRATCH, calculate_area, independent_life_area
from common.go.points import NUM_POINTS, WALL
from tests.common import naive
from tests.common.pictures import picture_of, state_of

SCRATCH = np.zeros(1, AREA_SCRATCH)[0]
FLIPS: list[Callable[[list[list[str]]], list[list[str]]]] = [
    lambda rows: rows[::-1],
    lambda rows: [row[::-1] for row in rows],
    lambda rows: [list(column) for column in zip(*rows, strict=True)],
]
FLAGS = list(itertools.product((False, True), repeat=2))


def area_of(picture: str, stones: bool, safe_big: bool, unsafe_big: bool, suicide: bool) -> str:
    state = state_of(picture)
    area = np.full(NUM_POINTS, 9, np.int8)
    calculate_area(state, stones, safe_big, unsafe_big, suicide, area, SCRATCH)
    assert not area[state["colour"] == WALL].any()
    return picture_of(state, area)


def independent_of(picture: str, keep_territories: bool, keep_stones: bool, suicide: bool) -> tuple[str, int]:
    state = state_of(picture)
    area = np.full(NUM_POINTS, 9, np.int8)
    excess = independent_life_area(state, keep_territories, keep_stones, suicide, area, SCRATCH)
    return picture_of(state, area), excess


@pytest.mark.parametrize(
    ("board", "strict", "everything"),
    [
        ("..../..../..../....", "..../..../..../....", "..../..../..../...."),
        ("..../.X../..../....", "..../..../..../....", "XXXX/XXXX/XXXX/XXXX"),
        # two one-point eyes: alive, and the rest of the board is one big region bordered by living stones only
        (".X.X./XXXX./...../.....", "XXXX./XXXX./...../.....", "XXXXX/XXXXX/XXXXX/XXXXX"),
        # one eye only is not alive; White on the right makes the middle dame
        (".X..O/XX..O/...OO/.....", "...../...../...../.....", "XX..O/XX..O/...OO/....."),
        # a white stone inside an eye of two points: dead under either suicide rule, the eyes stay vital by (1, 2)
        ("O.X.XO./XXXXXO./OOOOOO.", "XXXXX../XXXXX../.......", "XXXXXOO/XXXXXOO/OOOOOOO"),
    ],
)
def test_areas_worked_out_by_hand(board: str, strict: str, everything: str) -> None:
    assert area_of(board, False, False, False, False) == strict
    assert area_of(board, True, True, True, False) == everything


def test_suicide_rule_decides_whether_an_opposing_stone_must_touch() -> None:
    # The white stone in the corner keeps away from Black's chain, which touches both empty points of that eye.
    board = "O.X.X./.XXXX./XX..../......"
    assert area_of(board, False, False, False, False) == "XXXXX./XXXXX./XX..../......"
    assert area_of(board, False, False, False, True) == "....../....../....../......"


def test_seki_is_nobodys_independent_life() -> None:
    # Both sides touch the dame in the middle and below: only the eyes are surrounded points.
    board = ".XO.OX./XXO.OXX/OOOXXXX/......."
    assert independent_of(board, False, False, False) == ("......./......./......./.......", 0)
    assert independent_of(board, False, True, False) == (".XO.OX./XXO.OXX/OOOXXXX/.......", 0)
    assert independent_of(board, True, False, False) == ("X.....X/......./......./.......", 0)


def random_picture(rng: np.random.Generator, filled: float) -> str | None:
    """A board of blobs, or None if some chain has no liberty."""
    x_size, y_size = rng.integers(2, 8, 2)
    grid = rng.choice([".", "X", "O"], (y_size, x_size), p=[1 - filled, filled / 2, filled / 2])
    for _ in range(rng.integers(0, 3)):  # neighbours copy each other, so that chains and eyes form
        shifted = np.roll(grid, rng.choice([-1, 1]), rng.integers(0, 2))
        grid = np.where(rng.random(grid.shape) < 0.5, shifted, grid)
    for y, x in itertools.product(range(y_size), range(x_size)):  # holes make eyes
        if rng.random() < 0.15:
            grid[y, x] = "."
    picture = "/".join("".join(row) for row in grid)
    board = naive.board_of(picture)
    for colour in "XO":
        for chain in naive.components(board, (p for p in board if board[p] == colour)):
            if not any(board[near] == "." for near in naive.touching(board, chain)):
                return None
    return picture


@pytest.mark.parametrize("seed", range(4))
def test_random_boards_equal_the_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    compared = with_area = 0
    while compared < 150:
        picture = random_picture(rng, rng.uniform(0.3, 0.9))
        if picture is None:
            continue
        board = naive.board_of(picture)
        for suicide, first in FLAGS:
            strict = naive.calculate_area(board, False, False, False, suicide)
            with_area += any(owner != "." for owner in strict.values())
            assert area_of(picture, False, False, False, suicide) == naive.picture(strict), picture
            partly = naive.calculate_area(board, first, True, False, suicide)
            assert area_of(picture, first, True, False, suicide) == naive.picture(partly), picture
            life, excess = naive.independent_life(board, first, not first, suicide)
            assert independent_of(picture, first, not first, suicide) == (naive.picture(life), excess), picture
        compared += 1
    assert with_area > 10


def test_areas_follow_the_symmetries_of_the_board() -> None:
    rng = np.random.default_rng(7)
    compared = 0
    while compared < 40:
        picture = random_picture(rng, 0.6)
        if picture is None:
            continue
        rows = [list(row) for row in picture.split("/")]
        for flip in FLIPS:
            flipped = "/".join("".join(row) for row in flip(rows))
            area = [list(row) for row in area_of(picture, True, True, True, False).split("/")]
            expected = "/".join("".join(row) for row in flip(area))
            assert area_of(flipped, True, True, True, False) == expected
        compared += 1


def test_owned_points_and_dame_make_the_board() -> None:
    rng = np.random.default_rng(11)
    for _ in range(60):
        picture = random_picture(rng, 0.7)
        if picture is None:
            continue
        area = area_of(picture, True, True, True, False)
        board = naive.board_of(picture)
        owned = naive.board_of(area)
        assert all(owned[p] != "." for p in board if board[p] != ".")
        dame = [p for p in board if owned[p] == "."]
        for region in naive.components(board, dame):
            colours = {board[near] for near in naive.touching(board, region)} - {"."}
            assert len(colours) != 1
