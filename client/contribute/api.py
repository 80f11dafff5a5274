"""The server as the client sees it: its requests, each with an answer that was understood or a `ServerError`.

Knows the wire's messages and what proves that an answer is the game server's own; decides nothing about games, queues
or waiting.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Final, TypeVar, cast

import requests

from client.contribute.errors import (
    GameRefusedError,
    LoginRefusedError,
    OutageError,
    ServerError,
    UpdateNeededError,
)
from client.contribute.exchange import Answer, Exchange, foreign, retry_after
from client.contribute.settings import Login
from client.contribute.spool import SpooledGame
from client.contribute.uploads import UPLOAD_KINDS
from common import wire, wire_uploads
from common.wire_base import JsonMessage

M = TypeVar("M", bound=JsonMessage)

GOOD: Final = (200, 201, 202)
LOGIN_WANTED_BY_NETWORK: Final = 511
"""Only what stands between answers this; it is no trouble of the server's."""
CONTENT_TYPES: Final = {"sgf_file": wire.SGF_CONTENT_TYPE, "training_data_file": wire.NPZ_CONTENT_TYPE}

_BY_CODE: Final[dict[wire.ErrorCode, type[ServerError]]] = {
    wire.ErrorCode.DROP_GAME: GameRefusedError,
    wire.ErrorCode.UPDATE_CLIENT: UpdateNeededError,
    wire.ErrorCode.STOP: LoginRefusedError,
}


class _BearerAuth(requests.auth.AuthBase):
    """A token as the login. As an object, so that no entry of a .netrc takes its place."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header."""
        cast(Any, request.headers)["Authorization"] = f"Bearer {self._token}".encode()  # the stubs know text alone
        return request


def _basic(login: Login) -> requests.auth.HTTPBasicAuth:
    """Bytes, since requests would encode text as Latin-1 and the protocol wants UTF-8."""
    return requests.auth.HTTPBasicAuth(login.username.encode(), login.password.encode())


class ServerApi:
    """The requests of one contributor to one server.

    Args:
        session: gives connections.
        cut: set when every request under way shall end at once.
    """

    def __init__(self, session: requests.Session, server_url: str, login: Login, cut: threading.Event) -> None:
        self.server_url = server_url
        auth = _BearerAuth(login.token) if login.token else _basic(login)
        headers = {"User-Agent": wire.USER_AGENT, "Accept": "application/json"}
        self._exchange = Exchange(session, server_url, auth, headers, cut)

    def current_run(self) -> wire.RunInfo:
        """The run that this server has open."""
        return self._read(wire.RunInfo, self._send("GET", wire.PATH_CURRENT_RUN))

    def request_task(self, request: wire.TaskRequest) -> wire.SelfplayTask | wire.RatingTask:
        """Ask for a batch of games."""
        fields = {name: (None, value) for name, value in request.to_form().items()}
        answer = self._good(self._send("POST", wire.PATH_TASKS, fields))
        try:
            return wire.read_task(answer.content)
        except wire.MessageError as error:
            raise OutageError(self._not_understood(answer, error)) from error

    def upload(self, game: SpooledGame) -> wire_uploads.UploadAnswer:
        """Send one game of the spool; the answer proves that the server has it, since now or since an earlier try.

        What proves it is a JSON object that names the game in ``kg_game_uid``, as our server and katago-server answer,
        or a 400 by which one of them says that it has it already. A status alone proves nothing: proxies, captive
        portals and wrong addresses answer 200 too.

        Raises:
            FileNotFoundError: the game is not in the spool any more.
            OSError: its files cannot be read.
            ServerError: everything else, by kind.
        """
        parts: dict[str, tuple[object, ...]] = {name: (None, value) for name, value in game.fields.items()}
        for field, path in game.files.items():
            parts[field] = (path.name, path.read_bytes(), CONTENT_TYPES.get(field, "application/octet-stream"))
        answer = self._send("POST", UPLOAD_KINDS[game.kind].path, parts)
        if _is_known(answer):
            return wire_uploads.UploadAnswer(kg_game_uid=game.uid, already_known=True)
        self._good(answer)
        try:
            told = wire_uploads.UploadAnswer.from_json(answer.content)
        except wire.MessageError as error:
            raise OutageError(self._not_understood(answer, error)) from error
        if (told.kg_game_uid or "").upper() != game.uid.upper():
            named = f"the game {told.kg_game_uid}" if told.kg_game_uid else "no game"
            raise OutageError(f"{foreign(answer, self.server_url)} It names {named}, {game.uid} was sent")
        return told

    def _send(self, method: str, path: str, files: object = None) -> Answer:
        return self._exchange.send(method, wire.join_url(self.server_url, path), files)

    def _good(self, answer: Answer) -> Answer:
        if answer.status in GOOD:
            return answer
        raise _failure(answer, self.server_url)

    def _read(self, message: type[M], answer: Answer) -> M:
        self._good(answer)
        try:
            return message.from_json(answer.content)
        except wire.MessageError as error:
            raise OutageError(self._not_understood(answer, error)) from error

    def _not_understood(self, answer: Answer, error: wire.MessageError) -> str:
        if _is_json_object(answer.content):
            return f"the answer from {answer.url} cannot be understood: {error}"
        return foreign(answer, self.server_url)


def _is_json_object(content: bytes) -> bool:
    try:
        return isinstance(json.loads(content), dict)
    except (ValueError, RecursionError):
        return False


def _is_known(answer: Answer) -> bool:
    if answer.status != 400:
        return False
    return wire.read_error(answer.status, answer.content).code is wire.ErrorCode.ALREADY_STORED


def _failure(answer: Answer, server_url: str) -> ServerError:
    """An answer whose status is not a good one, as an error of the kind that says what to do."""
    error = wire.read_error(answer.status, answer.content)
    after = retry_after(answer.headers)
    if answer.status < 400 or not _is_json_object(answer.content):
        text = foreign(answer, server_url)
        if answer.status == 404:
            text = f"{answer.url} is not there (status 404): is the server's address {server_url} right?"
        elif answer.status >= 500 and answer.status != LOGIN_WANTED_BY_NETWORK:
            text = f"{error.detail}: {server_url}, or what stands before it, is in trouble"
        return OutageError(text, after)
    status = f"status {answer.status}"
    text = error.detail if status in error.detail else f"{error.detail} ({status})"
    kind = _BY_CODE.get(error.code)
    return OutageError(text, after) if kind is None else kind(text)
