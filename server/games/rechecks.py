"""Which games are evaluated again with their network, and what becomes of that; who evaluates: `server.inspection`.

Games are drawn when they pass their audit, by the server alone, so that nobody can know which of them it will be.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from server.games.figures import figures_add
from server.games.models import Game, GameKind, Recheck
from server.hints import Hint
from server.trust.models import HOLDING, Trust

RECHECK: Final = Hint("server.inspection.tasks.recheck")
LEASE: Final = timedelta(minutes=10)
MAX_TRIES: Final = 3
"""Tries that may fail by error or by a dying worker before a game is let be."""


@dataclass(frozen=True)
class Rechecked:
    """What the network says of a game."""

    rows: int
    misfits: int
    text: str
    figures: Mapping[str, float]


def rechecks_draw(games: Sequence[Game], trusts: Mapping[tuple[int, int], Trust]) -> None:
    """Draw those of the games (loaded with their runs) that are looked at again; in the caller's transaction."""
    drawn = [
        game
        for game in games
        if game.kind == GameKind.TRAINING
        and game.run.recheck_share > 0
        and (trusts[game.run_id, game.contributor_id] in HOLDING or random.random() < game.run.recheck_share)
    ]
    if drawn:
        Recheck.objects.bulk_create([Recheck(game=game) for game in drawn], ignore_conflicts=True)
        transaction.on_commit(RECHECK.send)


def rechecks_claim(limit: int) -> list[Recheck]:
    """Waiting games with all that their evaluation needs, those of one network together."""
    now = timezone.now()
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    with transaction.atomic():
        waiting = Recheck.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
        waiting = waiting.select_related("game__run", "game__black_network", "game__job__text", "game__job__run")
        claimed = list(waiting.filter(free, done_at=None).order_by("pk")[:limit])
        keys = [recheck.pk for recheck in claimed]
        Recheck.objects.filter(pk__in=keys).update(tries=F("tries") + 1, claimed_until=now + LEASE)
    return sorted(claimed, key=lambda recheck: (recheck.game.black_network_id, recheck.pk))


def recheck_done(recheck: Recheck, found: Rechecked) -> None:
    """Keep what was found, and add it to the game's figures."""
    with transaction.atomic():
        figures_add(recheck.game_id, found.figures)
        _finish(recheck, found)


def recheck_given_up(recheck: Recheck, text: str) -> None:
    """Let a game be whose rows cannot be evaluated."""
    _finish(recheck, Rechecked(0, 0, text, {}))


def _finish(recheck: Recheck, found: Rechecked) -> None:
    recheck.rows, recheck.misfits, recheck.text = found.rows, found.misfits, found.text
    recheck.done_at = timezone.now()
    recheck.save(update_fields=["rows", "misfits", "text", "done_at"])


def rechecks_waiting(run: int, contributor: int) -> bool:
    """Whether games of a login wait to be evaluated again."""
    return Recheck.objects.filter(done_at=None, game__run=run, game__contributor=contributor).exists()
