"""Ctrl-C where a KeyboardInterrupt would do harm: amid imports and compilation.

Libraries that are being imported turn it into errors of their own, or swallow it. Knows no command.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

EXIT_INTERRUPTED: Final = 130
"""What a shell tells of a program that Ctrl-C ended."""


@contextmanager
def interrupts_end_the_program() -> Iterator[None]:
    """Within, SIGINT ends the process at once and without a word; nothing must be left to be tidied up."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # by a shell's job in the background
    if ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: os._exit(EXIT_INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
