"""Fixtures of the tests of trust: games of several contributors, with figures as told."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from django.test import Client

from server.accounts.models import Contributor
from server.games.auditing import Accepted, Verdict, games_audit
from server.games.models import Game
from server.jobs.models import Job
from server.runs.models import Run
from tests.server.factories import ask, game_form, upload_training
from tests.server.games.conftest import play as play

Send = Callable[[Contributor, Mapping[str, float], int], list[Game]]


@pytest.fixture
def send(client: Client, run: Run) -> Send:
    """Upload games of a contributor that pass their audit with these figures."""

    def send_games(contributor: Contributor, figures: Mapping[str, float], count: int = 1) -> list[Game]:
        def judge(game: Game, sgf: bytes, rows: bytes | None) -> Verdict:
            return Accepted(figures=figures)

        sent = []
        for first in range(0, count, 16):
            games = min(16, count - first)
            answer = ask(client, contributor, task_rep_factor=str(games)).json()
            job = Job.objects.get(pk=answer["job_id"])
            for _ in range(games):
                form = game_form(job)
                assert upload_training(client, contributor, form).status_code == 201
                sent.append(form["kg_game_uid"])
        while games_audit(judge, limit=50):
            pass
        return list(Game.objects.filter(uid__in=sent).order_by("pk"))

    return send_games
