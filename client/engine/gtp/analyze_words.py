"""Arguments of analysis commands: ``[colour] [interval] {key value}`` (engine.md 4). Knows the board by its size."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from client.engine.gtp.protocol import GtpError
from client.engine.gtp.words import colour_of, is_colour, number, point_of_word, shown, whole_number
from client.search.guidance import Avoided, all_but

_CENTISECONDS: Final = 100.0
_MOST_MOVES: Final = 1_000_000_000
_FLAGS: Final = {
    "rootInfo": "root_info",
    "ownership": "ownership",
    "ownershipStdev": "ownership_stdev",
    "movesOwnership": "moves_ownership",
    "movesOwnershipStdev": "moves_ownership_stdev",
    "pvVisits": "pv_visits",
    "pvEdgeVisits": "pv_edge_visits",
    "noResultValue": "no_result_value",
}
"""Keys with true or false, and the field of `Wanted` that each sets."""
_LZ_FLAGS: Final = ("pvVisits",)
"""Those that the lz- commands know too."""


@dataclass(slots=True, kw_only=True)
class Restriction:
    """Moves that a colour is not to try, or the only ones that it is to, so many turns from the root on."""

    colour: int
    points: tuple[int, ...]
    until_depth: int


@dataclass(slots=True, kw_only=True)
class Wanted:
    """What an analysis command asks for."""

    colour: int | None = None
    interval: float = math.inf  # seconds between reports
    min_moves: int = 0
    max_moves: int = _MOST_MOVES
    avoid: list[Restriction] = field(default_factory=list)
    allow: list[Restriction] = field(default_factory=list)
    root_info: bool = False
    ownership: bool = False
    ownership_stdev: bool = False
    moves_ownership: bool = False
    moves_ownership_stdev: bool = False
    pv_visits: bool = False
    pv_edge_visits: bool = False
    no_result_value: bool = False

    @property
    def any_ownership(self) -> bool:
        """Whether ownership has to be searched for."""
        return self.ownership or self.ownership_stdev or self.any_moves_ownership

    @property
    def any_moves_ownership(self) -> bool:
        """Whether that of each move has."""
        return self.moves_ownership or self.moves_ownership_stdev


def parse_wanted(words: list[str], size: tuple[int, int], *, command: str, is_lz: bool = False) -> Wanted:
    """Read arguments; GtpError if they cannot be read, are out of range or contradict each other."""
    try:
        return _parse(words, size, is_lz)
    except (GtpError, ValueError, IndexError):
        told = shown(" ".join(words))
        raise GtpError(f"Could not parse {command} arguments or arguments out of range: '{told}'") from None


def _parse(words: list[str], size: tuple[int, int], is_lz: bool) -> Wanted:
    wanted = Wanted()
    rest = list(words)
    if rest and is_colour(rest[0]):
        wanted.colour = colour_of(rest.pop(0))
    if rest and number(rest[0]) is not None:
        wanted.interval = _interval(rest.pop(0))
    while rest:
        key = rest.pop(0)
        if key in ("avoid", "allow"):
            getattr(wanted, key).append(_restriction(rest, size))
        elif key in _FLAGS and (not is_lz or key in _LZ_FLAGS):
            setattr(wanted, _FLAGS[key], _flag(rest.pop(0)))
        else:
            name, read = _NUMBERS[key] if key in _NUMBERS else _unknown(key)
            setattr(wanted, name, read(rest.pop(0)))
    _check(wanted)
    return wanted


def avoided(wanted: Wanted, size: tuple[int, int]) -> tuple[Avoided, ...]:
    """The moves that are not to be tried: those named, and all but those allowed."""
    named = [Avoided(each.colour, point, each.until_depth) for each in wanted.avoid for point in each.points]
    for each in wanted.allow:
        named += all_but(each.points, each.colour, *size, until_depth=each.until_depth)
    return tuple(named)


def _unknown(key: str) -> Any:
    raise ValueError(f"unknown key {key}")


def _restriction(rest: list[str], size: tuple[int, int]) -> Restriction:
    """Of the next three words."""
    colour, vertices, depth = colour_of(rest.pop(0)), rest.pop(0), _count(rest.pop(0))
    if depth < 1:
        raise ValueError("a depth below 1")
    points = tuple(point_of_word(vertex, size) for vertex in vertices.split(",") if vertex)
    return Restriction(colour=colour, points=points, until_depth=depth)


def _check(wanted: Wanted) -> None:
    """One list of allowed moves for each colour, and then none to avoid."""
    allowed = [each.colour for each in wanted.allow]
    if len(set(allowed)) < len(allowed) or set(allowed) & {each.colour for each in wanted.avoid}:
        raise ValueError("allowed moves are given twice, or beside moves to avoid")


def _interval(word: str) -> float:
    value = number(word)
    if value is None or value < 0:
        raise ValueError(word)
    return value / _CENTISECONDS


def _count(word: str) -> int:
    value = whole_number(word)
    if value is None or value < 0:
        raise ValueError(word)
    return value


def _flag(word: str) -> bool:
    if word.lower() not in ("true", "false"):
        raise ValueError(word)
    return word.lower() == "true"


_NUMBERS: Final[dict[str, tuple[str, Callable[[str], float]]]] = {
    "interval": ("interval", _interval),
    "minmoves": ("min_moves", _count),
    "maxmoves": ("max_moves", _count),
}
