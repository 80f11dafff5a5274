"""Which two networks play a rating game: pure functions over what a selector loaded (contribute-protocol.md 15).

The first network is one of the ten that head a list: the strongest that a network may be, the least certain ones, or
those with the fewest games. The second is one of about its strength, where a game tells most. A network's strength is
taken with a chance error of its own, so that one which is uncertain meets many others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from common.elo import ELO_PER_LOG_GAMMA

Floats: TypeAlias = "npt.NDArray[np.float64]"

HEAD: Final = 10
"""So many of a list may be drawn."""
_FALL: Final = 2.0
"""A place of a list has exp(-place / _FALL) of the first one's chance."""
RANGE: Final = 1200.0 / ELO_PER_LOG_GAMMA
"""An opponent is within 1200 Elo, in units of log gamma."""
FEW: Final = 4
"""With fewer networks in range, the two next weaker and the two next stronger ones are drawn from evenly."""
NEIGHBOURS: Final = 2


class Way(Enum):
    """By what the first network is looked for."""

    STRENGTH = "strength"
    UNCERTAINTY = "uncertainty"
    DATA = "data"


RATED: Final = np.dtype([("id", np.int64), ("log_gamma", np.float64), ("error", np.float64), ("games", np.int64)])
"""A network by its key, its strength as it was computed last, in units of log gamma, with one standard error."""
Rated: TypeAlias = "npt.NDArray[np.void]"
"""Networks [N] of dtype `RATED`."""


@dataclass(frozen=True)
class PairDraws:
    """Random numbers in [0, 1) that decide, and a normal one."""

    way: float
    first: float
    noise: float
    """Normal, of mean 0 and deviation 1."""
    second: float
    colour: float


def drawn_way(weights: Sequence[float], draw: float) -> Way:
    """One of the three ways by their relative weights, all alike if these are all 0."""
    if sum(weights) <= 0.0:
        weights = [1.0] * len(Way)
    return list(Way)[_drawn(np.array(weights), draw)]


def head_of(rated: Rated, way: Way) -> Rated:
    """The networks that head the list of a way; of equal ones the newest come first."""
    order = {
        Way.STRENGTH: -(rated["log_gamma"] + 2.0 * rated["error"]),
        Way.UNCERTAINTY: -rated["error"],
        Way.DATA: rated["games"],
    }[way]
    return rated[np.lexsort((-rated["id"], order))[:HEAD]]


def drawn_first(head: Rated, draw: float) -> np.void:
    """One of the networks that head a list, the first ones more often."""
    first: np.void = head[_drawn(np.exp(-np.arange(len(head)) / _FALL), draw)]
    return first


def strength_as_met(network: np.void, noise: float, variability: float) -> float:
    """A network's strength with a chance error, a multiple of its own."""
    return float(network["log_gamma"] + noise * network["error"] * variability)


def drawn_second(strength: float, others: Rated, draw: float, variability: float) -> np.void | None:
    """The opponent of a network of that ``strength``; None where there is no other.

    Of the networks in range each by the variance p (1 - p) of the game's expected result, with differences divided by
    ``variability``.
    """
    second: np.void
    near = others[np.abs(others["log_gamma"] - strength) <= RANGE]
    if len(near) >= FEW:
        variances = _log_variance((near["log_gamma"] - strength) / variability)
        second = near[_drawn(np.exp(variances - variances.max()), draw)]
        return second
    by_strength = others[np.argsort(others["log_gamma"], kind="stable")]
    place = int(np.searchsorted(by_strength["log_gamma"], strength, side="right"))
    around = by_strength[max(0, place - NEIGHBOURS) : place + NEIGHBOURS]
    if not len(around):
        return None
    second = around[int(draw * len(around))]
    return second


def _log_variance(difference: Floats) -> Floats:
    """Logarithm of p (1 - p) for p = 1 / (1 + exp(difference))."""
    size = np.abs(difference)
    found: Floats = -size - 2.0 * np.log1p(np.exp(-size))
    return found


def _drawn(weights: Floats, draw: float) -> int:
    """Which of the ``weights`` a number in [0, 1) falls into, each having its share of it."""
    ends = np.cumsum(weights)
    return min(int(np.searchsorted(ends, draw * ends[-1], side="right")), len(weights) - 1)
