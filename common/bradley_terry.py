"""Strengths of networks from the results of their games: Bradley-Terry, maximum a posteriori.

Pure arithmetic over arrays; knows nothing of the database. The model (spec contribute-protocol.md 15): network i beats
j with probability 1 / (1 + exp(r_j - r_i)), a draw counts half a win for each, and every network but the first has
`VIRTUAL_DRAWS` draws with its parent as a prior. The first network is the zero of the scale. Where there are no
parents, as among the players of a match, whoever asks gives a prior of its own with the results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

VIRTUAL_DRAWS: Final = 4.0
MAX_NEWTON_STEPS: Final = 200
TOLERANCE: Final = 1e-10
MAX_STEP: Final = 2.0
"""Longest Newton step in units of log gamma: far from the optimum the quadratic model overshoots."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PairResult:
    """All games between two networks: indices, and points of the first in ``games`` games (draws half)."""

    first: int
    second: int
    points: float
    games: float


@dataclass(frozen=True)
class Strengths:
    """``log_gamma`` and its standard error per network, float64 [N]; the first is 0 with error 0."""

    log_gamma: Floats
    error: Floats


def strengths(
    count: int, parents: Sequence[int | None], results: Sequence[PairResult], virtual_draws: float = VIRTUAL_DRAWS
) -> Strengths:
    """Maximum a posteriori strengths of ``count`` networks.

    Args:
        count: number of networks, in order of creation; network 0 is the zero of the scale.
        parents: for each network the index of its parent, None for the first network (and for a network without a
            parent, whose prior is then the first).
        results: any number of results per pair.
        virtual_draws: of each network with its parent; 0 only where the results connect all networks, in both
            directions.

    Raises:
        ValueError: an index out of range, a network paired with itself, or points beyond the games.
    """
    if count == 0:
        return Strengths(np.zeros(0), np.zeros(0))
    wins = _win_matrix(count, parents, results, virtual_draws)
    rating = np.zeros(count)
    for _ in range(MAX_NEWTON_STEPS):
        gradient, hessian = _derivatives(wins, rating)
        step = np.linalg.solve(hessian, gradient) if count > 1 else np.zeros(0)
        longest = float(np.abs(step).max(initial=0.0))
        rating[1:] += step * min(1.0, MAX_STEP / longest) if longest > 0 else step
        if longest < TOLERANCE:
            break
    _, hessian = _derivatives(wins, rating)
    error = np.zeros(count)
    if count > 1:
        error[1:] = np.sqrt(np.diag(np.linalg.inv(hessian)))
    return Strengths(rating, error)


def expected_score(log_gamma: float, opponent_log_gamma: float) -> float:
    """Expected points per game against an opponent."""
    return 1.0 / (1.0 + math.exp(min(700.0, opponent_log_gamma - log_gamma)))


def _win_matrix(
    count: int, parents: Sequence[int | None], results: Sequence[PairResult], virtual_draws: float
) -> Floats:
    """``wins[i, j]``: points of i against j, the virtual draws included."""
    wins = np.zeros((count, count))
    for result in results:
        if not (0 <= result.first < count and 0 <= result.second < count) or result.first == result.second:
            raise ValueError(f"a result between networks {result.first} and {result.second} of {count}")
        if not 0 <= result.points <= result.games:
            raise ValueError(f"{result.points} points in {result.games} games")
        wins[result.first, result.second] += result.points
        wins[result.second, result.first] += result.games - result.points
    for child in range(1, count):
        parent = parents[child]
        parent = 0 if parent is None else parent
        if not 0 <= parent < count or parent == child:
            raise ValueError(f"network {child} cannot have the parent {parent}")
        wins[child, parent] += virtual_draws / 2
        wins[parent, child] += virtual_draws / 2
    return wins


def _derivatives(wins: Floats, rating: Floats) -> tuple[Floats, Floats]:
    """Gradient and negative Hessian of the log posterior without the fixed first network, [N-1] and [N-1, N-1]."""
    games = wins + wins.T
    win_probability = 1.0 / (1.0 + np.exp(np.clip(rating[None, :] - rating[:, None], -700, 700)))
    gradient = wins.sum(axis=1) - (games * win_probability).sum(axis=1)
    weight = games * win_probability * (1.0 - win_probability)
    hessian = np.diag(weight.sum(axis=1)) - weight
    return gradient[1:], hessian[1:, 1:]
