"""Names of positions: what they tell apart, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

from common.go.hashes import position_hash, symmetric_hash
from common.go.points import BLACK, WHITE, point_at
from common.go.symmetry import board_symmetries, symmetric_points, turned
from tests.client.search.scripted import position

BOARD = ["X....", ".....", "..O..", ".....", "....."]


def turned_board(rows: list[str], symmetry: int) -> list[str]:
    """The drawing turned, letter by letter."""
    y_size, x_size = len(rows), len(rows[0])
    made = [[""] * (y_size if symmetry & 4 else x_size) for _ in range(x_size if symmetry & 4 else y_size)]
    for y in range(y_size):
        for x in range(x_size):
            to_y = y_size - 1 - y if symmetry & 1 else y
            to_x = x_size - 1 - x if symmetry & 2 else x
            if symmetry & 4:
                to_y, to_x = to_x, to_y
            made[to_y][to_x] = rows[y][x]
    return ["".join(row) for row in made]


@pytest.mark.parametrize("rows", [BOARD, ["XO..", "...."], ["X.O", ".X.", "..O"]])
def test_mirror_images_share_one_name_and_have_their_own(rows: list[str]) -> None:
    symmetries = board_symmetries(len(rows[0]), len(rows))
    assert len(symmetries) == (8 if len(rows) == len(rows[0]) else 4)
    boards = {tuple(turned_board(rows, symmetry)) for symmetry in symmetries}
    states = [position(list(board))[0] for board in sorted(boards)]
    assert len({symmetric_hash(state) for state in states}) == 1
    assert len({position_hash(state) for state in states}) == len(boards) > 1
    assert symmetric_hash(states[0]) == min(position_hash(state) for state in states)


def test_names_tell_player_ko_point_stones_and_size_apart() -> None:
    state = position(BOARD, to_move=BLACK)[0]
    others = [position(BOARD, to_move=WHITE)[0], position(["O....", *BOARD[1:]])[0], position([*BOARD, "....."])[0]]
    for x in (1, 2):
        other = position(BOARD, to_move=BLACK)[0].copy()
        other["ko_point"] = point_at(x, 0)
        others.append(other)
    names = [position_hash(one) for one in (state, *others)]
    assert len(set(names)) == len(names)
    assert all(len(name) == 32 and int(name, 16) >= 0 for name in names)


def test_names_do_not_tell_komi_and_history() -> None:
    state, other = (position(BOARD, komi=komi)[0] for komi in (0.5, 7.5))
    assert position_hash(state) == position_hash(other)


@pytest.mark.parametrize(("x_size", "y_size"), [(3, 3), (4, 2)])
def test_points_and_maps_turn_alike(x_size: int, y_size: int) -> None:
    values = np.arange(float(x_size * y_size)).reshape(y_size, x_size)
    for symmetry in board_symmetries(x_size, y_size):
        to = symmetric_points(symmetry, x_size, y_size)
        image = turned(values, symmetry)
        for y in range(y_size):
            for x in range(x_size):
                at_y, at_x = np.argwhere(image == values[y, x])[0].tolist()
                assert to[point_at(x, y)] == point_at(at_x, at_y)
        assert sorted(to.tolist()) == list(range(len(to)))
        assert to[0] == 0
