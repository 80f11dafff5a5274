"""When a gate is decided: pure functions.

selfplay.md 9: a candidate passes with at least the required share of the points of all games; a draw and a game
without result are half a point for each. The match ends as soon as either outcome is certain. Points are half points
here, so that no sum is rounded.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Final

HALF_POINTS_PER_GAME: Final = 2
_ROUNDING: Final = 1e-9
"""A share such as 0.55 of 200 games is exactly 110 points, whatever binary fractions say."""


class Verdict(Enum):
    """What the games so far say about a candidate."""

    UNDECIDED = "undecided"
    PASSED = "passed"
    FAILED = "failed"


def needed_half_points(games: int, required: float) -> int:
    """Half points that a candidate needs out of ``games``, for the ``required`` share of the points."""
    return math.ceil(HALF_POINTS_PER_GAME * games * required - _ROUNDING)


def verdict(*, games: int, required: float, played: int, half_points: int) -> Verdict:
    """Whether the match of ``games`` is decided after ``played`` games that gave the candidate ``half_points``."""
    needed = needed_half_points(games, required)
    if half_points >= needed and played > 0:
        return Verdict.PASSED
    remaining = max(0, games - played)
    if half_points + HALF_POINTS_PER_GAME * remaining < needed:
        return Verdict.FAILED
    return Verdict.UNDECIDED


def candidate_half_points(*, candidate_is_black: bool, winner: str) -> int:
    """Half points of the candidate for one game; ``winner`` is ``B``, ``W``, ``0`` (draw) or ``-`` (no result)."""
    if winner in ("0", "-"):
        return 1
    return HALF_POINTS_PER_GAME if (winner == "B") == candidate_is_black else 0
