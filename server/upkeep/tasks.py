"""Entry points for Celery."""

from __future__ import annotations

from server.celery import app
from server.games.quotas import old_days_forget
from server.storage import sweep_incoming
from server.upkeep.orphans import remove_orphans


@app.task(name="server.upkeep.tasks.sweep")
def sweep() -> int:
    """Remove files that killed processes left half-written, and counts of days long ago; returns how many files."""
    old_days_forget()
    return sweep_incoming()


@app.task(name="server.upkeep.tasks.sweep_orphans")
def sweep_orphans() -> int:
    """Remove files that no row names; returns how many."""
    return len(remove_orphans().names)
