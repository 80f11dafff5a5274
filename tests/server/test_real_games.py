"""Games that a real KataGo played, through upload and audit to the counts; and the same with a lie in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from common.go.rules import Scoring
from common.rows import to_npz
from common.wire import form_game_type
from server.accounts.models import Contributor
from server.games.models import Game, GameState
from server.games.tasks import audit_pending
from server.jobs.models import Job
from server.runs.models import RunTotals
from tests.common.katago_games import Upload, katago_uploads
from tests.server.factories import KATAGO, ask, game_form, make_network, make_run, upload_training

pytestmark = pytest.mark.django_db

SETS = ("clean", "full")
MIN_GAMES = 6
"""The sets hold at least so many games by area scoring."""


def form_of(game: Upload, job: Job) -> dict[str, Any]:
    """The form that KataGo's client would send with a game."""
    facts = game.facts
    assert facts.score is not None
    form = game_form(
        job,
        board_size_x=str(facts.x_size),
        board_size_y=str(facts.y_size),
        komi=f"{facts.rules.komi:g}",
        handicap=str(facts.handicap),
        gametype=form_game_type(facts.game_type),
        rules=json.dumps(facts.rules.to_json(komi=False, compact=True)),
        extra_metadata=json.dumps({"draw_equivalent_wins_for_white": facts.draw_white_wins}),
        winner=facts.winner,
        score=f"{facts.score:g}",
        game_length=str(facts.game_length),
        num_training_rows=str(facts.num_training_rows),
        kg_game_uid=facts.uid,
    )
    del form["job_id"]
    return form


def test_katagos_games_count_and_lies_do_not(client: Client, anna: Contributor, tmp_path: Path) -> None:
    uploads = [game for name in SETS for game in katago_uploads(name)]
    games = [game for game in uploads if game.facts.rules.scoring == Scoring.AREA]
    assert len(games) >= MIN_GAMES
    run = make_run(data_board_len=9)
    network = make_network(run, tmp_path, is_candidate=False, suits_katago_client=True)
    answer = ask(client, anna, agent=KATAGO, task_rep_factor=str(len(games))).json()
    job = Job.objects.get(pk=answer["job_id"])
    for number, game in enumerate(games):
        form = form_of(game, job)
        if number == 0:
            form["winner"] = {"B": "W", "W": "B"}[form["winner"]]
        sgf = game.sgf.replace(game.facts.black_network, network.name).encode()
        answer = upload_training(client, anna, form, sgf=sgf, rows=to_npz(game.rows), agent=KATAGO)
        assert answer.status_code == 201, answer.content
    assert audit_pending() == len(games)
    refused = Game.objects.get(state=GameState.REFUSED)
    assert (refused.uid, refused.reason_code) == (games[0].facts.uid, "winner")
    counted = Game.objects.filter(state=GameState.COUNTED)
    assert counted.count() == len(games) - 1
    assert RunTotals.objects.get().training_rows == sum(game.rows.count for game in games[1:])
