"""Questions about runs."""

from __future__ import annotations

from django.db.models import QuerySet

from server.runs.models import Run, RunState


def current_run() -> Run | None:
    """The run that clients are sent to: the newest that is active, else the newest that is paused.

    Naming a paused run keeps clients with it: they wait for jobs instead of ending.
    """
    for state in (RunState.ACTIVE, RunState.PAUSED):
        run = Run.objects.select_related("current_network").filter(state=state).order_by("-pk").first()
        if run is not None:
            return run
    return None


def run_by_name(name: str) -> Run | None:
    """The run of that name, with its current network; None if there is none."""
    return Run.objects.select_related("current_network", "totals").filter(name=name).first()


def runs() -> QuerySet[Run]:
    """All runs, newest first, with their current networks and totals."""
    return Run.objects.select_related("current_network", "totals").order_by("-pk")


def open_runs() -> QuerySet[Run]:
    """Runs whose training and ratings go on: all that are not closed, oldest first."""
    return Run.objects.select_related("current_network").exclude(state=RunState.CLOSED).order_by("pk")
