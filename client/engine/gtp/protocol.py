"""The Go Text Protocol as lines: how a command is read, run and answered. Knows no command but ``quit``.

A command answers with a text, or with a `Stream` of lines that goes on while it works. Lines may arrive meanwhile: any
line, even an empty one, ends a stream that does not insist on its end. Specification: engine.md 1.
"""

from __future__ import annotations

import io
import re
import sys
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TextIO

MAX_LINE: Final = 1_000_000
"""Characters of a line; a longer one is refused, and never held in memory as a whole."""


class GtpError(Exception):
    """A refusal of a command; the text follows the question mark."""


class Interrupted(Exception):
    """Thrown into a stream when another line has arrived; what it still yields belongs to its answer."""


Lines = Generator[str | None, None, None]
"""Lines of an answer as they come; None after each bit of work that brings none."""


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that takes its time; a GtpError before the first line, or None, is a refusal."""

    lines: Lines
    is_list: bool = True
    """Whether the sign stands in a line of its own, and any number of lines follows; else there is one line."""
    goes_on: bool = False
    """Whether lines that arrive wait for its end."""


Command = Callable[[list[str]], str | Stream]
"""Takes the arguments, gives the answer; may raise `GtpError`."""


class Input(Protocol):
    """Lines that arrive; `client.engine.input_queue.InputQueue` is one."""

    is_open: bool

    def take(self, *, wait: bool) -> str | None:
        """The next line; None if there is none, with ``wait`` only where none will come."""
        ...


class Background(Protocol):
    """What goes on between commands: pondering."""

    @property
    def is_busy(self) -> bool:
        """Whether there is something to do."""
        ...

    def go_on(self) -> None:
        """A bit of it."""
        ...

    def stop(self) -> None:
        """End it; a line has arrived."""
        ...


def serve(commands: Mapping[str, Command], lines: Input, output: TextIO, background: Background) -> None:
    """Answer each line on ``output``, flushed, until ``quit`` or the end of input.

    A command that fails for a reason of our own is answered too, and its traceback goes to stderr: one command, one
    answer, whatever happens.
    """
    answering = _Answering(output)
    is_quit = False
    while not is_quit:
        is_idle = not answering.is_under_way and not background.is_busy
        line = lines.take(wait=is_idle)
        if line is None:
            if not lines.is_open:
                break
            if answering.is_under_way:
                answering.go_on()
            else:
                background.go_on()
            continue
        answering.interrupt()
        background.stop()
        is_quit = _take(commands, line, answering)
    answering.interrupt()
    background.stop()


def _take(commands: Mapping[str, Command], line: str, answering: _Answering) -> bool:
    """Answer a line, or begin to; whether it was the last."""
    words = clean(line[:MAX_LINE]).split()
    if not words:
        return False
    answering.number = words.pop(0) if re.fullmatch(r"\d{1,18}", words[0]) else ""
    if len(line) > MAX_LINE:
        answering.say("?", f"the line has more than {MAX_LINE} characters")
    elif not words:
        answering.say("?", "empty command")
    elif words[0] not in commands:
        answering.say("?", "unknown command")
    else:
        answering.begin(commands[words[0]], words[1:])
        return words[0] == "quit"
    return False


class _Answering:
    """The answer to one command after the other."""

    def __init__(self, output: TextIO) -> None:
        self.number = ""
        self._output = output
        self._stream: Stream | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether a stream has not ended."""
        return self._stream is not None

    def begin(self, command: Command, words: list[str]) -> None:
        """Run a command: to its end, unless it answers with a stream that can be interrupted."""
        try:
            answer = command(words)
            first = None if isinstance(answer, str) else next(answer.lines, None)
        except GtpError as refusal:
            self.say("?", str(refusal))
            return
        except Exception as error:
            self.say("?", f"internal error: {_told(error)}")
            return
        if isinstance(answer, str):
            self.say("=", answer)
            return
        self._stream = answer
        if answer.is_list:
            self._write(f"={self.number}\n")
        self._write_line(first)
        while answer.goes_on and self._stream is not None:
            self.go_on()

    def go_on(self) -> None:
        """Let the stream work a bit, and write its next line."""
        assert self._stream is not None
        try:
            line = next(self._stream.lines)
        except StopIteration:
            self._end()
        except Exception as error:
            self._fail(error)
        else:
            self._write_line(line)

    def interrupt(self) -> None:
        """End the answer that is under way, if there is one."""
        if self._stream is None:
            return
        try:
            line = self._stream.lines.throw(Interrupted())
            while True:
                self._write_line(line)
                line = next(self._stream.lines)
        except (StopIteration, Interrupted):
            self._end()
        except Exception as error:
            self._fail(error)

    def say(self, sign: str, text: str) -> None:
        """A whole answer."""
        self._write(f"{sign}{self.number} {text}\n\n")

    def _write_line(self, line: str | None) -> None:
        if line is not None:
            assert self._stream is not None
            self._write(f"{line}\n" if self._stream.is_list else f"={self.number} {line}\n")

    def _end(self) -> None:
        self._stream = None
        self._write("\n")

    def _fail(self, error: Exception) -> None:
        """End a stream that has failed; a refusal only where nothing was said."""
        assert self._stream is not None
        text = str(error) if isinstance(error, GtpError) else f"internal error: {_told(error)}"
        is_list, self._stream = self._stream.is_list, None
        if is_list:
            sys.stderr.write(f"{text}\n")
            self._write("\n")
        else:
            self.say("?", text)

    def _write(self, text: str) -> None:
        self._output.write(text)
        self._output.flush()


def _told(error: Exception) -> str:
    """An error in one line, after its traceback on stderr."""
    traceback.print_exception(error, file=sys.stderr)
    return " ".join(str(error).split()) or type(error).__name__


def lines_of(stream: TextIO) -> Iterator[str]:
    """The lines of a stream without waiting for more than one, each cut soon after `MAX_LINE` characters."""
    while line := stream.readline(MAX_LINE + 1):
        rest = line
        while len(rest) > MAX_LINE and not rest.endswith("\n"):
            rest = stream.readline(MAX_LINE + 1)
        yield line


def any_bytes(stream: TextIO) -> TextIO:
    """The stream, if it is one of bytes, taking UTF-8 and every other byte as well, whatever the locale says."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    return stream


def clean(line: str) -> str:
    """A line without comment, control characters and what is not ASCII; tabs are blanks."""
    kept = "".join(character for character in line.replace("\t", " ") if " " <= character <= "~")
    return kept.partition("#")[0].strip()
