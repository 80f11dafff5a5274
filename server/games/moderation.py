"""What maintainers do with games: out of the counts, back into them, or to the audit once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from django.db import transaction

from server.games.models import PASSED, Game, GameState
from server.games.moving import Refusal, StateChange, games_lock, passed_changes, states_change
from server.hints import AUDIT

_MODERATED_AT_ONCE: Final = 200
_Changes = Callable[[Sequence[Game]], Sequence[StateChange]]
"""What becomes of locked games."""


def games_refuse(keys: Sequence[int], refusal: Refusal) -> int:
    """Take games that count, or wait to be counted, out of everything; returns how many there were.

    Gates that are decided already keep their result. Shards that hold the games are written anew before the next slice
    of training. Many games are moved in several transactions, so that uploads wait for none of them long.
    """
    return _moderate(keys, PASSED, _all_to(GameState.REFUSED, refusal))


def games_restore(keys: Sequence[int]) -> int:
    """Take refused games back in, which count then, or wait if their login is not trusted; returns how many."""
    return _moderate(keys, (GameState.REFUSED,), passed_changes)


def games_requeue(keys: Sequence[int], state: GameState = GameState.REFUSED) -> int:
    """Let games in a state, refused ones or counted, be audited again; returns how many.

    What an exclusion has taken out stays out while that stands.
    """
    out = Game.objects.filter(pk__in=keys, state=state, exclusion__isnull=False, exclusion__lifted_at=None)
    kept_out = set(out.values_list("pk", flat=True))
    moved = _moderate([key for key in keys if key not in kept_out], (state,), _all_to(GameState.RECEIVED, None))
    AUDIT.send()
    return moved


def games_hold(keys: Sequence[int], reason: Refusal) -> int:
    """Take counted games out of everything that counts them until somebody decides; returns how many."""
    return _moderate(keys, (GameState.COUNTED,), _all_to(GameState.HELD, reason))


def games_release(keys: Sequence[int]) -> int:
    """Count held games; returns how many."""
    return _moderate(keys, (GameState.HELD,), _all_to(GameState.COUNTED, None))


def _all_to(state: GameState, refusal: Refusal | None) -> _Changes:
    return lambda games: [StateChange(game, state, refusal) for game in games]


def _moderate(keys: Sequence[int], was: Sequence[GameState], changes: _Changes) -> int:
    moved = 0
    ordered = sorted(keys)
    for first in range(0, len(ordered), _MODERATED_AT_ONCE):
        with transaction.atomic():
            games = games_lock(ordered[first : first + _MODERATED_AT_ONCE], *was)
            states_change(changes(games))
            moved += len(games)
    return moved
