"""The eight symmetries of a square tensor: codes and tables.

Knows positions of a net's tensor only (`common.go.points`): the whole tensor turns, so a smaller board ends up in
another corner. Specification: features.md 6.

A code has three bits, applied in this order: 1 flips y, 2 flips x, 4 transposes.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

NUM_SYMMETRIES: Final = 8
FLIP_Y: Final = 1
FLIP_X: Final = 2
TRANSPOSE: Final = 4


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
