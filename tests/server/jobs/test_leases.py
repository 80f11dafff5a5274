"""What a job promises and binds: its token, seed, size and lease, and how much one login gets."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from common import wire, wire_uploads
from server.accounts.models import Contributor
from server.games.auditing import games_audit
from server.games.models import Game
from server.gates.models import Gate
from server.jobs.models import Job, JobKind, JobState
from server.jobs.services import LATE_GAMES, jobs_expire
from server.jobs.tokens import token_of
from server.runs.models import Run, UnprovenGames
from tests.server.factories import (
    KATAGO,
    accept,
    ask,
    game_form,
    make_contributor,
    make_network,
    upload,
    upload_training,
)

pytestmark = pytest.mark.django_db


def job_of(answer: Any) -> Job:
    """The job that an answer tells."""
    assert answer.status_code == 200, answer.content
    return Job.objects.get(pk=answer.json()["job_id"])


def refusal(answer: Any, status: int) -> wire.ErrorAnswer:
    """The error that the server told."""
    assert answer.status_code == status, answer.content
    return wire.ErrorAnswer.from_json(answer.content)


# --------------------------------------------------------------------------------------------------------------- token


def test_the_token_of_a_task_proves_its_games(client: Client, anna: Contributor, run: Run) -> None:
    answer = ask(client, anna)
    job, token = job_of(answer), answer.json()["job_token"]
    assert upload_training(client, anna, game_form(job, job_token=token)).status_code == 201
    assert Game.objects.get().is_proved


def forged(job: Job, other: Job) -> dict[str, str]:
    """Tokens that are not the job's, by how they came about."""
    network = Job.objects.get(pk=job.pk)
    network.black_network.file_sha256 = "f" * 64
    text = Job.objects.get(pk=job.pk)
    assert text.text is not None
    text.text.sha256 = "0" * 64
    seed = Job.objects.get(pk=job.pk)
    seed.seed = 1
    login = Job.objects.get(pk=job.pk)
    login.contributor_id += 1
    return {
        "none": "",
        "invented": "A" * 43,
        "of another job": token_of(other),
        "of other networks": token_of(network),
        "of another text": token_of(text),
        "of another seed": token_of(seed),
        "of another login": token_of(login),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "none",
        "invented",
        "of another job",
        "of other networks",
        "of another text",
        "of another seed",
        "of another login",
    ],
)
def test_no_other_token_proves_a_game(client: Client, anna: Contributor, run: Run, kind: str) -> None:
    job, other = job_of(ask(client, anna)), job_of(ask(client, anna))
    form = game_form(job, job_token=forged(job, other)[kind])
    assert upload_training(client, anna, form).status_code == 201, "by default it is taken all the same"
    assert not Game.objects.get().is_proved


def test_tokens_of_the_secret_before_are_good(client: Client, anna: Contributor, run: Run, settings: Settings) -> None:
    job = job_of(ask(client, anna))
    form = game_form(job)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [settings.SECRET_KEY]
    assert upload_training(client, anna, form).status_code == 201
    assert Game.objects.get().is_proved


def test_a_run_may_refuse_games_without_token(client: Client, anna: Contributor, run: Run) -> None:
    job = job_of(ask(client, anna))
    Run.objects.update(unproven_games=UnprovenGames.REFUSE)
    told = refusal(upload_training(client, anna, game_form(job, job_token="")), 400)
    assert "does not bring the token" in told.detail
    assert told.code == wire.ErrorCode.DROP_GAME
    assert upload_training(client, anna, game_form(job)).status_code == 201
    assert "Tengen's own client only" in refusal(ask(client, anna, agent=KATAGO), 400).detail


@pytest.mark.parametrize(("token", "decides"), [({}, True), ({"job_token": ""}, False)])
def test_a_run_may_decide_matches_without_unproved_games(
    client: Client, anna: Contributor, run: Run, tmp_path: Path, token: dict[str, str], decides: bool
) -> None:
    Run.objects.update(unproven_games=UnprovenGames.TRAIN)
    make_network(run, tmp_path)
    job = job_of(ask(client, anna))
    assert upload(client, anna, game_form(job, **token)).status_code == 201
    games_audit(accept, limit=10)
    assert Game.objects.get().state == "counted"
    assert Gate.objects.get().played == int(decides)


def test_katagos_client_gets_no_match_that_it_would_not_decide(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    Run.objects.update(unproven_games=UnprovenGames.TRAIN)
    make_network(run, tmp_path, is_candidate=False, suits_katago_client=True)
    make_network(run, tmp_path)
    assert ask(client, anna, agent=KATAGO).json()["kind"] == "selfplay"
    assert ask(client, anna).json()["kind"] == "rating"


# ---------------------------------------------------------------------------------------------------- seeds and numbers


def test_our_client_plays_by_the_servers_seed(client: Client, anna: Contributor, run: Run) -> None:
    first, second = ask(client, anna).json(), ask(client, anna).json()
    assert first["seed"] != second["seed"]
    assert job_of(ask(client, anna)).seed is not None
    assert Job.objects.get(pk=first["job_id"]).seed == first["seed"]


def test_katagos_client_has_seeds_of_its_own(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> None:
    make_network(run, tmp_path, is_candidate=False, suits_katago_client=True)
    assert "seed" not in ask(client, anna, agent=KATAGO).json()


def test_each_game_of_a_job_is_taken_once(client: Client, anna: Contributor, run: Run) -> None:
    job = job_of(ask(client, anna))
    assert upload_training(client, anna, game_form(job, game_number="2")).status_code == 201
    told = refusal(upload_training(client, anna, game_form(job, game_number="2")), 400)
    assert "game 2 of job" in told.detail
    assert told.code == wire.ErrorCode.DROP_GAME
    told = refusal(upload_training(client, anna, game_form(job, game_number="4")), 400)
    assert "none has the number 4" in told.detail
    assert Game.objects.get().job_number == 2
    assert upload_training(client, anna, game_form(job, game_number="3")).status_code == 201


def test_what_a_game_goes_on_with_is_kept(client: Client, anna: Contributor, run: Run) -> None:
    job = job_of(ask(client, anna))
    fork = {"kind": "plain", "komi": 6.5, "training_weight": 1.0}
    form = game_form(job, fork=wire_uploads.ForkOrigin.from_object(fork).to_json())
    assert upload_training(client, anna, form).status_code == 201
    assert Game.objects.get().fork == fork
    told = refusal(upload_training(client, anna, game_form(job, fork='{"kind": "tea"}')), 400)
    assert "fork" in told.detail


# ---------------------------------------------------------------------------------------------------------------- size


@pytest.mark.parametrize(
    ("speed", "room", "games"),
    [
        (None, None, 4),  # as it asks
        (None, "256", 4),
        ("60", "256", 10),  # ten minutes of play
        ("3.4", "256", 1),
        ("0", "256", 1),
        ("100000", "256", 64),
        ("100000", "7", 7),
    ],
)
def test_size_of_a_job_by_speed(
    client: Client, anna: Contributor, run: Run, speed: str | None, room: str | None, games: int
) -> None:
    told: dict[str, Any] = {"games_per_hour": speed, "room": room}
    answer = ask(client, anna, **{name: value for name, value in told.items() if value is not None})
    assert job_of(answer).games == games
    assert answer.json()["games"] == games


def test_size_of_katagos_jobs_is_its_own(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> None:
    make_network(run, tmp_path, is_candidate=False, suits_katago_client=True)
    assert job_of(ask(client, anna, agent=KATAGO, games_per_hour="600", room="99", task_rep_factor="9")).games == 9


@pytest.mark.parametrize(
    "fields", [{"games_per_hour": "-1"}, {"games_per_hour": "fast"}, {"room": "0"}, {"machine": "x"}]
)
def test_malformed_extras(client: Client, anna: Contributor, run: Run, fields: dict[str, Any]) -> None:
    assert next(iter(fields)) in refusal(ask(client, anna, **fields), 400).detail


# ---------------------------------------------------------------------------------------------------------------- caps


def test_a_login_holds_so_many_games_and_no_more(client: Client, anna: Contributor, run: Run) -> None:
    Run.objects.update(most_open_games=10)
    job = job_of(ask(client, anna, machine="AB"))
    ask(client, anna, machine="CD")
    answer = ask(client, anna, machine="EF")
    told = refusal(answer, 429)
    assert "this login holds 8 games" in told.detail
    assert told.code == wire.ErrorCode.RETRY
    assert int(answer.headers["Retry-After"]) > 0
    assert ask(client, make_contributor("berta")).status_code == 200, "others are not held up"
    for _ in range(2):
        upload_training(client, anna, game_form(job))
    assert ask(client, anna).status_code == 200, "games that arrive make room"
    Job.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert ask(client, anna, task_rep_factor="10").status_code == 200, "and so do leases that end"


def test_a_machine_holds_so_many_games_and_no_more(client: Client, anna: Contributor, run: Run) -> None:
    Run.objects.update(most_open_games_of_machine=6)
    assert job_of(ask(client, anna, machine="AB")).machine == "AB"
    assert "this machine holds 4 games" in refusal(ask(client, anna, machine="AB"), 429).detail
    assert ask(client, anna, machine="CD").status_code == 200
    for _ in range(3):
        assert ask(client, anna).status_code == 200, "who names no machine has the login's bound"


# --------------------------------------------------------------------------------------------------------------- gates


def test_the_games_of_a_gate_are_spread_over_logins(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    Run.objects.update(gate_games=12, gate_login_share=0.34)
    others = [make_contributor(name) for name in ("berta", "carl")]
    for other in others:
        ask(client, other)  # they are active
    make_network(run, tmp_path)
    asked = [ask(client, anna).json() for _ in range(3)]
    assert [(answer["kind"], answer["games"]) for answer in asked] == [("rating", 4), ("rating", 1), ("selfplay", 4)]
    for answer in asked[:2]:  # sent games are one's own, as those that are held
        for _ in range(answer["games"]):
            assert upload(client, anna, game_form(Job.objects.get(pk=answer["job_id"]))).status_code == 201
    assert ask(client, anna).json()["kind"] == "selfplay"
    assert "no match has games" in refusal(ask(client, anna, allow_selfplay_task="false"), 400).detail
    given = [ask(client, other, task_rep_factor="64").json()["games"] for other in others]
    assert given == [5, 2], "the rest"


@pytest.mark.parametrize(("active", "most"), [(0, 12), (1, 6), (2, 5), (5, 5)])
def test_where_few_are_active_each_plays_an_equal_part_of_a_gate(
    client: Client, anna: Contributor, run: Run, tmp_path: Path, active: int, most: int
) -> None:
    Run.objects.update(gate_games=12, gate_login_share=0.34)
    for number in range(active):
        ask(client, make_contributor(f"other{number}"))
    sleeper = make_contributor("sleeper")
    Contributor.objects.filter(pk=sleeper.pk).update(last_seen=timezone.now() - timedelta(days=2))
    make_network(run, tmp_path)
    assert ask(client, anna, task_rep_factor="64").json()["games"] == most


def test_katagos_client_gets_no_more_of_a_gate_than_the_share(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    Run.objects.update(gate_games=12, gate_login_share=0.34)
    for name in ("berta", "carl"):
        ask(client, make_contributor(name))
    make_network(run, tmp_path, is_candidate=False, suits_katago_client=True)
    make_network(run, tmp_path)
    kinds = [ask(client, anna, agent=KATAGO).json()["kind"] for _ in range(3)]
    assert kinds == ["rating", "selfplay", "selfplay"]


def test_leases_of_gates_are_short(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> None:
    Run.objects.update(gate_lease_seconds=900)
    selfplay = ask(client, anna).json()
    make_network(run, tmp_path)
    gating = ask(client, anna).json()
    assert (selfplay["lease_seconds"], gating["lease_seconds"]) == (run.lease_seconds, 900)
    job = Job.objects.get(kind=JobKind.GATING)
    assert (job.expires_at - job.created_at).total_seconds() == pytest.approx(900, abs=5)


# ----------------------------------------------------------------------------------------------------------------- end


def test_jobs_end(client: Client, anna: Contributor, run: Run) -> None:
    job = job_of(ask(client, anna))
    Job.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert jobs_expire() == 1
    assert Job.objects.get().state == JobState.EXPIRED
    assert upload_training(client, anna, game_form(job)).status_code == 201, "what comes late is taken"
    assert jobs_expire() == 0
    Job.objects.update(expires_at=timezone.now() - LATE_GAMES - timedelta(seconds=1))
    assert jobs_expire() == 1
    assert Job.objects.get().state == JobState.CLOSED
    told = refusal(upload_training(client, anna, game_form(job)), 400)
    assert "ended more than 14 days ago" in told.detail
    assert told.code == wire.ErrorCode.DROP_GAME
