"""Ladders: against a real KataGo, against pictures worked out by hand, and against the slow twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from common.go import ladders
from common.go.points import BLACK, NUM_POINTS, WHITE, point_at
from tests.common import naive
from tests.common.pictures import state_of
from tests.common.test_passalive import random_picture
from tests.oracles import records

SCRATCH = np.zeros(1, ladders.LADDER_SCRATCH)[0]
BOARD_FIELDS = ("colour", "chain_head", "chain_next", "chain_liberties", "chain_size", "ko_point")


def positions_with(state: Any, ladder: Any, bit: int) -> list[int]:
    """Positions y * x_size + x at which the ladder map has ``bit``."""
    x_size = state["x_size"]
    return [y * x_size + x for y in range(state["y_size"]) for x in range(x_size) if ladder[point_at(x, y)] & bit]


def solve(state: Any) -> tuple[list[int], list[int], list[int]]:
    """Laddered stones, Black's working moves, White's working moves; the scratch board must end as it began."""
    ladder = np.full(NUM_POINTS, 9, np.int8)
    ladders.ladder_map(state, ladder, SCRATCH)
    for field in BOARD_FIELDS[1:]:
        on_stones = (state["colour"] == BLACK) | (state["colour"] == WHITE)
        if field == "chain_next" or field == "chain_head":
            assert np.array_equal(SCRATCH[field][on_stones], state[field][on_stones])
        elif field != "ko_point":
            heads = np.unique(state["chain_head"][on_stones])
            assert np.array_equal(SCRATCH[field][heads], state[field][heads])
    assert np.array_equal(SCRATCH["colour"], state["colour"])
    assert SCRATCH["ko_point"] == state["ko_point"]
    return tuple(positions_with(state, ladder, bit) for bit in (ladders.LADDERED, 1 << BLACK, 1 << WHITE))  # type: ignore


def test_every_position_of_the_oracle() -> None:
    compared = 0
    for record in records("ladders"):
        laddered, black, white = solve(state_of(record["board"]))
        assert laddered == record["laddered"], record["id"]
        assert black == record["workingMovesBlackToMove"], record["id"]
        assert white == record["workingMovesWhiteToMove"], record["id"]
        compared += 1
    assert compared == 35
