"""What follows from what was found about a login: alarms, quarantine, trust; and what maintainers decide instead.

A standing is changed first, in a transaction of its own, and games move after it in batches: what is counted from then
on is counted by the new standing (`server.games.auditing` locks it), so none slips through in between.
"""

from __future__ import annotations

from typing import Any, Final

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from server.accounts.models import Contributor
from server.games.models import Decided, Game, GameState, Recheck, Replay, ReplayOutcome
from server.games.moderation import games_hold, games_refuse, games_release
from server.games.moving import HELD_BECAUSE, Refusal
from server.games.rechecks import rechecks_waiting
from server.trust.differences import Difference, suspicious
from server.trust.figures import DIFFERENT_MATCHES, MISFITS
from server.trust.models import Alarm, Standing, Trust
from server.trust.services import alarms_raise, look_noted, standing_decide, standing_of
from server.trust.tallies import machines_of, strata_of

MISFIT_SHARE: Final = 0.5
"""Of a game's rows that were evaluated again: from here on the network did not make them."""
LEAST_MISFITS: Final = 2
MISFIT_GAMES: Final = 3
"""Such games of one login raise an alarm …"""
MISFIT_GAMES_SHARE: Final = 0.1
"""… if they are so many of those that were looked at."""


# ------------------------------------------------------------------------------------------------------- one game


def is_of_another_network(rows: int, misfits: int) -> bool:
    """Whether so many misfits among the rows say that the game's network did not make them."""
    return misfits >= LEAST_MISFITS and misfits >= MISFIT_SHARE * rows


def game_conclude(recheck: Recheck) -> None:
    """Refuse a game that its network did not make, and raise an alarm about a login that sends more of them."""
    if not is_of_another_network(recheck.rows, recheck.misfits):
        return
    games_refuse([recheck.game_id], Refusal(Decided.NOT_ITS_NETWORK, recheck.text))
    game = recheck.game
    done = Recheck.objects.filter(game__run=game.run_id, game__contributor=game.contributor_id, done_at__isnull=False)
    bad = done.filter(misfits__gte=Greatest(LEAST_MISFITS, F("rows") * MISFIT_SHARE)).count()
    looked_at = done.filter(rows__gt=0).count()
    if bad < MISFIT_GAMES or bad < MISFIT_GAMES_SHARE * looked_at:
        return
    reason = f"{bad} of {looked_at} games that were looked at were not made by the network that they name"
    _alarm(game, MISFITS, bad, looked_at, reason)


def replay_conclude(replay: Replay) -> None:
    """Refuse a match game that its networks did not play so, and raise an alarm about its login."""
    games_refuse([replay.game_id], Refusal(Decided.NOT_REPLAYED, replay.text))
    game = replay.game
    done = Replay.objects.filter(game__run=game.run_id, game__contributor=game.contributor_id, done_at__isnull=False)
    bad, looked_at = done.filter(outcome=ReplayOutcome.DIFFERENT).count(), done.count()
    reason = f"{bad} of {looked_at} match games that were looked at were not played so by their networks"
    _alarm(game, DIFFERENT_MATCHES, bad, looked_at, reason)


def _alarm(game: Game, figure: str, bad: int, looked_at: int, reason: str) -> None:
    """Raise an alarm about a game's login, some of whose games were not played by their networks."""
    with transaction.atomic():
        contributor = Contributor.objects.get(pk=game.contributor_id)
        key = standing_of(game.run, contributor).pk
        standing = Standing.objects.select_for_update(no_key=True, of=("self",)).select_related("run").get(pk=key)
        share = bad / looked_at
        seen = Difference(games=looked_at, own_mean=share, expected=0.0, deviations=float(bad), effect=share)
        raised = alarms_raise(standing, {figure: seen})
        holds = bool(raised) and _quarantine(standing, reason)
    if holds:
        _hold_games(standing)


# ------------------------------------------------------------------------------------------------------ one login


def look(key: int) -> list[Alarm]:
    """Compare a login's games with others', and do what the run's settings say; returns the new alarms."""
    with transaction.atomic():
        standing = Standing.objects.select_for_update(no_key=True, of=("self",)).select_related("run").get(pk=key)
        run, contributor, games = standing.run_id, standing.contributor_id, standing.games
        if standing.trust == Trust.WATCHED and rechecks_waiting(run, contributor):
            return []  # still due
        raised = alarms_raise(standing, suspicious(strata_of(run, contributor)))
        for machine in machines_of(run, contributor):
            raised += alarms_raise(standing, suspicious(strata_of(run, contributor, machine)), machine)
        look_noted(standing, standing.run.watch_games if standing.trust == Trust.WATCHED else 0)
        holds = bool(raised) and _quarantine(standing, "; ".join(alarm.text for alarm in raised))
        is_cleared = (
            standing.trust == Trust.WATCHED
            and games >= standing.run.watch_games
            and not Alarm.objects.filter(standing=standing).exists()
        )
        if is_cleared:
            standing_decide(standing, Trust.TRUSTED, f"nothing spoke against the first {games} games")
    if holds:
        _hold_games(standing)
    if is_cleared:
        _release_games(standing)
    return raised


def looks_due(limit: int) -> list[int]:
    """Keys of the standings whose games have become twice as many since the last look."""
    due = Standing.objects.filter(games__gte=F("next_look")).order_by("pk")
    return list(due.values_list("pk", flat=True)[:limit])


def _quarantine(standing: Standing, reason: str) -> bool:
    """Quarantine a login if its run does so; whether it is one now that was none."""
    if not standing.run.quarantines or standing.trust == Trust.QUARANTINED:
        return False
    standing_decide(standing, Trust.QUARANTINED, reason)
    return True


# ---------------------------------------------------------------------------------------------------- maintainers


def contributor_quarantine(standing: Standing, reason: str, by: Any) -> int:
    """Let a login's games in the run wait, also those that count; returns how many were taken out."""
    _decide(standing, Trust.QUARANTINED, reason, by)
    return _hold_games(standing)


def contributor_trust(standing: Standing, reason: str, by: Any) -> int:
    """Overrule alarms: the login's games count, those that wait too; returns how many these were."""
    _decide(standing, Trust.TRUSTED, reason, by)
    return _release_games(standing)


def contributor_reject(standing: Standing, reason: str, by: Any) -> int:
    """Keep a login quarantined and refuse what waits; returns how many games these were."""
    _decide(standing, Trust.QUARANTINED, reason, by)
    _hold_games(standing)
    return games_refuse(_games(standing, GameState.HELD), Refusal(Decided.REJECTED, reason))


def _decide(standing: Standing, trust: Trust, reason: str, by: Any) -> None:
    with transaction.atomic():
        locked = Standing.objects.select_for_update(no_key=True).get(pk=standing.pk)
        standing_decide(locked, trust, reason, by)


def _games(standing: Standing, state: GameState) -> list[int]:
    games = Game.objects.filter(run=standing.run_id, contributor=standing.contributor_id, state=state)
    return list(games.order_by("pk").values_list("pk", flat=True))


def _hold_games(standing: Standing) -> int:
    return games_hold(_games(standing, GameState.COUNTED), HELD_BECAUSE[Trust.QUARANTINED])


def _release_games(standing: Standing) -> int:
    return games_release(_games(standing, GameState.HELD))
