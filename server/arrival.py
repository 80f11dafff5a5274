"""What has arrived of an HTTP/1 request: enough to answer it, not yet enough, or what will not be waited for.

Only what says where the body ends is looked at; whatever is odd otherwise is left to the web server's own parser,
which refuses it without reading on. Knows nothing of sockets.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Final

from common.wire import MAX_BODY_BYTES, PATH_NETWORKS, PATH_START_POSITIONS, ErrorAnswer, ErrorCode
from server.chunks import BodyTooLarge, Chunks, MalformedChunks
from server.errors import GameRefused

MAX_HEAD_BYTES: Final = 64 * 1024
_END: Final = b"\r\n\r\n"
_LARGE_UPLOADS: Final = (PATH_NETWORKS.encode(), PATH_START_POSITIONS.encode())


class Next(Enum):
    """What to do with a request of which some bytes have arrived."""

    WAIT = "wait for more"
    CONTINUE = "wait for more, and say that the body is welcome"
    ANSWER = "answer it: it is whole, or the parser will refuse it, or the program looks at who sends it first"


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
    """The bytes of one request, and of what came directly after it.

    A body in chunks, as some proxies send everything, is put together, and the head is given its length: the program
    behind takes no other.
    """

    def __init__(self) -> None:
        self.data = bytearray()
        self._whole: int | None = None
        """Bytes of the request, once its head says so."""
        self._chunks: Chunks | None = None
        """The body, once the head says that it comes in chunks; `data` is the head until it is whole."""

    def waiting_bytes(self) -> int:
        """How much memory this takes."""
        return len(self.data) + (len(self._chunks.body) + len(self._chunks.rest) if self._chunks else 0)

    def add(self, piece: bytes) -> Next | Refusal:
        """Take what arrived now; costs time in proportion to it, not to what came before."""
        if self._chunks is not None:
            return self._add_to_chunks(self._chunks, piece, Next.WAIT)
        looked_at = max(0, len(self.data) - len(_END) + 1)
        self.data += piece
        said = Next.WAIT
        if self._whole is None:
            end = self.data.find(_END, looked_at)
            if end < 0:
                too_long = len(self.data) > MAX_HEAD_BYTES
                return _refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) if too_long else Next.WAIT
            head = bytes(self.data[:end])
            if _is_large_upload(head):
                self.data[:end] = _closing(head)
                return Next.ANSWER
            length, welcome = _read_head(head)
            if isinstance(length, Refusal):
                return length
            said = Next.CONTINUE if welcome else Next.WAIT
            if length is None:
                began = bytes(self.data[end + len(_END) :])
                del self.data[end:]
                self._chunks = Chunks(MAX_BODY_BYTES)
                return self._add_to_chunks(self._chunks, began, said)
            self._whole = end + len(_END) + length
        return Next.ANSWER if len(self.data) >= self._whole else said

    def _add_to_chunks(self, chunks: Chunks, piece: bytes, said: Next) -> Next | Refusal:
        try:
            if not chunks.add(piece):
                return said
        except BodyTooLarge:
            return _too_large()
        except MalformedChunks as error:
            return Refusal(HTTPStatus.BAD_REQUEST, _json(f"the chunks of the body are malformed: {error}"))
        head = [line for line in bytes(self.data).split(b"\r\n") if _name(line) != b"transfer-encoding"]
        head.append(b"Content-Length: %d" % len(chunks.body))
        self.data = bytearray(b"\r\n".join(head) + _END) + chunks.body + chunks.rest
        self._chunks = None
        return Next.ANSWER


def _is_large_upload(head: bytes) -> bool:
    """Whether a maintainer's program sends what is not to lie in memory: the program behind asks for the login before
    it reads the body, as it comes."""
    first, *lines = head.split(b"\r\n")
    words = first.split(b" ")
    if words[0] != b"POST" or len(words) != 3 or words[1].partition(b"?")[0] not in _LARGE_UPLOADS:
        return False
    names = [_name(line) for line in lines]
    return b"transfer-encoding" not in names and b"authorization" in names


def _closing(head: bytes) -> bytes:
    """A head that asks for the connection to end: what is refused is not read, and must not be taken for a request."""
    lines = [line for line in head.split(b"\r\n") if _name(line) != b"connection"]
    return b"\r\n".join([*lines, b"Connection: close"])


def _name(line: bytes) -> bytes:
    return line.partition(b":")[0].lower()


def _read_head(head: bytes) -> tuple[int | Refusal | None, bool]:
    """Bytes that the body has, None if it comes in chunks, or why it is not waited for.

    And whether the client waits to be told to send it.
    """
    first, *lines = head.split(b"\r\n")
    lengths, encodings, welcome = [], [], False
    for line in lines:
        value = line.partition(b":")[2].strip()
        match _name(line):
            case b"transfer-encoding":
                encodings.append(value.lower())
            case b"content-length":
                lengths.append(value)
            case b"expect":
                welcome = value.lower() == b"100-continue"
    if encodings:
        # With a length besides, or from HTTP/1.0, what stands before us may see another end than we do.
        plain = encodings == [b"chunked"] and not lengths and first.endswith(b" HTTP/1.1")
        return None if plain else _refusal(HTTPStatus.LENGTH_REQUIRED), welcome
    # Several lengths, or one that is none: the parser's own refusal.
    if len(lengths) != 1 or not lengths[0].isdigit():
        return 0, welcome
    digits = lengths[0].lstrip(b"0") or b"0"
    if len(digits) > len(str(MAX_BODY_BYTES)) or int(digits) > MAX_BODY_BYTES:
        return _too_large(), False
    return int(digits), welcome


def _too_large() -> Refusal:
    refused = GameRefused(f"the request has more than the {MAX_BODY_BYTES} bytes that are allowed")
    return Refusal(HTTPStatus(refused.status), _json(str(refused), refused.code))


def _refusal(status: HTTPStatus) -> Refusal:
    return Refusal(status, _json(f"{status.phrase.lower()}: {status.description.lower()}"))


def _json(detail: str, code: ErrorCode = ErrorCode.RETRY) -> bytes:
    return ErrorAnswer(detail=detail, code=code).to_json().encode()
