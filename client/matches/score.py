"""The score of a match: points, error, Elo, and the sequential test that says when it is decided.

Games come in pairs that share their opening with colours swapped, and the two games of a pair are not independent: an
opening that favours Black gives each player one point. So errors are those of pairs, not of games; a game whose
partner has not been played stands alone. Knows no game.

The test is the generalised sequential probability ratio test of Elo0 against Elo1 with the variance estimated from the
results (Van den Bergh, "The generalized SPRT applied to chess engine testing", 2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

_Z95: Final = 1.959964
"""Standard normal quantile of a two-sided 95 % interval."""
MOST_ELO: Final = 10_000.0
"""Of a difference that is tested; one of 10,000 is a chance of 1e-25."""
_MIN_UNITS: Final = 10
"""Pairs before which the test says nothing: the variance of fewer is no estimate."""


@dataclass
class Score:
    """Games of the first player against the second; games 2k and 2k + 1 are a pair."""

    _points: dict[int, float] = field(default_factory=dict)  # by number of the game: 1, ½ or 0 for the first player

    def add(self, number: int, points: float) -> None:
        """Game ``number`` gave the first player 1, ½ or 0 points."""
        self._points[number] = points

    @property
    def games(self) -> int:
        """How many are played."""
        return len(self._points)

    @property
    def wins(self) -> int:
        """Of the first player."""
        return sum(points == 1.0 for points in self._points.values())

    @property
    def losses(self) -> int:
        """Of the first player."""
        return sum(points == 0.0 for points in self._points.values())

    @property
    def draws(self) -> int:
        """Games that were drawn or had no result."""
        return self.games - self.wins - self.losses

    @property
    def share(self) -> float:
        """Mean points per game, in [0, 1]."""
        return sum(self._points.values()) / self.games

    def units(self) -> list[tuple[int, float]]:
        """(games, points) of each pair, and of each game that stands alone."""
        found: dict[int, tuple[int, float]] = {}
        for number, points in self._points.items():
            games, so_far = found.get(number // 2, (0, 0.0))
            found[number // 2] = games + 1, so_far + points
        return list(found.values())

    @property
    def standard_error(self) -> float:
        """Standard error of `share`; as if one more game had been won and one lost, so that it is never 0."""
        units = [*self.units(), (1, 1.0), (1, 0.0)]
        games = sum(count for count, _ in units)
        mean = sum(points for _, points in units) / games
        return math.sqrt(sum((points - count * mean) ** 2 for count, points in units)) / games

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of `share`."""
        reach = _Z95 * self.standard_error
        return max(0.0, self.share - reach), min(1.0, self.share + reach)

    def describe(self) -> str:
        """Score with its error, and what it means in Elo, in one line."""
        low, high = (elo(bound) for bound in self.interval)
        return (
            f"{self.wins} won, {self.draws} drawn, {self.losses} lost: {100 * self.share:.1f} ± "
            f"{100 * self.standard_error:.1f} %, Elo {elo(self.share):+.0f} (95 %: {low:+.0f} to {high:+.0f})"
        )


def elo(share: float) -> float:
    """Difference in Elo that an expected score stands for; infinite at 0 and 1."""
    if share <= 0.0 or share >= 1.0:
        return math.copysign(math.inf, share - 0.5)
    return 400.0 * math.log10(share / (1.0 - share))


def expected_share(difference: float) -> float:
    """The expected score of who is ``difference`` Elo stronger."""
    return 1.0 / (1.0 + math.pow(10.0, -difference / 400.0))


@dataclass(frozen=True)
class SequentialTest:
    """Whether the first player is ``elo1`` or more stronger, or ``elo0`` or less.

    ``alpha`` bounds the chance to accept Elo1 where Elo0 holds, ``beta`` that to accept Elo0 where Elo1 holds.
    """

    elo0: float
    elo1: float
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not self.elo0 < self.elo1:
            raise ValueError(
                f"a sequential test needs two Elo differences, the lower first, not {self.elo0:g},{self.elo1:g}"
            )
        if not -MOST_ELO <= self.elo0 < self.elo1 <= MOST_ELO:
            raise ValueError(f"Elo differences are tested up to {MOST_ELO:g}, not {self.elo0:g},{self.elo1:g}")
        if not (0.0 < self.alpha < 0.5 and 0.0 < self.beta < 0.5):
            raise ValueError(f"chances of error lie between 0 and 0.5, not {self.alpha:g} and {self.beta:g}")

    @property
    def bounds(self) -> tuple[float, float]:
        """Log-likelihood ratios at which Elo0 and Elo1 are accepted."""
        return math.log(self.beta / (1.0 - self.alpha)), math.log((1.0 - self.beta) / self.alpha)

    def log_likelihood_ratio(self, score: Score) -> float:
        """Of Elo1 over Elo0, from pairs; 0 while there are too few."""
        pairs = [points / 2 for games, points in score.units() if games == 2]
        if len(pairs) < _MIN_UNITS:
            return 0.0
        mean = sum(pairs) / len(pairs)
        variance = sum((points - mean) ** 2 for points in pairs) / len(pairs)
        if variance <= 0.0:
            # All pairs alike: as certain as if one of them had come out half a point another way.
            variance = 0.25 * (1.0 / len(pairs)) * (1.0 - 1.0 / len(pairs))
        share0, share1 = expected_share(self.elo0), expected_share(self.elo1)
        return len(pairs) * (share1 - share0) * (2.0 * mean - share0 - share1) / (2.0 * variance)

    def verdict(self, score: Score) -> float | None:
        """The Elo difference that is accepted; None: not decided yet."""
        ratio = self.log_likelihood_ratio(score)
        low, high = self.bounds
        return self.elo1 if ratio >= high else self.elo0 if ratio <= low else None

    def describe(self, score: Score) -> str:
        """How far the test is, in one line."""
        ratio, (low, high) = self.log_likelihood_ratio(score), self.bounds
        verdict = self.verdict(score)
        end = "not decided" if verdict is None else f"Elo {verdict:+g} accepted"
        sides = f"Elo {self.elo0:+g} against {self.elo1:+g}"
        return f"{sides}: log-likelihood ratio {ratio:.2f} ({low:.2f} to {high:.2f}), {end}"
