"""How much each child counts in its parent's averages: noise pruning and value weighting (search.md 3.2 to 3.4).

Pure functions over the first ``count`` entries of small arrays, in order of creation; weights are changed in place.
Utilities here are seen from the player to move at the parent.
"""

from __future__ import annotations

import functools
import math
from typing import Final

import numpy as np
import numpy.typing as npt

from common.kernels import njit

FloatArray = npt.NDArray[np.float64]

_T_POINTS: Final = 2000
_T_BOUND: Final = 50.0
_MIN_TOTAL: Final = 1e-5
_MIN_PRIOR: Final = 1e-30


@functools.cache
def student_table() -> FloatArray:
    """Cumulative Student t law, 3 degrees of freedom, at 2000 points of [-50, 50]; ends are 0 and 1; read-only."""
    z = np.linspace(-_T_BOUND, _T_BOUND, _T_POINTS)
    x = z / math.sqrt(3.0)
    table = 0.5 + (x / (1.0 + x * x) + np.arctan(x)) / math.pi
    table[0] = 0.0
    table[-1] = 1.0
    table.flags.writeable = False
    return table


@njit(cache=True, nogil=True)
def student_cdf(table: FloatArray, z: float) -> float:
    """Linear interpolation in `student_table`; 0 below and 1 above its range."""
    x = (z + _T_BOUND) * ((_T_POINTS - 1) / (2.0 * _T_BOUND))
    if x <= 0.0:
        return 0.0
    if x >= _T_POINTS - 1:
        return 1.0
    i = int(x)
    return float(table[i] + (x - i) * (table[i + 1] - table[i]))


@njit(cache=True, nogil=True)
def prune_noise(
    weights: FloatArray, utilities: FloatArray, priors: FloatArray, count: int, total: float, parameters: np.void
) -> float:
    """Reduce children that got more than their share although they are worse than the earlier ones; the new total."""
    if count < 2 or total <= _MIN_TOTAL:
        return total
    weight_sum = 0.0
    utility_sum = 0.0
    prior_sum = 0.0
    for i in range(count):
        prior = max(priors[i], _MIN_PRIOR)
        weight = weights[i]
        if weight_sum > 0.0 and prior_sum > 0.0:
            gap = utility_sum / weight_sum - utilities[i]
            if gap > 0.0:
                share = 2.0 * weight_sum * prior / prior_sum
                if weight > share:
                    excess = (weight - share) * (1.0 - math.exp(-gap / parameters["noise_prune_utility_scale"]))
                    weight -= min(parameters["noise_pruning_cap"], excess)
                    weights[i] = weight
        utility_sum += utilities[i] * weight
        weight_sum += weight
        prior_sum += prior
    return weight_sum


@njit(cache=True, nogil=True)
def _raise_to(factors: FloatArray, count: int, exponent: float) -> None:
    """Raise ``factors`` to the power of ``exponent``, by square roots for the usual two."""
    if exponent == 0.5:
        for i in range(count):
            factors[i] = math.sqrt(factors[i])
    elif exponent == 0.25:
        for i in range(count):
            factors[i] = math.sqrt(math.sqrt(factors[i]))
    else:
        for i in range(count):
            factors[i] = factors[i] ** exponent


@njit(cache=True, nogil=True)
def value_factors(
    table: FloatArray,
    weights: FloatArray,
    utilities: FloatArray,
    count: int,
    total: float,
    exponent: float,
    factors: FloatArray,
) -> None:
    """Fill ``factors`` with what a child's value multiplies its weight by, before rescaling (search.md 3.4).

    A root has hundreds of children, and backing up spends much of its time here: loops without branches do several at
    once. The square roots and quotients are the costly part, so the look-ups have a loop of their own.
    """
    mean = 0.0
    for i in range(count):
        mean += utilities[i] * weights[i]
    mean /= total
    for i in range(count):
        stdev = math.sqrt(1e-8 + 1.0 / (1.5 * math.sqrt(weights[i])))
        factors[i] = (utilities[i] - mean) / stdev
    for i in range(count):
        factors[i] = student_cdf(table, factors[i]) + 1e-4
    _raise_to(factors, count, exponent)


@njit(cache=True, nogil=True)
def reweight(
    table: FloatArray,
    weights: FloatArray,
    utilities: FloatArray,
    count: int,
    total: float,
    subtract: float,
    prune: float,
    exponent: float,
    factors: FloatArray,
) -> None:
    """Drop weights below ``prune``, take ``subtract`` off the others, weight by value, restore the sum ``total``."""
    if count == 0 or total <= 0.0:
        return
    if exponent > 0.0:
        value_factors(table, weights, utilities, count, total, exponent, factors)
    elif subtract <= 0.0 and prune <= 0.0:
        return
    new_total = 0.0
    for i in range(count):
        weight = weights[i]
        weight = 0.0 if weight < prune else max(0.0, weight - subtract)
        if exponent > 0.0:
            weight *= factors[i]
        weights[i] = weight
        new_total += weight
    if new_total > 0.0:
        for i in range(count):
            weights[i] *= total / new_total
