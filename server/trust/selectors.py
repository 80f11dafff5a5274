"""Questions about standings."""

from __future__ import annotations

from django.db.models import Prefetch

from server.trust.models import Alarm, Decision, Standing


def standings_of(contributor: int) -> list[Standing]:
    """How a contributor stands with the runs, newest first, with alarms and decisions, the last ones first."""
    found = Standing.objects.filter(contributor=contributor).select_related("run").order_by("-run")
    alarms = Prefetch("alarms", Alarm.objects.order_by("-pk"))
    decisions = Prefetch("decisions", Decision.objects.select_related("by").order_by("-pk"))
    return list(found.prefetch_related(alarms, decisions))
