"""Games that a real KataGo played, through upload and audit to the counts; and the same with a lie in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from common.go.rules import Scoring
from common.rows import to_npz
from common.wire_uploads import form_game_type
from server.accounts.models import Contributor
from server.games.models import Game, GameState
from server.games.moderation import games_refuse
from server.games.moving import Refusal
from server.games.selectors import match_scores
from server.games.tasks import audit_pending
from server.gates.models import Gate
from server.jobs.models import Job
from server.runs.models import Run, RunTotals
from tests.common.katago_games import (
    SELFPLAY_TEXTS,
    STOPPED_RATING,
    STOPPED_RATING_TEXT,
    STOPPED_TRAINING,
    STOPPED_TRAINING_TEXT,
    Upload,
    gating_text,
    katago_uploads,
    selfplay_text,
    stopped_game,
)
from tests.server.factories import KATAGO, ask, game_form, make_network, make_run, upload, upload_training

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
    # By this text KataGo may have played both sets; our client could not, so no form would take it.
    text = selfplay_text(SELFPLAY_TEXTS["full"].replace("cheapSearchProb = 0.6", "cheapSearchProb = 0"))
    Run.objects.filter(pk=run.pk).update(selfplay_config=text)
    network = make_network(run, tmp_path, is_candidate=False, suits_katago_client=True)
    answer = ask(client, anna, agent=KATAGO, task_rep_factor=str(len(games))).json()
    job = Job.objects.get(pk=answer["job_id"])
    Run.objects.filter(pk=run.pk).update(selfplay_config=run.selfplay_config)  # a job keeps the text it was given
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


# ------------------------------------------------------------------------------- games that the move limit stopped


def upload_stopped(client: Client, anna: Contributor, name: str, job: Job) -> Game:
    """Upload one of the recorded games of KataGo's client as a game of ``job``, and audit it."""
    game = stopped_game(name)
    form = form_of(game, job)
    sgf = game.sgf.replace(f"PB[{game.facts.black_network}]", f"PB[{job.black_network.name}]")
    sgf = sgf.replace(f"PW[{game.facts.white_network}]", f"PW[{job.white_network.name}]")
    if name == STOPPED_RATING:
        del form["num_training_rows"]
        form["extra_metadata"] = "{}"
        answer = upload(client, anna, form, sgf=sgf.encode(), agent=KATAGO)
    else:
        answer = upload_training(client, anna, form, sgf=sgf.encode(), rows=to_npz(game.rows), agent=KATAGO)
    assert answer.status_code == 201, answer.content
    audit_pending()
    return Game.objects.get(uid=game.facts.uid)


def test_training_games_that_reached_the_limit_count(client: Client, anna: Contributor, tmp_path: Path) -> None:
    run = make_run(data_board_len=9)
    Run.objects.filter(pk=run.pk).update(selfplay_config=selfplay_text(STOPPED_TRAINING_TEXT))
    make_network(run, tmp_path, is_candidate=False, suits_katago_client=True)
    job = Job.objects.get(pk=ask(client, anna, agent=KATAGO).json()["job_id"])
    for name in STOPPED_TRAINING:
        game = upload_stopped(client, anna, name, job)
        assert (game.state, game.reason) == (GameState.COUNTED, "")


@pytest.mark.parametrize("counts", [True, False])
def test_a_match_that_reached_the_limit_is_half_a_point_or_nothing(
    counts: bool, client: Client, anna: Contributor, tmp_path: Path
) -> None:
    run = make_run(data_board_len=9, unfinished_games_count=counts)
    Run.objects.filter(pk=run.pk).update(gating_config=gating_text(STOPPED_RATING_TEXT))
    make_network(run, tmp_path)
    job = Job.objects.get(pk=ask(client, anna, agent=KATAGO).json()["job_id"])
    game = upload_stopped(client, anna, STOPPED_RATING, job)
    assert (game.state, game.reason) == (GameState.COUNTED, "")
    gate = Gate.objects.get()
    assert (gate.pending, gate.played, gate.half_points) == ((0, 1, 1) if counts else (0, 0, 0))
    assert [(score.games, score.black_half_points) for score in match_scores(run.pk)] == ([(1, 1)] if counts else [])
    Run.objects.filter(pk=run.pk).update(unfinished_games_count=not counts)
    games_refuse([game.pk], Refusal("moderated", "taken out"))
    gate.refresh_from_db()
    assert (gate.played, gate.half_points) == (0, 0), "what was counted is taken back, whatever the run says now"


def test_a_text_that_changed_between_two_jobs_refuses_nobody(client: Client, anna: Contributor, tmp_path: Path) -> None:
    """KataGo's client does not tell for which job it played; the newest one is taken."""
    run = make_run(data_board_len=9)
    texts = (gating_text(STOPPED_RATING_TEXT), gating_text("maxMovesPerGame = 300\n"), gating_text("bSizes = 5\n"))
    make_network(run, tmp_path)
    for text in texts:
        Run.objects.filter(pk=run.pk).update(gating_config=text)
        job = Job.objects.get(pk=ask(client, anna, agent=KATAGO).json()["job_id"])
    game = upload_stopped(client, anna, STOPPED_RATING, job)
    assert game.job == job
    assert (game.state, game.reason) == (GameState.COUNTED, "")
