"""Ctrl-C and SIGTERM where nothing has begun: amid imports, loading and compilation; and how signals are heard at all.

A KeyboardInterrupt would do harm there: libraries that are being imported turn it into errors of their own, or swallow
it. Nor does the main thread run Python's handlers while it is in a compiler or waits for a disk. Knows no command.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

EXIT_INTERRUPTED: Final = 130
"""What a shell tells of a program that Ctrl-C ended."""
STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_ENDS: Final = {signal.SIGINT: "ended by Ctrl-C", signal.SIGTERM: "ended by SIGTERM"}
_FIRST_EXIT: Final = 128
"""A shell adds this to a signal's number."""
_STDERR: Final = 2


@contextmanager
def heard(
    numbers: Sequence[signal.Signals],
    hear: Callable[[signal.Signals], None],
    here_too: Callable[[signal.Signals], None] = lambda _: None,
) -> Iterator[None]:
    """Within, which must be the main thread, ``hear`` is called with each of these signals, by a thread of its own.

    That one hears through the descriptor that Python writes to at once, whatever the main thread does. ``here_too`` is
    called in the main thread, whenever that comes to it.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def listen() -> None:
        with reader:
            while told := reader.recv(1):
                if told[0] in numbers:
                    hear(signal.Signals(told[0]))

    def handle(number: int, frame: FrameType | None) -> None:
        here_too(signal.Signals(number))

    handlers = [(number, signal.signal(number, handle)) for number in numbers]
    descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=listen, name="signals", daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(descriptor)
        for number, handler in handlers:
            signal.signal(number, handler)
        writer.close()


@contextmanager
def interrupts_end_the_program() -> Iterator[None]:
    """Within, SIGINT and SIGTERM end the process at once, with a line; nothing must be left to be tidied up.

    Not those that somebody has us ignore, as a shell does for its jobs in the background.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    with heard(numbers, _end, _end):
        yield


_ending: Final = threading.RLock()
"""Held by the thread that ends the program, which may be interrupted by another signal."""


def _end(number: signal.Signals) -> None:
    _ending.acquire()
    with suppress(OSError):
        os.write(_STDERR, f"{_ENDS[number]}\n".encode())  # past locks that the main thread may hold
    os._exit(_FIRST_EXIT + number)
