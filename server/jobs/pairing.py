"""Which two networks play a rating game: pure functions over what a selector loaded (contribute-protocol.md 15).

The first network is one of the ten that head a list: the strongest that a network may be, the least certain ones, or
those with the fewest games. The second is one of about its strength, where a game tells most. A network's strength is
taken with a chance error of its own, so that one which is uncertain meets many others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from common.elo import ELO_PER_LOG_GAMMA

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


@dataclass(frozen=True)
class Rated:
    """A network's strength as it was computed last, in units of log gamma, with one standard error."""

    id: int
    log_gamma: float
    error: float
    games: int


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
    total = sum(weights)
    if total <= 0.0:
        weights, total = [1.0] * len(Way), float(len(Way))
    return list(Way)[_drawn([weight / total for weight in weights], draw)]


def drawn_first(head: Sequence[Rated], draw: float) -> Rated:
    """One of the networks that head a list, the first ones more often."""
    return head[_drawn(_normal([math.exp(-place / _FALL) for place in range(len(head))]), draw)]


def strength_as_met(network: Rated, noise: float, variability: float) -> float:
    """A network's strength with a chance error, a multiple of its own."""
    return network.log_gamma + noise * network.error * variability


def drawn_second(strength: float, others: Sequence[Rated], draw: float, variability: float) -> Rated | None:
    """The opponent of a network of that ``strength``; None where there is no other.

    Of the networks in range each by the variance p (1 - p) of the game's expected result, with differences divided by
    ``variability``.
    """
    near = [other for other in others if abs(other.log_gamma - strength) <= RANGE]
    if len(near) >= FEW:
        variances = [_log_variance((other.log_gamma - strength) / variability) for other in near]
        largest = max(variances)
        return near[_drawn(_normal([math.exp(variance - largest) for variance in variances]), draw)]
    by_strength = sorted(others, key=lambda other: other.log_gamma)
    weaker = [other for other in by_strength if other.log_gamma <= strength][-NEIGHBOURS:]
    stronger = [other for other in by_strength if other.log_gamma > strength][:NEIGHBOURS]
    around = weaker + stronger
    return around[int(draw * len(around))] if around else None


def _log_variance(difference: float) -> float:
    """Logarithm of p (1 - p) for p = 1 / (1 + exp(difference))."""
    size = abs(difference)
    return -size - 2.0 * math.log1p(math.exp(-size))


def _normal(weights: Sequence[float]) -> list[float]:
    total = sum(weights)
    return [weight / total for weight in weights]


def _drawn(shares: Sequence[float], draw: float) -> int:
    """Which of the shares, that sum up to 1, a number in [0, 1) falls into."""
    for index, share in enumerate(shares):
        if draw < share:
            return index
        draw -= share
    return len(shares) - 1
