"""Celery's way to the services of this app."""

from __future__ import annotations

from celery import shared_task

from server.ratings import services
from server.runs import selectors as runs


@shared_task(ignore_result=True)
def compute_ratings() -> None:
    """Rate the networks of every run that is not closed."""
    for run in runs.open_runs():
        services.ratings_compute(run)
