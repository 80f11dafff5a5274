"""``POST /api/tasks/`` and the two requests before it, as clients see them (contribute-protocol.md 3, 4)."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import RequestsClient

from common import wire
from common.parameters import parse_match, parse_selfplay
from server.accounts.models import Contributor
from server.gates.models import Gate
from server.jobs.models import Job, JobKind, JobState
from server.networks.models import Network
from server.runs.models import Run, RunState
from tests.server.factories import KATAGO, ask, login, make_network, make_run

pytestmark = pytest.mark.django_db


def refusal(answer: Any, status: int) -> wire.ErrorAnswer:
    """The error that the server told, in its one shape."""
    assert answer.status_code == status, answer.content
    return wire.ErrorAnswer.from_json(answer.content)


def test_current_run_is_the_newest_active_one(client: Client, run: Run) -> None:
    make_run("newer")
    told = wire.RunInfo.from_json(client.get(wire.PATH_CURRENT_RUN).content)
    assert (told.name, told.url) == ("newer", "http://testserver/api/runs/newer/")
    assert (told.data_board_len, told.inputs_version) == (7, 7)
    Run.objects.filter(name="newer").update(state=RunState.CLOSED)
    assert client.get(wire.PATH_CURRENT_RUN).json()["name"] == run.name


def test_without_a_run_everything_is_404_with_a_reason(client: Client, anna: Contributor) -> None:
    for path in (wire.PATH_CURRENT_RUN, wire.PATH_NEWEST_NETWORK):
        assert "no run is active" in refusal(client.get(path), 404).detail
    assert refusal(ask(client, anna), 404).code == wire.ErrorCode.RETRY


def test_selfplay_task_of_a_new_run_names_the_random_network(client: Client, anna: Contributor, run: Run) -> None:
    task = wire.read_task(ask(client, anna).content)
    assert isinstance(task, wire.SelfplayTask)
    assert task.network.is_random
    assert (task.network.model_file, task.network.model_file_bytes) == (None, 0)
    assert parse_selfplay(task.config, data_board_len=run.data_board_len)
    assert task.job_id is not None
    job = Job.objects.get(pk=task.job_id)
    assert (job.kind, job.games, job.state) == (JobKind.SELFPLAY, 4, JobState.LEASED)
    assert task.lease_seconds == run.lease_seconds
    anna.refresh_from_db()
    assert anna.client_revision == "f" * 40


def test_gating_comes_first_and_is_a_rating_task(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> None:
    candidate = make_network(run, tmp_path)
    task = wire.read_task(ask(client, anna).content)
    assert isinstance(task, wire.RatingTask)
    assert (task.black_network.name, task.white_network.name) == (candidate.name, f"{run.name}-random")
    assert task.black_network.created_at == wire.format_created_at(candidate.created_at)
    assert parse_match(task.config)
    again = wire.read_task(ask(client, anna).content)
    assert isinstance(again, wire.RatingTask)
    assert again.white_network.name == candidate.name, "colours alternate"


def test_a_client_that_takes_no_matches_gets_selfplay(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    make_network(run, tmp_path)
    assert ask(client, anna, allow_rating_task="false").json()["kind"] == "selfplay"


def test_integers_are_integers(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> None:
    make_network(run, tmp_path, is_candidate=False)
    network = json.loads(ask(client, anna).content)["network"]
    assert network["model_file_bytes"] == Network.objects.get(name=network["name"]).file_bytes
    assert isinstance(network["model_file_bytes"], int)
    assert len(network["model_file_sha256"]) == 64


# ------------------------------------------------------------------------------------------------------------ refusals


def test_wrong_login_is_401_with_a_challenge(client: Client, anna: Contributor, run: Run) -> None:
    answer = client.post(wire.PATH_TASKS, {}, headers=login(anna, "wrong"))
    told = refusal(answer, 401)
    assert told.code == wire.ErrorCode.STOP
    assert "Wrong user name or password" in told.detail
    assert answer.headers["WWW-Authenticate"].startswith("Basic")
    assert refusal(ask(client, None), 401).code == wire.ErrorCode.STOP


def test_a_disabled_user_is_401(client: Client, anna: Contributor, run: Run) -> None:
    assert ask(client, anna).status_code == 200
    anna.user.is_active = False
    anna.user.save()
    assert refusal(ask(client, anna), 401).code == wire.ErrorCode.STOP


def test_who_may_not_contribute_is_403_with_the_phrase(client: Client, anna: Contributor, run: Run) -> None:
    anna.may_contribute = False
    anna.save()
    told = refusal(ask(client, anna), 403)
    assert wire.PHRASE_NO_PERMISSION in told.detail
    assert told.code == wire.ErrorCode.STOP


def test_a_login_without_contributor_is_403(client: Client, django_user_model: type[User], run: Run) -> None:
    user = django_user_model.objects.create_user("staff", password="x")
    client.force_login(user)
    answer = client.post(wire.PATH_TASKS, {})
    assert "not a contributor's" in refusal(answer, 403).detail


def test_neither_kind_allowed_waits_quietly(client: Client, anna: Contributor, run: Run) -> None:
    answer = ask(client, anna, allow_selfplay_task="false", allow_rating_task="false")
    assert wire.PHRASE_ONLY_RATING in refusal(answer, 400).detail


def test_only_matches_wanted_but_none_there(client: Client, anna: Contributor, run: Run) -> None:
    told = refusal(ask(client, anna, allow_selfplay_task="false"), 400)
    assert "no match has games to give" in told.detail
    assert told.code == wire.ErrorCode.RETRY


def test_katago_gets_no_selfplay_that_would_crash_it(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    told = refusal(ask(client, anna, agent=KATAGO), 400)
    assert wire.PHRASE_ONLY_RATING in told.detail
    make_network(run, tmp_path, is_candidate=False)
    assert ask(client, anna, agent=KATAGO).status_code == 400
    make_network(run, tmp_path, is_candidate=False, suits_katago_client=True)
    assert ask(client, anna, agent=KATAGO).json()["kind"] == "selfplay"


def test_a_paused_run_gives_no_jobs_for_a_while(client: Client, anna: Contributor, run: Run) -> None:
    Run.objects.update(state=RunState.PAUSED)
    assert client.get(wire.PATH_CURRENT_RUN).status_code == 200
    answer = ask(client, anna)
    told = refusal(answer, 503)
    assert "is paused" in told.detail
    assert told.code == wire.ErrorCode.RETRY
    assert int(answer.headers["Retry-After"]) > 0


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"task_rep_factor": "0"}, "task_rep_factor"),
        ({"task_rep_factor": "65"}, "task_rep_factor"),
        ({"task_rep_factor": "many"}, "task_rep_factor"),
        ({"git_revision": "f" * 81}, "git_revision"),
        ({"client_instance_id": "not hexadecimal"}, "client_instance_id"),
    ],
)
def test_malformed_requests(client: Client, anna: Contributor, run: Run, fields: dict[str, Any], text: str) -> None:
    told = refusal(ask(client, anna, **fields), 400)
    assert text in told.detail
    assert not Job.objects.exists()


def test_refused_revision_is_named_with_its_reason(client: Client, anna: Contributor, run: Run) -> None:
    Run.objects.update(client_revisions=f"{'a' * 40}-cuda\n{'b' * 40}-eigen refused loses ladders")
    for revision, reason in (("b" * 40 + "-EIGEN", "loses ladders"), ("a" * 40, "not on this run's list")):
        told = refusal(ask(client, anna, git_revision=revision), 400)
        assert revision in told.detail
        assert reason in told.detail
        assert told.code == wire.ErrorCode.UPDATE_CLIENT
    assert ask(client, anna, git_revision="A" * 40 + "-cuda").status_code == 200


# -------------------------------------------------------------------------------------------------------------- leases


def test_a_gate_hands_out_what_it_needs_and_no_more(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    Run.objects.update(gate_games=8)
    make_network(run, tmp_path)
    kinds = [ask(client, anna).json()["kind"] for _ in range(3)]
    assert kinds == ["rating", "rating", "selfplay"]


def test_games_of_a_lost_job_are_given_again(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> None:
    Run.objects.update(gate_games=4)
    make_network(run, tmp_path)
    assert [ask(client, anna).json()["kind"] for _ in range(2)] == ["rating", "selfplay"]
    Job.objects.filter(kind=JobKind.GATING).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert ask(client, anna).json()["kind"] == "rating"
    assert Gate.objects.get().handed_out == 2


# --------------------------------------------------------------------------------------------------------------- proxy


def test_addresses_are_those_by_which_the_client_came(
    anna: Contributor, run: Run, tmp_path: Path, settings: Settings
) -> None:
    network = make_network(run, tmp_path, is_candidate=False)
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.USE_X_FORWARDED_HOST = True
    settings.FORCE_SCRIPT_NAME = "/go"
    proxied = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "train.example.org", "User-Agent": wire.USER_AGENT}
    session = RequestsClient()  # goes through the WSGI handler, which reads the base path
    url = wire.join_url("http://testserver", wire.PATH_TASKS)
    task = session.post(url, files={"task_rep_factor": (None, "2")}, headers=login(anna) | proxied).json()
    assert task["run"]["url"] == f"https://train.example.org/go/api/runs/{run.name}/"
    assert task["network"]["url"] == f"https://train.example.org/go/api/networks/{network.name}/"
    assert task["network"]["model_file"] == f"https://train.example.org/go/models/{network.name}.bin.gz"
    plain = session.post(url, headers=login(anna) | {"User-Agent": wire.USER_AGENT}).json()
    assert plain["run"]["url"] == f"http://testserver/go/api/runs/{run.name}/"


def test_nothing_redirects(client: Client, db: None) -> None:
    assert client.get("/").status_code == 200
    for path in ("/api/tasks", "/api/runs", "/api/nothing/"):
        told = refusal(client.get(path), 404)
        assert "no API at" in told.detail
