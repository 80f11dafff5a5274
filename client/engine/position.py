"""The position that an engine is asked about, and what interfaces may do to it.

A `Position` holds one `common.go.game.Game` and exchanges it: boards of other sizes, stones that are set up, other
rules, moves of either colour, undo. Whatever it refuses leaves it as it was. Knows no protocol and no search.
Specification: engine.md 2, 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from common.go.game import Game
from common.go.points import BLACK, WHITE
from common.go.rules import Rules
from common.go.start import GameStart, Stone


class IllegalMoveError(ValueError):
    """A move that no interface may make: on a stone, or the suicide of a single stone.

    Args:
        index: which of the moves that were given, from 0.
    """

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index


def game_after(start: GameStart, moves: Iterable[Stone], *, prevents_cleanup: bool = False) -> Game:
    """The game that a start and moves lead to, of either colour, whether or not the rules allow them.

    Raises:
        ValueError: the stones of the start cannot stand.
        IllegalMoveError: a move that is impossible under any rules.
    """
    game = Game(start, prevents_cleanup=prevents_cleanup)
    for index, (colour, point) in enumerate(moves):
        try:
            game.play(point, colour, tolerant=True)
        except ValueError as error:
            raise IllegalMoveError(index, str(error)) from error
    return game


class Position:
    """A game that an interface goes about with.

    Args:
        start: how it begins.
        prevents_cleanup: see `Game`.
    """

    def __init__(self, start: GameStart, *, prevents_cleanup: bool) -> None:
        self.game = Game(start, prevents_cleanup=prevents_cleanup)

    @property
    def rules(self) -> Rules:
        """Those of the game, with komi."""
        return self.game.rules

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self.game.x_size, self.game.y_size

    @property
    def is_empty(self) -> bool:
        """Whether the game begins on an empty board and has no move."""
        return not (self.game.start.stones or self.game.start.moves or self.game.moves)

    # -- another beginning --

    def begin(self, start: GameStart, moves: Sequence[Stone] = ()) -> None:
        """Another game with its first moves; ValueError as `game_after`."""
        self.game = game_after(start, moves, prevents_cleanup=self.game.prevents_cleanup)

    def resize(self, x_size: int, y_size: int) -> None:
        """An empty board of another size under the same rules; ValueError for one that cannot be."""
        self.begin(replace(self._bare_start(), x_size=x_size, y_size=y_size))

    def clear(self) -> None:
        """An empty board of the same size under the same rules."""
        self.begin(self._bare_start())

    def set_up(self, stones: Iterable[Stone], to_move: int) -> None:
        """Stones on the empty board, no past; ValueError if they cannot stand so."""
        self.begin(replace(self._bare_start(), stones=tuple(stones), to_move=to_move))

    def set_handicap(self, points: Iterable[int]) -> None:
        """Black's stones before the game, White to move; ValueError if they cannot stand so."""
        self.set_up(((BLACK, point) for point in points), WHITE)

    def use_rules(self, rules: Rules) -> None:
        """The same stones and moves under other rules and komi."""
        self.game = self.game.under(rules)

    def _bare_start(self) -> GameStart:
        """The start on an empty board of this size, under these rules."""
        start = self.game.start
        return GameStart(
            start.x_size,
            start.y_size,
            start.rules,
            leading_moves_are_handicap=start.leading_moves_are_handicap,
        )

    # -- moves --

    def play(self, colour: int, point: int) -> None:
        """A move of either colour, whatever the rules say of ko, repetition and suicide; ValueError if impossible."""
        self.game.play(point, colour, tolerant=True)

    def undo(self) -> None:
        """Take the last move back; ValueError if there is none."""
        self.game.undo()
