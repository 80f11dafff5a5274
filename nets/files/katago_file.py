"""Reading and writing network files as KataGo has them: ``.bin.gz``, ``.txt.gz``, and both uncompressed.

One walk over the grammar of `nets.files.records` serves both directions. A file is not trusted: every token is checked,
memory is bounded by the file's own size, and an error names the layer. Numpy only, so that a server can check uploads.
Spec: model-format.md.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, cast

import numpy as np

from common.files import written_whole
from nets.files.checks import check_net
from nets.files.grammar import (
    MODEL_NAME,
    NAME,
    VERSION,
    Blocks,
    Capabilities,
    Fixed,
    Floats,
    Grammar,
    NetFileError,
    Token,
    TokenKind,
    capabilities_of,
)
from nets.files.records import BLOCK_RECORDS, Array, BlockRecord, NetRecord

__all__ = ["NetFileError", "NetRecord", "read_net", "write_net"]

MARKER: Final = b"@BIN@"
BLANKS: Final = b" \t\r\n"
_BLANK: Final = re.compile(rb"[ \t\r\n]")
_NOT_BLANK: Final = re.compile(rb"[^ \t\r\n]")
MAX_FILLER: Final = 100
"""Bytes of white space that may stand before a marker."""
MAX_TOKEN: Final = 1024
BASE_ALLOWANCE: Final = 16 << 20
EXPANSION: Final = 8
"""A file may expand to this many times its size plus the base allowance: weights hardly compress."""
MAX_NESTING: Final = 8
_CHUNK: Final = 1 << 16
_COMPRESSION: Final = 6
_MOST_SHOWN: Final = 40
"""Bytes of what is no number."""


class _Record(Protocol):
    GRAMMAR: Grammar


# -- reading --------------------------------------------------------------------------------------------------------


class _Source:
    """Tokens and float blocks of one open file, with a bound on how much may be read."""

    def __init__(self, stream: BinaryIO, *, binary: bool, allowance: int) -> None:
        self._stream = stream
        self._binary = binary
        self._left = allowance
        self._buffer = b""
        self._at = 0
        self._where: list[str] = []

    @contextmanager
    def inside(self, part: str) -> Iterator[None]:
        """Errors raised within are reported as being in ``part``."""
        self._where.append(part)
        yield
        self._where.pop()

    def label(self, name: str) -> None:
        """The innermost part turned out to be called ``name``."""
        if self._where:
            self._where[-1] = repr(name)

    def error(self, reason: str) -> NetFileError:
        """An error that says where in the net the reading stands."""
        place = " / ".join(self._where[-3:])
        return NetFileError(f"in {place}: {reason}" if place else reason)

    def _fill(self) -> bool:
        """Append a chunk to the unread rest of the buffer; False at the end of the file."""
        try:
            chunk = self._stream.read(_CHUNK)
        except (EOFError, OSError, zlib.error) as error:
            raise self.error(_stream_fault(error)) from error
        self._spend(len(chunk))
        self._buffer = self._buffer[self._at :] + chunk
        self._at = 0
        return bool(chunk)

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise self.error("the file expands to far more than a net of its size can hold")

    def token(self, what: str) -> str:
        """The next token."""
        while True:
            start = _NOT_BLANK.search(self._buffer, self._at)
            self._at = start.start() if start else len(self._buffer)
            match = _BLANK.search(self._buffer, self._at)
            if match is not None:
                token = self._buffer[self._at : match.start()]
                self._at = match.start()
                break
            if len(self._buffer) - self._at > MAX_TOKEN:
                raise self.error(f"{what} is longer than {MAX_TOKEN} bytes; this is no net file")
            if not self._fill():
                token, self._at = self._buffer[self._at :], len(self._buffer)
                break
        if not token:
            raise self.error(f"the file ends where {what} should stand (truncated?)")
        if len(token) > MAX_TOKEN:
            raise self.error(f"{what} is longer than {MAX_TOKEN} bytes; this is no net file")
        return token.decode("latin-1")

    def value(self, kind: TokenKind, what: str) -> Any:
        """The next token, parsed."""
        text = self.token(what)
        try:
            return kind.parse(text)
        except ValueError as error:
            shown = text if len(text) <= 40 else text[:40] + "…"
            raise self.error(f"{what} {shown!r} {error}") from error

    def floats(self, shape: tuple[int, ...], what: str) -> Array:
        """The next float block."""
        count = 1
        for size in shape:
            count *= size
        if 4 * count > self._left + len(self._buffer) - self._at and self._binary:
            raise self.error(f"{what} claims {count} numbers, more than a file of this size can hold")
        values = self._binary_floats(count, what) if self._binary else self._text_floats(count, what)
        if not np.isfinite(values).all():
            raise self.error(f"{what} contains a number that is not finite")
        return values.reshape(shape)

    def _binary_floats(self, count: int, what: str) -> Array:
        self._expect_marker(what)
        values = np.empty(count, dtype="<f4")
        target = values.data.cast("B")
        start = min(len(self._buffer) - self._at, len(target))
        target[:start] = self._buffer[self._at : self._at + start]
        self._at += start
        while start < len(target):
            step = min(len(target) - start, 16 * _CHUNK)
            try:
                chunk = self._stream.read(step)
            except (EOFError, OSError, zlib.error) as error:
                raise self.error(_stream_fault(error)) from error
            if not chunk:
                raise self.error(f"the file ends within {what} (truncated)")
            self._spend(len(chunk))
            target[start : start + len(chunk)] = chunk
            start += len(chunk)
        return values.astype(np.float32, copy=False)

    def _expect_marker(self, what: str) -> None:
        longest = MAX_FILLER + len(MARKER)
        while len(self._buffer) - self._at < longest and self._fill():
            pass
        window = self._buffer[self._at : self._at + longest]
        found = window.find(MARKER)
        if found < 0 or window[:found].strip(BLANKS):
            raise self.error(f"{what} does not begin with {MARKER.decode()}")
        self._at += found + len(MARKER)

    def _text_floats(self, count: int, what: str) -> Array:
        parts = [np.zeros(0)]
        missing = count
        while missing:
            words = self._complete_words(missing)
            if not words:
                words = [self.token(what).encode("latin-1")]  # across a chunk's end, or the file's
            parts.append(self._parse_floats(words, what))
            missing -= len(words)
        return np.concatenate(parts).astype(np.float32)

    def _complete_words(self, most: int) -> list[bytes]:
        """Up to ``most`` tokens that lie wholly in the buffer, taken from it; may be none."""
        end = max(self._buffer.rfind(blank) for blank in (b" ", b"\t", b"\r", b"\n"))
        words = self._buffer[self._at : end].split(None, most) if end > self._at else []
        rest = words.pop() if len(words) > most else b""
        if words:
            self._at = end - len(rest)
        return words

    def _parse_floats(self, words: list[bytes], what: str) -> np.ndarray[Any, Any]:
        try:
            return np.array(words).astype(np.float64)
        except ValueError:
            raise self.error(f"{what}: {_fault_of(words)}") from None

    def expect_end(self) -> None:
        """Nothing but white space may follow."""
        while True:
            if self._buffer[self._at :].strip(BLANKS):
                raise self.error("the file goes on after the value head")
            self._at = len(self._buffer)
            if not self._fill():
                return


def _fault_of(words: list[bytes]) -> str:
    """What is wrong with words of which one is no number."""
    if any(word.startswith(MARKER) for word in words):
        return "its numbers are binary, so its name should end in .bin or .bin.gz"
    wrong = next(word for word in words if not _is_number(word))
    return f"{wrong[:_MOST_SHOWN].decode('latin-1')!a} is no number"


def _is_number(word: bytes) -> bool:
    try:
        np.array([word]).astype(np.float64)
    except ValueError:
        return False
    return True


def _stream_fault(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "the compressed file is truncated"
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return f"the compressed file is damaged ({error})"
    return f"the file cannot be read ({error})"


def _read_record(source: _Source, record: type, capabilities: Capabilities, depth: int, **known: Any) -> Any:
    """One record of the given class; ``known`` are attributes that were read before."""
    values: dict[str, Any] = dict(known)
    for part in cast(_Record, record).GRAMMAR:
        present = part.when is None or part.when(capabilities, values)
        if isinstance(part, Fixed):
            if present:
                found = source.token(part.what)
                if found != str(part.value):
                    raise source.error(f"{part.what} is {found!r}; it must be {part.value}")
        elif isinstance(part, Token):
            what = part.name.replace("_", " ")
            if present:
                values[part.name] = source.value(part.kind, what)
            else:
                values[part.name] = part.absent(capabilities) if part.absent else None
            if part.kind is NAME:
                source.label(values[part.name])
        elif isinstance(part, Floats):
            shape = tuple(values[size] if isinstance(size, str) else size for size in part.shape)
            values[part.name] = source.floats(shape, part.name.replace("_", " ")) if present else None
        elif isinstance(part, Blocks):
            values[part.name] = _read_blocks(source, values[part.count], capabilities, depth)
        else:
            with source.inside(part.suffix):
                values[part.name] = _read_record(source, part.record, capabilities, depth) if present else None
    return record(**values)


def _read_blocks(source: _Source, count: int, capabilities: Capabilities, depth: int) -> list[BlockRecord]:
    if depth >= MAX_NESTING:
        raise source.error(f"blocks are nested more than {MAX_NESTING} deep")
    blocks = []
    for index in range(count):
        with source.inside(f"block {index}"):
            keyword = source.token("the block's kind")
            if keyword not in BLOCK_RECORDS:
                raise source.error(f"unknown kind of block {keyword[:40]!r}; known are {', '.join(BLOCK_RECORDS)}")
            blocks.append(_read_record(source, BLOCK_RECORDS[keyword], capabilities, depth + 1))
    return blocks


def _read_stream(stream: BinaryIO, *, binary: bool, allowance: int) -> NetRecord:
    source = _Source(stream, binary=binary, allowance=allowance)
    name = source.value(MODEL_NAME, "model name")
    version = source.value(VERSION, "model version")
    capabilities = capabilities_of(version)
    net: NetRecord = _read_record(source, NetRecord, capabilities, 0, name=name, version=version)
    source.expect_end()
    check_net(net)
    return net


def read_net(path: str | os.PathLike[str]) -> NetRecord:
    """Read and check a net file.

    NetFileError (its text begins with the file's name) if it is broken, absurd, or of an unsupported kind;
    OSError if it cannot be opened. Memory stays within about eight times the file's size plus 16 MiB.
    """
    file = Path(path)
    kind = _kind(file)
    allowance = BASE_ALLOWANCE + EXPANSION * file.stat().st_size
    compressed = file.suffix.lower() == ".gz"
    try:
        for attempt, binary in enumerate(kind):
            try:
                with file.open("rb") as raw, gzip.GzipFile(fileobj=raw) if compressed else raw as stream:
                    return _read_stream(cast(BinaryIO, stream), binary=binary, allowance=allowance)
            except NetFileError:
                if attempt == len(kind) - 1:
                    raise
    except NetFileError as error:
        raise NetFileError(f"{file.name}: {error}") from error
    raise AssertionError("no format was tried")


def _kind(file: Path) -> tuple[bool, ...]:
    """Formats to try by the file's name: True for binary floats, False for text."""
    name = file.name.lower().removesuffix(".gz")
    if name.endswith(".bin"):
        return (True,)
    if name.endswith(".txt"):
        return (False,)
    if file.suffix.lower() == ".gz":
        return (True, False)
    raise NetFileError(f"{file.name}: a net file ends in .bin.gz, .txt.gz, .bin or .txt")


# -- writing --------------------------------------------------------------------------------------------------------


class _Sink:
    """Writes tokens, one a line, and float blocks."""

    def __init__(self, stream: BinaryIO, *, binary: bool) -> None:
        self._stream = stream
        self._binary = binary

    def token(self, text: str) -> None:
        self._stream.write(text.encode("latin-1") + b"\n")

    def floats(self, values: Array) -> None:
        if self._binary:
            self._stream.write(MARKER + np.ascontiguousarray(values, dtype="<f4").tobytes() + b"\n")
        else:
            self._stream.write(" ".join(map(str, values.ravel())).encode("ascii") + b"\n")


def _write_record(sink: _Sink, record: Any, capabilities: Capabilities) -> None:
    values = vars(record)
    for part in record.GRAMMAR:
        if part.when is not None and not part.when(capabilities, values):
            continue
        if isinstance(part, Fixed):
            sink.token(str(part.value))
        elif isinstance(part, Token):
            sink.token(part.kind.form(values[part.name]))
        elif isinstance(part, Floats):
            sink.floats(values[part.name])
        elif isinstance(part, Blocks):
            for block in values[part.name]:
                sink.token(block.KEYWORD)
                _write_record(sink, block, capabilities)
        else:
            _write_record(sink, values[part.name], capabilities)


def write_net(net: NetRecord, path: str | os.PathLike[str]) -> None:
    """Write a net file in the format that its name's ending tells; equal nets give equal bytes.

    The file appears under its name only when it is complete. NetFileError if the net would not be readable.
    """
    file = Path(path)
    binary = _kind(file)[0]
    check_net(net)
    try:
        with written_whole(file) as partial, partial.open("wb") as raw:
            if file.suffix.lower() == ".gz":
                with gzip.GzipFile("", "wb", _COMPRESSION, raw, mtime=0) as stream:
                    _write_stream(cast(BinaryIO, stream), net, binary=binary)
            else:
                _write_stream(raw, net, binary=binary)
    except OSError as error:
        raise OSError(error.errno, f"cannot write {file}: {error.strerror or error}") from error


def _write_stream(stream: BinaryIO, net: NetRecord, *, binary: bool) -> None:
    sink = _Sink(stream, binary=binary)
    sink.token(net.name)
    sink.token(str(net.version))
    _write_record(sink, net, net.capabilities)
