"""What a training row's targets are, given the values of the searches and how the game ended.

Pure formulas over arrays, shared by the recorder that writes rows and by the audit that checks them. Knows nothing of
moves, files or searches; the board's part (planes, ownership, future boards) is in `common.replay`. The names of
columns are in `common.rows`. Specification: training-data.md 2-5.

A *value* is four numbers (win, loss, noResult, score); it is seen from White unless a name says *own*.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from common.kernels import njit
from common.rows import SCORE_PERCENT, score_bins

Floats = npt.NDArray[np.float64]

WIN: Final = 0
LOSS: Final = 1
NO_RESULT: Final = 2
SCORE: Final = 3
VALUE_SIZE: Final = 4

MAX_SCORE: Final = 361 + 60
"""Bound of every score target except the final score of column 20 (training-data.md, CAP)."""

HORIZON_AREA_FACTORS: Final = (0.176, 0.056, 0.016)
"""a of 1/f = 1 + a * area for the long, mid and short horizon of the TD targets (training-data.md 4)."""
SHORT_HORIZON: Final = 2

_TINY: Final = 1e-10
_VALUE_SURPRISE_SCALE: Final = 0.010
_SURPRISING_CHEAP_FACTOR: Final = 1.5


def horizon_factors(area: int) -> tuple[float, float, float]:
    """The factors f of the long, mid and short horizon on a board of ``area`` points."""
    long, mid, short = (1.0 / (1.0 + a * area) for a in HORIZON_AREA_FACTORS)
    return long, mid, short


def td_targets(values: Floats, factor: float) -> Floats:
    """Exponentially weighted average of the values from each turn to the end (training-data.md 4).

    Args:
        values: ``[T + 1, ...]``, one row per recorded turn, the outcome last.
        factor: f, in (0, 1]; 1 gives the values themselves, 0 the outcome at every turn.

    Returns:
        ``[T, ...]`` float64.
    """
    targets = np.array(values[:-1], dtype=np.float64)
    _average_backwards(targets.reshape(len(targets), -1), values[-1].astype(np.float64).reshape(-1), factor)
    return targets


@njit(cache=True, nogil=True)
def _average_backwards(values: Any, last: Any, factor: float) -> None:
    """In ``values`` [T, C], changed in place, each row becomes ``factor`` of itself and the rest of the next one.

    ``last`` [C] follows the last row; it is scratch afterwards.
    """
    for turn in range(len(values) - 1, -1, -1):
        for channel in range(len(last)):
            last[channel] = factor * values[turn, channel] + (1.0 - factor) * last[channel]
            values[turn, channel] = last[channel]


def variance_times(win_loss: Floats) -> Floats:
    """Column 22: sum over k >= 1 of k (w[t+k] - w[t+k-1])^2, for each turn t.

    Args:
        win_loss: ``[T + 1]``, win minus loss of the value sequence, the outcome last; the side does not matter.

    Returns:
        ``[T]`` float64, in turns.
    """
    squares = np.diff(win_loss) ** 2
    still_to_come = np.cumsum(squares[::-1])
    return np.asarray(np.cumsum(still_to_come)[::-1])


def variance_time_errors(win_loss: Floats, unsure: Floats) -> Floats:
    """How far `variance_times` can be off, for each turn.

    Args:
        win_loss: ``[T + 1]``, as given there.
        unsure: ``[T + 1]``, by how much each of these may be wrong.
    """
    changes, errors = np.abs(np.diff(win_loss)), unsure[1:] + unsure[:-1]
    squares = 2.0 * changes * errors + errors**2
    return np.asarray(np.cumsum(np.cumsum(squares[::-1]))[::-1])


def own_values(values: Floats, white_to_move: npt.NDArray[np.bool_]) -> Floats:
    """``values`` ``[T, 4]`` of White's view, turned to the view of each row's player to move ``[T]``."""
    own = np.array(values, dtype=np.float64)
    black = ~white_to_move
    own[black, WIN] = values[black, LOSS]
    own[black, LOSS] = values[black, WIN]
    own[black, SCORE] = -values[black, SCORE]
    return own


def outcome_value(white_score: float, *, is_no_result: bool, draw_white_wins: float, result_is_integer: bool) -> Floats:
    """The last value of a game's sequence, ``[4]`` (training-data.md 3, columns 0-3).

    Args:
        white_score: final White minus Black with komi and bonuses, ignored for a no-result.
        is_no_result: the game ended without result.
        draw_white_wins: how many wins a draw is worth for White, in [0, 1].
        result_is_integer: whether the score can only be a whole number (rules.md 1), so that draws exist.
    """
    if is_no_result:
        return np.array([0.0, 0.0, 1.0, 0.0])
    wins = draw_white_wins if white_score == 0 else float(white_score > 0)
    score = white_score + draw_adjustment(draw_white_wins, result_is_integer=result_is_integer)
    return np.array([wins, 1.0 - wins, 0.0, score])


def draw_adjustment(draw_white_wins: float, *, result_is_integer: bool) -> float:
    """Points that the worth of a draw adds to White's score or komi (rules.md 3)."""
    return draw_white_wins - 0.5 if result_is_integer else 0.0


def round_half_away(values: Floats) -> Floats:
    """The nearest whole numbers, halves away from zero."""
    return np.copysign(np.floor(np.abs(values) + 0.5), values)


def score_distributions(own_scores: Floats, exists: npt.NDArray[np.bool_], length: int) -> npt.NDArray[np.int8]:
    """``scoreDistrN``: percent per half-point score (training-data.md 2).

    Args:
        own_scores: ``[n]`` draw-adjusted final scores seen from the player to move.
        exists: ``[n]`` whether a row has such a target.
        length: edge of the tensors, L.

    Returns:
        ``[n, 2 L^2 + 120]`` int8; each row sums to 100.
    """
    middle = score_bins(length) // 2
    bins = np.zeros((len(own_scores), 2 * middle), dtype=np.int8)
    centre = round_half_away(own_scores)
    upper = centre.astype(np.int64) + middle
    share = round_half_away(SCORE_PERCENT * (own_scores - (centre - 0.5))).astype(np.int64)
    share = np.where(upper <= 0, SCORE_PERCENT, np.where(upper >= 2 * middle, 0, share))
    upper = np.clip(upper, 0, 2 * middle)
    share = np.where(exists, share, SCORE_PERCENT // 2)
    upper = np.where(exists, upper, middle)
    rows = np.arange(len(own_scores))
    bins[rows, np.maximum(upper - 1, 0)] = SCORE_PERCENT - share
    has_upper = upper < 2 * middle
    bins[rows[has_upper], upper[has_upper]] = share[has_upper]
    return bins


def value_surprises(short_values: Floats, raw_values: Floats) -> Floats:
    """How much what followed differs from the raw net: min(1, KL) over win, loss, noResult (training-data.md 5.2).

    Args:
        short_values: ``[T, 4]``, TD targets of the short horizon.
        raw_values: ``[T, >= 3]``, the net's own values, same view.

    Returns:
        ``[T]`` float64, nats.
    """
    happened = short_values[:, :SCORE]
    expected = np.maximum(raw_values[:, :SCORE], _TINY)
    terms = np.where(happened > 0, happened * (np.log(np.maximum(happened, _TINY)) - np.log(expected)), 0.0)
    return np.asarray(np.clip(terms.sum(axis=1), 0.0, 1.0))


def surprise_weights(
    weights: Floats,
    policy_surprises: Floats,
    value_surprises: Floats,
    *,
    policy_share: float,
    value_share: float,
    may_exceed: npt.NDArray[np.bool_] | None = None,
) -> Floats:
    """Row weights after surprise weighting (training-data.md 5.2); their sum stays.

    Args:
        weights: ``[T]`` base weights in [0, 1], 0 for cheap searches that are not recorded.
        policy_surprises: ``[T]`` nats (column 30).
        value_surprises: ``[T]`` of `value_surprises`.
        policy_share: ``policySurpriseDataWeight``.
        value_share: ``valueSurpriseDataWeight``; the two sum to at most 1.
        may_exceed: ``[T]`` turns that come in by a surprise beyond what their weight says; None: all.

    Returns:
        ``[T]`` float64, equal to ``weights`` where they sum to less than 1.
    """
    total = weights.sum()
    if total < 1.0:
        return weights.astype(np.float64)
    mean_policy = (weights * policy_surprises).sum() / total
    mean_value = (weights * value_surprises).sum() / total
    value_share *= min(1.0, mean_value / _VALUE_SURPRISE_SCALE)
    excess = np.maximum(0.0, policy_surprises - _SURPRISING_CHEAP_FACTOR * mean_policy)
    if may_exceed is not None:
        excess = np.where(may_exceed, excess, 0.0)
    by_policy = weights * policy_surprises + (1.0 - weights) * excess
    by_value = weights * value_surprises
    kept = (1.0 - policy_share - value_share) * weights
    kept = kept + policy_share * total * by_policy / max(by_policy.sum(), _TINY)
    return np.asarray(kept + value_share * total * by_value / max(by_value.sum(), _TINY))


def copies(weights: Floats, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """How many times each row is written: the weight rounded so that its expectation stays (training-data.md 5.3)."""
    return stochastic_round(weights, random)


def stochastic_round(values: Floats, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Floor or ceiling of each value, with probabilities that keep the expectation."""
    below = np.floor(values)
    return np.asarray(below + (random.random(values.shape) < values - below), dtype=np.int64)


@njit(cache=True, nogil=True)
def round_by(value: float, draw: float) -> int:
    """Floor or ceiling of ``value``, as `stochastic_round` does with this draw from [0, 1)."""
    below = math.floor(value)
    return int(below + (draw < value - below))
