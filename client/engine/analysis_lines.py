"""Lines of the analysis engine: JSON objects in and out, and actions, which are requests for no analysis.

What a stranger sends costs work in proportion to its length, which is bounded, and is answered by an error in KataGo's
form. Specification: engine.md 10, 11 (form of the JSON).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from common import json_text

MAX_LINE: Final = 4_000_000
"""Bytes of a line; a longer one is refused, and never held in memory as a whole."""
SHOWN: Final = 200
"""Characters of a line that a refusal repeats."""
ACTIONS: Final = ("query_version", "query_models", "clear_cache", "terminate", "terminate_all")


Identifier = str | int | float
"""Of a request: a string, or in a refusal the number that somebody gave instead."""


class LineError(ValueError):
    """A line that is no request; ``id`` and ``field`` as far as they are known."""

    def __init__(self, text: str, identifier: Identifier | None = None, field: str | None = None) -> None:
        super().__init__(text)
        self.id, self.field = identifier, field


@dataclass(frozen=True, slots=True)
class Action:
    """A request for something else than an analysis; the answer repeats ``fields``."""

    name: str  # one of ACTIONS
    fields: Mapping[str, Any]
    terminate_id: str | None = None  # None: every query
    turns: frozenset[int] | None = None  # None: every turn


def lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream, each cut soon after `MAX_LINE` bytes, without those of blanks alone."""
    while line := stream.readline(MAX_LINE + 1):
        rest = line
        while len(rest) > MAX_LINE and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_LINE + 1)
        if not line.isspace():
            yield line


def read_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line.

    Raises:
        LineError: it is too long, no JSON by the letter, or no object.
    """
    shown = _shown(line.decode("utf-8", "replace").strip())
    if len(line) > MAX_LINE:
        raise LineError(f"more than {MAX_LINE} bytes - could not parse input line as json request: {shown}")
    try:
        value = _strict(line.decode("utf-8"))
    except ValueError as error:
        raise LineError(f"{error} - could not parse input line as json request: {shown}") from None
    if not isinstance(value, dict):
        raise LineError(f"Request line was valid json but was not an object, ignoring: {_shown(to_json(value))}")
    return value


def read_action(fields: Mapping[str, Any]) -> Action | None:
    """What a request asks for if it is no analysis.

    Raises:
        LineError: there is no id, or no such action, or it lacks what it needs.
    """
    identifier = fields.get("id")
    if not isinstance(identifier, str):
        is_number = isinstance(identifier, (int, float)) and not isinstance(identifier, bool)
        raise LineError('Request must have a string "id" field', identifier if is_number else None)
    name = fields.get("action")
    if not isinstance(name, str):
        return None
    if name not in ACTIONS:
        names = " or ".join(f"'{action}'" for action in ACTIONS)
        raise LineError(f"'action' field must be {names}", identifier)
    target = None
    if name == "terminate":
        target = fields.get("terminateId")
        if not isinstance(target, str):
            text = 'Requests for a terminate action must have a string "terminateId" field'
            raise LineError(text, identifier, "terminateId")
    return Action(name, fields, target, _read_turns(fields, identifier) if name.startswith("terminate") else None)


def _read_turns(fields: Mapping[str, Any], identifier: str) -> frozenset[int] | None:
    if "turnNumbers" not in fields:
        return None
    turns = fields["turnNumbers"]
    if not isinstance(turns, list) or not all(isinstance(turn, int) and not isinstance(turn, bool) for turn in turns):
        text = "If provided, must be an array of integers indicating turns to terminate"
        raise LineError(text, identifier, "turnNumbers")
    return frozenset(turns)


def error_object(error: str, identifier: Identifier | None = None, field: str | None = None) -> dict[str, Any]:
    """The answer to what is refused; with the id wherever one can be read, also where KataGo leaves it out."""
    named = {"field": field, "id": identifier}
    return {"error": error} | {name: value for name, value in named.items() if value is not None}


def to_json(value: object) -> str:
    """Compact JSON with sorted keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _strict(text: str) -> Any:
    """JSON by the letter: no NaN, no number beyond all bounds, no half of a surrogate pair; ValueError otherwise."""
    value = json_text.loads(text, parse_float=_finite, parse_constant=_refuse_constant)
    if "\\u" in text:
        try:
            to_json(value).encode()
        except UnicodeEncodeError:
            raise ValueError("not JSON: half of a surrogate pair") from None
    return value


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"number overflow parsing '{digits[:40]}'")
    return number


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _shown(text: str) -> str:
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
