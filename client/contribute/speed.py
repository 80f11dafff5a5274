"""How many games per hour this machine has finished of late. The server sizes jobs by it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Final

WINDOW_S: Final = 3600.0
"""Older games say little: networks and the machine's other work change."""
LEAST_S: Final = 60.0
"""Games that run at once end in bunches; a shorter time would tell of one of those."""


class SpeedMeter:
    """Counts finished games.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: float | None = None
        self._ended: deque[float] = deque()

    def game_asked(self) -> None:
        """A game was asked for: from the first one on, time counts."""
        if self._began is None:
            self._began = self._clock()

    def game_ended(self) -> None:
        """A game came to its end, whether it is sent or not."""
        self._ended.append(self._clock())

    def games_per_hour(self) -> float | None:
        """Of the last `WINDOW_S`; None while nothing is known."""
        now = self._clock()
        while self._ended and self._ended[0] < now - WINDOW_S:
            self._ended.popleft()
        if self._began is None:
            return None
        seconds = min(WINDOW_S, now - self._began)
        if (not self._ended and seconds < WINDOW_S) or seconds < LEAST_S:
            return None
        return len(self._ended) * 3600.0 / seconds
