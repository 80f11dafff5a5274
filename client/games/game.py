"""A game in progress: its record so far, its live position, and how it ends.

Knows the rules only through the kernels of `common.go`. Which move is played, and by what search, is decided in
`client.games.selfplay_game` and `client.commands.match`. Specification: selfplay.md 7.
"""

from __future__ import annotations

import numpy as np

from common.go import play
from common.go.passalive import AREA_SCRATCH
from common.go.points import NUM_POINTS, WHITE
from common.go.scoring import all_pass_alive
from common.go.start import PLAIN_VIEW, GameStart, PlayerView, start_position
from common.replay import MAX_TURNS


class GameInProgress:
    """Record and position of one game.

    Args:
        start: the game before its first move.
        max_searched_moves: the game is stopped after so many searched moves (`start_searching` begins their count).
        view: what its player sees in its own way.
    """

    def __init__(self, start: GameStart, max_searched_moves: int, view: PlayerView = PLAIN_VIEW) -> None:
        self.start, self.view = start, view
        self.state, self.history = start_position(start, view)
        self.colours: list[int] = []
        self.points: list[int] = []
        self.first_searched_turn = 0
        self._max_searched_moves = max_searched_moves
        self._area = np.zeros(NUM_POINTS, np.int8)
        self._scratch = np.zeros(1, AREA_SCRATCH)[0]

    @property
    def turn(self) -> int:
        """Moves played so far."""
        return len(self.points)

    @property
    def white_to_move(self) -> bool:
        """Whether White is on turn."""
        return bool(self.state["to_move"] == WHITE)

    @property
    def is_over(self) -> bool:
        """The rules have ended the game."""
        return bool(self.state["finished"])

    @property
    def hit_move_limit(self) -> bool:
        """The game has to be stopped as it stands; the record may also be full before the limit is reached."""
        searched = self.turn - self.first_searched_turn
        return not self.is_over and (searched >= self._max_searched_moves or self.turn >= MAX_TURNS)

    def all_pass_alive(self) -> bool:
        """Every point of the board is decided (rules.md 4.3)."""
        return bool(all_pass_alive(self.state, self._area, self._scratch))

    def start_searching(self) -> None:
        """The opening is over; the moves from here on count towards the move limit."""
        self.first_searched_turn = self.turn

    def play(self, point: int) -> None:
        """Play a legal move or pass for the player to move."""
        self.colours.append(int(self.state["to_move"]))
        self.points.append(point)
        play.play(self.state, self.history, point)
