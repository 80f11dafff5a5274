"""Moderation, in both directions."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from server.accounts.models import Contributor
from server.games.auditing import games_audit
from server.games.models import Game, GameState
from server.games.moderation import games_refuse, games_requeue, games_restore
from server.gates.models import Gate
from server.runs.models import Run
from tests.server.factories import FAULT, accept, make_network, refuse
from tests.server.games.counts import counts

pytestmark = pytest.mark.django_db


def test_moderation_can_be_undone(play: Callable[..., Game], anna: Contributor, tmp_path: Path, run: Run) -> None:
    play()
    make_network(run, tmp_path)
    play(winner="B")
    games_audit(accept, limit=10)
    before = counts(anna)
    assert (before["totals.match_games"], before["totals.training_games"]) == (1, 1)
    gate = Gate.objects.get()
    assert (gate.pending, gate.played, gate.half_points) == (0, 1, 2), "the candidate was black and won"
    keys = [game.pk for game in Game.objects.all()]
    assert games_refuse(keys, FAULT) == 2
    assert counts(anna) == {"totals.refused_games": 2, "anna.refused_games": 2}
    gate.refresh_from_db()
    assert (gate.played, gate.half_points) == (0, 0)
    assert games_refuse(keys, FAULT) == 0
    assert games_restore(keys) == 2
    assert counts(anna) == before
    gate.refresh_from_db()
    assert (gate.played, gate.half_points) == (1, 2)


def test_requeued_games_of_a_gate_wait_again(play: Callable[..., Game], run: Run, tmp_path: Path) -> None:
    make_network(run, tmp_path)
    game = play()
    games_audit(refuse, limit=10)
    gate = Gate.objects.get()
    assert (gate.pending, gate.played) == (0, 0)
    assert games_requeue([game.pk]) == 1
    gate.refresh_from_db()
    assert (gate.pending, gate.played) == (1, 0)


def test_games_are_audited_again_by_range(play: Callable[..., Game], run: Run, anna: Contributor) -> None:
    games = [play() for _ in range(4)]
    games_audit(accept, limit=2)
    games_audit(refuse, limit=2)
    before = counts(anna)
    told = StringIO()
    call_command("requeue_games", "seven", "--counted", "--last", str(games[0].pk), "--dry-run", stdout=told)
    assert counts(anna) == before
    call_command("requeue_games", "seven", "--counted", "--last", str(games[0].pk), stdout=told)
    call_command("requeue_games", "seven", FAULT.code, "--first", str(games[3].pk), stdout=told)
    call_command("requeue_games", "seven", "--since", "2999-01-01T00:00", stdout=told)
    assert [line.split()[0] for line in told.getvalue().splitlines()] == ["1", "1", "1", "0"]
    assert [Game.objects.get(pk=game.pk).state for game in games] == ["received", "counted", "refused", "received"]
    assert counts(anna)["totals.training_games"] == 1
    games_audit(accept, limit=5)
    games[0].refresh_from_db()
    assert (games[0].state, games[0].number) == (GameState.COUNTED, 1), "it keeps its number"
    for wrong in (["none"], ["seven", "code", "--counted"], ["seven", "--since", "soon"]):
        with pytest.raises(CommandError):
            call_command("requeue_games", *wrong)
