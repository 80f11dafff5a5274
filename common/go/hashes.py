"""Names of positions for people and programs to compare: 128 bits as 32 hexadecimal digits.

A name tells size, stones, player and ko point, no rules and no history; nothing here is used to find repetitions.
"""

from __future__ import annotations

import numpy as np

from common.go.points import BLACK, NO_POINT, WHITE
from common.go.state import State
from common.go.symmetry import board_symmetries, symmetric_points
from common.go.zobrist import KO_LOG_KEYS, STONE_KEYS, TO_MOVE_KEYS, split_mix_64


def position_hash(state: State) -> str:
    """The name of a position."""
    return _hash(state, 0)


def symmetric_hash(state: State) -> str:
    """One name for a position and its mirror images: the least of theirs."""
    return min(_hash(state, symmetry) for symmetry in board_symmetries(state["x_size"], state["y_size"]))


def _hash(state: State, symmetry: int) -> str:
    """The name of the position turned by ``symmetry``."""
    x_size, y_size = int(state["x_size"]), int(state["y_size"])
    to = symmetric_points(symmetry, x_size, y_size)
    stones = np.flatnonzero((state["colour"] == BLACK) | (state["colour"] == WHITE))
    key = int(np.bitwise_xor.reduce(STONE_KEYS[state["colour"][stones], to[stones]]))
    key ^= int(TO_MOVE_KEYS[state["to_move"]]) ^ (x_size << 8 | y_size)
    if state["ko_point"] != NO_POINT:
        key ^= int(KO_LOG_KEYS[state["to_move"], to[state["ko_point"]]])
    return "".join(f"{word:016X}" for word in split_mix_64(key, 2))
