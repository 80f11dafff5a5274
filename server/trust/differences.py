"""Does a contributor differ from the run by more than chance? Pure functions over sums of figures.

A figure is a number that every game has: who won, how long it was, how surprised the search was. Games of one *stratum*
(the same networks and text) are drawn alike, whoever plays them, so within it a contributor's mean and that of all
others differ by chance alone. The differences of all strata are added and compared with their standard deviation; the
deviation is that of the others, which a cheater does not choose.

Looked at again and again, chance would be exceeded some day. So a look is due whenever the number of games has doubled:
from `FIRST_LOOK` up to 2^24 games there are 21 looks, of at most 9 figures, of a login and of its machine: fewer than
380 tests in the life of one. A test exceeds `MOST_DEVIATIONS` by chance less often than once in 1.7 million times, were
the sum normal, so an honest login is suspected with a probability below 1 : 4,000; docs/trust-audit.md has what
simulations with skewed figures say. What is small is let pass however certain it is (`LEAST_EFFECT`): machines that are
switched off every evening send fewer long games.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

FIRST_LOOK: Final = 16
"""Games of a login before it is compared."""
MOST_DEVIATIONS: Final = 5.0
LEAST_EFFECT: Final = 0.25
"""Standard deviations between the means."""
LEAST_REFERENCE: Final = 30
"""Games of others in a stratum, below which it says nothing."""
_LEAST_VARIANCE: Final = 1e-6


class Sums(NamedTuple):
    """Number, sum and sum of squares of one figure."""

    games: float = 0
    total: float = 0.0
    squares: float = 0.0

    def plus(self, other: Sums, sign: int = 1) -> Sums:
        """These and ``sign`` times the others."""
        return Sums(*(mine + sign * theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def mean(self) -> float:
        """The average; 0 without games."""
        return self.total / self.games if self.games > 0 else 0.0

    @property
    def variance(self) -> float:
        """Of one game; at least what rounding leaves."""
        if self.games < 2:
            return _LEAST_VARIANCE
        spread = (self.squares - self.total * self.total / self.games) / (self.games - 1)
        return max(spread, _LEAST_VARIANCE)


def of_game(value: float) -> Sums:
    """The sums of one game."""
    return Sums(1, value, value * value)


class Stratum(NamedTuple):
    """One figure of games that were drawn alike."""

    own: Sums
    others: Sums


@dataclass(frozen=True)
class Difference:
    """How far a login's games are from those of others."""

    games: int
    """Of its own that were compared."""
    own_mean: float
    expected: float
    """What others' games of the same strata would have averaged."""
    deviations: float
    """Standard deviations of what chance does to the difference of the sums."""
    effect: float
    """Standard deviations of one game between the means."""

    @property
    def is_suspicious(self) -> bool:
        """Neither chance nor small."""
        return self.games >= FIRST_LOOK and abs(self.deviations) > MOST_DEVIATIONS and abs(self.effect) > LEAST_EFFECT


def difference(strata: Iterable[Stratum]) -> Difference | None:
    """Compare one figure over all strata; None where there is nothing to compare with."""
    games = total = expected = variance = spread = 0.0
    for own, others in strata:
        if own.games <= 0 or others.games < LEAST_REFERENCE:
            continue
        games += own.games
        total += own.total
        expected += own.games * others.mean
        variance += others.variance * own.games * (1.0 + own.games / others.games)
        spread += others.variance * own.games
    if games == 0:
        return None
    excess = total - expected
    return Difference(
        games=int(games),
        own_mean=total / games,
        expected=expected / games,
        deviations=excess / math.sqrt(variance),
        effect=excess / games / math.sqrt(spread / games),
    )


def next_look(games: int) -> int:
    """Number of games at which the next look is due, after one at ``games``."""
    due = FIRST_LOOK
    while due <= games:
        due *= 2
    return due


def suspicious(figures: Mapping[str, Iterable[Stratum]]) -> dict[str, Difference]:
    """The figures in which a login differs from others by more than chance."""
    found = {name: difference(strata) for name, strata in figures.items()}
    return {name: seen for name, seen in found.items() if seen is not None and seen.is_suspicious}
