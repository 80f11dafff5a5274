"""That kernels are being compiled, told on stderr: for programs that answer others and would be silent for minutes.

A first start compiles many kernels one after the other, each when it is first called: together they are one line, and
one when no other has begun for a while. How long it takes is said once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

import numba.core.event

from common.progress import COMPILING, QUIET_S, write

_event: Final[Any] = numba.core.event  # not typed
COMPILES: Final = "numba:compile"
"""numba's name for compiling a function that was not found among the kept ones."""

_MORE: Final = "compiling what else is needed"


class CompilationTeller(_event.Listener):  # type: ignore[misc]
    """Hears of each compilation, from whatever thread.

    Args:
        write: takes the lines.
        clock: seconds.
        later: has a function called so many seconds later, and returns what calls that off.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        later: Callable[[float, Callable[[], None]], Callable[[], None]] | None = None,
    ) -> None:
        self._write, self._clock, self._later = write, clock, later or _later
        self._lock = threading.RLock()  # compilations may be begun by whatever is called here
        self._depth = 0  # one kernel's compilation begins that of those it calls
        self._began: float | None = None  # of those that are told together
        self._ended = 0.0
        self._said = False
        self._is_first = True  # nothing was said yet
        self._call_off: Callable[[], None] = _nothing

    def on_start(self, event: object) -> None:
        """A compilation begins."""
        with self._lock:
            self._depth += 1
            if self._depth > 1:
                return
            self._call_off()
            if self._began is None:
                self._began = self._clock()
            rest = self._began + QUIET_S - self._clock()
            self._call_off = self._later(rest, self._tell) if not self._said else _nothing

    def on_end(self, event: object) -> None:
        """A compilation has ended."""
        with self._lock:
            self._depth -= 1
            if self._depth:
                return
            self._call_off()
            self._ended = self._clock()
            self._call_off = self._later(QUIET_S, self._tell_end)

    def _tell(self) -> None:
        with self._lock:
            if self._depth and not self._said:
                self._said = True
                self._write(f"{COMPILING if self._is_first else _MORE} …")
                self._is_first = False

    def _tell_end(self) -> None:
        with self._lock:
            if self._depth or self._began is None:
                return
            if self._said:
                self._write(f"compiled, after {self._ended - self._began:.0f} s")
            self._began, self._said = None, False


def tell_compilations() -> None:
    """From now on, in this process."""
    _event.register(COMPILES, CompilationTeller(write))


def _later(seconds: float, act: Callable[[], None]) -> Callable[[], None]:
    timer = threading.Timer(max(seconds, 0.0), act)
    timer.daemon = True
    timer.start()
    return timer.cancel


def _nothing() -> None:
    """What calls off nothing."""
