"""From a task over a game, played and uploaded by our client's code, to its replay by the server's command.

The client's command is called in this process; tests/server/inspection/test_replays.py has it run in one of its own.
"""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.test import Client

from client.contribute.job_orders import JobOrder, orders_of
from client.contribute.messages import Job as ClientJob
from client.contribute.newest_nets import NewestNets
from client.contribute.uploads import upload_parts
from client.networks import evaluator_loader
from common import wire
from server.accounts.models import Contributor
from server.games.models import Game, GameState
from server.games.tasks import audit_pending
from server.runs.models import Run
from tests.client.games.games import play, selfplay_text
from tests.server.factories import ask, game_form, new_uid, upload, upload_training

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client_in_this_process")]


TEXT = selfplay_text(bSizes=5, bSizeRelProbs=1, cheapSearchProb=0)


def play_first(client: Client, anna: Contributor) -> tuple[Game, wire.SelfplayTask]:
    """Have our client play the first game of a new job, and upload it."""
    task = wire.read_task(ask(client, anna, task_rep_factor="1").content)
    assert isinstance(task, wire.SelfplayTask)
    assert task.seed is not None
    job = ClientJob(task, {task.network.name: None}, 1, task.seed, length=7)
    (game,) = play(orders_of(job), load=evaluator_loader("cpu", 1))
    assert isinstance(game.order, JobOrder)
    form, files = upload_parts(game, game.order, NewestNets().url)
    answer = upload_training(client, anna, form, sgf=files["sgf_file"][1], rows=files["training_data_file"][1])
    assert answer.status_code == 201, answer.content
    audit_pending()
    return Game.objects.get(uid=form["kg_game_uid"]), task


def replayed(*arguments: str, **options: Any) -> str:
    told = io.StringIO()
    call_command("replay_game", *arguments, stdout=told, **options)
    return told.getvalue()


def test_an_honest_game_is_equal_and_a_changed_one_is_not(client: Client, anna: Contributor, run: Run) -> None:
    Run.objects.update(selfplay_config=TEXT)
    game, _ = play_first(client, anna)
    assert (game.state, game.is_proved, game.job_number) == (GameState.COUNTED, True, 0), game.reason
    assert replayed(game.uid) == f"{game.uid}: equal: moves, values and rows are the same\n"
    with default_storage.open(game.sgf_file) as file:
        sgf = file.read()
    default_storage.delete(game.sgf_file)
    default_storage.save(game.sgf_file, ContentFile(sgf.replace(b" v=10 ", b" v=11 ", 1)))
    told = io.StringIO()
    with pytest.raises(CommandError, match="1 of 1 games differ"):
        call_command("replay_game", game.uid, stdout=told)
    assert f"{game.uid}: move " in told.getvalue()


def test_what_cannot_be_played_again_is_told(client: Client, anna: Contributor, run: Run) -> None:
    from server.jobs.models import Job

    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    form = game_form(job)
    assert upload_training(client, anna, form).status_code == 201
    assert "cannot be played again" in replayed(form["kg_game_uid"]), "it does not say which game of its job it is"
    for arguments, words in (((new_uid(),), "there is no training game"), ((), "name games")):
        with pytest.raises(CommandError, match=words):
            replayed(*arguments)
    with pytest.raises(CommandError, match="no gate of"):
        replayed(gate="nothing")


def test_a_sample_of_a_gates_games(client: Client, anna: Contributor, run: Run, tmp_path: Any) -> None:
    from server.jobs.models import Job
    from tests.server.factories import make_network

    candidate = make_network(run, tmp_path)
    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    for number in range(3):
        assert upload(client, anna, game_form(job, game_number=str(number))).status_code == 201
    told = replayed(gate=candidate.name, sample=2)
    assert len({line.partition(":")[0] for line in told.splitlines()}) == 2
