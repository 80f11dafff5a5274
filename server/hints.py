"""Messages that there is work: few, and never in the way of who sends them.

What is due can always be read from the database, and beat asks for it from time to time, so a message may be left out.
"""

from __future__ import annotations

import time
from typing import Final

from server.celery import send_hint

INTERVAL_S: Final = 0.5
"""Between two messages of one process; what arrives in between is found by the same worker, or by beat."""
BROKER_AWAY_S: Final = 10.0
"""Without further messages after one that could not be sent: each try may hold an upload up."""


class Hint:
    """That there is work for one task; asked for as often as one likes."""

    def __init__(self, task: str) -> None:
        self.task = task
        self._quiet_until = float("-inf")

    def send(self) -> None:
        """Send it if none was sent a moment ago. Never fails."""
        if time.monotonic() < self._quiet_until:
            return
        self._quiet_until = time.monotonic() + INTERVAL_S
        if not send_hint(self.task):
            self._quiet_until = time.monotonic() + BROKER_AWAY_S


AUDIT: Final = Hint("server.games.tasks.audit_pending")
"""Games wait for their audit."""
