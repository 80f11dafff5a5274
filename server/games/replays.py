"""Which games of a gate are looked at once more before its candidate is promoted; who looks: `server.inspection`.

A gate has the points, and waits. Of its games that decide some are drawn, as many as the run says: of each contributor
in turn, those first that gave the candidate points. What does not hold is taken out, and the gate is judged again. It
is confirmed when enough of its games hold, or all of them were looked at.
"""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from server.games.models import HOLDS, Game, GameKind, GameState, Replay, ReplayOutcome
from server.gates.models import Gate
from server.gates.selectors import gates_to_confirm
from server.gates.verdicts import candidate_half_points

LEASE: Final = timedelta(hours=1)
"""How long a claimed game is left to its worker: longer than a game may take."""
MAX_TRIES: Final = 3
"""Tries that may fail by error or by a dying worker before a game is let be."""


def deciding_games(gate: Gate) -> list[Game]:
    """The games that decide a gate, each with its replay, if it has one."""
    games = Game.objects.filter(job__gate=gate, kind=GameKind.RATING, state=GameState.COUNTED, is_decisive=True)
    return list(games.select_related("replay").order_by("pk"))


def replays_draw() -> int:
    """Draw the games that waiting gates still miss; returns how many."""
    drawn = 0
    for gate in gates_to_confirm():
        games = deciding_games(gate)
        speak = [game for game in games if _replay(game) is not None and _outcome(game) in (*HOLDS, "")]
        missing = gate.replays - len(speak)
        chosen = _chosen(gate, games, missing)
        Replay.objects.bulk_create([Replay(game=game) for game in chosen], ignore_conflicts=True)
        drawn += len(chosen)
    return drawn


def _chosen(gate: Gate, games: list[Game], missing: int) -> list[Game]:
    """So many of the games that were not drawn yet, of each contributor in turn."""
    of_login = Counter(game.contributor_id for game in games if _replay(game) is not None)
    left = [game for game in games if _replay(game) is None]
    random.shuffle(left)
    chosen: list[Game] = []
    for _ in range(min(missing, len(left))):
        game = min(left, key=lambda game: (of_login[game.contributor_id], not _speaks_for(gate, game)))
        left.remove(game)
        of_login[game.contributor_id] += 1
        chosen.append(game)
    return chosen


def _speaks_for(gate: Gate, game: Game) -> bool:
    """Whether a game gave the candidate points."""
    is_black = game.black_network_id == gate.candidate_id
    return candidate_half_points(candidate_is_black=is_black, winner=game.winner) > 0


def is_confirmed(gate: Gate) -> bool:
    """Whether enough of a gate's games hold, or all have been looked at."""
    games = deciding_games(gate)
    outcomes = [_outcome(game) for game in games]
    return sum(outcome in HOLDS for outcome in outcomes) >= gate.replays or all(outcomes)


def _replay(game: Game) -> Replay | None:
    return getattr(game, "replay", None)


def _outcome(game: Game) -> str:
    """What was found of a game; empty where it was not drawn, or waits."""
    replay = _replay(game)
    return "" if replay is None else replay.outcome


def replay_claim() -> Replay | None:
    """A waiting game with all that a look at it needs. One that was taken out meanwhile waits until it is back."""
    now = timezone.now()
    free = Q(claimed_until=None) | Q(claimed_until__lte=now)
    with transaction.atomic():
        waiting = Replay.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
        waiting = waiting.select_related(
            "game__run", "game__black_network", "game__white_network", "game__job__text", "game__job__run"
        )
        waiting = waiting.filter(free, done_at=None, game__state=GameState.COUNTED)
        replay = waiting.order_by("pk").first()
        if replay is not None:
            Replay.objects.filter(pk=replay.pk).update(tries=F("tries") + 1, claimed_until=now + LEASE)
            replay.tries += 1
    return replay


def replay_done(replay: Replay, outcome: ReplayOutcome, text: str) -> None:
    """Keep what was found."""
    replay.outcome, replay.text, replay.done_at = outcome, text, timezone.now()
    replay.save(update_fields=["outcome", "text", "done_at"])
