"""A chunked body, taken out of its framing as it arrives (RFC 9112, 7.1). Knows nothing of heads and sockets."""

from __future__ import annotations

import re
from typing import Final

MAX_LINE_BYTES: Final = 256
"""Of the length of a chunk, with extensions, and of a trailer: both are read and thrown away."""
MAX_TRAILERS: Final = 32
_END: Final = b"\r\n"
_LENGTH: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?")


class MalformedChunks(ValueError):
    """Not the framing of a chunked body; the text says what."""


class BodyTooLarge(ValueError):
    """The chunks are longer together than what is allowed."""


class Chunks:
    """One chunked body of at most ``max_bytes``.

    Attributes:
        body: what has arrived of it, without the framing.
        rest: bytes not yet understood; once the body is whole, those that came after it.
    """

    def __init__(self, max_bytes: int) -> None:
        self.body = bytearray()
        self.rest = bytearray()
        self._max_bytes = max_bytes
        self._due = 0
        """Bytes still to come of the chunk that is arriving, with the line end after it."""
        self._trailers: int | None = None
        """Counted once the last chunk has arrived."""

    def add(self, piece: bytes) -> bool:
        """Take what arrived now; whether the body is whole. Costs time in proportion to ``piece``.

        Raises:
            MalformedChunks: this is no chunked body.
            BodyTooLarge: a chunk that has begun goes beyond ``max_bytes``.
        """
        self.rest += piece
        while True:
            if self._due > 0:
                if not self._take_chunk():
                    return False
                continue
            line = self._line()
            if line is None:
                return False
            if self._trailers is None:
                self._begin_chunk(line)
            elif not line:
                return True
            else:
                self._trailers += 1
                if self._trailers > MAX_TRAILERS:
                    raise MalformedChunks("too many trailers")

    def _line(self) -> bytes | None:
        """The next line without its end, taken from the rest; None if it is not there yet."""
        end = self.rest.find(_END, 0, MAX_LINE_BYTES + len(_END))
        if end < 0:
            if len(self.rest) >= MAX_LINE_BYTES + len(_END):
                raise MalformedChunks(f"a line of more than {MAX_LINE_BYTES} bytes")
            return None
        line = bytes(self.rest[:end])
        del self.rest[: end + len(_END)]
        return line

    def _begin_chunk(self, line: bytes) -> None:
        found = _LENGTH.fullmatch(line)
        if found is None:
            raise MalformedChunks("a chunk without its length")
        length = int(found[1], 16)
        if len(self.body) + length > self._max_bytes:
            raise BodyTooLarge
        if length == 0:
            self._trailers = 0
        else:
            self._due = length + len(_END)

    def _take_chunk(self) -> bool:
        """Take what has arrived of a chunk; whether all of it has."""
        taken = min(len(self.rest), self._due - len(_END))
        if taken > 0:
            self.body += self.rest[:taken]
            del self.rest[:taken]
            self._due -= taken
        if self._due > len(_END) or len(self.rest) < len(_END):
            return False
        if not self.rest.startswith(_END):
            raise MalformedChunks("a chunk that does not end with its line")
        del self.rest[: len(_END)]
        self._due = 0
        return True
