"""Entry points for Celery."""

from __future__ import annotations

from typing import Final

from server.celery import app
from server.games.blocks import blocks_close
from server.games.exclusions import MODERATE, exclusions_go_on, for_seconds
from server.games.quotas import old_days_forget
from server.storage import sweep_incoming
from server.upkeep.orphans import remove_orphans

SLICE_SECONDS: Final = 30.0
"""After this time a further message takes over, so that ratings need not wait."""


@app.task(name="server.upkeep.tasks.moderate")
def moderate() -> int:
    """Take games out that are excluded, and put back what is no longer; returns how many."""
    keep_on = for_seconds(SLICE_SECONDS)
    moved = exclusions_go_on(keep_on)
    if not keep_on():
        MODERATE.send()
    return moved


@app.task(name="server.upkeep.tasks.close_blocks")
def close_blocks() -> int:
    """Count the games of blocks of keys that have become full; returns how many blocks."""
    return blocks_close()


@app.task(name="server.upkeep.tasks.sweep")
def sweep() -> int:
    """Remove files that killed processes left half-written, and counts of days long ago; returns how many files."""
    old_days_forget()
    return sweep_incoming()


@app.task(name="server.upkeep.tasks.sweep_orphans")
def sweep_orphans() -> int:
    """Remove files that no row names; returns how many."""
    return len(remove_orphans().names)
