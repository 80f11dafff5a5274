"""What maintainers do with games: out of the counts, back into them, or to the audit once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.db import transaction

from server.accounts.models import Contributor
from server.games.models import Game, GameState
from server.games.moving import Refusal, StateChange, games_lock, states_change
from server.hints import AUDIT

_MODERATED_AT_ONCE: Final = 200


def games_refuse(keys: Sequence[int], refusal: Refusal) -> int:
    """Take counted games out of everything that counts them; returns how many were counted before.

    Gates that are decided already keep their result. Shards that hold the games are written anew before the next slice
    of training. Many games are moved in several transactions, so that uploads wait for none of them long.
    """
    return _moderate(keys, GameState.COUNTED, GameState.REFUSED, refusal)


def games_restore(keys: Sequence[int]) -> int:
    """Count refused games after all; returns how many were refused before."""
    return _moderate(keys, GameState.REFUSED, GameState.COUNTED, None)


def games_requeue(keys: Sequence[int]) -> int:
    """Let refused games be audited again; returns how many."""
    moved = _moderate(keys, GameState.REFUSED, GameState.RECEIVED, None)
    AUDIT.send()
    return moved


def games_hold(keys: Sequence[int], reason: Refusal) -> int:
    """Take counted games out of everything that counts them until somebody decides; returns how many."""
    return _moderate(keys, GameState.COUNTED, GameState.HELD, reason)


def games_release(keys: Sequence[int]) -> int:
    """Count held games; returns how many."""
    return _moderate(keys, GameState.HELD, GameState.COUNTED, None)


def games_reject(keys: Sequence[int], refusal: Refusal) -> int:
    """Refuse held games; returns how many."""
    return _moderate(keys, GameState.HELD, GameState.REFUSED, refusal)


def contributor_refuse(contributor: Contributor, refusal: Refusal) -> int:
    """Let a contributor upload nothing more, and take all games that were counted out; returns how many."""
    Contributor.objects.filter(pk=contributor.pk).update(may_contribute=False)
    games = Game.objects.filter(contributor=contributor)
    held = games.filter(state=GameState.HELD).order_by("pk")
    games_reject(list(held.values_list("pk", flat=True)), refusal)
    waiting = games.filter(state=GameState.RECEIVED).order_by("pk")
    _moderate(list(waiting.values_list("pk", flat=True)), GameState.RECEIVED, GameState.REFUSED, refusal)
    counted = games.filter(state=GameState.COUNTED).order_by("pk")
    return games_refuse(list(counted.values_list("pk", flat=True)), refusal)


def _moderate(keys: Sequence[int], was: GameState, to: GameState, refusal: Refusal | None) -> int:
    moved = 0
    ordered = sorted(keys)
    for first in range(0, len(ordered), _MODERATED_AT_ONCE):
        with transaction.atomic():
            games = games_lock(ordered[first : first + _MODERATED_AT_ONCE], was)
            states_change([StateChange(game, to, refusal) for game in games])
            moved += len(games)
    return moved
