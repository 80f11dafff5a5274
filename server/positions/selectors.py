"""Questions about start positions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db.models import QuerySet

from common.wire import StartPosition
from server.positions.models import Position, PositionTotal
from server.runs.models import Run


def position_keys_drawn(run: Run, draws: Sequence[float]) -> list[int]:
    """Keys of the positions that numbers in [0, 1) draw by weight; none where the run has no position."""
    if not draws:
        return []
    total = PositionTotal.objects.filter(run=run).first()
    if total is None or total.weight <= 0.0:
        return []
    keys = []
    for draw in draws:
        drawn = Position.objects.filter(run=run, is_enabled=True, upto__gt=draw * total.weight).order_by("upto", "pk")
        key = drawn.values_list("pk", flat=True).first()
        if key is not None:
            keys.append(key)
    return keys


def positions_by_key(keys: Collection[int]) -> dict[int, StartPosition]:
    """Positions as they go out in tasks."""
    if not keys:
        return {}
    return {row.pk: StartPosition.from_object(row.data) for row in Position.objects.filter(pk__in=keys)}


def positions() -> QuerySet[Position]:
    """All positions, newest first, with their runs."""
    return Position.objects.select_related("run").order_by("-pk")
