"""What trainers and ratings are told of games."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from server.games.auditing import games_audit
from server.games.models import Game
from server.games.moderation import games_refuse, games_restore
from server.games.selectors import Score, match_scores, moderated_parts, rows_between
from server.networks.models import Network
from server.runs.models import Run, RunTotals
from tests.server.factories import FAULT, accept, make_network

pytestmark = pytest.mark.django_db


def test_numbers_are_in_order_and_never_given_twice(play: Callable[..., Game], run: Run) -> None:
    games = [play() for _ in range(3)]
    games_audit(accept, limit=2)
    games_audit(accept, limit=2)
    for game in games:
        game.refresh_from_db()
    assert [(game.number, game.last_row) for game in games] == [(1, 3), (2, 6), (3, 9)]
    assert [(file.number, file.file) for file in rows_between(run.pk, 0, 100)] == [
        (game.number, game.rows_file) for game in games
    ]
    games_refuse([games[2].pk], FAULT)
    play()
    games_audit(accept, limit=2)
    assert [file.number for file in rows_between(run.pk, 1, 100)] == [2, 4]
    assert [file.number for file in rows_between(run.pk, 3, 4)] == [2]
    assert rows_between(run.pk, 0, 1)[0].from_random


def test_scores_of_matches(play: Callable[..., Game], run: Run, tmp_path: Path) -> None:
    candidate = make_network(run, tmp_path)
    for winner in ("B", "W", "B", "0", "-"):
        play(winner=winner)
    games_audit(accept, limit=10)
    random = Network.objects.get(is_random=True)
    black = Score(candidate.pk, random.pk, games=3, black_half_points=5)
    white = Score(random.pk, candidate.pk, games=2, black_half_points=1)
    assert sorted(match_scores(run.pk)) == sorted([black, white])
    games_refuse(list(Game.objects.filter(winner="-").values_list("pk", flat=True)), FAULT)
    assert black._replace(games=2, black_half_points=4) in match_scores(run.pk)
    games_refuse(list(Game.objects.values_list("pk", flat=True)), FAULT)
    assert match_scores(run.pk) == []
    assert RunTotals.objects.get(run=run).match_changes == 3


def test_moderated_games_are_found_by_their_rows(play: Callable[..., Game], run: Run) -> None:
    games = [play() for _ in range(5)]
    games_audit(accept, limit=5)
    assert moderated_parts(run.pk, 0, 4) == []
    games_refuse([games[3].pk, games[4].pk], FAULT)  # rows 9 to 11 and 12 to 14
    assert moderated_parts(run.pk, 0, 4) == [8, 12]
    known = RunTotals.objects.get(run=run).moderations
    assert moderated_parts(run.pk, known, 4) == []
    games_refuse([games[1].pk], FAULT)
    games_restore([games[3].pk])
    assert moderated_parts(run.pk, known, 4) == [0, 8]
