"""What a player of a match is: somebody who is told how games go at several tables, and asked for moves.

Players think at many tables at once: `Player.think` begins, `Player.poll` tells whoever has come to an end. A table has
one game at a time. Implementations: `client.matches.programs` (another program that speaks GTP) and
`client.matches.net_player`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from common.go.game import Game
from common.go.start import GameStart


class PlayerError(RuntimeError):
    """A player that cannot go on; the text says who, what it was asked and what it said."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a player does with its turn."""

    point: int | None  # a point or PASS; None: it resigns
    seconds: float  # that it thought
    win_loss: float | None = None  # White's, as it sees the game; None: it does not say


class Player(Protocol):
    """One side of a match, at all tables of a process."""

    name: str

    def warm_up(self, start: GameStart) -> None:
        """Do what takes long at the first move, so that it counts to nobody's time; games will begin like ``start``.

        Raises:
            PlayerError: the player cannot play.
        """

    def begin(self, table: int, game: Game, seed: int) -> None:
        """A game begins at ``table``, perhaps after moves of an opening; ``seed`` is of all that is drawn in it."""

    def think(self, table: int, game: Game) -> None:
        """It is this player's turn at ``table``; the game does not change before the decision is told."""

    def poll(self) -> list[tuple[int, Decision]]:
        """Do a bit of work; the tables where a decision has been made since the last call.

        Returns soon, whether or not there is one.

        Raises:
            PlayerError: the player cannot go on.
        """

    def played(self, table: int, colour: int, point: int, win_loss: float | None) -> None:
        """A move was played at ``table``, this player's or the other's, and how its player sees the game."""

    def leave(self, table: int) -> None:
        """The game at ``table`` is over."""

    def close(self) -> None:
        """Give everything back; nothing is asked afterwards."""
