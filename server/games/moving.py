"""Moving games between their states, with everything that counts them.

::

    received ──audit──> counted <──moderation──> refused, with a reason
        └───────────────audit──────────────────────┘

A game's state, its number, and the totals of run, contributor, networks and gate change in one transaction. Locks are
taken in this order: games by key, run totals, those of `server.gates.services`, contributors and networks by key.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils import timezone

from server.games.counting import Counts, counts_of
from server.games.models import Game, GameState
from server.runs.models import RunTotals

_FEW: Final = 4
"""A statement for all that are alike costs about as much as so many games of a statement that gives each its own."""
_MAX_REASON: Final = 2000
"""Characters of a reason that are kept; a record may quote much of itself."""


@dataclass(frozen=True)
class Refusal:
    """Why a game does not count; the code is for programs."""

    code: str
    reason: str


@dataclass(frozen=True)
class StateChange:
    """A locked game and the state to which it goes."""

    game: Game
    to: GameState
    refusal: Refusal | None
    """Exactly where it is refused."""


def games_lock(keys: Collection[int], state: GameState) -> list[Game]:
    """Those of the games that are in ``state``, locked in the order of their keys, with their runs, jobs and gates."""
    games = Game.objects.select_for_update(no_key=True, of=("self",)).select_related("run", "job__gate")
    return list(games.filter(pk__in=list(keys), state=state).order_by("pk"))


def states_change(changes: Sequence[StateChange]) -> None:
    """Change states and everything that follows from them, as one; inside the caller's transaction."""
    runs = sorted({change.game.run_id for change in changes})
    totals = {t.pk: t for t in RunTotals.objects.select_for_update(no_key=True).filter(pk__in=runs).order_by("pk")}
    counts = Counts()
    moderated: list[Game] = []
    numbered: list[Game] = []
    now = timezone.now()
    for change in changes:
        game = change.game
        was = GameState(game.state)
        counts.subtract(counts_of(game, was))
        counts.add(counts_of(game, change.to))
        game.state = change.to
        game.judged_at = None if change.to == GameState.RECEIVED else now
        game.audit_until = None
        game.audits = 0 if change.to == GameState.RECEIVED else game.audits
        game.reason_code = change.refusal.code if change.refusal else ""
        game.reason = _kept_text(change.refusal.reason) if change.refusal else ""
        if GameState.COUNTED in (was, change.to) and game.number is not None:
            totals[game.run_id].moderations += 1
            moderated.append(game)
        if change.to == GameState.COUNTED and game.number is None:
            _number(game, totals[game.run_id])
            numbered.append(game)
    for game in moderated:
        game.moderation = totals[game.run_id].moderations
    fields = [
        "state",
        "judged_at",
        "audit_until",
        "audits",
        "reason_code",
        "reason",
        "is_decisive",
        "moderation",
    ]
    Game.objects.bulk_update(numbered, [*fields, "number", "last_row"])
    known = {game.pk for game in numbered}
    _write([change.game for change in changes if change.game.pk not in known], fields)
    for total in totals.values():
        total.save(update_fields=["last_number", "last_row", "moderations"])
    counts.apply()


def _write(games: Sequence[Game], fields: Sequence[str]) -> None:
    """Write the fields of the games: in a moment, while others wait, where many were given the same values."""
    alike: dict[str, list[Game]] = {}
    for game in games:
        alike.setdefault(repr([getattr(game, name) for name in fields]), []).append(game)
    if len(alike) * _FEW <= len(games):
        for group in alike.values():
            values = {name: getattr(group[0], name) for name in fields}
            Game.objects.filter(pk__in=[game.pk for game in group]).update(**values)
    else:
        Game.objects.bulk_update(games, fields)


def _kept_text(text: str) -> str:
    """A text that PostgreSQL takes, whatever a record brought into it: no NUL, no lone surrogates, not endless."""
    kept = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
    return kept if len(kept) <= _MAX_REASON else kept[: _MAX_REASON - 1] + "…"


def _number(game: Game, totals: RunTotals) -> None:
    """Give a game its number while the run's totals are locked, so that numbers appear in their order."""
    totals.last_number += 1
    totals.last_row += game.num_training_rows
    game.number = totals.last_number
    game.last_row = totals.last_row
