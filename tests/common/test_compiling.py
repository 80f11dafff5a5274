"""A start that compiles is told in two lines, however many kernels it compiles; one that does not says nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import pytest
from numba.core import event

from common.compiling import COMPILES, CompilationTeller
from common.progress import COMPILING, QUIET_S


class Clock:
    """Time that passes when it is told to, and what is to be called then."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: dict[int, tuple[float, Callable[[], None]]] = {}
        self._number = 0

    def later(self, seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        self._number += 1
        number = self._number
        self._due[number] = self.now + seconds, act
        return lambda: self._due.pop(number, None) and None

    def passes(self, seconds: float) -> None:
        self.now += seconds
        for number, (moment, act) in list(self._due.items()):
            if moment <= self.now:
                del self._due[number]
                act()


def teller() -> tuple[CompilationTeller, Clock, list[str]]:
    clock, lines = Clock(), list[str]()
    return CompilationTeller(lines.append, lambda: clock.now, clock.later), clock, lines


def compile_for(each: CompilationTeller, clock: Clock, seconds: float) -> None:
    each.on_start(None)
    each.on_start(None)  # of a kernel that it calls
    clock.passes(seconds)
    each.on_end(None)
    each.on_end(None)


def test_many_kernels_are_two_lines() -> None:
    each, clock, lines = teller()
    for _ in range(20):
        compile_for(each, clock, QUIET_S / 4)
        clock.passes(QUIET_S / 4)
    assert lines == [f"{COMPILING} …"]
    clock.passes(QUIET_S)
    # all but the last pause
    assert lines == [f"{COMPILING} …", f"compiled, after {39 * QUIET_S / 4:.0f} s"]
    clock.passes(1000.0)
    compile_for(each, clock, 3 * QUIET_S)
    clock.passes(QUIET_S)
    assert lines[2:] == ["compiling what else is needed …", f"compiled, after {3 * QUIET_S:.0f} s"]


def test_what_is_quick_says_nothing() -> None:
    each, clock, lines = teller()
    for _ in range(20):
        compile_for(each, clock, QUIET_S / 4)
        clock.passes(2 * QUIET_S)
    assert lines == []


@pytest.mark.skipif(bool(getattr(numba.config, "DISABLE_JIT", 0)), reason="nothing is compiled")
def test_numba_tells_of_each() -> None:
    compiler: Any = numba.njit

    @compiler
    def add(a: float, b: float) -> float:
        return a + b

    clock, asked = Clock(), list[float]()

    def counting(seconds: float, act: Callable[[], None]) -> Callable[[], None]:
        asked.append(seconds)
        return clock.later(seconds, act)

    each = CompilationTeller(list[str]().append, lambda: clock.now, counting)
    with event.install_listener(COMPILES, each):
        add(1, 2)
        add(3, 4)  # is compiled already
        assert asked == [QUIET_S, QUIET_S], "one beginning, one end"
        add(1.0, 2.0)
    assert len(asked) == 4
