"""What passed between KataGo's client and our server, kept in a file: requests as they came, and the answers.

One JSON object a line. The login is left out, and of a network's file all but its length.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from common.wire import PATH_RATING_GAMES, PATH_TASKS, PATH_TRAINING_GAMES
from tests import FIXTURES
from tests.e2e.between import Exchange

RECORDED: Final = FIXTURES / "katago" / "exchange.jsonl.gz"
_KEPT: Final = ("content-type", "content-length", "user-agent", "accept", "range", "www-authenticate", "location")
_UPLOADS: Final = (PATH_TRAINING_GAMES, PATH_RATING_GAMES)
_MOST: Final = {PATH_TASKS: 8, PATH_TRAINING_GAMES: 8, PATH_RATING_GAMES: 4}
"""Of each kind of request so many are kept; of every other one the first."""


@dataclass(frozen=True)
class Recorded:
    """One request and its answer; the answer's body is None for a file."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int
    answer_headers: dict[str, str]
    answer: str | None


def write_exchange(path: Path, exchanges: Iterable[Exchange]) -> None:
    """Write the first requests of each kind with their answers, in their order."""
    seen: dict[str, int] = {}
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for one in exchanges:
            seen[one.path] = seen.get(one.path, 0) + 1
            if seen[one.path] <= _MOST.get(one.path, 1):
                print(json.dumps(_told(one)), file=file)


def _told(one: Exchange) -> dict[str, Any]:
    is_file = one.path.startswith("/models/")
    return {
        "method": one.method,
        "path": one.path,
        "headers": _kept(one.headers),
        "body": base64.b64encode(one.body).decode(),
        "status": one.said.status,
        "answer_headers": _kept(one.said.headers) | ({"content-length": str(len(one.said.body))} if is_file else {}),
        "answer": None if is_file else one.said.body.decode(),
    }


def _kept(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers if name.lower() in _KEPT}


def recorded_exchange(path: Path = RECORDED) -> Iterator[Recorded]:
    """The requests and answers of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            told = json.loads(line)
            yield Recorded(**told | {"body": base64.b64decode(told["body"])})


@dataclass(frozen=True)
class RecordedUpload:
    """What the client sent of one game; ``rows`` is None for a match."""

    form: dict[str, str]
    sgf: bytes
    rows: bytes | None


def recorded_uploads(path: Path = RECORDED) -> list[RecordedUpload]:
    """The games of the recorded requests."""
    return [_upload_of(one) for one in recorded_exchange(path) if one.path in _UPLOADS]


def _upload_of(one: Recorded) -> RecordedUpload:
    boundary = b"--" + one.headers["content-type"].partition("boundary=")[2].encode()
    parts: dict[str, bytes] = {}
    for part in one.body.split(boundary)[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        parts[head.partition(b'name="')[2].partition(b'"')[0].decode()] = content.removesuffix(b"\r\n")
    sgf, rows = parts.pop("sgf_file"), parts.pop("training_data_file", None)
    return RecordedUpload({name: content.decode() for name, content in parts.items()}, sgf, rows)
