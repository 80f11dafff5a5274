"""Kinds of values in a configuration text: how each is read, checked against its range, and written.

A field of a parameter class carries a `Key`: KataGo's name for it and its kind. Which parameters exist is in
`common.parameters`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, Final

from common.go.basics import BLACK, WHITE

_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_INTEGER: Final = re.compile(r"[+-]?\d{1,20}")


@dataclass(frozen=True, slots=True)
class Kind:
    """How a value is read (``ValueError`` with a text that follows the key) and written."""

    read: Callable[[str], Any]
    write: Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class Key:
    """KataGo's name of a parameter.

    Args:
        name: the key in a configuration text.
        kind: its values.
        derived: the default where it depends on other parameters: a function of the values by field name.
        old_name: an earlier name that is still read.
        required: a text must give it although programs need not.
        unsaid: a value outside the range, which holds where no text gives one, and which no text can give.
    """

    name: str
    kind: Kind
    derived: Callable[[Mapping[str, Any]], Any] | None = None
    old_name: str | None = None
    required: bool = False
    unsaid: Any = None


def number(low: float, high: float) -> Kind:
    """A number from ``low`` to ``high``."""

    def read(text: str) -> float:
        if not _NUMBER.fullmatch(text):
            raise ValueError(f"{text!r} is not a number")
        value = float(text)
        if not low <= value <= high:
            raise ValueError(f"{text} is not within {number_text(low)} to {number_text(high)}")
        return value

    return Kind(read, number_text)


def half_points(low: float, high: float) -> Kind:
    """An integer or half-integer from ``low`` to ``high``."""
    base = number(low, high)

    def read(text: str) -> float:
        value: float = base.read(text)
        if not (2 * value).is_integer():
            raise ValueError(f"{text} is neither an integer nor a half-integer")
        return value

    return Kind(read, number_text)


def integer(low: int, high: int) -> Kind:
    """An integer from ``low`` to ``high``."""

    def read(text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise ValueError(f"{text!r} is not an integer")
        if not low <= int(text) <= high:
            raise ValueError(f"{text} is not within {low} to {high}")
        return int(text)

    return Kind(read, str)


def _read_boolean(text: str) -> bool:
    known = {"true": True, "false": False}
    if text.lower() not in known:
        raise ValueError(f"{text!r} is neither true nor false")
    return known[text.lower()]


BOOLEAN: Final = Kind(_read_boolean, lambda value: "true" if value else "false")


TEXT: Final = Kind(str, str)
"""Any text."""


def member(enum: type[IntEnum]) -> Kind:
    """The name of a member of ``enum``."""

    def read(text: str) -> IntEnum:
        if text not in enum.__members__:
            raise ValueError(f"{text!r} is none of {', '.join(enum.__members__)}")
        return enum[text]

    return Kind(read, lambda value: enum(value).name)


def choice(enum: type[StrEnum]) -> Kind:
    """The value of a member of ``enum``."""

    def read(text: str) -> StrEnum:
        try:
            return enum(text.lower())
        except ValueError:
            raise ValueError(f"{text!r} is none of {', '.join(enum)}") from None

    return Kind(read, str)


def _read_colour(text: str) -> int:
    colours = {"black": BLACK, "b": BLACK, "white": WHITE, "w": WHITE}
    if text.lower() not in colours:
        raise ValueError(f"{text!r} is neither BLACK nor WHITE")
    return colours[text.lower()]


COLOUR: Final = Kind(_read_colour, lambda value: "WHITE" if value == WHITE else "BLACK")


def _pair(what: str) -> Kind:
    """Two whole numbers with a dash between; ``what`` ends the sentence about others."""

    def read(text: str) -> tuple[int, int]:
        found = re.fullmatch(r"(\d{1,4})-(\d{1,4})", text)
        if not found:
            raise ValueError(f"{text!r} is not {what}")
        return int(found[1]), int(found[2])

    return Kind(read, lambda value: f"{value[0]}-{value[1]}")


SIZE_PAIR: Final = _pair("a size such as 9-13")
"""Width and height of a board."""
BOT_PAIR: Final = _pair("a pair of bots such as 0-2")
"""Two bots of a match by their indices."""


def several(element: Kind) -> Kind:
    """Values separated by commas, at least one; a tuple."""

    def read(text: str) -> tuple[Any, ...]:
        return tuple(element.read(part.strip()) for part in text.split(","))

    return Kind(read, lambda values: ",".join(element.write(value) for value in values))


def number_text(value: float) -> str:
    """Shortest text that reads back as ``value``: ``0.25``, ``19``, ``1e+50``."""
    if math.isfinite(value) and abs(value) < 1e15 and float(value).is_integer():
        return str(int(value))
    return repr(float(value))
