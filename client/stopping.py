"""SIGINT and SIGTERM while games are played: the first one asks to finish, the second ends the program.

The second one is a promise: what is still not over `GRACE_S` seconds later is ended with the process. That is safe at
any moment, since a game in the spool is either whole or not there (`client.contribute.spool`).
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final, Self

from common.interrupts import EXIT_INTERRUPTED

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
GRACE_S: Final = 1.5


class StopSignals:
    """Within, the signals set two events.

    They are heard by a thread of their own, through the descriptor that Python writes to at once, as a main thread
    that waits for a disk or a name server runs no handler.

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

    def __enter__(self) -> Self:
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._handlers = [(number, signal.signal(number, _nothing)) for number in STOP_SIGNALS]
        self._descriptor = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        signal.set_wakeup_fd(self._descriptor)
        for number, handler in self._handlers:
            signal.signal(number, handler)
        self._writer.close()

    def _listen(self) -> None:
        with self._reader:
            while heard := self._reader.recv(1):
                if heard[0] in STOP_SIGNALS:
                    self._hear()

    def _hear(self) -> None:
        if not self.finish.is_set():
            self.finish.set()
            return
        self.now.set()
        if not self._over.wait(GRACE_S):
            try:
                self.last_act()
            finally:
                os._exit(EXIT_INTERRUPTED)


def _nothing(number: int, frame: FrameType | None) -> None:
    """What Python runs in the main thread; the other one has heard the signal by then."""
