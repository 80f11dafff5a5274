"""Adding start positions to a run, and taking some out of what is drawn."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Sequence
from typing import Final

from django.db import connection, transaction

from common.position_checks import PositionError, check_position
from common.wire import GivenPosition
from server.errors import InvalidSettings
from server.positions.models import Position, PositionTotal
from server.runs.models import Run

_RECOUNT: Final = """
UPDATE positions_position SET upto = sums.upto FROM (
    SELECT id, SUM(CASE WHEN is_enabled THEN weight ELSE 0 END) OVER (ORDER BY id) AS upto
    FROM positions_position WHERE run_id = %s
) AS sums WHERE positions_position.id = sums.id
"""


def positions_add(run: Run, given: Sequence[GivenPosition]) -> int:
    """Add positions that the run does not have yet; returns how many those are.

    Raises:
        InvalidSettings: no game can begin at one of them, which is told by its number; nothing is added.
    """
    rows: dict[str, Position] = {}
    for number, each in enumerate(given, start=1):
        try:
            check_position(each.data, run.data_board_len)
        except PositionError as error:
            raise InvalidSettings(f"position {number}: {error}") from None
        data = each.data.to_object()
        sha256 = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
        row = Position(run=run, data=data, sha256=sha256, weight=each.weight, notes=each.notes)
        rows.setdefault(sha256, row)
    with transaction.atomic():
        total = _total(run)
        for known in Position.objects.filter(run=run, sha256__in=rows).values_list("sha256", flat=True):
            del rows[known]
        for row in rows.values():
            total.weight += row.weight
            row.upto = total.weight
        if not math.isfinite(total.weight):
            raise InvalidSettings("the weights of the run's positions are too large together")
        Position.objects.bulk_create(rows.values())
        total.save(update_fields=["weight"])
    return len(rows)


def positions_enable(keys: Collection[int], *, enabled: bool) -> None:
    """Let positions be drawn, or no more."""
    runs = Run.objects.filter(positions__in=keys).distinct().order_by("pk")
    with transaction.atomic():
        for run in runs:
            total = _total(run)
            Position.objects.filter(run=run, pk__in=keys).update(is_enabled=enabled)
            with connection.cursor() as cursor:
                cursor.execute(_RECOUNT, [run.pk])
            last = Position.objects.filter(run=run).order_by("-pk").first()
            total.weight = 0.0 if last is None else last.upto
            total.save(update_fields=["weight"])


def _total(run: Run) -> PositionTotal:
    """What the run's positions weigh, locked."""
    PositionTotal.objects.get_or_create(run=run)
    return PositionTotal.objects.select_for_update(no_key=True).get(run=run)
