"""Time controls and what is left of them on one player's clock (engine.md 5). Seconds everywhere.

One record describes every control: main time, and either an increment a turn (Fischer) or overtime, which is a number
of periods in each of which some stones must be played (byo-yomi: several periods of one stone; Canadian: one period
of several stones, renewed when they are played). Values only: nobody's clock runs here, and nothing is parsed.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Final

LEAST_TIME_TOLD: Final = -10.0
"""A controller may find a player this late and still go on."""


@dataclass(frozen=True, slots=True)
class TimeControl:
    """How much time a player gets for a game; made by the functions below."""

    main: float = math.inf
    increment: float = 0.0  # added after every turn
    main_limit: float = math.inf  # to which increments fill the main time
    move_limit: float = math.inf  # the most for one turn
    periods: int = 0  # of overtime; 0 without overtime, and then main time is all there is
    period: float = 0.0  # length of one
    stones: int = 0  # to be played in one

    @property
    def has_overtime(self) -> bool:
        """Whether periods follow the main time."""
        return self.periods > 0

    @property
    def is_unlimited(self) -> bool:
        """Whether time never runs out."""
        return math.isinf(self.main)


def no_limit() -> TimeControl:
    """All the time there is."""
    return TimeControl()


def absolute(main: float) -> TimeControl:
    """``main`` seconds for the game."""
    return TimeControl(main=main)


def byo_yomi(main: float, period: float, periods: int) -> TimeControl:
    """``periods`` periods after the main time, each of which lasts as long as turns stay within it."""
    if periods == 0 or period == 0:
        return absolute(main)
    return TimeControl(main=main, periods=periods, period=period, stones=1)


def canadian(main: float, period: float, stones: int) -> TimeControl:
    """``stones`` turns within every ``period`` seconds after the main time.

    Without stones a period that lasts is no limit, as in GTP's ``time_settings``.
    """
    if stones == 0:
        return no_limit() if period > 0 else absolute(main)
    if period == 0:
        return absolute(main)
    return TimeControl(main=main, periods=1, period=period, stones=stones)


def fischer(
    main: float, increment: float, *, main_limit: float = math.inf, move_limit: float = math.inf
) -> TimeControl:
    """``increment`` seconds more after every turn, up to ``main_limit``; ``move_limit`` at most for one turn."""
    if main_limit < main:
        raise ValueError(f"the main time may fill up to {main_limit:g} seconds only, and begins with {main:g}")
    return TimeControl(main=main, increment=increment, main_limit=main_limit, move_limit=move_limit)


@dataclass(frozen=True, slots=True)
class Clock:
    """What a player has left when his turn begins."""

    control: TimeControl
    main_left: float  # may be negative: late
    in_overtime: bool = False
    period_left: float = 0.0  # of the current period, as the next two, which mean nothing before overtime
    periods_left: int = 0  # the current one included
    stones_left: int = 0

    def told(self, seconds: float, stones: int) -> Clock:
        """The clock as a controller reports it (GTP's ``time_left``).

        Args:
            seconds: left of the main time, or of the current period.
            stones: 0 in main time. In overtime the periods left if there are several of one stone each, otherwise the
                stones still to be played in this one.

        Raises:
            ValueError: ``stones`` where the control has no overtime; or ``seconds`` far below zero.
        """
        if seconds < LEAST_TIME_TOLD or math.isnan(seconds):
            raise ValueError(f"{seconds:g} seconds left: later than {LEAST_TIME_TOLD:g} is no game")
        control = self.control
        if stones == 0:
            return Clock(control, seconds)
        if not control.has_overtime:
            raise ValueError(
                "stones left in period is > 0 but the time control used does not have any overtime periods"
            )
        if control.stones == 1 and control.periods > 1:
            return Clock(control, 0.0, True, seconds, stones, 1)
        return Clock(control, 0.0, True, seconds, control.periods, stones)

    def after_turn(self, seconds: float) -> Clock:
        """The clock after a turn that took ``seconds``."""
        control = self.control
        if not control.has_overtime:
            left = min(self.main_left - seconds + control.increment, control.main_limit)
            return dataclasses.replace(self, main_left=left)
        if not self.in_overtime and seconds < self.main_left:
            return dataclasses.replace(self, main_left=self.main_left - seconds)
        clock = self if self.in_overtime else _first_period(control)
        return clock._after_turn_in_overtime(seconds - (0.0 if self.in_overtime else max(0.0, self.main_left)))

    def _after_turn_in_overtime(self, seconds: float) -> Clock:
        """Periods that the turn outlasted are gone; one whose last stone was played begins anew."""
        control = self.control
        left, periods, stones = self.period_left, self.periods_left, self.stones_left
        while seconds > left and periods > 1:
            seconds -= left
            left, periods, stones = control.period, periods - 1, control.stones
        if stones <= 1:
            return Clock(control, 0.0, True, control.period, periods, control.stones)
        return Clock(control, 0.0, True, left - seconds, periods, stones - 1)


def _first_period(control: TimeControl) -> Clock:
    return Clock(control, 0.0, True, control.period, control.periods, control.stones)


def full_clock(control: TimeControl) -> Clock:
    """The clock at the beginning of a game."""
    if control.has_overtime and control.main <= 0.0:
        return _first_period(control)
    return Clock(control, control.main)
