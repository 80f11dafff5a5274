"""The random draws that make up a game: sizes, komi, per-game constants, opening moves.

Each function takes its numbers and a generator of `client.games.chance`, so a game follows from its seed alone. Knows
nothing of configuration texts, boards or searches. Specification: selfplay.md 3-5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from common.go.rules import KOMI_MARGIN

NO_RESULT_BOUND: Final = 3.0
KOMI_BOUND: Final = 3.0
UNIFORM_OPENING_PROB: Final = 0.0002
"""How often an opening move ignores the policy."""
REFERENCE_LENGTH: Final = 19


def size_probabilities(
    lengths: Sequence[int], weights: Sequence[float], rectangle_prob: float
) -> dict[tuple[int, int], float]:
    """Probability of each board (x size, y size), from weighted edge lengths (selfplay.md 3)."""
    total = sum(weights)
    single: dict[int, float] = {}
    for length, weight in zip(lengths, weights, strict=True):
        single[length] = single.get(length, 0.0) + weight / total
    sizes = {}
    for x_size, p in single.items():
        for y_size, q in single.items():
            sizes[x_size, y_size] = rectangle_prob * p * q + (1.0 - rectangle_prob) * p * (x_size == y_size)
    return {size: probability for size, probability in sizes.items() if probability > 0.0}


def draw_size(probabilities: dict[tuple[int, int], float], random: np.random.Generator) -> tuple[int, int]:
    """One board size (x size, y size)."""
    sizes = list(probabilities)
    return sizes[draw_index(np.array([probabilities[size] for size in sizes]), random)]


def draw_index(weights: npt.NDArray[np.float64], random: np.random.Generator) -> int:
    """An index, drawn in proportion to ``weights`` (non-negative, with a positive sum)."""
    cumulative = np.cumsum(weights)
    return int(np.searchsorted(cumulative, random.random() * cumulative[-1], side="right"))


def truncated_normal(random: np.random.Generator, bound: float) -> float:
    """A standard normal value within ±``bound``, by redrawing."""
    while True:
        value = random.standard_normal()
        if abs(value) <= bound:
            return float(value)


def coin(random: np.random.Generator, probability: float) -> bool:
    """True with ``probability``; always one draw."""
    return bool(random.random() < probability)


def komi_stdev(
    random: np.random.Generator, *, stdev: float, big: tuple[float, float], bigger: tuple[float, float], area: int
) -> float:
    """Spread of the komi of one game, in points.

    Args:
        random: the game's generator.
        stdev: usual spread on 19x19.
        big: probability of the big spread, and its size.
        bigger: the same for the still bigger one, which wins where both are drawn.
        area: points of the board; the spread grows with its root.
    """
    for probability, size in (big, bigger):
        if coin(random, probability):
            stdev = size
    return stdev * math.sqrt(area) / REFERENCE_LENGTH


def komi_with_noise(
    base: float,
    stdev: float,
    area: int,
    random: np.random.Generator,
    *,
    allow_integer: bool,
    pulled_to_zero: bool = False,
) -> float:
    """Komi in half points around ``base``, or a share of that if it is pulled (selfplay.md 4, setKomiWithNoise)."""
    noisy = base + (stdev * truncated_normal(random, KOMI_BOUND) if stdev > 0 else 0.0)
    if pulled_to_zero:
        noisy *= random.random()
    komi = clip_komi(round_to_half(noisy, random), area)
    if not allow_integer and komi.is_integer():
        komi += 0.5 if coin(random, 0.5) else -0.5
    return komi


def round_to_half(komi: float, random: np.random.Generator) -> float:
    """A multiple of a half beside ``komi``, the nearer one the likelier: 7.3 becomes 7.5 with .6, else 7."""
    doubled = 2.0 * komi
    below = math.floor(doubled)
    return (below + coin(random, doubled - below)) / 2.0


def clip_komi(komi: float, area: int) -> float:
    """``komi`` within ±(area + 20)."""
    return min(max(komi, -float(area + KOMI_MARGIN)), float(area + KOMI_MARGIN))


def nearest_komi(komi: float, area: int) -> float:
    """The half-integer next to ``komi`` that a game of this size may have."""
    return clip_komi(math.floor(2.0 * komi + 0.5) / 2.0, area)


def no_result_utility(base: float, stdev: float, random: np.random.Generator) -> float:
    """What a game without result is worth to White, in [-1, 1]."""
    while stdev > 0:
        value = base + stdev * truncated_normal(random, NO_RESULT_BOUND)
        if -1.0 <= value <= 1.0:
            return value
    return base


def draw_white_wins(base: float, radius: float, random: np.random.Generator) -> float:
    """How many wins a draw is worth to White, in [0, 1]."""
    while radius > 0:
        value = base + radius * (2.0 * random.random() - 1.0)
        if 0.0 <= value <= 1.0:
            return value
    return base


def opening_length(random: np.random.Generator, *, mean: float, gamma_shape: float) -> int:
    """Number of moves to play from the raw policy (selfplay.md 5)."""
    if gamma_shape == 1.0:
        return int(random.standard_exponential() * mean)
    return int(random.standard_gamma(gamma_shape) * mean / gamma_shape)


def opening_position(policy: npt.NDArray[np.floating], temperature: float, random: np.random.Generator) -> int:
    """A move from a raw policy by its power 1 / temperature; rarely any legal move.

    Args:
        policy: ``[positions]`` probabilities, below 0 where illegal.
        temperature: above 0.
        random: the game's generator.

    Returns:
        Index into ``policy``.
    """
    legal = policy >= 0
    if coin(random, UNIFORM_OPENING_PROB):
        return draw_index(legal.astype(np.float64), random)
    return policy_position(policy, temperature, random)


def policy_position(policy: npt.NDArray[np.floating], temperature: float, random: np.random.Generator) -> int:
    """An index into ``policy``, by its power 1 / temperature; entries that are not above 0 are left out."""
    chances = np.maximum(policy, 0.0).astype(np.float64)
    chances /= chances.max()
    if temperature != 1.0:
        chances = chances ** (1.0 / temperature)
    return draw_index(chances, random)
