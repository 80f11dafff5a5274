"""The server as the client sees it: seven requests, and exceptions whose class says what to do next.

Knows HTTP and the wire's messages; decides nothing about games, queues or waiting. The exceptions::

    ServerError
    ├── OutageError          no answer, or the server's own trouble: try again later
    ├── GameRefusedError     this game will never be taken: set it aside
    ├── UpdateNeededError    this program is too old: keep the games, tell the volunteer
    └── LoginRefusedError    nothing more with this login or run: keep the games, tell the volunteer
"""

from __future__ import annotations

import email.utils
import time
from contextlib import ExitStack
from typing import Final, TypeVar

import requests

from client.contribute.spool import SpooledGame
from common import wire
from common.wire_base import JsonMessage

M = TypeVar("M", bound=JsonMessage)

CONNECT_TIMEOUT_S: Final = 15.0
READ_TIMEOUT_S: Final = 60.0
CONTENT_TYPES: Final = {"sgf_file": wire.SGF_CONTENT_TYPE, "training_data_file": wire.NPZ_CONTENT_TYPE}
UPLOAD_PATHS: Final = {"training": wire.PATH_TRAINING_GAMES, "rating": wire.PATH_RATING_GAMES}


class ServerError(Exception):
    """The server did not do what was asked; the text is for the volunteer."""


class OutageError(ServerError):
    """No answer, or one that passes; ``retry_after`` seconds if the server named a time."""

    def __init__(self, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class GameRefusedError(ServerError):
    """The game of this upload will never be accepted."""


class UpdateNeededError(ServerError):
    """The server does not work with this version of the program."""


class LoginRefusedError(ServerError):
    """Wrong name or password, no permission, or the run is closed."""


_BY_CODE: Final[dict[wire.ErrorCode, type[ServerError]]] = {
    wire.ErrorCode.DROP_GAME: GameRefusedError,
    wire.ErrorCode.UPDATE_CLIENT: UpdateNeededError,
    wire.ErrorCode.STOP: LoginRefusedError,
}


class ServerApi:
    """The requests of one contributor to one server, through a `requests.Session` given by the caller."""

    def __init__(self, session: requests.Session, server_url: str, username: str, password: str) -> None:
        self.server_url = server_url
        self._session = session
        # Bytes, since requests would encode text as Latin-1 and the protocol wants UTF-8.
        self._auth = requests.auth.HTTPBasicAuth(username.encode(), password.encode())
        self._headers = {"User-Agent": wire.USER_AGENT, "Accept": "application/json"}

    def check(self) -> None:
        """See that the server is there (``GET /``)."""
        self._send("GET", wire.PATH_ROOT)

    def current_run(self) -> wire.RunInfo:
        """The run that this server has open."""
        return self._read(wire.RunInfo, self._send("GET", wire.PATH_CURRENT_RUN))

    def newest_network(self) -> wire.NetworkInfo:
        """The network that the next self-play job will probably name."""
        return self._read(wire.NetworkInfo, self._send("GET", wire.PATH_NEWEST_NETWORK))

    def request_task(self, request: wire.TaskRequest) -> wire.SelfplayTask | wire.RatingTask:
        """Ask for a batch of games."""
        fields = {name: (None, value) for name, value in request.to_form().items()}
        answer = self._send("POST", wire.PATH_TASKS, files=fields)
        try:
            return wire.read_task(answer.content)
        except wire.MessageError as error:
            raise OutageError(f"the server's task cannot be understood: {error}") from error

    def upload(self, game: SpooledGame) -> wire.UploadAnswer:
        """Send one game of the spool; a game that the server has already counts as sent."""
        with ExitStack() as stack:
            parts: dict[str, tuple[object, ...]] = {name: (None, value) for name, value in game.fields.items()}
            for field, path in game.files.items():
                content = stack.enter_context(path.open("rb"))
                parts[field] = (path.name, content, CONTENT_TYPES[field])
            answer = self._send("POST", UPLOAD_PATHS[game.kind], files=parts)
        try:
            return wire.UploadAnswer.from_json(answer.content)
        except wire.MessageError:  # another server's body: the status alone says that it has the game
            return wire.UploadAnswer(kg_game_uid=game.uid)

    def _send(self, method: str, path: str, files: object = None) -> requests.Response:
        url = wire.join_url(self.server_url, path)
        try:
            answer = self._session.request(
                method,
                url,
                files=files,  # type: ignore[arg-type]  # requests' stubs know fewer forms of multipart than requests
                headers=self._headers,
                auth=self._auth,
                timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S),
            )
        except requests.exceptions.SSLError as error:
            raise OutageError(f"the certificate of {self.server_url} cannot be verified: {error}") from error
        except requests.RequestException as error:
            raise OutageError(f"no answer from {self.server_url}: {_short(error)}") from error
        if answer.status_code in (200, 201, 202):
            return answer
        raise _failure(answer, self.server_url)

    def _read(self, message: type[M], answer: requests.Response) -> M:
        try:
            return message.from_json(answer.content)
        except wire.MessageError as error:
            raise OutageError(f"the server's answer to {answer.url} cannot be understood: {error}") from error


def _failure(answer: requests.Response, server_url: str) -> ServerError:
    error = wire.read_error(answer.status_code, answer.content)
    status = f"status {answer.status_code}"
    explained = status not in error.detail
    text = f"{error.detail} ({status})" if explained else error.detail
    if answer.status_code == 404 and not explained:
        text += f"; {answer.url} is not there: is the server's address {server_url} right?"
    kind = _BY_CODE.get(error.code)
    return OutageError(text, _retry_after(answer)) if kind is None else kind(text)


def _retry_after(answer: requests.Response) -> float | None:
    """Seconds told by the ``Retry-After`` header, which holds a number or a date."""
    text = answer.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time())


def _short(error: requests.RequestException) -> str:
    """The innermost cause, without urllib3's chain of pools and objects."""
    cause: BaseException = error
    while cause.__cause__ is not None or cause.__context__ is not None:
        cause = cause.__cause__ or cause.__context__ or cause
    return str(cause) or type(cause).__name__
