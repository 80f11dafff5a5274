"""The eight symmetries of a square tensor, and those of a board: codes and tables.

Where a tensor turns, a board that is smaller ends up in another corner (specification: features.md 6); where a board
turns, it stays in its own, and one that is not square has only the four that do not transpose.

A code has three bits, applied in this order: 1 flips y, 2 flips x, 4 transposes.
"""

from __future__ import annotations

from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from common.go.points import NUM_POINTS, STRIDE

NUM_SYMMETRIES: Final = 8
FLIP_Y: Final = 1
FLIP_X: Final = 2
TRANSPOSE: Final = 4

T = TypeVar("T", bound=np.generic)


def symmetry_table(length: int) -> npt.NDArray[np.int16]:
    """Where each position goes: int16 [NUM_SYMMETRIES, length**2 + 1], the pass staying where it is.

    ``transformed[table[s, position]] = original[position]``; mapping a policy or an ownership that a net saw under
    ``s`` back is therefore ``original = transformed[table[s]]``.
    """
    table = np.empty((NUM_SYMMETRIES, length * length + 1), np.int16)
    y, x = np.divmod(np.arange(length * length), length)
    for symmetry in range(NUM_SYMMETRIES):
        to_y = length - 1 - y if symmetry & FLIP_Y else y
        to_x = length - 1 - x if symmetry & FLIP_X else x
        if symmetry & TRANSPOSE:
            to_y, to_x = to_x, to_y
        table[symmetry, :-1] = to_y * length + to_x
    table[:, -1] = length * length
    return table


def board_symmetries(x_size: int, y_size: int) -> range:
    """Codes of the symmetries of a board of this size."""
    return range(NUM_SYMMETRIES if x_size == y_size else TRANSPOSE)


def symmetric_points(symmetry: int, x_size: int, y_size: int) -> npt.NDArray[np.int16]:
    """Where each point of a board goes: int16 [NUM_POINTS], the pass and what is off the board staying where it is."""
    points = np.arange(NUM_POINTS, dtype=np.int16)
    rows: npt.NDArray[np.int16] = (
        (np.arange(y_size, dtype=np.int16)[:, None] + 1) * STRIDE + np.arange(x_size, dtype=np.int16) + 1
    )
    after = turned(rows, symmetry)
    points[after] = rows
    return points


def turned(values: npt.NDArray[T], symmetry: int) -> npt.NDArray[T]:
    """A map [y_size, x_size] of a board, with the board turned."""
    if symmetry & FLIP_Y:
        values = values[::-1]
    if symmetry & FLIP_X:
        values = values[:, ::-1]
    return values.T if symmetry & TRANSPOSE else values
