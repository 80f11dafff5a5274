"""What nobody will need again: refused games with their files, and jobs for which no game ever came.

Deleted for good, a few at a time, with everything that counts them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.core.files.storage import default_storage
from django.db import transaction

from server.games.blocks import blocks_forget
from server.games.counting import Counts, counts_of
from server.games.models import Game, GameKind, GameState
from server.games.moving import games_lock
from server.jobs.models import Job

logger = logging.getLogger(__name__)

LEAST_AGE: Final = timedelta(days=30)
"""A job takes games for some weeks after its lease; a game that was deleted by then could be sent once more."""
_AT_ONCE: Final = 200


@dataclass
class Purged:
    """What was deleted, or would be."""

    games: int = 0
    files: int = 0
    jobs: int = 0


def purge(before: datetime, *, dry_run: bool) -> Purged:
    """Delete games that were refused, and unused jobs that ended, before a moment; with ``dry_run`` only count them.

    Games that an exclusion took out stay, since it may be lifted.
    """
    found = Purged()
    old = Game.objects.filter(state=GameState.REFUSED, exclusion=None, judged_at__lt=before)
    unused = Job.objects.filter(received=0, expires_at__lt=before, uploads=None)
    if dry_run:
        found.games, found.jobs = old.count(), unused.count()
        found.files = found.games + old.filter(kind=GameKind.TRAINING).count()
        return found
    for keys in _batches(list(old.order_by("pk").values_list("pk", flat=True))):
        names = _delete_games(keys, found)
        for name in names:
            try:
                default_storage.delete(name)
                found.files += 1
            except Exception as error:  # each storage has errors of its own; the daily sweep tries again
                logger.warning("the file %s of a purged game stays for now: %s", name, error)
    for keys in _batches(list(unused.order_by("pk").values_list("pk", flat=True))):
        found.jobs += Job.objects.filter(pk__in=keys, received=0, uploads=None).delete()[0]
    return found


def _batches(keys: list[int]) -> Iterator[list[int]]:
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))


def _delete_games(keys: list[int], found: Purged) -> list[str]:
    """Delete those of the games that are refused still; names of their files."""
    with transaction.atomic():
        games = [game for game in games_lock(keys, GameState.REFUSED) if game.exclusion_id is None]
        counts, by_kind = Counts(), dict[GameKind, list[int]]()
        for game in games:
            counts.subtract(counts_of(game, GameState.REFUSED))
            by_kind.setdefault(GameKind(game.kind), []).append(game.pk)
        Game.objects.filter(pk__in=[game.pk for game in games]).delete()
        counts.apply()
        blocks_forget(by_kind)
    found.games += len(games)
    return [name for game in games for name in (game.sgf_file, game.rows_file) if name]
