"""What ladder searches of a board looked at, so that the board a turn later need not search again.

A *reading* is the verdict of one search with the *cells* that its footprint (`common.go.ladder_memo`) lies in, in one
number: as long as no point of them changes colour, the verdict stands. Cells are the board cut into at most 51 equal
rectangles, on 7x7 its points. A turn changes few points, so most searches of a position are known from the one before;
they take a comparison each, where the memo, which knows searches of all boards, takes a key of all that stands around
the chain and a look into a table of megabytes.

A STATE carries the readings of its board and of the one before (``reading``), in the order of the chains' heads.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from common.go.points import MAX_LENGTH, PASS, STRIDE
from common.go.state import MAX_READINGS, State
from common.kernels import njit

NO_READING: Final = 0

_MAX_CELLS: Final = 51
_CELLS_SHIFT: Final = 1  # above the verdict
_NAME_SHIFT: Final = _CELLS_SHIFT + _MAX_CELLS
_MOVE_BITS: Final = 2


def _cell_sizes() -> npt.NDArray[np.int8]:
    """Width and height of the smallest cells of each board, by its columns and rows, and how many are in a row."""
    sizes = np.zeros((MAX_LENGTH + 1, MAX_LENGTH + 1, 3), np.int8)
    shapes = sorted(
        ((width, height) for width in range(1, MAX_LENGTH + 1) for height in range(1, MAX_LENGTH + 1)),
        key=lambda shape: (shape[0] * shape[1], max(shape)),
    )
    for columns in range(1, MAX_LENGTH + 1):
        for rows in range(1, MAX_LENGTH + 1):
            width, height = next(
                (width, height) for width, height in shapes if -(-columns // width) * -(-rows // height) <= _MAX_CELLS
            )
            sizes[columns, rows] = width, height, -(-columns // width)
    return sizes


_CELL_SIZES: Final = _cell_sizes()

READINGS: Final = np.dtype(
    [
        ("known_count", np.int32),
        ("next_known", np.int32),  # those before have been asked for, or will not be any more
        ("known", np.int64, MAX_READINGS),  # of the board before, as far as they stand
        ("found_count", np.int32),
        ("found", np.int64, MAX_READINGS),  # of the board in hand
    ],
    align=True,
)


@njit(cache=True, nogil=True)
def name_of(head: int, move: int, other: int) -> int:
    """The search for the chain ``head`` after the attacker's ``move`` at one of its liberties; never 0.

    Of a chain in atari the search before any move: PASS, and any ``other``.
    """
    return (head << _MOVE_BITS) | (0 if move == PASS else 1 + (move > other))


@njit(cache=True, nogil=True)
def cells_of(rows: Any, x_size: int, y_size: int) -> int:
    """The cells that a set of points lies in, as bits.

    Args:
        rows: int64, entry y has the bits of row y.
    """
    width = int(_CELL_SIZES[x_size, y_size, 0])
    height = int(_CELL_SIZES[x_size, y_size, 1])
    across = int(_CELL_SIZES[x_size, y_size, 2])
    cells = 0
    shift = 0
    for first in range(0, y_size, height):
        here = 0
        for y in range(first, min(first + height, y_size)):
            here |= int(rows[y])
        if width > 1:
            points = here
            here = 0
            for x in range(across):
                here |= ((points >> (x * width)) & ((1 << width) - 1) != 0) << x
        cells |= here << shift
        shift += across
    return cells


@njit(cache=True, nogil=True)
def reading_of(name: int, found: int) -> int:
    """The reading of a search that found ``found``, as `common.go.ladder_memo.recall` tells it."""
    return (name << _NAME_SHIFT) | found


@njit(cache=True, nogil=True)
def verdict_of(reading: int) -> bool:
    """Whether the chain is captured."""
    return bool(reading & 1)


@njit(cache=True, nogil=True)
def _changed_cells(state: State) -> int:
    """The cells with points whose colours are not those of a turn ago, as bits."""
    colour = state["colour"]
    earlier = state["earlier_colour"][0]
    x_size = state["x_size"]
    y_size = state["y_size"]
    width = int(_CELL_SIZES[x_size, y_size, 0])
    height = int(_CELL_SIZES[x_size, y_size, 1])
    across = int(_CELL_SIZES[x_size, y_size, 2])
    cells = 0
    for y in range(y_size):
        first = (y + 1) * STRIDE + 1
        differs = 0
        for x in range(MAX_LENGTH):
            differs |= colour[first + x] != earlier[first + x]
        if differs == 0:
            continue
        for x in range(x_size):
            if colour[first + x] != earlier[first + x]:
                cells |= 1 << (y // height * across + x // width)
    return cells


@njit(cache=True, nogil=True)
def begin_readings(state: State, readings: Any) -> None:
    """Take over what still stands of the board a turn ago."""
    readings["known_count"] = 0
    readings["next_known"] = 0
    readings["found_count"] = 0
    earlier = state["reading"][1]
    if earlier[0] == NO_READING:
        return
    changed = _changed_cells(state) << _CELLS_SHIFT
    count = 0
    for index in range(MAX_READINGS):
        if earlier[index] == NO_READING:
            break
        if earlier[index] & changed == 0:
            readings["known"][count] = earlier[index]
            count += 1
    readings["known_count"] = count


@njit(cache=True, nogil=True)
def begin_without_readings(readings: Any) -> None:
    """Take over nothing: the board in hand is not that of a STATE."""
    readings["known_count"] = 0
    readings["next_known"] = 0
    readings["found_count"] = 0


@njit(cache=True, nogil=True)
def known_reading(readings: Any, name: int) -> int:
    """The reading of this name that is taken over, or NO_READING; names are asked for in order of their heads.

    The moves of one chain come in any order: those of its own stay where they are.
    """
    chain = name >> _MOVE_BITS
    index = readings["next_known"]
    while index < readings["known_count"] and readings["known"][index] >> (_NAME_SHIFT + _MOVE_BITS) < chain:
        index += 1
    readings["next_known"] = index
    while index < readings["known_count"] and readings["known"][index] >> (_NAME_SHIFT + _MOVE_BITS) == chain:
        if readings["known"][index] >> _NAME_SHIFT == name:
            return int(readings["known"][index])
        index += 1
    return NO_READING


@njit(cache=True, nogil=True)
def keep_reading(readings: Any, reading: int) -> None:
    """One more reading of the board in hand, as far as there is room."""
    count = readings["found_count"]
    if count < MAX_READINGS:
        readings["found"][count] = reading
        readings["found_count"] = count + 1


@njit(cache=True, nogil=True)
def end_readings(state: State, readings: Any) -> None:
    """Give the readings of the board in hand to its STATE."""
    kept = state["reading"][0]
    for index in range(MAX_READINGS):
        kept[index] = readings["found"][index] if index < readings["found_count"] else NO_READING
