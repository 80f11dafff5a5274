"""What has arrived of an HTTP/1 request: enough to answer it, not yet enough, or what will not be waited for.

Only the length is looked at; whatever is odd otherwise is left to the web server's own parser, which refuses it without
reading on. Knows nothing of sockets.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Final

from common.wire import MAX_BODY_BYTES, ErrorAnswer, ErrorCode
from server.errors import GameRefused

MAX_HEAD_BYTES: Final = 64 * 1024
_END: Final = b"\r\n\r\n"


class Next(Enum):
    """What to do with a request of which some bytes have arrived."""

    WAIT = "wait for more"
    CONTINUE = "wait for more, and say that the body is welcome"
    ANSWER = "answer it: it is whole, or the parser will refuse it"


@dataclass(frozen=True)
class Refusal:
    """An answer that needs no program: the request is not read any further."""

    status: HTTPStatus
    body: bytes = b""

    def to_bytes(self) -> bytes:
        """The whole response; the connection ends with it."""
        head = f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(self.body)}\r\n\r\n"
        return head.encode("ascii") + self.body


TOO_SLOW: Final = Refusal(HTTPStatus.REQUEST_TIMEOUT)


class Arrival:
    """The bytes of one request, and of what came directly after it."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._whole: int | None = None
        """Bytes of the request, once its head says so."""

    def add(self, piece: bytes) -> Next | Refusal:
        """Take what arrived now; costs time in proportion to it, not to what came before."""
        looked_at = max(0, len(self.data) - len(_END) + 1)
        self.data += piece
        said = Next.WAIT
        if self._whole is None:
            end = self.data.find(_END, looked_at)
            if end < 0:
                too_long = len(self.data) > MAX_HEAD_BYTES
                return _refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) if too_long else Next.WAIT
            length, welcome = _read_head(bytes(self.data[:end]))
            if isinstance(length, Refusal):
                return length
            self._whole = end + len(_END) + length
            said = Next.CONTINUE if welcome else Next.WAIT
        return Next.ANSWER if len(self.data) >= self._whole else said


def _read_head(head: bytes) -> tuple[int | Refusal, bool]:
    """Bytes that the body has, or why it is not waited for; whether the client waits to be told to send it."""
    lengths, welcome = [], False
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        match name.lower():
            case b"transfer-encoding":
                return _refusal(HTTPStatus.LENGTH_REQUIRED), False
            case b"content-length":
                lengths.append(value.strip())
            case b"expect":
                welcome = value.strip().lower() == b"100-continue"
    # Several lengths, or one that is none: the parser's own refusal.
    if len(lengths) != 1 or not lengths[0].isdigit():
        return 0, welcome
    digits = lengths[0].lstrip(b"0") or b"0"
    if len(digits) > len(str(MAX_BODY_BYTES)) or int(digits) > MAX_BODY_BYTES:
        refused = GameRefused(f"the request has more than the {MAX_BODY_BYTES} bytes that are allowed")
        return Refusal(HTTPStatus(refused.status), _json(str(refused), refused.code)), False
    return int(digits), welcome


def _refusal(status: HTTPStatus) -> Refusal:
    return Refusal(status, _json(f"{status.phrase.lower()}: {status.description.lower()}", ErrorCode.RETRY))


def _json(detail: str, code: ErrorCode) -> bytes:
    return ErrorAnswer(detail=detail, code=code).to_json().encode()
