"""How a game begins at a start position that somebody gave, which `common.position_checks` has found sound."""

from __future__ import annotations

from typing import Final

from common import wire
from common.go.basics import BLACK, EMPTY, WHITE
from common.go.points import from_vertex, point_at
from common.go.rules import Rules
from common.go.start import GameStart, Stone

_COLOURS: Final = {".": EMPTY, "X": BLACK, "O": WHITE}
_PLAYERS: Final = {"B": BLACK, "W": WHITE}


def start_of_position(position: wire.StartPosition, rules: Rules) -> GameStart:
    """The game that begins with a position's stones."""
    stones = tuple(
        (_COLOURS[letter], int(point_at(x, y)))
        for y, row in enumerate(position.board.split("/"))
        for x, letter in enumerate(row)
        if letter != "."
    )
    return GameStart(
        position.x_size,
        position.y_size,
        rules,
        stones,
        to_move=_PLAYERS[position.next_player],
        first_turn=position.initial_turn_number,
    )


def moves_of_position(position: wire.StartPosition) -> tuple[Stone, ...]:
    """What is to be played after its stones, ``(colour, point)`` each."""
    return tuple(
        (_PLAYERS[colour], _point_of(vertex, position))
        for colour, vertex in zip(position.move_colours, position.move_vertices, strict=True)
    )


def hint_of_position(position: wire.StartPosition) -> int | None:
    """The point that is to be looked at after these moves, if one is named."""
    return None if position.hint is None else _point_of(position.hint, position)


def _point_of(vertex: str, position: wire.StartPosition) -> int:
    return from_vertex(vertex, position.x_size, position.y_size)
