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

from server.accounts.models import Contributor
from server.games.counting import Counts, counts_of
from server.games.figures import tally_game
from server.games.models import Game, GameState
from server.gates.services import gates_change
from server.networks.models import Network
from server.runs.models import RunTotals
from server.trust.models import Trust
from server.trust.services import standings_count, standings_lock
from server.trust.tallies import TallyChanges

PASSED: Final = (GameState.HELD, GameState.COUNTED)
"""States of games that passed their audit."""
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


def games_lock(keys: Collection[int], state: GameState) -> list[Game]:
    """Those of the games that are in ``state``, locked in the order of their keys, with their runs, jobs and gates."""
    games = Game.objects.select_for_update(no_key=True, of=("self",)).select_related("run", "contributor", "job__gate")
    return list(games.filter(pk__in=list(keys), state=state).order_by("pk"))


def states_change(changes: Sequence[StateChange]) -> None:
    """Change states and everything that follows from them, as one; inside the caller's transaction."""
    standings_lock({(change.game.run_id, change.game.contributor_id) for change in changes})
    runs = sorted({change.game.run_id for change in changes})
    totals = {t.pk: t for t in RunTotals.objects.select_for_update(no_key=True).filter(pk__in=runs).order_by("pk")}
    counts, tallies, passed = Counts(), TallyChanges(), Counter[tuple[int, int]]()
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
        if change.to == GameState.COUNTED and game.number is None:
            _number(game, totals[game.run_id])
    fields = [
        "state",
        "judged_at",
        "audit_until",
        "audits",
        "reason_code",
        "reason",
        "number",
        "last_row",
        "is_decisive",
        "figures",
    ]
    Game.objects.bulk_update([change.game for change in changes], fields)
    for total in totals.values():
        total.save(update_fields=["last_number", "last_row", "moderations"])
    counts.apply_to(RunTotals, counts.runs)
    gates_change(counts.gates)
    counts.apply_to(Contributor, counts.contributors)
    counts.apply_to(Network, counts.networks)
    standings_count(passed)
    tallies.apply()


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
