"""How a loop that runs for weeks waits: steps, pauses that grow, and a stop that is noticed at once."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

FIRST_PAUSE_S: Final = 5.0
GROWTH: Final = 1.3
MAX_PAUSE_S: Final = 600.0
JITTER: Final = 0.05
MAX_NAMED_PAUSE_S: Final = 3600.0
"""The longest pause that a server may ask for."""


class Outcome(Enum):
    """What one step of a loop came to."""

    WORKED = "worked"
    """Something was done; call again at once."""
    IDLE = "idle"
    """Nothing to do; look again after a moment."""
    FAILED = "failed"
    """Something outside is in trouble; wait longer each time."""


@dataclass
class Backoff:
    """Pauses after failures: 5 s, then each time 1.3 times and a second longer, up to ten minutes, a little random.

    ``at_least`` is set by a step whose server named a time; it holds for one pause.
    """

    random_source: random.Random
    idle_s: float = 0.5
    at_least: float = 0.0
    _next: float = FIRST_PAUSE_S

    def after(self, outcome: Outcome) -> float:
        """Seconds to wait after a step with this outcome."""
        if outcome is not Outcome.FAILED:
            self._next = FIRST_PAUSE_S
            return 0.0 if outcome is Outcome.WORKED else self.idle_s
        pause = max(self._next, min(self.at_least, MAX_NAMED_PAUSE_S))
        self.at_least = 0.0
        self._next = min(MAX_PAUSE_S, self._next * GROWTH + 1.0)
        return pause * self.random_source.uniform(1 - JITTER, 1 + JITTER)


def run(
    step: Callable[[], Outcome],
    stop: threading.Event,
    backoff: Backoff,
    unforeseen: Callable[[Exception], None],
    wake: threading.Event | None = None,
) -> None:
    """Call ``step`` until ``stop`` is set, and end for no other reason.

    Whoever sets ``stop`` also sets ``wake``, which ends an idle wait early. An exception of ``step`` is handed to
    ``unforeseen``, which must not raise, and counts as a failure.
    """
    while not stop.is_set():
        try:
            outcome = step()
        except Exception as error:
            unforeseen(error)
            outcome = Outcome.FAILED
        pause = backoff.after(outcome)
        if pause <= 0:
            continue
        if outcome is Outcome.IDLE and wake is not None:
            wake.wait(pause)
            wake.clear()
        else:
            stop.wait(pause)
