"""What 500 volunteers do to a server, for ``locust``; started by ``python -m tests.benchmarks.load``.

Each user has an account of its own and makes requests at a pace of its own, so that together they come at the wanted
rate however long an answer takes. A game that could not be sent is sent again, with the same uid, until the server has
it. The environment says what is done: LOAD_HEADERS and LOAD_GAMES name files of `prepare` and `recorded`, LOAD_UPLOADS
and LOAD_JOBS are requests per second of all users together, LOAD_USERS says how many there are, LOAD_PRESSING how many
press on pages, and as many guess.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import random
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import gevent  # type: ignore[import-untyped]
from locust import FastHttpUser, task

from common import wire
from tests.benchmarks.load.recorded import RecordedGame, games_read

USERS: Final = int(os.environ["LOAD_USERS"])
UPLOADS: Final = float(os.environ["LOAD_UPLOADS"])
JOBS: Final = float(os.environ["LOAD_JOBS"])
PRESSING: Final = int(os.environ["LOAD_PRESSING"])
RETRY_S: Final = 5.0
"""Within this time a client that got no answer tries again."""
_HEADERS: Final = itertools.cycle(json.loads(Path(os.environ["LOAD_HEADERS"]).read_text()))


def _games() -> Iterator[RecordedGame]:
    """Recorded games; once all were sent, others that only differ in moves after the end."""
    games = games_read(Path(os.environ["LOAD_GAMES"])) if UPLOADS else []
    yield from games
    for number in itertools.count(1):
        for game in games:
            yield game.other(number)


_GAMES: Final = _games()


class Volunteer(FastHttpUser):
    """One account. Uploads and requests for jobs are made beside each other."""

    connection_timeout = network_timeout = 60.0
    fixed_count = USERS

    def on_start(self) -> None:
        """Log in and get the first job to upload for."""
        self.headers = {"Authorization": next(_HEADERS), "User-Agent": wire.USER_AGENT}
        self.job: dict[str, Any] | None = None
        self.number = 0

    @task
    def work(self) -> None:
        """Both for ever."""
        beside = [gevent.spawn(self._at_pace, do, rate) for do, rate in ((self._upload, UPLOADS), (self._ask, JOBS))]
        gevent.joinall(beside)

    def _at_pace(self, do: Any, rate: float) -> None:
        """Do it ``rate`` times a second, all users together."""
        if not rate:
            return
        pause = USERS / rate
        gevent.sleep(random.random() * pause)
        while True:
            began = gevent.get_hub().loop.now()
            do()
            gevent.get_hub().loop.update_now()
            gevent.sleep(max(0.0, began + pause - gevent.get_hub().loop.now()))

    def _ask(self, games: int = 4, name: str = "job") -> dict[str, Any] | None:
        form = wire.TaskRequest(git_revision=wire.CLIENT_REVISION, task_rep_factor=games).to_form()
        body, kind = _multipart(form, {})
        headers = self.headers | {"Content-Type": kind}
        with self.client.post(wire.PATH_TASKS, data=body, headers=headers, name=name, catch_response=True) as got:
            return json.loads(got.content) if got.status_code == 200 else None

    def _upload(self) -> None:
        while self.job is None or self.number == self.job["games"]:
            self.job, self.number = self._ask(wire.MAX_TASK_REP_FACTOR, "job, to upload for"), 0
            if self.job is None:
                gevent.sleep(random.random() * RETRY_S)
        game = next(_GAMES)
        form: dict[str, Any] = game.form(self.job, self.number)
        self.number += 1
        body, kind = _multipart(form, {"sgf_file": game.record(self.job), "training_data_file": game.rows})
        headers = self.headers | {"Content-Type": kind}
        while True:
            with self.client.post(
                wire.PATH_TRAINING_GAMES, data=body, headers=headers, name="upload", catch_response=True
            ) as got:
                if got.status_code in (200, 201):
                    return
                if got.status_code == 400:
                    raise AssertionError(got.text)
            gevent.sleep(random.random() * RETRY_S)


_ADDRESSES: Final = itertools.count(1)
_PRESSED: Final = ("/", "/games/load/", "/games/load/?oldest=1", "/networks/load/", "/contributors/")


class _Stranger(FastHttpUser):
    """Somebody with an address of their own, as a proxy tells it."""

    abstract = True

    def on_start(self) -> None:
        """Come from an address."""
        self.headers = {"X-Forwarded-For": f"192.0.2.{next(_ADDRESSES) % 256}"}


class Presser(_Stranger):
    """Asks for pages without a pause."""

    fixed_count = PRESSING
    weight = int(PRESSING > 0)

    @task
    def press(self) -> None:
        """A page."""
        self.client.get(random.choice(_PRESSED), headers=self.headers, name="pages, pressed on")


class Guesser(_Stranger):
    """Guesses a password without a pause."""

    fixed_count = PRESSING
    weight = int(PRESSING > 0)

    @task
    def guess(self) -> None:
        """A wrong password, of an account of its own."""
        login = f"load{self.headers['X-Forwarded-For'].rpartition('.')[2]}:wrong {random.random()}".encode()
        headers = self.headers | {"Authorization": f"Basic {base64.b64encode(login).decode()}"}
        self.client.post(wire.PATH_TASKS, data={}, headers=headers, name="passwords, guessed")


def _multipart(fields: dict[str, str], files: dict[str, bytes]) -> tuple[Any, str]:
    """The body of a form, as bytes, which locust's types do not know; and its content type."""
    mark = secrets.token_hex(16)
    parts = []
    for name, value in fields.items():
        parts.append(f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
    for name, content in files.items():
        head = f'--{mark}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
        parts.append(head.encode() + b"Content-Type: application/octet-stream\r\n\r\n" + content + b"\r\n")
    return b"".join([*parts, f"--{mark}--\r\n".encode()]), f"multipart/form-data; boundary={mark}"
