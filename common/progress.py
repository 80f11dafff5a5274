"""What a command says on stderr while it works longer than two seconds; its results are not mixed with it.

On a terminal one line is kept up to date; elsewhere a line comes now and then.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

LOADING: Final = "loading the network and compiling, which takes some minutes at the first start"
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


@contextmanager
def announced(what: str, after_s: float = QUIET_S) -> Iterator[None]:
    """Within, a line ``what …`` appears once if it takes longer than ``after_s``: for what cannot be counted."""
    timer = threading.Timer(after_s, lambda: sys.stderr.write(f"{what} …\n"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
