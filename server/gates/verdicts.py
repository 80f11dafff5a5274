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
SPRT_ERROR: Final = 0.05
"""Chance that a match decides for the wrong one of its two hypotheses."""
SPRT_BOUND: Final = math.log((1.0 - SPRT_ERROR) / SPRT_ERROR)
"""Of the logarithm of the likelihoods' ratio (A. Wald, Sequential Analysis, 1947)."""
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


def verdict(*, games: int, required: float, played: int, half_points: int, sprt_elo: float | None = None) -> Verdict:
    """Whether the match of ``games`` is decided after ``played`` games that gave the candidate ``half_points``.

    With ``sprt_elo`` it ends as soon as it is likely enough that the candidate has that advantage, or none; only if it
    comes to its last game undecided, the ``required`` share of the points says.
    """
    if sprt_elo is not None:
        ratio = log_likelihood_ratio(played, half_points, sprt_elo)
        if ratio >= SPRT_BOUND:
            return Verdict.PASSED
        if ratio <= -SPRT_BOUND:
            return Verdict.FAILED
        if played < games:
            return Verdict.UNDECIDED
    needed = needed_half_points(games, required)
    if half_points >= needed and played > 0:
        return Verdict.PASSED
    remaining = max(0, games - played)
    if half_points + HALF_POINTS_PER_GAME * remaining < needed:
        return Verdict.FAILED
    return Verdict.UNDECIDED


def log_likelihood_ratio(played: int, half_points: int, elo: float) -> float:
    """How much more likely the points are with an advantage of ``elo`` than with none, as a logarithm.

    Games are taken for tosses of a coin; a draw counts as half a win and half a loss. That overstates the variance of
    matches with draws, so it errs no more often than told, and plays a few games more.
    """
    share = 1.0 / (1.0 + 10.0 ** (-elo / 400.0))
    points = half_points / HALF_POINTS_PER_GAME
    return points * math.log(2.0 * share) + (played - points) * math.log(2.0 * (1.0 - share))


def candidate_half_points(*, candidate_is_black: bool, winner: str) -> int:
    """Half points of the candidate for one game; ``winner`` is ``B``, ``W``, ``0`` (draw) or ``-`` (no result)."""
    if winner in ("0", "-"):
        return 1
    return HALF_POINTS_PER_GAME if (winner == "B") == candidate_is_black else 0
