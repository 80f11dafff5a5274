"""What a command says on stderr while it works longer than two seconds; its results are not mixed with it.

On a terminal one line is kept up to date; elsewhere a line comes now and then.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

COMPILING: Final = "compiling: one to three minutes, the first time after an installation or update"
LOADING: Final = f"loading the network, or {COMPILING}"
READY: Final = "ready"
QUIET_S: Final = 2.0
"""What is done by then says nothing."""
TERMINAL_EVERY_S: Final = 0.5
LOG_EVERY_S: Final = 10.0
_WIDTH: Final = 79


class Progress:
    """Counts towards a total: ``evaluate: 5,120 of 24,000 rows, 31 s, about 114 s to go``.

    Args:
        what: first words of the line.
        total: what is counted to.
        unit: what is counted, in the plural.
        stream: where it is written (default: stderr).
        clock: seconds; tests give their own.
    """

    def __init__(
        self,
        what: str,
        total: int,
        unit: str,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._stream = stream if stream is not None else sys.stderr
        self._is_terminal = self._stream.isatty()
        self._clock = clock
        self._start = clock()
        self._next = self._start + QUIET_S
        self._shown = False

    def at(self, done: int) -> None:
        """``done`` of the total are done; writes if it is time to."""
        now = self._clock()
        if now < self._next or done >= self._total:
            return
        self._next = now + (TERMINAL_EVERY_S if self._is_terminal else LOG_EVERY_S)
        seconds = now - self._start
        text = f"{self._what}: {done:,} of {self._total:,} {self._unit}, {seconds:.0f} s"
        if done:
            text += f", about {seconds * (self._total - done) / done:.0f} s to go"
        self._stream.write(f"\r{text:{_WIDTH}}" if self._is_terminal else f"{text}\n")
        self._stream.flush()
        self._shown = True

    def close(self) -> None:
        """Take the line away from a terminal."""
        if self._shown and self._is_terminal:
            self._stream.write("\r" + " " * _WIDTH + "\r")
            self._stream.flush()


class Announcement:
    """Something that cannot be counted has begun: a line ``what …`` follows if it takes long, and one when it is over.

    Args:
        what: words of the first line.
        then: words of the second, which adds the seconds that it took; empty: there is none.
        after_s: what is over by then says nothing.
    """

    def __init__(self, what: str, then: str = "", *, after_s: float = QUIET_S) -> None:
        self._what, self._then = what, then
        self._began = time.monotonic()
        self._said = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(after_s, self._say)
        self._timer.daemon = True
        self._timer.start()

    def over(self, *, well: bool = True) -> None:
        """It is over, and if not ``well``, without the second line; a second call does nothing."""
        with self._lock:
            self._timer.cancel()
            if well and self._said and self._then:
                write(f"{self._then}, after {time.monotonic() - self._began:.0f} s")
            self._said = False

    def _say(self) -> None:
        with self._lock:
            if not self._timer.finished.is_set():
                self._said = True
                write(f"{self._what} …")


@contextmanager
def announced(what: str, then: str = "", *, after_s: float = QUIET_S) -> Iterator[None]:
    """An `Announcement` of what happens within."""
    announcement = Announcement(what, then, after_s=after_s)
    try:
        yield
        announcement.over()
    finally:
        announcement.over(well=False)


def write(line: str) -> None:
    """A line on stderr, if anybody reads it."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):  # nobody reads it
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
