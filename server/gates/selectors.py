"""Questions about gates."""

from __future__ import annotations

from django.db.models import QuerySet

from server.gates.models import Gate, GateState
from server.runs.models import Run


def open_gates(run: Run) -> QuerySet[Gate]:
    """Undecided gates of ``run``, with their networks, oldest first."""
    return Gate.objects.filter(run=run, state=GateState.OPEN).select_related("candidate", "opponent").order_by("pk")


def gates_to_confirm() -> list[Gate]:
    """The gates of all runs that wait for nothing but a look at some of their games, those that wait longest first."""
    return list(Gate.objects.filter(state=GateState.OPEN, sample_since__isnull=False).order_by("sample_since", "pk"))


def gates_of(run: Run) -> QuerySet[Gate]:
    """All gates of ``run``, with their networks, newest first."""
    return Gate.objects.filter(run=run).select_related("candidate", "opponent").order_by("-pk")
