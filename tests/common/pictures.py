"""Boards as pictures in tests: rows from the top, ``/`` between them; ``X`` black, ``O`` white, ``.`` empty."""

from __future__ import annotations

from typing import Any

from common.go.board import reset, set_stone
from common.go.points import BLACK, NO_POINT, WHITE, point_at
from common.go.rules import Rules
from common.go.state import new_states

_COLOURS = {"X": BLACK, "O": WHITE}
_LETTERS = ".XO"


def state_of(picture: str, rules: Rules | None = None) -> Any:
    """A STATE with the stones of ``picture``, Black to move, without bonuses."""
    rows = picture.replace("/", " ").split()
    state = new_states(1)[0]
    reset(state, len(rows[0]), len(rows))
    (rules or Rules()).write_to(state)
    state["to_move"] = BLACK
    state["ko_point"] = NO_POINT
    for y, row in enumerate(rows):
        for x, letter in enumerate(row):
            if letter != ".":
                assert set_stone(state, point_at(x, y), _COLOURS[letter]), f"no board: {picture}"
    return state


def picture_of(state: Any, area: Any) -> str:
    """The picture of ``area``, an array over points, in the rows of ``state``'s board joined by ``/``."""
    return "/".join(
        "".join(_LETTERS[area[point_at(x, y)]] for x in range(state["x_size"])) for y in range(state["y_size"])
    )


def result_score(result: str) -> float:
    """White's score minus Black's of a result such as ``W+3.5``, ``B+12`` or ``0``."""
    return 0.0 if result == "0" else float(result[2:]) * (1 if result[0] == "W" else -1)
