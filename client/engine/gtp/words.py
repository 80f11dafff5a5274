"""Arguments of commands, read or refused in KataGo's words (engine.md 2). Knows boards by their size only."""

from __future__ import annotations

import math
import re
from typing import Final

from client.engine.gtp.protocol import GtpError
from common.decimals import real_number
from common.go.points import BLACK, WHITE, from_vertex

SHOWN: Final = 200
"""Characters of an argument that a refusal repeats."""
_COLOURS: Final = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}


def is_colour(word: str) -> bool:
    """Whether a word names a colour."""
    return word.lower() in _COLOURS


def colour_of(word: str) -> int:
    """BLACK or WHITE."""
    colour = _COLOURS.get(word.lower())
    if colour is None:
        raise GtpError(f"Could not parse color: '{shown(word)}'")
    return colour


def point_of_word(word: str, size: tuple[int, int]) -> int:
    """A point of the board, or PASS."""
    try:
        return from_vertex(word, *size)
    except ValueError:
        raise GtpError(f"Could not parse vertex: '{shown(word)}'") from None


def whole_number(word: str) -> int | None:
    """The number that a word writes; None if it is none, or has more than nine digits."""
    return int(word) if re.fullmatch(r"[+-]?\d{1,9}", word) else None


def number(word: str) -> float | None:
    """The number that a word writes; None if it is none."""
    try:
        value = real_number(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def expected(what: str, command: str, words: list[str]) -> GtpError:
    """The refusal of arguments that are too few, too many or of the wrong kind."""
    return GtpError(f"Expected {what} for {command} but got '{shown(' '.join(words))}'")


def shown(text: str) -> str:
    """A text as a refusal repeats it: not too long, and on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"
