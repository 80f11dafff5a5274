"""Time controls and clocks (engine.md 5)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from client.engine.clock import (
    Clock,
    TimeControl,
    absolute,
    byo_yomi,
    canadian,
    fischer,
    full_clock,
    no_limit,
)


def test_what_is_no_overtime() -> None:
    assert canadian(60, 30, 0) == no_limit()
    assert canadian(60, 0, 0) == absolute(60)
    assert byo_yomi(60, 30, 0) == absolute(60)
    assert canadian(60, 30, 1) == byo_yomi(60, 30, 1)
    assert no_limit().is_unlimited
    with pytest.raises(ValueError, match="up to 50 seconds only, and begins with 60"):
        fischer(60, 5, main_limit=50)


def test_a_clock_begins_in_main_time_if_there_is_any() -> None:
    assert full_clock(byo_yomi(60, 30, 5)) == Clock(byo_yomi(60, 30, 5), 60)
    assert full_clock(byo_yomi(0, 30, 5)) == Clock(byo_yomi(0, 30, 5), 0.0, True, 30, 5, 1)
    assert full_clock(absolute(0)) == Clock(absolute(0), 0)


def test_what_a_controller_tells() -> None:
    several = full_clock(byo_yomi(60, 30, 5))
    assert several.told(12.5, 0) == Clock(several.control, 12.5)
    assert several.told(12.5, 3) == Clock(several.control, 0.0, True, 12.5, 3, 1)
    one = full_clock(byo_yomi(60, 30, 1))
    assert one.told(12.5, 1) == Clock(one.control, 0.0, True, 12.5, 1, 1)
    stones = full_clock(canadian(60, 300, 25))
    assert stones.told(200, 7) == Clock(stones.control, 0.0, True, 200, 1, 7)
    assert full_clock(absolute(60)).told(-10, 0).main_left == -10
    with pytest.raises(ValueError, match="does not have any overtime periods"):
        full_clock(fischer(60, 5)).told(30, 1)
    for seconds in (-10.5, math.nan):
        with pytest.raises(ValueError, match="no game"):
            several.told(seconds, 0)


@pytest.mark.parametrize(
    ("control", "turns", "expected"),
    [
        (absolute(60), [10, 20], (30, False, 0, 0, 0)),
        (fischer(60, 5), [10, 2], (58, False, 0, 0, 0)),
        (fischer(60, 5, main_limit=61), [1], (61, False, 0, 0, 0)),
        (byo_yomi(60, 30, 3), [50, 5], (5, False, 0, 0, 0)),
        (byo_yomi(60, 30, 3), [60], (0, True, 30, 3, 1)),
        (byo_yomi(60, 30, 3), [50, 15], (0, True, 30, 3, 1)),  # 5 s of the first period
        (byo_yomi(60, 30, 3), [50, 45], (0, True, 30, 2, 1)),  # the first period is gone
        (byo_yomi(0, 30, 3), [29, 31, 30], (0, True, 30, 2, 1)),
        (byo_yomi(0, 30, 3), [100], (0, True, 30, 1, 1)),  # lost on time, if anybody counts
        (canadian(10, 300, 3), [20], (0, True, 290, 1, 2)),
        (canadian(0, 300, 3), [100, 50], (0, True, 150, 1, 1)),
        (canadian(0, 300, 3), [100, 50, 149], (0, True, 300, 1, 3)),
        (no_limit(), [1e6], (math.inf, False, 0, 0, 0)),
    ],
)
def test_what_turns_leave(control: TimeControl, turns: list[float], expected: tuple[float, ...]) -> None:
    clock = full_clock(control)
    for seconds in turns:
        clock = clock.after_turn(seconds)
    left = clock.main_left, clock.in_overtime, clock.period_left, clock.periods_left, clock.stones_left
    assert left == expected


def test_a_turn_within_the_time_loses_nothing_for_ever() -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        periods, stones = int(random.integers(1, 6)), int(random.integers(1, 4))
        control = byo_yomi(20, 30, periods) if random.random() < 0.5 else canadian(20, 30, stones)
        clock = full_clock(control).after_turn(20)
        for _ in range(20):
            clock = clock.after_turn(float(random.uniform(0, 30 / control.stones)))
            assert clock.periods_left == control.periods
            assert clock.period_left > 0
            assert 1 <= clock.stones_left <= control.stones
