"""A transport for `requests` that gives scripted answers and remembers the requests."""

from __future__ import annotations

import io
import json
import re
import threading
from collections.abc import Callable
from typing import Any

import requests

from client.contribute.api import ServerApi
from client.contribute.settings import Login

SERVER = "http://server/base"

Given = tuple[int, Any, dict[str, str]]
"""Status, body (bytes, text, or an object to be written as JSON), headers."""
Answering = Given | Exception | Callable[[requests.PreparedRequest], Given]


class Answers(requests.adapters.BaseAdapter):
    """Gives one answer after the other; an exception is raised, a function is asked."""

    def __init__(self, *answers: Answering) -> None:
        super().__init__()
        self.answers = list(answers)
        self.requests: list[requests.PreparedRequest] = []

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        self.requests.append(request)
        given = self.answers.pop(0)
        if isinstance(given, Exception):
            raise given
        status, body, headers = given(request) if callable(given) else given
        answer = requests.Response()
        answer.status_code = status
        answer.headers.update(headers)
        if not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        answer.raw = io.BytesIO(body.encode() if isinstance(body, str) else body)
        answer.url = str(request.url)
        answer.request = request
        return answer

    def close(self) -> None: ...


BY_PASSWORD = Login(username="jürgen", password="geheim")


def api(*answers: Answering, login: Login = BY_PASSWORD) -> tuple[ServerApi, Answers]:
    """A server that answers like this, and the transport to it."""
    session = requests.Session()
    transport = Answers(*answers)
    session.mount("http://", transport)
    session.mount("https://", transport)
    return ServerApi(session, SERVER, login, threading.Event()), transport


def refusal(status: int, code: str, detail: str = "because") -> Given:
    """A refusal as our server writes it."""
    return status, {"detail": detail, "code": code}, {}


def uid_of(request: requests.PreparedRequest) -> str:
    """The uid in the form of an upload."""
    assert isinstance(request.body, bytes)
    found = re.search(rb'name="kg_game_uid"\r\n\r\n([0-9A-Fa-f]+)\r\n', request.body)
    assert found is not None
    return found[1].decode()


def taken(request: requests.PreparedRequest) -> Given:
    """The answer of our server to a new game."""
    return 201, {"kg_game_uid": uid_of(request), "detail": "received"}, {}
