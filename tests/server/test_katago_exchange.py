"""A recorded session of KataGo's ``contribute`` (1.17.2), said again to the server: whoever changes the protocol sees.

The requests go to the server byte for byte; its answers must be those that the client understood, but for what is drawn
anew. tests/e2e/test_katago_faults.py records it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from django.test import Client

from common import wire
from server.accounts.models import Contributor
from server.games.models import Game, GameState
from server.games.tasks import audit_pending
from server.jobs.models import Job
from server.networks.models import Network
from server.runs.models import Run
from tests.exchange import Recorded, recorded_exchange
from tests.server.factories import login
from tests.server.katago_session import make_session_run

pytestmark = pytest.mark.django_db

DRAWN: Final = ("job_id", "job_token", "created_at", "model_file_bytes", "model_file_sha256")
"""Of an answer, what is another each time; the type stays."""
UPLOADS: Final = (wire.PATH_TRAINING_GAMES, wire.PATH_RATING_GAMES)


@pytest.fixture
def run(db: None, tmp_path: Path) -> Run:
    """The run of the recording."""
    return make_session_run(tmp_path)


def say(client: Client, contributor: Contributor, one: Recorded) -> Any:
    """Send a recorded request as it was, with a login of this server's."""
    headers = {name: value for name, value in one.headers.items() if name not in ("content-type", "content-length")}
    return client.generic(
        one.method,
        one.path,
        one.body,
        content_type=one.headers.get("content-type", ""),
        headers=headers | login(contributor),
    )


def told(value: Any, key: str = "") -> Any:
    """What an answer says, without hosts and without what is drawn."""
    if isinstance(value, dict):
        return {name: told(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [told(inner) for inner in value]
    if key in DRAWN:
        return type(value).__name__
    return re.sub(r"^http://[^/]+", "", value) if isinstance(value, str) else (type(value).__name__, value)


def assert_same_answer(one: Recorded, answer: Any) -> None:
    """The answer is the recorded one; it may say more."""
    where = f"{one.method} {one.path}"
    assert answer.status_code == one.status, f"{where}: {answer.content[:500]!r}"
    assert answer.headers["Content-Type"] == one.answer_headers["content-type"], where
    assert "Location" not in answer.headers
    if one.answer is None:
        content = b"".join(answer.streaming_content)
        assert int(answer.headers["Content-Length"]) == len(content)
        assert "Content-Encoding" not in answer.headers
        assert Network.objects.get(name=one.path.split("/")[2].removesuffix(".bin.gz")).file_bytes == len(content)
    elif one.answer_headers["content-type"] == "application/json":
        before, now = told(json.loads(one.answer)), told(answer.json())
        assert {name: now.get(name) for name in before} == before, where


def replay(client: Client, contributor: Contributor) -> None:
    """Say all of it; the server gives matches and self-play when it did."""
    for one in recorded_exchange():
        if one.path == wire.PATH_TASKS:
            is_match = json.loads(one.answer or "")["kind"] == "rating"
            Run.objects.update(gating_share=1.0 if is_match else 0.0)
        assert_same_answer(one, say(client, contributor, one))


def test_the_recorded_session_goes_as_it_did(client: Client, anna: Contributor, run: Run) -> None:
    replay(client, anna)
    sent = Counter(one.path for one in recorded_exchange())
    assert min(sent[path] for path in (*UPLOADS, wire.PATH_TASKS, wire.PATH_NEWEST_NETWORK)) >= 1
    audit_pending()
    assert list(Game.objects.exclude(state=GameState.COUNTED).values_list("uid", "reason")) == []
    assert Counter(Game.objects.values_list("kind", flat=True)) == {
        "training": sent[UPLOADS[0]],
        "rating": sent[UPLOADS[1]],
    }
    assert set(Game.objects.filter(kind="training").values_list("board_size_x", flat=True)) == {7, 9}


def test_what_is_sent_again_is_known_and_stored_once(client: Client, anna: Contributor, run: Run) -> None:
    """As after an answer that came too late."""
    replay(client, anna)
    games, jobs = Game.objects.count(), list(Job.objects.order_by("pk").values_list("received", flat=True))
    for one in recorded_exchange():
        if one.path in UPLOADS:
            answer = say(client, anna, one)
            assert answer.status_code == 400
            assert wire.PHRASE_ALREADY_EXISTS in answer.json()["detail"]
    assert Game.objects.count() == games
    assert list(Job.objects.order_by("pk").values_list("received", flat=True)) == jobs


def test_the_recording_holds_no_login() -> None:
    for one in recorded_exchange():
        assert "authorization" not in one.headers
        assert b"password" not in one.body.lower()
