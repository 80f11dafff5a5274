"""How long to think (search.md 8), by hand."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from client.engine.allotment import (
    Thinking,
    after_lag,
    allot,
    midgame_share,
    obviousness,
    softly_less,
    to_the_end_of_a_period,
    turns_left,
)
from client.engine.clock import Clock, TimeControl, absolute, byo_yomi, canadian, fischer, full_clock, no_limit
from common.parameters import ThinkingParameters

AREA = 361


def test_turns_left() -> None:
    """19x19: .95 A + 20 = 362.95, .75 A + 15 = 285.75, .5 A + 10 = 190.5; at least 84.15, 56.1 and 11.22, halved."""
    empty, full = turns_left(AREA, 0), turns_left(AREA, 300)
    assert (empty.absolute, empty.increment, empty.overtime) == pytest.approx((181.475, 142.875, 95.25))
    assert (full.absolute, full.increment, full.overtime) == pytest.approx((42.075, 28.05, 5.61))


@pytest.mark.parametrize(
    ("seconds", "expected"), [(-3.0, -3.0), (0.0, 0.0), (1.0, 0.5), (1.9, 0.95), (2.0, 1.0), (10.0, 9.0)]
)
def test_lag(seconds: float, expected: float) -> None:
    assert after_lag(seconds, 1.0) == pytest.approx(expected)
    assert after_lag(seconds, 0.0) == seconds


def overtime(control: TimeControl, seconds: float, count: int) -> Clock:
    return full_clock(control).told(seconds, count)


@pytest.mark.parametrize(
    ("clock", "stones", "lag", "expected"),
    [
        # main 600: rec = min(600/142.875, 600/181.475), max = 120
        (full_clock(absolute(600)), 0, 0.0, (0.0, 600 / 181.475, 120.0)),
        # lag 1: X = 599; rec = 599/181.475 - 1, max = 599/5 - 1
        (full_clock(absolute(600)), 0, 1.0, (0.0, 599 / 181.475 - 1, 118.8)),
        (Clock(absolute(600), -3.0), 0, 1.0, (0.0, 0.0, 0.0)),
        (full_clock(no_limit()), 0, 1.0, (0.0, math.inf, math.inf)),
        # increment 5: X = 595; rec = 5 + min(595/142.875, 595/181.475 + 10) = 9.164479, max = 5 + 119
        (full_clock(fischer(600, 5)), 0, 0.0, (0.0, 5 + 595 / 142.875, 124.0)),
        # the main time is full: what 20 more would spill is to be used
        (full_clock(fischer(100, 20, main_limit=105)), 0, 0.0, (15.0, 20 + 80 / 142.875, 36.0)),
        (full_clock(fischer(600, 5, move_limit=7)), 0, 0.0, (0.0, 7.0, 7.0)),
        # M <= I: rec = lag(lag(4)) = 2, max = lag(4) = 3
        (Clock(fischer(600, 5), 4.0), 0, 1.0, (0.0, 2.0, 3.0)),
        # byo-yomi 3 x 30, main 600: b = 30; t* = 20/e = 7.357589; 95.25 > t*: t* = 1.75 t* = 12.875781
        # rec = min(600/t*, 600/181.475 + 90); q = 30; max = 30 + max(52.5, 120)
        (full_clock(byo_yomi(600, 30, 3)), 0, 0.0, (0.0, 600 / (1.75 * 20 / math.e), 150.0)),
        # late in the game t* is the least turns left: byo = 5.61 < t*: kept, M/t* = 81.5485
        (full_clock(byo_yomi(600, 30, 3)), 300, 0.0, (0.0, 30 * math.e, 150.0)),
        # main 40 < 1.5 b: t* = 1.75 * .490506 < 1: 1; rec = min(40, 90.2) = 40 < 45: 40 + 30
        # max = 30 + max(min(52.5, 40), 8) = 70; 40 < 70, but not < 40 + 30: stays
        (full_clock(byo_yomi(40, 30, 3)), 0, 0.0, (0.0, 70.0, 70.0)),
        # main 60: rec = min(60/1, 60/181.475 + 90) = 60; max = 30 + max(52.5, 12) = 82.5 -> 60 + 30
        (full_clock(byo_yomi(60, 30, 3)), 0, 0.0, (0.0, 60 / 1.2875780, 90.0)),
        # seven periods: 60 s of them are main time: as main 660 with five
        (full_clock(byo_yomi(600, 30, 7)), 0, 0.0, (0.0, 660 / (1.75 * 22 / math.e), 162.0)),
        # the only period, and main time to be passed: the lag counts twice
        (full_clock(byo_yomi(40, 30, 1)), 0, 1.0, (0.0, 68.0, 68.0)),
        # Canadian 25 stones in 300 s: b = 12; t* = 50/e = 18.393972 -> 32.189451; q = 300/19 = 15.789474
        # rec = min(600/t*, 600/181.475 + 36); max = q + max(1.75 q, 120)
        (full_clock(canadian(600, 300, 25)), 0, 0.0, (0.0, 600 / (1.75 * 50 / math.e), 300 / 19 + 120)),
        # overtime
        (overtime(byo_yomi(600, 30, 5), 30, 5), 0, 1.0, (29.0, 29.0, 29.0)),
        (overtime(byo_yomi(600, 30, 1), 30, 1), 0, 1.0, (28.0, 28.0, 28.0)),
        # 5 s left of the second but last: lag(5) = 4 < lag(15) * 2/4 = 7: 35 s, and then two are left
        (overtime(byo_yomi(600, 30, 5), 5, 3), 0, 1.0, (34.0, 34.0, 34.0)),
        (overtime(byo_yomi(600, 30, 5), 8.5, 3), 0, 1.0, (7.5, 7.5, 7.5)),
        # into the last: twice the lag
        (overtime(byo_yomi(600, 30, 5), 3, 2), 0, 1.0, (31.0, 31.0, 31.0)),
        (overtime(canadian(600, 300, 25), 200, 10), 0, 1.0, (0.0, 19.0, 200 / 7.75 - 1)),
        (overtime(canadian(600, 300, 25), 20, 1), 0, 1.0, (18.0, 18.0, 18.0)),
        # seven periods, 20 s left in this one: main time 20 + 30, and five
        (overtime(byo_yomi(600, 30, 7), 20, 7), 0, 0.0, (0.0, 50 / (1.75 * 50 / 30 / math.e), 80.0)),
    ],
)
def test_allotments(clock: Clock, stones: int, lag: float, expected: tuple[float, float, float]) -> None:
    found = allot(clock, AREA, stones, lag)
    assert (found.minimum, found.recommended, found.maximum) == pytest.approx(expected, rel=1e-6)


def any_clock(random: np.random.Generator) -> Clock:
    """Any control with any time left of it."""
    main, period = float(random.choice([0.0, random.uniform(0, 2000)])), float(random.uniform(1, 120))
    kind = random.integers(4)
    if kind == 0:
        return Clock(absolute(main), main * float(random.uniform(-0.01, 1)))
    if kind == 1:
        limit = main + float(random.uniform(0, 100))
        control = fischer(main, period, main_limit=limit, move_limit=float(random.choice([math.inf, 20.0])))
        return Clock(control, float(random.uniform(-1, limit)))
    control = byo_yomi(main, period, int(random.integers(1, 9)))
    if kind == 2:
        control = canadian(main, period, int(random.integers(1, 30)))
    clock = full_clock(control)
    if random.random() < 0.5:
        return clock
    most = control.periods if control.periods > 1 else control.stones
    return clock.told(float(random.uniform(-1, period)), int(random.integers(1, most + 1)))


def all_the_time(clock: Clock) -> float:
    """Seconds after which the player has lost, if he makes but this turn."""
    if not clock.in_overtime:
        return clock.main_left + clock.control.periods * clock.control.period
    return clock.period_left + (clock.periods_left - 1) * clock.control.period


def test_no_turn_takes_more_than_there_is() -> None:
    random = np.random.default_rng(7)
    for _ in range(3000):
        clock, stones = any_clock(random), int(random.integers(0, 360))
        lag = float(random.choice([0.0, random.uniform(0, 5)]))
        found = allot(clock, AREA, stones, lag)
        assert 0 <= found.minimum <= found.maximum
        assert 0 <= found.recommended <= found.maximum
        assert found.maximum <= max(0.0, after_lag(all_the_time(clock), lag)) + 1e-9
        assert found.maximum <= clock.control.move_limit
        parameters = ThinkingParameters(
            lag_buffer=lag,
            overallocate_time_factor=float(random.uniform(0.5, 3)),
            midgame_time_factor=float(random.uniform(0.5, 3)),
            obvious_moves_time_factor=float(random.uniform(0.01, 1)),
            tree_reuse_carry_over_time_factor=float(random.uniform(0, 1)),
        )
        carried = float(random.uniform(0, 50))
        thinking = Thinking(clock, AREA, stones, int(random.integers(0, 400)), parameters, carried)
        seconds = thinking.seconds(float(random.uniform(0, 3)), float(random.uniform(0, 3)))
        assert found.minimum <= seconds <= found.maximum


def test_midgame() -> None:
    assert midgame_share(0, AREA, 130, 100) == 0.0
    assert midgame_share(65, AREA, 130, 100) == 0.5
    assert midgame_share(130, AREA, 130, 100) == 1.0
    assert midgame_share(230, AREA, 130, 100) == pytest.approx(math.exp(-1))
    assert midgame_share(40, 81, 130, 100) == pytest.approx(math.exp(-(40 - 130 * 81 / 361) / (100 * 81 / 361)))
    assert (midgame_share(0, AREA, 0, 100), midgame_share(1, AREA, 0, 0)) == (1.0, 0.0)


def test_obvious_moves() -> None:
    parameters = ThinkingParameters()
    assert obviousness(0.0, 0.0, parameters) == 1.0
    assert obviousness(0.3, 0.0, parameters) == pytest.approx(math.exp(-1))
    assert obviousness(0.3, 0.3, parameters) == pytest.approx(math.exp(-2))


def test_time_that_was_thought_before() -> None:
    assert softly_less(10.0, 0.0) == 10.0
    assert softly_less(10.0, 5.0) == pytest.approx(10 * math.log(1 + math.exp(3)) / 6)
    assert softly_less(10.0, 10.0) == pytest.approx(10 * math.log(2) / 6)
    assert 0.0 < softly_less(10.0, 30.0) < 1e-4
    assert softly_less(0.0, 1.0) == 0.0


@pytest.mark.parametrize(
    ("clock", "seconds", "expected"),
    [
        (overtime(byo_yomi(60, 30, 5), 30, 3), 10.0, 29.0),
        (overtime(byo_yomi(60, 30, 5), 12, 3), 10.0, 11.0),
        (overtime(byo_yomi(60, 30, 5), 12, 3), 11.5, 41.0),
        (overtime(byo_yomi(60, 30, 5), 12, 1), 11.5, 11.5),  # there is no other
        (overtime(canadian(60, 300, 25), 200, 10), 20.0, 20.0),
        (overtime(canadian(60, 300, 25), 50, 1), 20.0, 49.0),
        (full_clock(byo_yomi(60, 30, 5)), 60.0, 60.0),
        (full_clock(byo_yomi(60, 30, 5)), 61.0, 89.0),
        (full_clock(canadian(60, 30, 5)), 61.0, 61.0),
        (full_clock(absolute(60)), 59.0, 59.0),
    ],
)
def test_periods_are_used_up(clock: Clock, seconds: float, expected: float) -> None:
    assert to_the_end_of_a_period(clock, seconds, 1.0) == expected


def test_what_settings_make_of_it() -> None:
    clock, parameters = full_clock(absolute(600)), ThinkingParameters()
    plain = Thinking(clock, AREA, 0, 0, parameters)
    base = 600 / 181.475
    assert dataclasses.astuple(plain.allotment()) == pytest.approx((0.0, base, 120.0))
    assert plain.seconds() == pytest.approx(base)

    def seconds(turn: int = 0, entropy: float = math.inf, carried: float = 0.0, **changes: Any) -> float:
        changed = dataclasses.replace(parameters, **changes)
        return Thinking(clock, AREA, 0, turn, changed, carried).seconds(entropy, 0.0)

    assert seconds(overallocate_time_factor=2.0) == pytest.approx(2 * base)
    assert seconds(overallocate_time_factor=50.0) == 120.0
    assert seconds(65, midgame_time_factor=2.0) == pytest.approx(1.5 * base)
    assert seconds(entropy=0.3, obvious_moves_time_factor=0.25) == pytest.approx(base * (1 - 0.75 * math.exp(-1)))
    assert seconds(carried=2.0) == pytest.approx(base)
    assert seconds(carried=2.0, tree_reuse_carry_over_time_factor=0.5) == pytest.approx(softly_less(base, 1.0))
    assert dataclasses.replace(plain, factor=0.25).seconds() == pytest.approx(base / 4)
    assert Thinking(full_clock(no_limit()), AREA, 0, 0, parameters).seconds() == math.inf
