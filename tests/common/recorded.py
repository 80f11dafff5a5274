"""Recorded games (`rules_games`, `rules_rare`, `rawnet`, ...) as `Game` objects."""

from __future__ import annotations

from typing import Any

from common.go.game import Game
from common.go.points import BLACK, WHITE, from_vertex
from common.go.rules import Rules
from common.go.start import GameStart

COLOURS = {"B": BLACK, "W": WHITE}


def start_of(record: dict[str, Any]) -> Game:
    """The game of a record before its first move."""
    x_size, y_size = record["xSize"], record["ySize"]
    return Game(
        GameStart(
            x_size,
            y_size,
            Rules.from_json(record["rules"]).with_komi(record["komi"]),
            stones=tuple(
                (COLOURS[colour], from_vertex(vertex, x_size, y_size)) for colour, vertex in record["initialStones"]
            ),
            to_move=COLOURS[record["initialPlayer"]],
        )
    )
