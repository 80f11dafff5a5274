"""Utility of an outcome: win, no result and the two score terms (search.md 2.3 to 2.6).

The expectation of the score terms over a normal law comes from a table that `score_table` makes once per process; it
is an argument of the kernels, not a constant of theirs. All values are White's.
"""

from __future__ import annotations

import functools
import math
from typing import Final

import numpy as np
import numpy.typing as npt

from common.kernels import njit

FloatArray = npt.NDArray[np.float64]

STATIC_SCORE_SCALE: Final = 2.0
_NUM_MEANS: Final = 842
_NUM_STDEVS: Final = 421
_ZERO_MEAN: Final = 421  # index i stands for the mean i - 421.5
_TABLE_EDGE: Final = 19.0
_TENTHS: Final = 10
_HALF_STEPS: Final = 50  # the normal law is summed over -5 … 5 standard deviations in tenths


@functools.cache
def score_table() -> FloatArray:
    """Expected (2/pi) atan(score / 19) by mean and stdev, [842, 421], read-only (search.md 2.4)."""
    steps = np.arange(-_HALF_STEPS, _HALF_STEPS + 1)
    weights = np.exp(-0.5 * (steps / _TENTHS) ** 2)
    weights /= weights.sum()
    # every score that occurs is a multiple of a tenth point: one arctangent each
    means = -4215 + 10 * np.arange(_NUM_MEANS)
    largest = 4215 + _HALF_STEPS * (_NUM_STDEVS - 1)
    values = 2.0 / math.pi * np.arctan(np.arange(-largest, largest + 1) / (_TENTHS * _TABLE_EDGE))
    table = np.zeros((_NUM_MEANS, _NUM_STDEVS))
    for step, weight in zip(steps, weights, strict=True):
        table += weight * values[largest + means[:, None] + step * np.arange(_NUM_STDEVS)[None, :]]
    table.flags.writeable = False
    return table


@njit(cache=True, nogil=True)
def _round_half_away(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x)


@njit(cache=True, nogil=True)
def expected_score_value(
    table: FloatArray, mean: float, stdev: float, centre: float, scale: float, sqrt_area: float
) -> float:
    """E[(2/pi) atan((score - centre) / (scale sqrt_area))] for a normal score; bilinear in `score_table`.

    NaN for a mean or stdev that is not finite.
    """
    factor = _TABLE_EDGE / (scale * sqrt_area)
    m = (mean - centre) * factor
    s = stdev * factor
    if not (math.isfinite(m) and math.isfinite(s)):
        return math.nan
    rounded = _round_half_away(m)
    along_mean = m - rounded + 0.5
    floor_s = math.floor(s)
    along_stdev = s - floor_s
    last_mean = _NUM_MEANS - 1
    last_stdev = _NUM_STDEVS - 1
    # clamp before the conversion to int: a net may say anything
    i0 = int(min(max(rounded + _ZERO_MEAN, -1.0), float(last_mean)))
    i1 = i0 + 1
    if i0 < 0:
        i0 = 0
        i1 = 0
    elif i1 > last_mean:
        i0 = last_mean
        i1 = last_mean
    j0 = int(min(floor_s, float(last_stdev)))
    j1 = j0 + 1
    if j1 > last_stdev:
        j0 = last_stdev
        j1 = last_stdev
    low = table[i0, j0] + (table[i0, j1] - table[i0, j0]) * along_stdev
    high = table[i1, j0] + (table[i1, j1] - table[i1, j0]) * along_stdev
    return float(low + (high - low) * along_mean)


@njit(cache=True, nogil=True)
def score_stdev(score_mean: float, score_mean_sq: float) -> float:
    """Standard deviation from the first two moments."""
    return math.sqrt(max(0.0, score_mean_sq - score_mean * score_mean))


@njit(cache=True, nogil=True)
def score_utility(
    table: FloatArray, score_mean: float, score_mean_sq: float, centre: float, sqrt_area: float, parameters: np.void
) -> float:
    """The static and the dynamic score term of the utility."""
    static_factor = parameters["static_score_utility_factor"]
    dynamic_factor = parameters["dynamic_score_utility_factor"]
    stdev = score_stdev(score_mean, score_mean_sq)
    total = 0.0
    if static_factor != 0.0:
        total += static_factor * expected_score_value(table, score_mean, stdev, 0.0, STATIC_SCORE_SCALE, sqrt_area)
    if dynamic_factor != 0.0:
        scale = parameters["dynamic_score_center_scale"]
        total += dynamic_factor * expected_score_value(table, score_mean, stdev, centre, scale, sqrt_area)
    return total


@njit(cache=True, nogil=True)
def outcome_utility(win_loss: float, no_result: float, parameters: np.void) -> float:
    """The part of the utility that does not see the score."""
    utility = win_loss * parameters["win_loss_utility_factor"] + no_result * parameters["no_result_utility_for_white"]
    return float(utility)


@njit(cache=True, nogil=True)
def utility_radius(parameters: np.void) -> float:
    """R: the largest utility a decided game can have."""
    return float(
        parameters["win_loss_utility_factor"]
        + parameters["static_score_utility_factor"]
        + parameters["dynamic_score_utility_factor"]
    )


@njit(cache=True, nogil=True)
def dynamic_centre(expected_score: float, sqrt_area: float, parameters: np.void) -> float:
    """The score at which the dynamic term is zero, fixed for one search (search.md 2.5)."""
    cap = sqrt_area * parameters["dynamic_score_center_scale"]
    centre = expected_score * (1.0 - parameters["dynamic_score_center_zero_weight"])
    return float(min(max(centre, expected_score - cap), expected_score + cap))


@njit(cache=True, nogil=True)
def _slope(x: float, centre: float, width: float) -> float:
    ratio = (x - centre) / width
    return 2.0 / (math.pi * width) / (1.0 + ratio * ratio)


@njit(cache=True, nogil=True)
def uncertainty(
    win_loss_error: float, score_error: float, score_mean: float, centre: float, sqrt_area: float, parameters: np.void
) -> float:
    """Expected error of a raw evaluation's utility, from the net's short-term errors (search.md 2.6)."""
    static = parameters["static_score_utility_factor"] * _slope(score_mean, 0.0, STATIC_SCORE_SCALE * sqrt_area)
    dynamic = parameters["dynamic_score_utility_factor"] * _slope(
        score_mean, centre, parameters["dynamic_score_center_scale"] * sqrt_area
    )
    return float(parameters["win_loss_utility_factor"] * win_loss_error + (static + dynamic) * score_error)


@njit(cache=True, nogil=True)
def evaluation_weight(error: float, parameters: np.void) -> float:
    """Weight of a raw evaluation whose utility is off by ``error`` (search.md 2.6)."""
    coefficient = parameters["uncertainty_coeff"]
    offset = coefficient / parameters["uncertainty_max_weight"]
    return float(coefficient / (error ** parameters["uncertainty_exponent"] + offset))


@njit(cache=True, nogil=True)
def terminal_score_moments(score: float, draw_white_wins: float) -> tuple[float, float]:
    """Score mean and second moment of a decided game, ``score`` = final White - Black with komi (search.md 2.2).

    A whole score can be a draw, so it counts as its two half-point neighbours, the upper with chance
    ``draw_white_wins``.
    """
    if score != math.floor(score):
        return score, score * score
    low = score - 0.5
    high = score + 0.5
    return score + draw_white_wins - 0.5, low * low + (high * high - low * low) * draw_white_wins
