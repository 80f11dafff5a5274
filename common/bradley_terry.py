"""Strengths of networks from the results of their games: Bradley-Terry, maximum a posteriori.

Pure arithmetic over arrays; knows nothing of the database. The model (spec contribute-protocol.md 15): network i beats
j with probability 1 / (1 + exp(r_j - r_i)), a draw counts half a win for each, and every network but the first has
`VIRTUAL_DRAWS` draws with its parent as a prior. The first network is the zero of the scale. Where there are no
parents, as among the players of a match, whoever asks gives a prior of its own with the results.

The log posterior is concave, so there is one optimum, and Newton's method finds it from anywhere. From the strengths of
before, where a few games are new, a few steps with one factored matrix lead there, since it hardly changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from common.factors import Factor, Floats, Ints, factored, sums

VIRTUAL_DRAWS: Final = 4.0
MAX_NEWTON_STEPS: Final = 200
TOLERANCE: Final = 1e-9
"""Of the last Newton step, in units of log gamma; what is left after it is about its square."""
MAX_STEP: Final = 2.0
"""Longest Newton step: far from the optimum the quadratic model overshoots."""
KEPT_WHILE: Final = 0.03
"""A matrix that was factored some steps ago is used while it makes each step at least so much shorter than the last."""
ROUNDING: Final = 1e-6
"""Strengths that moved by no more than this have the same errors, to as many digits."""
NO_PARENT: Final = -1


class Pairs(NamedTuple):
    """Games between networks, a pairing on each line, in any order and any number of times: arrays [P]."""

    first: Ints
    second: Ints
    points: Floats
    """Of the first; draws half."""
    games: Floats

    @classmethod
    def of(cls, lines: npt.ArrayLike) -> Pairs:
        """Out of an array [P, 4] with the columns above."""
        table = np.asarray(lines, dtype=np.float64).reshape(-1, 4)
        return cls(table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2], table[:, 3])


@dataclass(frozen=True)
class Strengths:
    """``log_gamma`` and its standard error per network, float64 [N]; the first is 0 with error 0."""

    log_gamma: Floats
    error: Floats


def strengths(
    parents: Ints, pairs: Pairs, start: Floats | None = None, virtual_draws: float = VIRTUAL_DRAWS
) -> Strengths:
    """Maximum a posteriori strengths of networks in the order of their creation; network 0 is the zero of the scale.

    Args:
        parents: for each network the index of its parent [N], `NO_PARENT` for the first (and for a network without a
            parent, whose prior is then the first).
        pairs: their games.
        start: strengths to begin from [N], such as those of before; the result does not depend on it.
        virtual_draws: of each network with its parent; 0 only where the games connect all networks, in both directions.

    Raises:
        ValueError: an index out of range, a network paired with itself, or points beyond the games.
    """
    count = len(parents)
    if count <= 1:
        return Strengths(np.zeros(count), np.zeros(count))
    pairs = _summed(_with_priors(parents, pairs, virtual_draws))
    rating = np.zeros(count) if start is None else start - start[0]
    posterior = _log_posterior(pairs, rating)
    factor, factored_at, longest = _factored(pairs, count, rating), rating, math.inf
    for _ in range(MAX_NEWTON_STEPS):
        missing = pairs.points - pairs.games * _win(pairs, rating)
        gradient = sums(pairs.first, missing, count) - sums(pairs.second, missing, count)
        step = np.concatenate([[0.0], factor.solve(gradient[1:])])
        before, longest = longest, float(np.abs(step).max())
        step *= min(1.0, MAX_STEP / longest) if longest > 0 else 1.0
        rating, posterior = _stepped(pairs, rating, step, posterior)
        if longest < TOLERANCE:
            break
        if longest > before * KEPT_WHILE:
            factor, factored_at = _factored(pairs, count, rating), rating
    if np.abs(rating - factored_at).max() > ROUNDING:
        factor = _factored(pairs, count, rating)
    error = np.concatenate([[0.0], np.sqrt(factor.inverse_diagonal())])
    return Strengths(rating, error)


def _factored(pairs: Pairs, count: int, rating: Floats) -> Factor:
    """The negative Hessian of the log posterior at ``rating``, without the fixed first network."""
    return factored(count, pairs.first, pairs.second, _weight(pairs, _win(pairs, rating)))


def _win(pairs: Pairs, rating: Floats) -> Floats:
    """Expected points of the first per game of each pairing."""
    win: Floats = 1.0 / (1.0 + np.exp(np.clip(rating[pairs.second] - rating[pairs.first], -700, 700)))
    return win


def expected_score(log_gamma: float, opponent_log_gamma: float) -> float:
    """Expected points per game against an opponent."""
    return 1.0 / (1.0 + math.exp(min(700.0, opponent_log_gamma - log_gamma)))


_LEAST_WEIGHT: Final = 1e-12
"""Of a game whose winner is certain: so that the matrix stays regular on the way to the optimum."""
_HALVINGS: Final = 30


def _weight(pairs: Pairs, win: Floats) -> Floats:
    """What each pairing tells of the difference of its strengths (Fisher's information)."""
    return pairs.games * np.maximum(win * (1.0 - win), _LEAST_WEIGHT)


def _stepped(pairs: Pairs, rating: Floats, step: Floats, posterior: float) -> tuple[Floats, float]:
    """The step, halved until it does not lead down, and the log posterior there."""
    for halving in range(_HALVINGS):
        there = rating + step * 0.5**halving
        value = _log_posterior(pairs, there)
        if value >= posterior - 1e-9 * (1.0 + abs(posterior)):
            return there, value
    return rating, posterior


def _log_posterior(pairs: Pairs, rating: Floats) -> float:
    ahead = rating[pairs.first] - rating[pairs.second]
    lost = pairs.games - pairs.points
    return -float(pairs.points @ np.logaddexp(0.0, -ahead) + lost @ np.logaddexp(0.0, ahead))


def _with_priors(parents: Ints, pairs: Pairs, virtual_draws: float) -> Pairs:
    """The games and the virtual draws."""
    count = len(parents)
    low, high = np.minimum(pairs.first, pairs.second), np.maximum(pairs.first, pairs.second)
    for line in np.flatnonzero((low < 0) | (high >= count) | (low == high))[:1]:
        raise ValueError(f"a result between networks {pairs.first[line]} and {pairs.second[line]} of {count}")
    for line in np.flatnonzero((pairs.points < 0) | (pairs.points > pairs.games))[:1]:
        raise ValueError(f"{pairs.points[line]:g} points in {pairs.games[line]:g} games")
    children = np.arange(1, count)
    known = np.where(parents[1:] == NO_PARENT, 0, parents[1:])
    for child in children[(known < 0) | (known >= count) | (known == children)][:1]:
        raise ValueError(f"network {child} cannot have the parent {parents[child]}")
    draws = np.full(count - 1, virtual_draws)
    return Pairs(
        np.concatenate([pairs.first, children]),
        np.concatenate([pairs.second, known]),
        np.concatenate([pairs.points, draws / 2]),
        np.concatenate([pairs.games, draws]),
    )


def _summed(pairs: Pairs) -> Pairs:
    """Each pairing once, the younger network first; those without games left out."""
    turned = pairs.first < pairs.second
    first, second = np.maximum(pairs.first, pairs.second), np.minimum(pairs.first, pairs.second)
    points = np.where(turned, pairs.games - pairs.points, pairs.points)
    width = int(first.max()) + 1
    keys, line_of = np.unique(first * width + second, return_inverse=True)
    games = sums(line_of, pairs.games, len(keys))
    played = games > 0
    return Pairs(keys[played] // width, keys[played] % width, sums(line_of, points, len(keys))[played], games[played])
