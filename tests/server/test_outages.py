"""Trouble of the server's own is a 503 that asks for another try, and leaves nothing half-done."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import Settings

from common import wire
from server import hints
from server.accounts.models import Contributor
from server.games.models import Game
from server.hints import AUDIT
from server.jobs.models import Job
from server.runs.models import Run
from server.storage import ABANDONED, INCOMING, sweep_incoming
from server.upkeep.orphans import remove_orphans
from tests.server.factories import ask, game_form, upload_training

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(client: Client, anna: Contributor, run: Run) -> Job:
    """A self-play job of Anna's."""
    return Job.objects.get(pk=ask(client, anna).json()["job_id"])


def assert_try_again(answer: Any) -> None:
    told = wire.ErrorAnswer.from_json(answer.content)
    assert answer.status_code == 503, told
    assert told.code == wire.ErrorCode.RETRY
    assert int(answer.headers["Retry-After"]) > 0


@contextmanager
def database_that_fails(*, on: str = "") -> Iterator[None]:
    """Every statement that contains ``on`` fails as when the connection is lost."""

    def fail(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if on in sql:
            raise OperationalError("server closed the connection unexpectedly")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(fail):
        yield


def stored_files(settings: Settings) -> list[str]:
    root = Path(settings.MEDIA_ROOT)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def make_old(settings: Settings) -> None:
    """Let a day and an hour pass for every stored file."""
    for name in stored_files(settings):
        os.utime(Path(settings.MEDIA_ROOT) / name, times=(time.time() - 90_000,) * 2)


def test_database_away(client: Client, anna: Contributor, job: Job) -> None:
    form = game_form(job)
    with database_that_fails():
        assert_try_again(upload_training(client, anna, form))
        assert_try_again(ask(client, anna))
        assert_try_again(client.get(wire.PATH_CURRENT_RUN))
        assert client.get("/healthz/").json()["database"] == "away"
        client.raise_request_exception = False
        page = client.get("/")
        assert (page.status_code, page.headers["Retry-After"]) == (503, "30")
        assert "database is away" in page.content.decode()
        file = client.get("/models/any.bin.gz")
        assert (file.status_code, file.content) == (503, b""), "KataGo's client writes a body into the network's file"
    assert client.get("/healthz/").status_code == 200


def test_database_fails_after_the_files(client: Client, anna: Contributor, job: Job, settings: Settings) -> None:
    form = game_form(job)
    with database_that_fails(on='INSERT INTO "games_game"'):
        assert_try_again(upload_training(client, anna, form))
    job.refresh_from_db()
    assert (Game.objects.count(), job.received) == (0, 0)
    first = stored_files(settings)
    assert len(first) == 2, "nobody knows whether a transaction was committed when the database went away"
    assert upload_training(client, anna, form).status_code == 201
    game = Game.objects.get()
    make_old(settings)
    assert sorted(remove_orphans().names) == sorted(first)
    assert sorted(stored_files(settings)) == sorted([game.sgf_file, game.rows_file])


def test_full_disk(
    client: Client, anna: Contributor, job: Job, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        answer = upload_training(client, anna, game_form(job))
    assert_try_again(answer)
    assert "cannot store files" in answer.json()["detail"]
    assert stored_files(settings) == []
    assert not Game.objects.exists()
    assert upload_training(client, anna, game_form(job)).status_code == 201


def test_files_of_a_killed_process_are_swept(settings: Settings) -> None:
    incoming = Path(settings.MEDIA_ROOT) / INCOMING
    assert sweep_incoming() == 0
    incoming.mkdir(parents=True)
    for name, age in (("abandoned", ABANDONED.total_seconds() + 60), ("being written", 0.0)):
        (incoming / name).write_bytes(b"half")
        os.utime(incoming / name, times=(time.time() - age,) * 2)
    assert sweep_incoming() == 1
    assert [path.name for path in incoming.iterdir()] == ["being written"]


def test_broker_away(
    client: Client,
    anna: Contributor,
    job: Job,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    tried = []

    def away(name: str) -> None:
        tried.append(name)
        raise ConnectionRefusedError

    monkeypatch.setattr("server.celery.app.send_task", away)
    with django_capture_on_commit_callbacks(execute=True):
        assert upload_training(client, anna, game_form(job)).status_code == 201
    assert tried == [AUDIT.task]
    monkeypatch.setattr(hints, "INTERVAL_S", 0.0)
    AUDIT.send()
    assert tried == [AUDIT.task], "for a while nobody has to wait for that broker again"


def test_an_unexpected_error_is_500_in_the_common_shape(
    client: Client, anna: Contributor, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.runs.api.run_info", lambda *_: 1 / 0)
    answer = client.get(wire.PATH_CURRENT_RUN)
    assert answer.status_code == 500
    assert wire.ErrorAnswer.from_json(answer.content).code == wire.ErrorCode.RETRY
