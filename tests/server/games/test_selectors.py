"""What trainers and ratings are told of games."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from server.games.auditing import games_audit
from server.games.models import Game
from server.games.moderation import games_refuse
from server.games.selectors import Result, match_results, rows_between
from server.networks.models import Network
from server.runs.models import Run
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


def test_results_of_matches(play: Callable[..., Game], run: Run, tmp_path: Path) -> None:
    candidate = make_network(run, tmp_path)
    for winner in ("B", "W", "B", "0", "-"):
        play(winner=winner)
    games_audit(accept, limit=10)
    random = Network.objects.get(is_random=True)
    assert sorted(match_results(run.pk), key=str) == sorted(
        [
            Result(candidate.pk, random.pk, "B", 2),
            Result(random.pk, candidate.pk, "W", 1),
            Result(random.pk, candidate.pk, "0", 1),
            Result(candidate.pk, random.pk, "-", 1),
        ],
        key=str,
    )
