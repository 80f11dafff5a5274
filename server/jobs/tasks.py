"""Entry points for Celery."""

from __future__ import annotations

from server.celery import app
from server.jobs.services import jobs_expire


@app.task(name="server.jobs.tasks.expire")
def expire() -> int:
    """Mark jobs whose lease has run out; returns how many."""
    return jobs_expire()
