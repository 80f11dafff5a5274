"""SIGINT and SIGTERM while games are played: the first one asks to finish, the second ends the program.

The second one is a promise: what is still not over `GRACE_S` seconds later is ended with the process. That is safe at
any moment, since a game in the spool is either whole or not there (`client.contribute.spool`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from typing import Final, Self

from common.interrupts import EXIT_INTERRUPTED, STOP_SIGNALS, heard

GRACE_S: Final = 1.5


class StopSignals:
    """Within, the signals set two events.

    Attributes:
        finish: set by the first signal: play the running games to their end and send them.
        now: set by the second.
        last_act: called before the process is ended by force; must not wait for anything.
    """

    def __init__(self) -> None:
        self.finish = threading.Event()
        self.now = threading.Event()
        self.last_act: Callable[[], None] = lambda: None
        self._over = threading.Event()
        self._within = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._within.enter_context(heard(STOP_SIGNALS, self._hear))
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._within.close()

    def _hear(self, number: signal.Signals) -> None:
        if not self.finish.is_set():
            self.finish.set()
            return
        self.now.set()
        if not self._over.wait(GRACE_S):
            try:
                self.last_act()
            finally:
                os._exit(EXIT_INTERRUPTED)
