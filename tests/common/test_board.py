"""Captures, suicide and ko on boards as pictures, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from common.go import board
from common.go.points import BLACK, EMPTY, NO_POINT, NUM_POINTS, STRIDE, WALL, WHITE, from_vertex, point_at
from common.go.rules import Rules
from common.go.state import new_states
from tests.common.pictures import picture_of, state_of

COLOURS = {"X": BLACK, "O": WHITE}

# picture, colour, x, y, picture afterwards, ko point or None
MOVES = [
    pytest.param(".X./XO./.X.", "X", 2, 1, ".X./X.X/.X.", None, id="captures a stone without ko"),
    pytest.param(".XO./X.XO/.XO./....", "O", 1, 1, ".XO./XO.O/.XO./....", (2, 1), id="takes a ko"),
    pytest.param("OO.X/XXX./....", "X", 2, 0, "..XX/XXX./....", None, id="captures two stones"),
    pytest.param(".OX/OX./X..", "X", 0, 0, "X.X/.X./X..", None, id="captures two chains of one stone"),
    pytest.param("XO./.O./OO.", "X", 0, 1, ".O./.O./OO.", None, id="suicide of two stones"),
    pytest.param("X../XO./...", "O", 1, 0, "XO./XO./...", None, id="no capture while a liberty is left"),
    pytest.param(".XX/XXX/XXX", "O", 0, 0, "O../.../...", None, id="captures what fills the board"),
]


@pytest.mark.parametrize(("before", "colour", "x", "y", "after", "ko"), MOVES)
def test_a_stone_is_placed(before: str, colour: str, x: int, y: int, after: str, ko: tuple[int, int] | None) -> None:
    state = state_of(before)
    expected_key = board.key_after(state, point_at(x, y), COLOURS[colour])
    board.place_stone(state, point_at(x, y), COLOURS[colour])
    assert picture_of(state, state["colour"]) == after
    assert state["ko_point"] == (NO_POINT if ko is None else point_at(*ko))
    assert state["grid_key"] == expected_key == state_of(after)["grid_key"]
    for letter, code in COLOURS.items():
        taken = before.count(letter) + (letter == colour) - after.count(letter)
        assert state["captured"][code] == taken


def test_suicide_by_number_of_stones() -> None:
    state = state_of(".O./XO./O..", Rules(suicide=False))
    corner = point_at(0, 0)
    assert board.would_be_suicide(state, corner, BLACK)
    assert board.is_illegal_suicide(state, corner, BLACK)
    assert not board.is_lone_suicide(state, corner, BLACK)
    state["suicide"] = 1
    assert not board.is_illegal_suicide(state, corner, BLACK)
    lone = state_of(".O./O../...", Rules(suicide=True))
    assert board.is_illegal_suicide(lone, corner, BLACK)


def test_filling_the_last_liberty_of_the_enemy_is_no_suicide() -> None:
    state = state_of(".OX/OX./X..", Rules(suicide=False))
    assert not board.would_be_suicide(state, point_at(0, 0), BLACK)


@pytest.mark.parametrize(
    ("picture", "x", "y", "taken"),
    [
        (".XO./X.XO/.XO./....", 1, 1, (2, 1)),
        (".XO./X.XO/..O./....", 1, 1, None),  # an empty neighbour: not the shape
        ("X../.../...", 0, 0, None),  # not an empty point
        ("X.X/OXO/...", 1, 0, None),  # two points of enemies in atari
        ("XX.X/OOX./....", 2, 0, None),  # the chain in atari has two stones
        (".XO/XO./O..", 0, 0, None),  # two stones in atari
    ],
)
def test_shape_of_a_ko_capture(picture: str, x: int, y: int, taken: tuple[int, int] | None) -> None:
    stone = board.ko_capture(state_of(picture), point_at(x, y), WHITE)
    assert stone == (NO_POINT if taken is None else point_at(*taken))


def test_set_up_refuses_what_can_not_stand() -> None:
    state = state_of(".O./O../...")
    before = state.tobytes()
    for point, colour in (
        (point_at(1, 0), BLACK),  # occupied
        (point_at(0, 0), BLACK),  # no liberty
        (point_at(3, 0), BLACK),  # the wall
        (0, BLACK),
        (-5, BLACK),
        (NUM_POINTS, BLACK),
        (point_at(2, 2), EMPTY),
        (point_at(2, 2), WALL),
    ):
        assert not board.set_stone(state, point, colour)
    assert state.tobytes() == before
    assert not board.set_stone(state_of("XO/.."), point_at(0, 1), WHITE)  # it would capture


@pytest.mark.parametrize("size", [(2, 2), (19, 19), (2, 19), (19, 2), (9, 7)])
def test_walls_surround_every_size(size: tuple[int, int]) -> None:
    state = new_states(1)[0]
    board.reset(state, *size)
    on_board = np.flatnonzero(state["colour"] == EMPTY)
    assert len(on_board) == size[0] * size[1]
    for offset in (-STRIDE, -1, 1, STRIDE):
        assert ((on_board + offset >= 0) & (on_board + offset < NUM_POINTS)).all()
    assert from_vertex(f"A{size[1]}", *size) == point_at(0, 0) == on_board[0]


def test_a_copied_state_is_independent() -> None:
    states = new_states(2)
    board.reset(states[0], 5, 5)
    board.copy_state(states, 1, states, 0)
    assert states[0].tobytes() == states[1].tobytes()
    board.place_stone(states[1], int(point_at(2, 2)), BLACK)
    assert states[0]["colour"][point_at(2, 2)] == EMPTY
