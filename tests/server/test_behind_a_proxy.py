"""Our client's sending against our server's views, with something in between that answers for the server for a while.

Right is: games played = games stored, whatever the one in between said.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests
from django.db import connections
from django.test import Client

from client.contribute.api import ServerApi
from client.contribute.loop import Backoff, Outcome
from client.contribute.settings import Login
from client.contribute.spool import Spool
from client.contribute.uploader import Uploader
from common import wire
from server.accounts.models import Contributor
from server.games.models import Game
from server.jobs.models import Job
from tests.server.factories import OURS, PASSWORD, ask, game_form, make_contributor, make_run, npz_bytes, sgf_of

pytestmark = pytest.mark.django_db(transaction=True)

GAMES = 4
MAX_STEPS = 200
HTML = {"Content-Type": "text/html"}


@dataclass(frozen=True)
class Said:
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes


Lie = Callable[["Between", Said], Said]
"""What the one in between makes of what the server said."""


@dataclass
class Between:
    """A proxy. It asks the server before it lies, if it is not ``deaf``: then the game is stored, and nobody told."""

    url: str = ""
    lies: list[Lie] = field(default_factory=list)
    deaf: bool = True
    agent: dict[str, str] = field(default_factory=lambda: dict(OURS))
    posts: int = 0

    def answer(self, path: str, content_type: str, login: str, body: bytes) -> Said:
        """The answer to a POST."""
        self.posts += 1
        lie = self.lies.pop(0) if self.lies else None
        said = Said(200, {}, b"")
        if lie is None or not self.deaf:
            headers = {"Authorization": login} | self.agent
            got = Client().generic("POST", path, body, content_type=content_type, headers=headers)
            said = Said(got.status_code, {"Content-Type": "application/json"}, got.content)
        return said if lie is None else lie(self, said)


@pytest.fixture
def between() -> Iterator[Between]:
    state = Between()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            try:
                self.say(
                    state.answer(self.path, self.headers["Content-Type"], self.headers.get("Authorization", ""), body)
                )
            finally:
                connections.close_all()

        def do_GET(self) -> None:  # where a redirected upload would end
            self.say(Said(200, {"Content-Type": "application/json"}, b'{"count":0,"results":[]}'))

        def say(self, said: Said) -> None:
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def anna(transactional_db: None) -> Contributor:
    return make_contributor()


@pytest.fixture
def job(transactional_db: None, anna: Contributor) -> Job:
    make_run()
    ask(Client(), anna, task_rep_factor=str(GAMES))
    return Job.objects.get()


def page(status: int, body: bytes, headers: dict[str, str] = HTML) -> Lie:
    return lambda between, said: Said(status, headers, body)


def redirect(status: int, target: str) -> Lie:
    return lambda between, said: Said(status, {"Location": between.url + target}, b"")


def relabelled(between: Between, said: Said) -> Said:
    """What the server said, cut short, under a good status."""
    return Said(200, {}, said.body[: len(said.body) // 2])


LIES: dict[str, Lie] = {
    "a login page": page(200, b"<html>Welcome to the hotel</html>"),
    "a login page, 201": page(201, b"<html>created</html>"),
    "nothing": page(200, b"", {}),
    "no content": page(204, b"", {}),
    "foreign JSON": page(200, b'{"status":"ok"}', {"Content-Type": "application/json"}),
    "another game": page(201, json.dumps({"kg_game_uid": "F" * 32}).encode(), {}),
    "a list": page(202, b"[]", {}),
    "half an answer": relabelled,
    "301 to the right address": redirect(301, wire.PATH_TRAINING_GAMES),
    "302 to a portal": redirect(302, "/portal"),
    "303": redirect(303, "/"),
    "308 in a circle": redirect(308, wire.PATH_TRAINING_GAMES),
    "401 of a portal": page(401, b"<html>who are you?</html>"),
    "403 of a filter": page(403, b"<html>blocked</html>"),
    "400 of a filter": page(400, b"<html>uploads are no longer enabled for this; they already exist</html>"),
    "502": page(502, b"<html>bad gateway</html>"),
}


def fill(spool: Spool, job: Job, url: str) -> list[str]:
    """Put games of the job into the spool, as a child does; their uids."""
    forms = [game_form(job, num_training_rows="3") for _ in range(GAMES)]
    for form in forms:
        uid = form["kg_game_uid"]
        files = {"sgf_file": (f"{uid}.sgf", sgf_of(form)), "training_data_file": (f"{uid}.npz", npz_bytes())}
        spool.add("training", url, form, files)
    return [form["kg_game_uid"] for form in forms]


def send_all(spool: Spool, url: str) -> tuple[Uploader, list[str]]:
    """Send what waits, trying again without a pause; the sender and the lines that the volunteer saw."""
    lines: list[str] = []
    with requests.Session() as session:
        session.trust_env = False
        api = ServerApi(session, url, Login(username="anna", password=PASSWORD), threading.Event())
        uploader = Uploader(api, spool, Backoff(random.Random(1)), lines.append, lines.append)
        for _ in range(MAX_STEPS):
            if uploader.step() is Outcome.IDLE:
                break
            assert uploader.sent <= Game.objects.count()
            assert uploader.sent + spool.count() == GAMES
    return uploader, lines


@pytest.mark.parametrize("deaf", [True, False])
def test_games_played_are_games_stored(between: Between, job: Job, tmp_path: Path, deaf: bool) -> None:
    spool = Spool(tmp_path / "spool")
    played = fill(spool, job, between.url)
    between.lies, between.deaf = [lie for lie in LIES.values() for _ in range(2)], deaf
    uploader, lines = send_all(spool, between.url)
    assert between.lies == []
    assert sorted(Game.objects.values_list("uid", flat=True)) == sorted(played)
    assert (uploader.sent, uploader.refused, spool.count()) == (GAMES, 0, 0)
    assert list(spool.refused.iterdir()) == []
    assert Job.objects.get().received == GAMES
    assert [line.split(":")[0] for line in lines] == ["cannot send games", "the server takes games again"]


def test_a_proxy_that_hides_our_name_does_not_make_a_stored_game_a_refused_one(
    between: Between, job: Job, tmp_path: Path
) -> None:
    """Without our User-Agent a repeated upload is answered as to KataGo's client: 400, "already exists"."""
    spool = Spool(tmp_path / "spool")
    fill(spool, job, between.url)
    between.agent = {"User-Agent": "Mozilla/5.0"}
    between.lies, between.deaf = [LIES["a login page"]] * GAMES, False
    uploader, _ = send_all(spool, between.url)
    assert (uploader.sent, uploader.refused, spool.count(), Game.objects.count()) == (GAMES, 0, 0, GAMES)
