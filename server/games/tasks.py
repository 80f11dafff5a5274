"""Entry points for Celery: the audit drains waiting games in batches, for less than a minute at a time."""

from __future__ import annotations

import time
from typing import Final

from server.celery import app
from server.hints import AUDIT

BATCH: Final = 32
SLICE_SECONDS: Final = 45.0
"""After this time a further message takes over, so that no message runs into a broker's time limit."""


@app.task(name="server.games.tasks.audit_pending")
def audit_pending() -> int:
    """Audit what waits; returns how many games."""
    from server.games.auditing import games_audit, judge  # compiles the game; only a worker pays for it

    began = time.monotonic()
    audited = 0
    while count := games_audit(judge, BATCH):
        audited += count
        if time.monotonic() - began > SLICE_SECONDS:
            AUDIT.send()
            break
    return audited
