"""Moving games between their states, with everything that counts them.

::

    received ──audit──> counted <──moderation──> refused, with a reason
        ├──audit──> held <──┘    <──moderation──────┤
        └───────────────audit──────────────────────┘

A game is held where its contributor is not trusted. A game's state, its number, and the totals of run, contributor,
networks and gate change in one transaction, with the tallies of what games are like. Locks are taken in this order:
games by key, standings by key, run totals, those of `server.gates.services`, contributors and networks by key, tallies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils import timezone

from server.games.counting import Counts, counts_of
from server.games.figures import tally_game
from server.games.models import PASSED, Game, GameState
from server.runs.models import RunTotals
from server.trust.models import Trust
from server.trust.services import standings_count, standings_lock
from server.trust.tallies import TallyChanges

_FEW: Final = 4
"""A statement for all that are alike costs about as much as so many games of a statement that gives each its own."""
_MOVED: Final = ("state", "judged_at", "audit_until", "audits", "reason_code", "reason", "moderation")
"""Columns that every change of state writes."""
_AUDITED: Final = (*_MOVED, "number", "last_row", "is_decisive", "figures", "later_rows")
"""Those of a game that has passed its audit, or is counted for the first time."""
_MAX_REASON: Final = 2000
"""Characters of a reason that are kept; a record may quote much of itself."""


@dataclass(frozen=True)
class Refusal:
    """Why a game does not count; the code is for programs."""

    code: str
    reason: str


HELD_BECAUSE: Final = {
    Trust.WATCHED: Refusal("watched", "it passed its audit; the first games of a new login are looked at first"),
    Trust.QUARANTINED: Refusal("quarantined", "it passed its audit; a maintainer decides about this login's games"),
}
"""Why games of logins that are not trusted wait."""


@dataclass(frozen=True)
class StateChange:
    """A locked game and the state to which it goes."""

    game: Game
    to: GameState
    refusal: Refusal | None
    """Where it is refused, or held."""


def games_lock(keys: Collection[int], *states: GameState) -> list[Game]:
    """Those of the games that are in one of ``states``, locked in the order of keys, with runs, jobs and gates."""
    games = Game.objects.select_for_update(no_key=True, of=("self",)).select_related("run", "contributor", "job__gate")
    return list(games.filter(pk__in=list(keys), state__in=states).order_by("pk"))


def passed_change(game: Game, trust: Trust) -> StateChange:
    """Where a locked game belongs that passed its audit: it counts, or waits if its contributor is not trusted."""
    held = HELD_BECAUSE.get(trust)
    return StateChange(game, GameState.HELD if held else GameState.COUNTED, held)


def passed_changes(games: Sequence[Game]) -> list[StateChange]:
    """The same of games whose contributors' standings are not known yet; these are locked."""
    trusts = standings_lock({(game.run_id, game.contributor_id) for game in games})
    return [passed_change(game, trusts.get((game.run_id, game.contributor_id), Trust.TRUSTED)) for game in games]


def states_change(changes: Sequence[StateChange]) -> None:
    """Change states and everything that follows from them, as one; inside the caller's transaction."""
    standings_lock({(change.game.run_id, change.game.contributor_id) for change in changes})
    runs = sorted({change.game.run_id for change in changes})
    totals = {t.pk: t for t in RunTotals.objects.select_for_update(no_key=True).filter(pk__in=runs).order_by("pk")}
    counts, tallies, passed = Counts(), TallyChanges(), Counter[tuple[int, int]]()
    moderated: list[Game] = []
    audited: list[Game] = []
    now = timezone.now()
    for change in changes:
        game = change.game
        was = GameState(game.state)
        counts.subtract(counts_of(game, was))
        counts.add(counts_of(game, change.to))
        tally_game(tallies, game, was, -1)
        tally_game(tallies, game, change.to, 1)
        passed[game.run_id, game.contributor_id] += (change.to in PASSED) - (was in PASSED)
        game.state = change.to
        game.judged_at = None if change.to == GameState.RECEIVED else now
        game.audit_until = None
        game.audits = 0 if change.to == GameState.RECEIVED else game.audits
        game.reason_code = change.refusal.code if change.refusal else ""
        game.reason = _kept_text(change.refusal.reason) if change.refusal else ""
        if GameState.COUNTED in (was, change.to) and game.number is not None:
            totals[game.run_id].moderations += 1
            moderated.append(game)
        is_new = change.to == GameState.COUNTED and game.number is None
        if is_new:
            _number(game, totals[game.run_id])
        if is_new or (was == GameState.RECEIVED and change.to in PASSED):
            audited.append(game)
    for game in moderated:
        game.moderation = totals[game.run_id].moderations
    Game.objects.bulk_update(audited, _AUDITED)
    known = {game.pk for game in audited}
    _write([change.game for change in changes if change.game.pk not in known])
    for total in totals.values():
        total.save(update_fields=["last_number", "last_row", "moderations"])
    counts.apply()
    standings_count(passed)
    tallies.apply()


def _write(games: Sequence[Game]) -> None:
    """Write where games have gone: in a moment, while others wait, where many were given the same values."""
    alike: dict[str, list[Game]] = {}
    for game in games:
        alike.setdefault(repr([getattr(game, name) for name in _MOVED]), []).append(game)
    if len(alike) * _FEW <= len(games):
        for group in alike.values():
            values = {name: getattr(group[0], name) for name in _MOVED}
            Game.objects.filter(pk__in=[game.pk for game in group]).update(**values)
    else:
        Game.objects.bulk_update(games, _MOVED)


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
