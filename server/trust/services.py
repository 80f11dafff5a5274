"""Changing standings: each change is a decision with a reason, by a person or by the server itself."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from server.accounts.models import Contributor
from server.runs.models import Run
from server.trust.differences import FIRST_LOOK, Difference, next_look
from server.trust.figures import describe
from server.trust.models import Alarm, Decision, Standing, Trust

logger = logging.getLogger(__name__)


def standing_of(run: Run, contributor: Contributor) -> Standing:
    """How a contributor stands with a run; a new login is watched, if the run watches new ones."""
    found = Standing.objects.filter(run=run, contributor=contributor).first()
    if found is not None:
        return found
    watched = {"trust": Trust.WATCHED, "reason": "the first games of a new login are looked at before they count"}
    new = {"next_look": _first_look(run), **(watched if run.watch_games else {})}
    return Standing.objects.get_or_create(run=run, contributor=contributor, defaults=new)[0]


def _first_look(run: Run) -> int:
    return min(run.watch_games, FIRST_LOOK) if run.watch_games else FIRST_LOOK


def standings_lock(keys: Collection[tuple[int, int]]) -> dict[tuple[int, int], Trust]:
    """Lock the standings of contributors with runs, by run and contributor, and say what they are."""
    runs, contributors = {run for run, _ in keys}, {contributor for _, contributor in keys}
    locked = Standing.objects.select_for_update(no_key=True).filter(run__in=runs, contributor__in=contributors)
    return {(each.run_id, each.contributor_id): Trust(each.trust) for each in locked.order_by("pk")}


def standings_count(changes: Mapping[tuple[int, int], int]) -> None:
    """Add games that passed their audit, by run and contributor; inside the caller's transaction.

    Games of before there were standings are in none, so taking them out takes nothing below zero.
    """
    for run, contributor in sorted(changes):
        if changes[run, contributor]:
            standings = Standing.objects.filter(run=run, contributor=contributor)
            standings.update(games=Greatest(F("games") + changes[run, contributor], 0))


def standing_decide(standing: Standing, trust: Trust, reason: str, by: Any = None) -> None:
    """Change a standing, which the caller has locked, and keep who decided so and why."""
    standing.trust, standing.reason, standing.since = trust, reason, timezone.now()
    standing.save(update_fields=["trust", "reason", "since"])
    Decision.objects.create(standing=standing, trust=trust, by=by, reason=reason)
    who = "the server" if by is None else f"user {by.pk}"
    logger.info("standing %s is %s, by %s: %s", standing.pk, trust, who, reason)


def alarms_raise(standing: Standing, found: Mapping[str, Difference], machine: str = "") -> list[Alarm]:
    """Keep in what a login's games differ, unless the same was told before, and say it in the log."""
    raised = []
    known = set(Alarm.objects.filter(standing=standing, machine=machine).values_list("figure", flat=True))
    for figure, seen in found.items():
        if figure in known:
            continue
        text = describe(figure, seen.own_mean, seen.expected, seen.games, seen.deviations)
        alarm = Alarm(
            standing=standing,
            machine=machine,
            figure=figure,
            games=seen.games,
            deviations=seen.deviations,
            effect=seen.effect,
            text=text,
        )
        alarm.save(force_insert=True)
        logger.warning("alarm about standing %s: %s", standing.pk, text)
        raised.append(alarm)
    return raised


def look_noted(standing: Standing, watch_games: int) -> None:
    """The next look is due when there are twice as many games, or all that are watched."""
    due = next_look(standing.games)
    if standing.games < watch_games:
        due = min(due, watch_games)
    Standing.objects.filter(pk=standing.pk).update(next_look=due)
