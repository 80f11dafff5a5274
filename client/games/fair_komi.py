"""The komi that makes a position even, by searches under several komis, and the lead that follows (selfplay.md 4).

Knows no search: whoever asks gives what a position is worth under a komi.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from common.go.rules import Rules, Scoring

_ROUNDS: Final = 3
_SMALL_SHIFT: Final = 16.0
_BACK_LEAD: Final = 5.0
_BACK_WIN_LOSS: Final = 0.1
_CLEAR: Final = 0.75
_MOST_STEPS: Final = 32.0
_MARGIN: Final = 20.0
"""Points beyond the board's area that a komi may have."""


@dataclass(frozen=True, slots=True)
class Worth:
    """A position under one komi, White's view."""

    lead: float  # points
    win_loss: float


Evaluate = Callable[[float], Worth]
"""Of a komi, which is a half-integer."""


def lead(rules: Rules, area: int, evaluate: Evaluate) -> float:
    """By how many points White is ahead under the rules' komi.

    Args:
        rules: of the game.
        area: points of the board.
        evaluate: searches the position under another komi.
    """
    evaluate = cache(evaluate)
    fair = fair_komi(rules.komi, area, evaluate)
    if rules.scoring == Scoring.AREA and not rules.has_button and not (2.0 * fair).is_integer():
        fair = _between_parities(fair, evaluate)
    return rules.komi - fair


def fair_komi(komi: float, area: int, evaluate: Evaluate) -> float:
    """The komi under which both win as often, between half-integers too; begins at ``komi``."""
    evaluate = cache(evaluate)
    start = _near(komi, area, evaluate)
    low, high = _bracket(start, evaluate)
    while high - low > 0.5:
        middle = math.floor(low + high) / 2.0
        if evaluate(start + middle).win_loss < 0.0:
            low = middle
        else:
            high = middle
    low_value, high_value = evaluate(start + low).win_loss, evaluate(start + high).win_loss
    if low_value >= high_value:
        return start + (low + high) / 2.0
    if high_value <= 0.0:
        return start + high
    if low_value >= 0.0:
        return start + low
    return start + low + 0.5 * -low_value / (high_value - low_value)


def _near(komi: float, area: int, evaluate: Evaluate) -> float:
    """A half-integer near the fair komi, by following leads."""
    last: Worth | None = None
    last_shift = 0.0
    for _ in range(_ROUNDS):
        found = evaluate(komi)
        if last is not None and _went_astray(last, found):
            return _clipped(komi - last_shift / 2.0, area)
        shift = -found.lead
        if last is not None:
            shift = min(max(shift, -abs(last_shift)), abs(last_shift))
        last, last_shift = found, shift
        if shift > 0.0 and found.win_loss > 0.0:
            break
        komi = _clipped(komi + shift, area)
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


def _bracket(start: float, evaluate: Evaluate) -> tuple[float, float]:
    """Shifts of the komi between which White's winning changes sign, if it does at all."""
    step = 1.0
    if evaluate(start).win_loss < 0.0:
        while step < _MOST_STEPS and evaluate(start + step).win_loss < 0.0:
            step *= 2.0
        return 0.0, step
    while step < _MOST_STEPS and evaluate(start - step).win_loss > 0.0:
        step *= 2.0
    return -step, 0.0


def _between_parities(fair: float, evaluate: Evaluate) -> float:
    """The same where scores go in steps of two points: komis of either parity are worth alike, so both count."""
    lower = math.floor(2.0 * fair) / 2.0
    upper = lower + 0.5
    low_value = 0.5 * (evaluate(upper).win_loss + evaluate(lower - 0.5).win_loss)
    high_value = 0.5 * (evaluate(upper + 0.5).win_loss + evaluate(lower).win_loss)
    if low_value >= high_value:
        return (lower + upper) / 2.0
    crossing = lower + 0.5 * -low_value / (high_value - low_value)
    return min(max(crossing, lower - 0.5), upper + 0.5)


def _clipped(komi: float, area: int) -> float:
    """The half-integer next to ``komi`` that a game of this size may have."""
    rounded = math.floor(2.0 * komi + 0.5) / 2.0
    return min(max(rounded, -(area + _MARGIN)), area + _MARGIN)
