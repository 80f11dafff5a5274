"""Which run clients are told of, and what a run takes part in: states, dates, users, versions."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from common.wire import CLIENT_REVISION, PATH_CURRENT_RUN
from server.accounts.models import Contributor
from server.errors import InvalidSettings
from server.games.models import Game
from server.jobs.models import Job
from server.runs.models import Audience, Run, RunState
from server.runs.revisions import parse_revisions, warning_of
from server.runs.selectors import current_run, in_states, may_play, open_runs, runs
from server.runs.services import run_save
from tests.server.factories import KATAGO, OURS, ask, game_form, login, make_run, upload_training

pytestmark = pytest.mark.django_db

NOW = datetime(2030, 1, 2, tzinfo=UTC)
EARLIER, LATER = NOW - timedelta(days=1), NOW + timedelta(days=1)


def change(run: Run, **settings: Any) -> None:
    Run.objects.filter(pk=run.pk).update(**settings)


@pytest.mark.parametrize(
    ("state", "opens_at", "closes_at", "expected"),
    [
        (RunState.ACTIVE, None, None, RunState.ACTIVE),
        (RunState.ACTIVE, EARLIER, LATER, RunState.ACTIVE),
        (RunState.ACTIVE, LATER, None, RunState.PAUSED),
        (RunState.ACTIVE, None, NOW, RunState.CLOSED),
        (RunState.PAUSED, EARLIER, LATER, RunState.PAUSED),
        (RunState.PAUSED, None, EARLIER, RunState.CLOSED),
        (RunState.CLOSED, EARLIER, LATER, RunState.CLOSED),
    ],
)
def test_dates_are_part_of_the_state(
    state: RunState, opens_at: datetime | None, closes_at: datetime | None, expected: RunState
) -> None:
    assert Run(state=state, opens_at=opens_at, closes_at=closes_at).state_at(NOW) == expected


def test_the_database_knows_the_same_states(run: Run) -> None:
    hour = timedelta(hours=1)
    now = timezone.now()
    for number, (state, opens, closes) in enumerate(
        itertools.product(RunState, (None, now - hour, now + hour), (None, now - hour, now + hour))
    ):
        change(make_run(f"run{number}"), state=state, opens_at=opens, closes_at=closes)
    for state in RunState:
        found = set(in_states(runs(), [state]))
        assert found == {each for each in runs() if each.state_at(now) == state}
        assert len(found) >= 4
    assert {each.state_at(now) for each in open_runs()} == {RunState.ACTIVE, RunState.PAUSED}


def test_dates_hold_at_each_request(client: Client, anna: Contributor, run: Run) -> None:
    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    change(run, opens_at=timezone.now() + timedelta(hours=1))
    answer = ask(client, anna)
    assert answer.status_code == 503
    assert "it opens at" in answer.json()["detail"]
    assert upload_training(client, anna, game_form(job)).status_code == 201, "games of earlier jobs are taken"
    change(run, closes_at=timezone.now())
    assert ask(client, anna).status_code == 404
    answer = upload_training(client, anna, game_form(job))
    assert (answer.status_code, "is closed" in answer.json()["detail"]) == (400, True)


def test_changes_of_the_state_are_dated(run: Run) -> None:
    before = run.state_since
    run.state = RunState.PAUSED
    run_save(run, fields=["state"])
    run.refresh_from_db()
    assert run.state_since > before
    assert run.state == RunState.PAUSED


def test_a_run_closes_after_it_opens(run: Run) -> None:
    run.opens_at, run.closes_at = LATER, EARLIER
    with pytest.raises(InvalidSettings, match="closes_at: This is before the run opens"):
        run_save(run)


# ------------------------------------------------------------------------------------------------ who is told what


def told(client: Client, agent: dict[str, str], contributor: Contributor | None = None) -> str:
    return str(client.get(PATH_CURRENT_RUN, headers=agent | login(contributor)).json()["name"])


def test_one_run_is_current_for_katagos_client(client: Client, run: Run) -> None:
    newer = make_run("newer")
    change(newer, audience=Audience.OWN)
    assert (told(client, KATAGO), told(client, OURS)) == ("seven", "newer")


def test_our_client_is_told_a_run_that_its_user_may_play_for(client: Client, anna: Contributor, run: Run) -> None:
    newer = make_run("newer")
    change(newer, allowed_users="otto # from the club\n\n  olga  \n")
    assert told(client, OURS, anna) == "seven"
    assert ask(client, anna).json()["run"]["name"] == "seven"
    change(newer, allowed_users="anna")
    assert told(client, OURS, anna) == "newer"
    assert told(client, OURS) == "seven"


def test_others_get_no_job_and_bring_no_game(client: Client, anna: Contributor, run: Run) -> None:
    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    change(run, allowed_users="otto")
    answer = ask(client, anna, agent=KATAGO)
    assert answer.status_code == 403
    assert "not among the users" in answer.json()["detail"]
    assert "not among the users" in upload_training(client, anna, game_form(job)).json()["detail"]
    assert not Game.objects.exists()


@pytest.mark.parametrize(
    ("allowed", "name", "expected"),
    [("", "anna", True), ("# nobody yet", "anna", True), ("anna", "anna", True), ("anna", "ann", False)],
)
def test_lists_of_users(allowed: str, name: str, expected: bool) -> None:
    assert may_play(Run(allowed_users=allowed), name) is expected


def test_without_an_active_run_a_paused_one_is_named(run: Run) -> None:
    newer = make_run("newer")
    change(newer, state=RunState.PAUSED)
    current = current_run()
    assert current is not None
    assert current.name == "seven"
    change(run, closes_at=timezone.now())
    current = current_run()
    assert current is not None
    assert current.name == "newer"


# ------------------------------------------------------------------------------------------------------- versions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("abc", None),
        ("abc until 2030-01-31", "2030-01-31"),
        ("abc until 2030-01-31\nabc until 2030-02-28", "2030-02-28"),
        ("abc until 2030-01-31\nabc", None),
        ("* until 2030-01-31", "2030-01-31"),
        ("abc\n* until 2030-01-31", None),
    ],
)
def test_who_may_play_until_a_day_is_warned(text: str, expected: str | None) -> None:
    warning = warning_of("ABC", parse_revisions(text))
    assert warning is None if expected is None else expected in (warning or "")


def test_the_warning_comes_with_the_job(client: Client, anna: Contributor, run: Run) -> None:
    assert ask(client, anna).json().get("notice") is None
    last_day = date.today() + timedelta(days=9)
    change(run, client_revisions=f"{CLIENT_REVISION} until {last_day.isoformat()}\n{'f' * 40}")
    assert ask(client, anna).json().get("notice") is None
    answer = ask(client, anna, git_revision=CLIENT_REVISION).json()
    assert f"plays until {last_day.isoformat()}" in answer["notice"]


def test_the_list_of_runs_tells_states(client: Client, run: Run) -> None:
    change(run, closes_at=timezone.now())
    found = client.get("/api/runs/seven/").json()
    assert (found["state"], found["promotion_rule"]) == ("closed", "gate")
