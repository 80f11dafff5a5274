"""How long to think about a turn by the clock (search.md 8). Seconds everywhere; pure functions of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from client.engine.clock import Clock
from common.parameters import ThinkingParameters

_MOST_PERIODS: Final = 5
"""Periods of overtime that are kept; those before are spent like main time."""
_STANDARD_AREA: Final = 361
_SOFTNESS: Final = 6.0
"""How sharply time that was thought before is taken off."""


@dataclass(frozen=True, slots=True)
class Allotment:
    """Time for one turn: 0 <= minimum <= maximum and 0 <= recommended <= maximum."""

    minimum: float
    recommended: float
    maximum: float


@dataclass(frozen=True, slots=True)
class TurnsLeft:
    """Own turns that the rest of the game may take, counted on the safe side for each kind of control."""

    absolute: float
    increment: float
    overtime: float


def turns_left(area: int, stones: int) -> TurnsLeft:
    """An estimate from the points of the board and the stones on it."""
    return TurnsLeft(
        absolute=0.5 * max(0.95 * area + 20 - stones, 0.15 * area + 30),
        increment=0.5 * max(0.75 * area + 15 - stones, 0.10 * area + 20),
        overtime=0.5 * max(0.5 * area + 10 - stones, 0.02 * area + 4),
    )


def after_lag(seconds: float, lag: float) -> float:
    """What is safe to use of ``seconds`` when an answer may take ``lag`` to arrive; half of a short time."""
    if seconds < 0.0:
        return seconds
    return seconds / 2 if seconds < 2 * lag else seconds - lag


def allot(clock: Clock, area: int, stones: int, lag: float) -> Allotment:
    """Time for the turn that begins, before what the position and the settings make of it.

    Args:
        clock: of the player who thinks.
        area: points of the board.
        stones: on the board.
        lag: lagBuffer.
    """
    left = turns_left(area, stones)
    if clock.control.is_unlimited:
        return Allotment(0.0, math.inf, math.inf)
    if not clock.control.has_overtime:
        minimum, recommended, maximum = _without_overtime(clock, left, lag)
    else:
        spread = _extra_periods_as_main_time(clock)
        if spread.in_overtime:
            minimum, recommended, maximum, lag = _in_overtime(spread, lag)
        else:
            minimum, recommended, maximum, lag = _before_overtime(spread, left, lag)
    most = max(0.0, min(after_lag(maximum, lag), clock.control.move_limit))
    return Allotment(
        minimum=min(max(0.0, after_lag(minimum, lag)), most),
        recommended=min(max(0.0, after_lag(recommended, lag)), most),
        maximum=most,
    )


def _without_overtime(clock: Clock, left: TurnsLeft, lag: float) -> tuple[float, float, float]:
    """Minimum, recommended and maximum of absolute time and of Fischer's."""
    main, increment = clock.main_left, clock.control.increment
    minimum = min(max(0.0, main / 2), max(0.0, main + increment - clock.control.main_limit))
    if main <= increment:
        return minimum, after_lag(main, lag), main
    extra = after_lag(main - increment, lag)
    recommended = increment + min(extra / left.increment, extra / left.absolute + 2 * increment)
    return minimum, recommended, min(main, increment + extra / 5)


def _extra_periods_as_main_time(clock: Clock) -> Clock:
    """The same time with at most `_MOST_PERIODS` periods ahead."""
    control = clock.control
    periods = clock.periods_left if clock.in_overtime else control.periods
    if not clock.in_overtime:
        extra = max(0, periods - _MOST_PERIODS)
        return Clock(control, clock.main_left + extra * control.period, False, 0.0, periods - extra, control.stones)
    if periods <= _MOST_PERIODS:
        return clock
    main = clock.period_left + (periods - 1 - _MOST_PERIODS) * control.period
    return Clock(control, main, False, 0.0, _MOST_PERIODS, control.stones)


def _before_overtime(clock: Clock, left: TurnsLeft, lag: float) -> tuple[float, float, float, float]:
    """Minimum, recommended, maximum, and the lag to reckon with, in the main time of byo-yomi and Canadian."""
    control, main = clock.control, clock.main_left
    each = control.period / control.stones
    turns = main / each / math.e
    if left.overtime > turns:
        turns = min(left.overtime, 1.75 * turns)
    turns = min(max(turns, 1.0), left.absolute)
    recommended = max(each, min(main / turns, main / left.absolute + 3 * each))
    if recommended < 1.5 * each and main < 1.5 * each:
        recommended = main + each
    burst = control.period / (0.75 * control.stones + 0.25)
    maximum = burst + max(min(1.75 * burst, main), main / 5)
    if main < maximum < main + burst:
        maximum = main + burst
    is_last = maximum > main and clock.periods_left <= 1 and control.stones <= 1
    return 0.0, recommended, maximum, 2 * lag if is_last else lag


def _in_overtime(clock: Clock, lag: float) -> tuple[float, float, float, float]:
    """The same in overtime. Where little is left of a period and there are others, the turn goes on into the next."""
    control = clock.control
    time, stones, periods = clock.period_left, clock.stones_left, clock.periods_left
    if periods > 1 and after_lag(time, lag) < after_lag(control.period / 2, lag) * (periods - 1) / 4:
        time, stones, periods = time + control.period, control.stones, periods - 1
    minimum = time if stones <= 1 else 0.0
    is_last = stones <= 1 and periods <= 1
    return minimum, time / stones, time / (0.75 * stones + 0.25), 2 * lag if is_last else lag


# -- what the position and the settings make of it --


def midgame_share(turn: int, area: int, peak: float, decay: float) -> float:
    """How much of the middle game a turn is: rises to 1 at ``peak`` turns, then falls by ``decay`` (both on 19x19)."""
    scale = area / _STANDARD_AREA
    late = turn - peak * scale
    if late < 0.0:
        return turn / (peak * scale)
    return math.exp(-late / (decay * scale)) if decay > 0.0 else float(late == 0.0)


def obviousness(policy_entropy: float, policy_surprise: float, parameters: ThinkingParameters) -> float:
    """From 0 to 1: near 1 where the net is sure of its move (entropy) and the search agrees (surprise); nats."""
    return min(
        math.exp(-policy_entropy / parameters.obvious_moves_policy_entropy_tolerance),
        math.exp(-policy_surprise / parameters.obvious_moves_policy_surprise_tolerance),
    )


def softly_less(seconds: float, carried: float) -> float:
    """``seconds`` less ``carried``, but never quite nothing."""
    if seconds <= 0.0:
        return 0.0
    return seconds * min(1.0, math.log1p(math.exp(_SOFTNESS * (seconds - carried) / seconds)) / _SOFTNESS)


def to_the_end_of_a_period(clock: Clock, seconds: float, lag: float) -> float:
    """``seconds``, or the end of the period of overtime in which they lie, if what is left of it would be lost."""
    control = clock.control
    end, periods, stones = clock.period_left, clock.periods_left, clock.stones_left
    if not clock.in_overtime:
        end, periods, stones = clock.main_left + control.period, control.periods, control.stones
        if seconds <= clock.main_left:
            return seconds
    if not control.has_overtime or stones > 1:
        return seconds
    for _ in range(periods):
        if after_lag(end, lag) >= seconds:
            return after_lag(end, lag)
        end += control.period
    return seconds


@dataclass(frozen=True, slots=True)
class Thinking:
    """The time for one search, whose end is reckoned anew as the search goes on."""

    clock: Clock
    area: int  # points of the board
    stones: int  # on the board
    turn: int  # of the game
    parameters: ThinkingParameters
    carried: float = 0.0  # thought in the reused tree: seconds * share of its visits that are kept
    factor: float = 1.0  # search factors: after passes, when winning

    def allotment(self) -> Allotment:
        """What the clock alone gives."""
        return allot(self.clock, self.area, self.stones, self.parameters.lag_buffer)

    def seconds(self, policy_entropy: float = math.inf, policy_surprise: float = math.inf) -> float:
        """When to stop: seconds after the search began; infinite without a clock.

        Args:
            policy_entropy: of the policy in use at the root, nats; infinite if it does not matter.
            policy_surprise: of the search so far.
        """
        allotment, parameters = self.allotment(), self.parameters
        if math.isinf(allotment.recommended):
            return math.inf
        share = midgame_share(
            self.turn, self.area, parameters.midgame_turn_peak_time, parameters.endgame_turn_time_decay
        )
        sure = obviousness(policy_entropy, policy_surprise, parameters)
        wanted = allotment.recommended * parameters.overallocate_time_factor
        wanted *= 1.0 + share * (parameters.midgame_time_factor - 1.0)
        wanted *= 1.0 + sure * (parameters.obvious_moves_time_factor - 1.0)
        wanted = softly_less(wanted, self.carried * parameters.tree_reuse_carry_over_time_factor)
        wanted = to_the_end_of_a_period(self.clock, wanted, parameters.lag_buffer)
        return min(max(wanted, allotment.minimum), allotment.maximum) * self.factor
