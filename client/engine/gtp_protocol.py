"""The Go Text Protocol as lines: what a command is, how it is answered. Knows no command but ``quit``.

Specification: engine.md 1.
"""

from __future__ import annotations

import io
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TextIO

MAX_LINE: Final = 1_000_000
"""Characters of a line; a longer one is refused, and never held in memory as a whole."""

Command = Callable[[list[str]], str]
"""Takes the arguments, gives the answer; may raise `GtpError`."""


class GtpError(Exception):
    """A refusal of a command; the text follows the question mark."""


def serve(commands: Mapping[str, Command], lines: Iterable[str], output: TextIO) -> None:
    """Answer each line of ``lines`` on ``output``, flushed, until ``quit`` or the end of input.

    A command that fails for a reason of our own is answered too, and its traceback goes to stderr: one command, one
    answer, whatever happens.
    """
    for line in lines:
        words = clean(line[:MAX_LINE]).split()
        if not words:
            continue
        number = words.pop(0) if re.fullmatch(r"\d{1,18}", words[0]) else ""
        if len(line) > MAX_LINE:
            sign, text = "?", f"the line has more than {MAX_LINE} characters"
            words = []
        else:
            sign, text = _answer(commands, words)
        output.write(f"{sign}{number} {text}\n\n")
        output.flush()
        if words[:1] == ["quit"]:
            return


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


def _answer(commands: Mapping[str, Command], words: list[str]) -> tuple[str, str]:
    if not words:
        return "?", "empty command"
    command = commands.get(words[0])
    if command is None:
        return "?", "unknown command"
    try:
        return "=", command(words[1:])
    except GtpError as refusal:
        return "?", str(refusal)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        return "?", f"internal error: {' '.join(str(error).split()) or type(error).__name__}"
