"""Handicap stones: the fixed points of GTP, and how many stones a record's beginning amounts to.

Coordinates are (x, y), both from 0 in the upper left corner. Imports no compiled code.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from common.go.basics import BLACK

Coordinates = tuple[int, int]

SMALLEST_FIXED: Final = 7
"""Side of the smallest board that has fixed points."""
MOST_FIXED: Final = 9

_MOST_EXTRA: Final = ((10.0, 0), (14.0, 1), (16.0, 2), (17.0, 3), (18.0, 4))
"""Up to which root of the area a game that is drawn has how many extra stones at most."""
_LARGEST_EXTRA: Final = 5
_ROOT_TOLERANCE: Final = 1e-5


def fixed_points(x_size: int, y_size: int, count: int) -> tuple[Coordinates, ...]:
    """The fixed handicap points of the GTP 2 standard, top row first.

    On sides of 13 and more they lie on the fourth line, on shorter ones on the third. Sides of 7 and more take four
    stones; more, on middle lines, where both sides are odd and at least 9.

    Raises:
        ValueError: fewer than two stones, or more than this board has points for.
    """
    left, right = _lines(x_size)
    top, bottom = _lines(y_size)
    most = most_fixed(x_size, y_size)
    if not 2 <= count <= most:
        raise ValueError(f"{count} fixed handicap stones on {x_size}x{y_size}: from 2 to {most} are possible")
    x_middle, y_middle = x_size // 2, y_size // 2
    points = [(left, bottom), (right, top), (left, top), (right, bottom)][: min(count, 4)]
    if count >= 6:
        points += [(left, y_middle), (right, y_middle)]
    if count >= 8:
        points += [(x_middle, top), (x_middle, bottom)]
    if count in (5, 7, 9):
        points.append((x_middle, y_middle))
    return tuple(sorted(points, key=lambda point: (point[1], point[0])))


def most_fixed(x_size: int, y_size: int) -> int:
    """How many of the fixed points a board has; 0 on the smallest."""
    if min(x_size, y_size) < SMALLEST_FIXED:
        return 0
    return MOST_FIXED if x_size % 2 and y_size % 2 and min(x_size, y_size) > SMALLEST_FIXED else 4


def most_extra_stones(x_size: int, y_size: int) -> int:
    """The most extra black stones of a handicap game that is drawn (selfplay.md 5)."""
    root = math.sqrt(x_size * y_size) - _ROOT_TOLERANCE
    return next((most for limit, most in _MOST_EXTRA if root <= limit), _LARGEST_EXTRA)


def _lines(size: int) -> tuple[int, int]:
    distance = 3 if size >= 13 else 2
    return distance, size - 1 - distance


def count_stones(setup: Iterable[int], moves: Iterable[tuple[int, bool]]) -> int:
    """Number of handicap stones, Black's leading moves included (rules.md 3).

    Args:
        setup: colours of the stones on the initial board.
        moves: ``(colour, is_pass)`` of the moves.

    Returns:
        0, or 2 and more: a single stone is no handicap, nor is anything where White has stones on the board too.
    """
    colours = list(setup)
    if any(colour != BLACK for colour in colours):
        return 0
    placed = 0
    white_before = False
    for colour, is_pass in moves:
        if colour == BLACK:
            placed += not is_pass
            white_before = False
        elif white_before:
            placed = 0
            break
        elif is_pass:
            white_before = True
        else:
            break
    total = len(colours) + placed
    return total if total > 1 else 0
