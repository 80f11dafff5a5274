"""Lines that arrive while a search works: a thread reads them, the engine takes them between two rounds."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable
from typing import Final, Generic, TypeVar

Line = TypeVar("Line", bytes, str)

MOST_UNREAD: Final = 64
"""Lines that are read ahead; whoever sends more waits."""


class InputQueue(Generic[Line]):
    """The lines of a stream, read by a thread of its own, which ends with the program.

    Args:
        lines: where they come from.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self._queue: queue.Queue[Line | None] = queue.Queue(MOST_UNREAD)
        self.is_open = True
        """Whether another line may come."""
        threading.Thread(target=self._read, args=(lines,), name="input", daemon=True).start()

    def _read(self, lines: Iterable[Line]) -> None:
        try:
            for line in lines:
                self._queue.put(line)
        finally:
            self._queue.put(None)

    def take(self, *, wait: bool) -> Line | None:
        """The next line; None if there is none, with ``wait`` only where none will come."""
        if not self.is_open:
            return None
        try:
            line = self._queue.get(block=wait)
        except queue.Empty:
            return None
        self.is_open = line is not None
        return line
