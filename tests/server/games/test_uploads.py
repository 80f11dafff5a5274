"""Uploads as clients see them (contribute-protocol.md 8 to 11): what is taken, and every refusal with its text."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.storage import default_storage
from django.test import Client

from common import wire, wire_uploads
from server.accounts.models import Contributor
from server.games.auditing import facts_of
from server.games.models import Game, GameKind, GameState
from server.gates.models import Gate
from server.jobs.models import Job, JobState
from server.networks.models import Network
from server.runs.models import Run, RunState
from server.storage import load
from tests.server.factories import (
    KATAGO,
    SGF,
    ask,
    game_form,
    make_contributor,
    make_network,
    make_run,
    npz_bytes,
    upload,
    upload_training,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(client: Client, anna: Contributor, run: Run) -> Job:
    """A self-play job of Anna's."""
    return Job.objects.get(pk=ask(client, anna).json()["job_id"])


@pytest.fixture
def match(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> Job:
    """A gating job of Anna's."""
    make_network(run, tmp_path)
    return Job.objects.get(pk=ask(client, anna).json()["job_id"])


def assert_dropped(answer: Any, text: str) -> None:
    """The game was refused for good, in a way that both clients take as final, and nothing was kept of it."""
    told = wire.ErrorAnswer.from_json(answer.content)
    assert answer.status_code == 400, told
    assert text in told.detail
    assert wire.PHRASE_NO_LONGER_ENABLED in told.detail
    assert told.code == wire.ErrorCode.DROP_GAME
    assert not Game.objects.exists()


# --------------------------------------------------------------------------------------------------------------- taken


def test_a_training_game_is_stored_by_content(client: Client, anna: Contributor, job: Job) -> None:
    form = game_form(job)
    answer = upload_training(client, anna, form, sgf=SGF)
    assert answer.status_code == 201
    assert wire_uploads.UploadAnswer.from_json(answer.content).kg_game_uid == form["kg_game_uid"]
    game = Game.objects.get()
    assert (game.kind, game.state, game.num_training_rows) == (GameKind.TRAINING, GameState.RECEIVED, 3)
    assert load(game.sgf_file) == SGF
    assert load(game.rows_file) == npz_bytes()
    assert game.sgf_file.startswith(f"sgfs/{job.run.name}/")
    job.refresh_from_db()
    assert (job.received, job.state) == (1, JobState.LEASED)


def test_the_last_game_ends_the_job(client: Client, anna: Contributor, job: Job) -> None:
    for _ in range(job.games):
        assert upload_training(client, anna, game_form(job)).status_code == 201
    job.refresh_from_db()
    assert (job.received, job.state) == (4, JobState.DONE)
    answer = upload_training(client, anna, game_form(job))
    assert "all 4 games of job" in answer.json()["detail"]
    assert answer.json()["code"] == wire.ErrorCode.DROP_GAME


def test_a_late_game_of_an_expired_job_is_taken(client: Client, anna: Contributor, job: Job) -> None:
    Job.objects.update(state=JobState.EXPIRED)
    assert upload_training(client, anna, game_form(job)).status_code == 201


def test_a_match_game_waits_at_its_gate(client: Client, anna: Contributor, match: Job) -> None:
    assert upload(client, anna, game_form(match)).status_code == 201
    assert Gate.objects.get().pending == 1
    assert Game.objects.get().rows_file == ""


def test_colours_of_a_match_are_the_clients_choice(client: Client, anna: Contributor, match: Job) -> None:
    form = game_form(match)
    form["black_network"], form["white_network"] = form["white_network"], form["black_network"]
    assert upload(client, anna, form).status_code == 201
    assert Game.objects.get().black_network == match.white_network


@pytest.mark.parametrize("columns", [64, 80])
def test_both_widths_of_rows_and_further_arrays(client: Client, anna: Contributor, job: Job, columns: int) -> None:
    rows = npz_bytes(columns=columns, something=np.zeros(5, np.float32))
    assert upload_training(client, anna, game_form(job), rows=rows).status_code == 201


def test_any_host_names_the_same_run(client: Client, anna: Contributor, job: Job) -> None:
    form = game_form(job)
    for field in ("run", "black_network", "white_network"):
        form[field] = form[field].replace("http://testserver", "https://train.example.org/go")
    assert upload_training(client, anna, form).status_code == 201


def changes(*networks: Network) -> str:
    """The form's field for a game that went on with these, one turn after the other."""
    base = "http://testserver/api/networks"
    return json.dumps([{"turn": turn, "network": f"{base}/{net.name}/"} for turn, net in enumerate(networks, start=1)])


def newer_networks(run: Run, folder: Path, count: int = 2) -> list[Network]:
    """Networks of a run that may play, one made after the other."""
    made = [make_network(run, folder, is_candidate=False) for _ in range(count)]
    Network.objects.filter(pk__in=[network.pk for network in made]).update(training_games_enabled=True)
    return made


def test_changes_of_the_network_are_kept(client: Client, anna: Contributor, job: Job, tmp_path: Path) -> None:
    first, second = newer_networks(job.run, tmp_path)
    form = game_form(job, net_changes=changes(first, second))
    assert upload_training(client, anna, form).status_code == 201
    game = Game.objects.get()
    assert game.net_changes == [[1, first.name], [2, second.name]]
    assert game.later_networks == [first.pk, second.pk]
    assert game.black_network == job.black_network
    assert facts_of(game).net_changes == ((1, first.name), (2, second.name))
    told = client.get(f"{wire.PATH_TRAINING_GAMES}{game.pk}/").json()["net_changes"]
    assert [(change["turn"], change["network"].rsplit("/", 2)[1]) for change in told] == [
        (1, first.name),
        (2, second.name),
    ]
    page = client.get(f"/game/{game.kind}/{game.uid}/").content.decode()
    assert f"{first.name} from turn 1 on, {second.name} from turn 2 on" in page


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("older", "which is not newer than"),
        ("same", "which is not newer than"),
        ("not for training", "takes no training games any more"),
        ("of another run", "is no network of the run"),
        ("unknown", "is no network of the run"),
        ("without a job", "only the games of a job that has a name"),
        ("beyond the end", "beyond the end of the game"),
        ("none", "net_changes"),
    ],
)
def test_other_changes_of_the_network_are_refused(
    client: Client, anna: Contributor, job: Job, tmp_path: Path, case: str, text: str
) -> None:
    first, second = newer_networks(job.run, tmp_path)
    told, job_id = changes(first), str(job.pk)
    if case == "older":
        told = changes(second, first)
    elif case == "same":
        told = changes(job.black_network)
    elif case == "not for training":
        Network.objects.filter(pk=first.pk).update(training_games_enabled=False)
    elif case == "of another run":
        told = changes(*newer_networks(make_run("eight"), tmp_path, 1))
    elif case == "unknown":
        told = changes(Network(name="seven-none"))
    elif case == "without a job":
        job_id = ""
    elif case == "beyond the end":
        told = json.dumps([{"turn": 3, "network": "http://testserver/api/networks/x-y/"}])
    else:
        told = "[]"
    assert_dropped(upload_training(client, anna, game_form(job, net_changes=told, job_id=job_id)), text)


def test_katagos_client_knows_no_job(client: Client, anna: Contributor, match: Job) -> None:
    form = game_form(match)
    del form["job_id"]
    assert upload(client, anna, form, agent=KATAGO).status_code == 201
    assert Game.objects.get().job == match


def test_a_paused_run_takes_games(client: Client, anna: Contributor, job: Job) -> None:
    Run.objects.update(state=RunState.PAUSED)
    assert upload_training(client, anna, game_form(job)).status_code == 201


# ------------------------------------------------------------------------------------------------------------ repeated


def test_a_repeated_upload_is_taken_as_done(client: Client, anna: Contributor, job: Job) -> None:
    form = game_form(job)
    assert upload_training(client, anna, form).status_code == 201
    ours = upload_training(client, anna, form)
    assert ours.status_code == 200
    assert wire_uploads.UploadAnswer.from_json(ours.content).already_known
    katago = upload_training(client, anna, form, agent=KATAGO)
    assert katago.status_code == 400
    assert wire.PHRASE_ALREADY_EXISTS in katago.json()["detail"]
    job.refresh_from_db()
    assert (Game.objects.count(), job.received) == (1, 1)


def test_case_of_the_uid_does_not_matter(client: Client, anna: Contributor, job: Job) -> None:
    form = game_form(job, kg_game_uid="ABCDEF" + "0" * 26)
    assert upload_training(client, anna, form).status_code == 201
    assert upload_training(client, anna, form | {"kg_game_uid": "abcdef" + "0" * 26}).json()["already_known"]


def test_a_uid_is_unique_per_kind(client: Client, anna: Contributor, job: Job, match: Job) -> None:
    form = game_form(job)
    assert upload_training(client, anna, form).status_code == 201
    assert upload(client, anna, game_form(match, kg_game_uid=form["kg_game_uid"])).status_code == 201


# ------------------------------------------------------------------------------------------------------------- refused


def bomb() -> bytes:
    """A small file that unpacks to more than the limit; its directory declares less."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("further", bytes(wire.MAX_NPZ_UNPACKED_BYTES + 1))
    content = buffer.getvalue()
    size = (wire.MAX_NPZ_UNPACKED_BYTES + 1).to_bytes(4, "little")
    return content.replace(size, (1000).to_bytes(4, "little"))


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (b"", "not a readable zip"),
        (b"PK\x03\x04 and then nothing", "not a readable zip"),
        (npz_bytes()[:-100], "not a readable zip"),
        (bytes(wire.MAX_NPZ_BYTES + 1), "at most"),
        (bomb(), "its training data is not accepted"),
        (npz_bytes(length=9), "edge 7 is expected"),
        (npz_bytes(columns=63), "globalTargetsNC has shape"),
        (npz_bytes(count=4), "has 4 rows, but num_training_rows is 3"),
    ],
    ids=["empty", "no-zip", "truncated", "too-long", "bomb", "edge", "columns", "count"],
)
def test_bad_rows(client: Client, anna: Contributor, job: Job, rows: bytes, text: str) -> None:
    assert_dropped(upload_training(client, anna, game_form(job), rows=rows), text)
    assert default_storage.listdir("") == ([], []) if default_storage.exists("") else True


@pytest.mark.parametrize(
    ("sgf", "text"),
    [
        (None, "sgf_file is missing"),
        (b"", "does not begin with"),
        (b"<html>", "does not begin with"),
        (SGF + b"\xff", "not UTF-8"),
        (SGF + b" " * wire.MAX_SGF_BYTES, "the limit is"),
    ],
    ids=["missing", "empty", "html", "encoding", "too-long"],
)
def test_bad_sgf(client: Client, anna: Contributor, job: Job, sgf: bytes | None, text: str) -> None:
    assert_dropped(upload_training(client, anna, game_form(job), sgf=sgf), text)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"komi": "7.3"}, "komi"),
        ({"winner": "X"}, "winner"),
        ({"kg_game_uid": "xyz"}, "kg_game_uid"),
        ({"rules": "{"}, "rules"),
        ({"board_size_x": "20"}, "board_size_x"),
        ({"board_size_x": "9"}, "larger than the 7"),
        ({"num_training_rows": "0"}, "num_training_rows"),
        ({"run": "http://testserver/api/runs/other/"}, "run is unknown"),
        ({"run": "http://testserver/somewhere"}, "run is unknown"),
        ({"black_network": "http://testserver/api/networks/other-net/"}, "no network of the run"),
        ({"job_id": "999999"}, "no job 999999 was given to you"),
        ({"job_id": "not-a-number"}, "no job not-a-number was given to you"),
    ],
)
def test_bad_forms(client: Client, anna: Contributor, job: Job, changes: dict[str, str], text: str) -> None:
    assert_dropped(upload_training(client, anna, game_form(job) | changes), text)


def test_missing_rows_file(client: Client, anna: Contributor, job: Job) -> None:
    form = game_form(job) | {"num_training_rows": "3"}
    parts = form | {"sgf_file": io.BytesIO(SGF)}
    from tests.server.factories import OURS, login

    answer = client.post(wire.PATH_TRAINING_GAMES, parts, headers=login(anna) | OURS)
    assert_dropped(answer, "training_data_file is missing")


def test_a_body_beyond_all_limits_is_refused_unread(client: Client, anna: Contributor, job: Job) -> None:
    answer = upload_training(client, anna, game_form(job), rows=bytes(wire.MAX_BODY_BYTES + 1))
    assert_dropped(answer, "the limit is")


def test_a_closed_run_takes_nothing(client: Client, anna: Contributor, job: Job) -> None:
    Run.objects.update(state=RunState.CLOSED)
    assert_dropped(upload_training(client, anna, game_form(job)), "is closed")


def test_a_disabled_network_takes_nothing(client: Client, anna: Contributor, job: Job) -> None:
    job.black_network.training_games_enabled = False
    job.black_network.save()
    assert_dropped(upload_training(client, anna, game_form(job)), "takes no training games any more")


def test_a_network_of_another_run(client: Client, anna: Contributor, job: Job) -> None:
    make_run("other")
    form = game_form(job, black_network="http://testserver/api/networks/other-random/")
    assert_dropped(upload_training(client, anna, form), "no network of the run")


def test_somebody_elses_job(client: Client, job: Job) -> None:
    berta = make_contributor("berta")
    assert_dropped(upload_training(client, berta, game_form(job)), "was given to you")
    form = game_form(job)
    del form["job_id"]
    assert_dropped(upload_training(client, berta, form), "is expected from you")


def test_other_networks_than_the_jobs(client: Client, anna: Contributor, job: Job, tmp_path: Path) -> None:
    other = make_network(job.run, tmp_path, is_candidate=False)
    url = f"http://testserver/api/networks/{other.name}/"
    form = game_form(job, black_network=url, white_network=url)
    assert_dropped(upload_training(client, anna, form), "was for other networks")


def test_no_login(client: Client, job: Job) -> None:
    answer = upload_training(client, None, game_form(job))
    assert answer.status_code == 401
    assert answer.json()["code"] == wire.ErrorCode.STOP


def test_not_allowed_keeps_the_game_at_the_client(client: Client, anna: Contributor, job: Job) -> None:
    anna.may_contribute = False
    anna.save()
    answer = upload_training(client, anna, game_form(job))
    assert answer.status_code == 403
    assert answer.json()["code"] == wire.ErrorCode.STOP


def test_a_broken_multipart_body_may_be_sent_again(client: Client, anna: Contributor, job: Job) -> None:
    from tests.server.factories import OURS, login

    answer = client.post(
        wire.PATH_TRAINING_GAMES, b"--x\r\n", content_type="multipart/form-data", headers=login(anna) | OURS
    )
    assert answer.status_code == 400
    assert answer.json()["code"] == wire.ErrorCode.RETRY
