"""Fixtures of the tests of games."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from server.accounts.models import Contributor
from server.games.models import Game
from server.jobs.models import Job
from server.runs.models import Run
from tests.server.factories import ask, game_form, upload, upload_training


@pytest.fixture
def play(client: Client, anna: Contributor, run: Run) -> Callable[..., Game]:
    """Ask for a job and upload one game of it; a match if the server says so."""

    def play_one(winner: str = "W", **fields: Any) -> Game:
        job = Job.objects.get(pk=ask(client, anna, **fields).json()["job_id"])
        form = game_form(job, winner=winner, score="0" if winner in "0-" else "7.5")
        answer = (upload_training if job.kind == "selfplay" else upload)(client, anna, form)
        assert answer.status_code == 201, answer.content
        return Game.objects.get(uid=form["kg_game_uid"])

    return play_one
