"""The komi that makes a position even, by searches under several komis, and the lead that follows (selfplay.md 4).

Knows no search: what a position is worth under a komi is asked for by yielding the komi, so that a game may go on with
others while it waits (`client.games.inquiries`); who can search at once calls `answered`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Final

from client.games.draws import nearest_komi
from common.go.rules import Rules, Scoring

_ROUNDS: Final = 3
_SMALL_SHIFT: Final = 16.0
_BACK_LEAD: Final = 5.0
_BACK_WIN_LOSS: Final = 0.1
_CLEAR: Final = 0.75
_MOST_STEPS: Final = 32.0


@dataclass(frozen=True, slots=True)
class Worth:
    """A position under one komi, White's view."""

    lead: float  # points
    win_loss: float


Asking = Generator[float, Worth, float]
"""Yields half-integer komis, is sent what the position is worth under each, and returns what follows."""


def answered(asking: Asking, evaluate: Callable[[float], Worth]) -> float:
    """What follows where ``evaluate`` answers every question at once."""
    try:
        komi = next(asking)
        while True:
            komi = asking.send(evaluate(komi))
    except StopIteration as end:
        return float(end.value)


def lead(rules: Rules, area: int) -> Asking:
    """By how many points White is ahead under the rules' komi.

    Args:
        rules: of the game.
        area: points of the board.
    """
    known = _Known(area)
    fair = yield from _fair_komi(rules.komi, known)
    if rules.scoring == Scoring.AREA and not rules.has_button and not fair.is_integer():
        fair = yield from _between_parities(fair, known)
    return rules.komi - fair


def fair_komi(komi: float, area: int) -> Asking:
    """The komi under which both win as often, between half-integers too; begins at ``komi``."""
    return (yield from _fair_komi(komi, _Known(area)))


@dataclass(slots=True)
class _Known:
    """What has been asked so far; each komi only once."""

    area: int
    worth_of: dict[float, Worth] = field(default_factory=dict)

    def worth(self, komi: float) -> Generator[float, Worth, Worth]:
        """Under the komi next to ``komi`` that a game may have."""
        komi = nearest_komi(komi, self.area)
        if komi not in self.worth_of:
            self.worth_of[komi] = yield komi
        return self.worth_of[komi]

    def win_loss(self, komi: float) -> Asking:
        """The win_loss of `worth`."""
        return (yield from self.worth(komi)).win_loss


def _fair_komi(komi: float, known: _Known) -> Asking:
    start = yield from _near(komi, known)
    low, high = yield from _bracket(start, known)
    while high - low > 0.5:
        middle = math.floor(low + high) / 2.0
        if (yield from known.win_loss(start + middle)) < 0.0:
            low = middle
        else:
            high = middle
    low_value = yield from known.win_loss(start + low)
    high_value = yield from known.win_loss(start + high)
    if low_value >= high_value:
        return start + (low + high) / 2.0
    if high_value <= 0.0:
        return start + high
    if low_value >= 0.0:
        return start + low
    return start + low + 0.5 * -low_value / (high_value - low_value)


def _near(komi: float, known: _Known) -> Asking:
    """A half-integer near the fair komi, by following leads."""
    last: Worth | None = None
    last_shift = 0.0
    for _ in range(_ROUNDS):
        found = yield from known.worth(komi)
        if last is not None and _went_astray(last, found):
            return nearest_komi(komi - last_shift / 2.0, known.area)
        shift = -found.lead
        if last is not None:
            shift = min(max(shift, -abs(last_shift)), abs(last_shift))
        last, last_shift = found, shift
        if shift > 0.0 and found.win_loss > 0.0:
            break
        komi = nearest_komi(komi + shift, known.area)
        if abs(shift) < _SMALL_SHIFT:
            break
    return komi


def _went_astray(last: Worth, found: Worth) -> bool:
    """Whether the shift made the position less even than it was."""
    return (
        (last.lead > 0.0 and found.lead > last.lead + _BACK_LEAD and found.win_loss < _CLEAR)
        or (last.lead < 0.0 and found.lead < last.lead - _BACK_LEAD and found.win_loss > -_CLEAR)
        or (last.win_loss > 0.0 and found.win_loss > last.win_loss + _BACK_WIN_LOSS)
        or (last.win_loss < 0.0 and found.win_loss < last.win_loss - _BACK_WIN_LOSS)
    )


def _bracket(start: float, known: _Known) -> Generator[float, Worth, tuple[float, float]]:
    """Shifts of the komi between which White's winning changes sign, if it does at all."""
    step = 1.0
    if (yield from known.win_loss(start)) < 0.0:
        while step < _MOST_STEPS and (yield from known.win_loss(start + step)) < 0.0:
            step *= 2.0
        return 0.0, step
    while step < _MOST_STEPS and (yield from known.win_loss(start - step)) > 0.0:
        step *= 2.0
    return -step, 0.0


def _between_parities(fair: float, known: _Known) -> Asking:
    """The same where scores go in steps of two points: komis of either parity are worth alike, so both count."""
    lower = math.floor(2.0 * fair) / 2.0
    upper = lower + 0.5
    low_value = 0.5 * ((yield from known.win_loss(upper)) + (yield from known.win_loss(lower - 0.5)))
    high_value = 0.5 * ((yield from known.win_loss(upper + 0.5)) + (yield from known.win_loss(lower)))
    if low_value >= high_value:
        return (lower + upper) / 2.0
    crossing = lower + 0.5 * -low_value / (high_value - low_value)
    return min(max(crossing, lower - 0.5), upper + 0.5)
