"""The values of a position: what the net or the end of the game says of it, and what a node averages over its subtree.

They are declared here and nowhere else: a node holds them as two vectors, ``own`` and ``mean`` of
`client.search.tree.NODE`, which the search sets, mixes and averages as wholes, and results give them by name. All are
White's. Knows no tree.
"""

from __future__ import annotations

import math
from typing import Any, Generic, NamedTuple, TypeVar

from client.search.utility import terminal_score_moments
from common.kernels import njit
from nets.evaluation.outputs import score_mean_square

T = TypeVar("T")


class Values(NamedTuple, Generic[T]):
    """The values by name: a number each, or an array each with one entry per node."""

    win_loss: T  # P(White wins) - P(White loses); a draw counts as the game says
    no_result: T  # probability
    score_mean: T  # points
    score_mean_sq: T  # points squared, second moment
    lead: T  # points


NUM_VALUES = len(Values._fields)
WIN_LOSS, NO_RESULT, SCORE_MEAN, SCORE_MEAN_SQ, LEAD = range(NUM_VALUES)
"""Where each lies in a vector, as kernels take them."""


@njit(cache=True, nogil=True)
def write_evaluation(values: Any, outputs: Any, row: int, sign: float) -> None:
    """Fill ``values`` [V] with what the net says in row ``row``, turned to White's view (search.md 2.1).

    ``outputs`` are the `client.search.tree.Outputs` of a batch, an array each: taking in a row took a fifth longer from
    one table of all of them (measured). ``sign`` is 1 where White moves, -1 where Black does.
    """
    mean = float(outputs.score_mean[row])
    stdev = float(outputs.score_stdev[row])
    no_result = float(outputs.no_result[row])
    values[WIN_LOSS] = sign * outputs.win_loss[row]
    values[NO_RESULT] = no_result
    values[SCORE_MEAN] = sign * mean
    values[SCORE_MEAN_SQ] = score_mean_square(mean, stdev, no_result)
    values[LEAD] = sign * outputs.lead[row]


@njit(cache=True, nogil=True)
def are_finite(values: Any) -> bool:
    """Whether ``values`` [V] are all numbers; the utility shows neither a NaN lead nor a NaN spread of the score."""
    total = 0.0
    for value in range(NUM_VALUES):
        total += values[value]
    return math.isfinite(total)


@njit(cache=True, nogil=True)
def write_outcome(values: Any, is_no_result: bool, final: float, draw_white_wins: float) -> None:
    """Fill ``values`` [V] with how a game ended (search.md 2.2).

    ``final`` is White's score minus Black's with komi, which means nothing in a game without result; a draw is won by
    White to the share ``draw_white_wins``.
    """
    for value in range(NUM_VALUES):
        values[value] = 0.0
    if is_no_result:
        values[NO_RESULT] = 1.0
        return
    white_wins = 1.0 if final > 0.0 else (0.0 if final < 0.0 else draw_white_wins)
    mean, mean_sq = terminal_score_moments(final, draw_white_wins)
    values[WIN_LOSS] = 2.0 * white_wins - 1.0
    values[SCORE_MEAN] = mean
    values[SCORE_MEAN_SQ] = mean_sq
    values[LEAD] = mean


def outcome_chances(win_loss: float, no_result: float) -> tuple[float, float, float]:
    """P(White wins), P(White loses) and P(no result) from averages, clamped (search.md 12)."""
    no_result = min(max(no_result, 0.0), 1.0 - abs(win_loss))
    return 0.5 * (win_loss + 1.0 - no_result), 0.5 * (-win_loss + 1.0 - no_result), no_result
