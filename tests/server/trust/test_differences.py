"""Comparing figures of contributors: the formula, how seldom chance alone raises an alarm, how soon cheats do."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from server.trust.differences import (
    FIRST_LOOK,
    LEAST_REFERENCE,
    MOST_DEVIATIONS,
    Stratum,
    Sums,
    difference,
    next_look,
    of_game,
    suspicious,
)

Floats = npt.NDArray[np.float64]


def sums_of(values: Floats) -> Sums:
    """The sums of games with these values."""
    return Sums(len(values), float(values.sum()), float((values**2).sum()))


def test_sums_are_added_game_by_game() -> None:
    values = np.random.default_rng(1).normal(size=9)
    total = Sums()
    for value in values:
        total = total.plus(of_game(float(value)))
    assert total == pytest.approx(sums_of(values))
    assert total.mean == pytest.approx(values.mean())
    assert total.variance == pytest.approx(values.var(ddof=1))
    assert total.plus(sums_of(values), sign=-1) == pytest.approx(Sums(), abs=1e-9)


def test_the_difference_is_that_of_the_formula() -> None:
    random = np.random.default_rng(2)
    own = [random.normal(1.0, 2.0, 20), random.normal(5.0, 1.0, 7)]
    others = [random.normal(0.8, 2.0, 50), random.normal(5.0, 1.0, 400)]
    found = difference([Stratum(sums_of(mine), sums_of(theirs)) for mine, theirs in zip(own, others, strict=True)])
    excess = variance = spread = 0.0
    for mine, theirs in zip(own, others, strict=True):
        excess += sum(value - theirs.mean() for value in mine)
        # of the sum of n games, and of n times a mean that is known by m games only
        variance += len(mine) * theirs.var(ddof=1) + len(mine) ** 2 * theirs.var(ddof=1) / len(theirs)
        spread += len(mine) * theirs.var(ddof=1)
    assert found is not None
    assert found.games == 27
    assert found.deviations == pytest.approx(excess / math.sqrt(variance))
    assert found.effect == pytest.approx(excess / 27 / math.sqrt(spread / 27))


def test_strata_without_others_say_nothing() -> None:
    few = Stratum(sums_of(np.ones(20)), sums_of(np.arange(LEAST_REFERENCE - 1.0)))
    assert difference([few]) is None
    enough = Stratum(sums_of(np.ones(20)), sums_of(np.arange(float(LEAST_REFERENCE))))
    assert difference([few, enough]) == difference([enough])


@pytest.mark.parametrize(("games", "due"), [(0, 16), (15, 16), (16, 32), (17, 32), (31, 32), (1000, 1024)])
def test_looks_are_due_when_games_have_doubled(games: int, due: int) -> None:
    assert next_look(games) == due


# ----------------------------------------------------------------------------------------------------- by simulation

DRAWS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "coin": lambda random, shape: random.integers(0, 2, shape).astype(float),
    "length": lambda random, shape: 0.8 + 0.4 * random.gamma(4.0, 0.25, shape),
    "surprise": lambda random, shape: np.minimum(random.lognormal(-1.5, 0.7, shape), 3.0),
    "rare": lambda random, shape: (random.random(shape) < 0.1).astype(float),
}
"""Figures as they are: balanced, skewed, heavy-tailed, mostly 0."""
LOOKS = [FIRST_LOOK << step for step in range(7)]


def alarms(own: Floats, others: Sums) -> int:
    """Logins (rows of ``own``) about which there is an alarm at some look."""
    raised = np.zeros(len(own), bool)
    for games in LOOKS:
        for login in np.flatnonzero(~raised):
            seen = difference([Stratum(sums_of(own[login, :games]), others)])
            raised[login] = seen is not None and seen.is_suspicious
    return int(raised.sum())


@pytest.mark.parametrize("name", DRAWS)
def test_honest_logins_are_hardly_ever_suspected(name: str) -> None:
    random = np.random.default_rng(3)
    own = DRAWS[name](random, (2000, LOOKS[-1]))
    # Seldom enough that 2,000 logins with four figures would raise one alarm in all.
    assert alarms(own, sums_of(DRAWS[name](random, (20_000,)))) <= 1


CHEATS: dict[str, tuple[str, Callable[[Floats], Floats], int]] = {
    "always wins with White": ("coin", lambda own: np.ones_like(own), 32),
    "always the same winner but one in four": ("coin", lambda own: np.maximum(own, own[:, ::-1]), 256),
    "games of half the length": ("length", lambda own: own / 2, 16),
    "games a fifth shorter": ("length", lambda own: own * 0.8, 32),
    "searches of one visit, which surprise nobody": ("surprise", lambda own: own * 0.0, 16),
    "a third of the surprise": ("surprise", lambda own: own / 3, 64),
    "policies that surprise everybody": ("surprise", lambda own: own * 0.0 + 2.5, 16),
}
"""What a cheater does to a figure, and by which look at the latest nearly all are found (docs/trust-audit.md)."""


@pytest.mark.parametrize("cheat", CHEATS)
def test_cheats_are_found_by_the_look_that_is_told(cheat: str) -> None:
    name, spoil, told = CHEATS[cheat]
    random = np.random.default_rng(4)
    own = spoil(DRAWS[name](random, (200, told)))
    others = sums_of(DRAWS[name](random, (20_000,)))
    found = [difference([Stratum(sums_of(login), others)]) for login in own]
    assert sum(seen is not None and seen.is_suspicious for seen in found) >= 190


def test_what_is_small_is_let_pass_however_certain() -> None:
    random = np.random.default_rng(5)
    others = sums_of(random.normal(0.0, 1.0, 1_000_000))
    small = difference([Stratum(sums_of(random.normal(0.1, 1.0, 100_000)), others)])
    assert small is not None
    assert small.deviations > MOST_DEVIATIONS
    assert not small.is_suspicious


def test_suspicious_figures_are_named() -> None:
    random = np.random.default_rng(6)
    others = sums_of(random.normal(size=500))
    figures = {
        "good": [Stratum(sums_of(random.normal(size=64)), others)],
        "bad": [Stratum(sums_of(random.normal(2.0, 1.0, 64)), others)],
        "unknown": [Stratum(Sums(), others)],
    }
    assert list(suspicious(figures)) == ["bad"]
