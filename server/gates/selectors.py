"""Questions about gates."""

from __future__ import annotations

from django.db.models import QuerySet

from server.gates.models import Gate, GateState
from server.runs.models import Run


def open_gates(run: Run) -> QuerySet[Gate]:
    """Undecided gates of ``run``, with their networks, oldest first."""
    return Gate.objects.filter(run=run, state=GateState.OPEN).select_related("candidate", "opponent").order_by("pk")


def gates_of(run: Run) -> QuerySet[Gate]:
    """All gates of ``run``, with their networks, newest first."""
    return Gate.objects.filter(run=run).select_related("candidate", "opponent").order_by("-pk")
