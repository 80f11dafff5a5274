"""A game that is being begun: its start, the moves before the first searched turn, and the live position."""

from __future__ import annotations

from copy import copy

import numpy as np

from common.go import play, scoring
from common.go.passalive import AREA_SCRATCH
from common.go.points import EMPTY, NUM_POINTS, point_at
from common.go.start import GameStart, PlayerView, Stone, start_position


class Draft:
    """A beginning, changed move by move until it is given to a game.

    Args:
        start: the game before its first move; without moves of its own.
        view: what its player sees in its own way.
    """

    def __init__(self, start: GameStart, view: PlayerView) -> None:
        self.view = view
        self.restart(start)

    def restart(self, start: GameStart) -> None:
        """Begin anew with ``start``; all moves are forgotten."""
        self.start = start
        self.moves: list[Stone] = []
        self.state, self.history = start_position(start, self.view)

    @property
    def is_over(self) -> bool:
        """The rules have ended the game."""
        return bool(self.state["finished"])

    @property
    def to_move(self) -> int:
        """BLACK or WHITE."""
        return int(self.state["to_move"])

    @property
    def komi(self) -> float:
        """Of the game as it stands."""
        return self.start.rules.komi

    def set_komi(self, komi: float) -> None:
        """Go on under another komi."""
        self.start = self.start.under(self.start.rules.with_komi(komi))
        self.state["komi"] = komi

    def play(self, point: int) -> None:
        """Play a legal move or pass for the player to move."""
        self.moves.append((self.to_move, point))
        play.play(self.state, self.history, point)

    def is_legal(self, point: int) -> bool:
        """Whether the player to move may play ``point`` or PASS."""
        return bool(play.is_legal(self.state, self.history, point))

    def play_legal(self, colour: int, point: int) -> bool:
        """Play a recorded move if it is ``colour``'s turn, the game goes on and the rules allow it."""
        if self.is_over or colour != self.to_move or not self.is_legal(point):
            return False
        self.play(point)
        return True

    def branch(self) -> Draft:
        """A copy to try moves on."""
        other = copy(self)
        other.moves, other.state, other.history = list(self.moves), self.state.copy(), self.history.copy()
        return other

    def stones(self) -> tuple[Stone, ...]:
        """What stands on the board."""
        points = (int(point_at(x, y)) for y in range(self.start.y_size) for x in range(self.start.x_size))
        return tuple(
            (int(self.state["colour"][point]), point) for point in points if self.state["colour"][point] != EMPTY
        )

    def is_decided(self) -> bool:
        """Every point of the board is decided by pass-alive groups (rules.md 4.3)."""
        area, regions = np.zeros(NUM_POINTS, np.int8), np.zeros(1, AREA_SCRATCH)[0]
        return bool(scoring.all_pass_alive(self.state, area, regions))
