"""Plays the games of a match in one process: several tables at once, two of the players at each.

`Hall.play` asks for numbers of games as tables get free; `client.matches.schedule` says who plays in them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np

from client.games.chance import game_seed
from client.matches.ledger import MatchResult
from client.matches.players import Decision, Player, PlayerError
from client.matches.schedule import TWO_PLAYERS, Schedule, ScheduledGame
from common import sgf
from common.game_record import record_of
from common.go.game import Game
from common.go.passalive import AREA_SCRATCH
from common.go.points import BLACK, NUM_POINTS, WHITE, opponent
from common.go.result import result_text
from common.go.scoring import all_pass_alive
from common.go.start import GameStart

MAX_MOVES_PER_POINT: Final = 3
"""A game of more moves is stopped, and counts as it stands."""

Source = Callable[[], int | None]
"""The number of the next game to play; None: there is none."""
Sink = Callable[[MatchResult], None]


class Beginnings(Protocol):
    """Where games begin."""

    def start_of(self, pair: int) -> GameStart:
        """The opening of all games of a round."""


@dataclass
class _Table:
    """A game under way."""

    number: int
    scheduled: ScheduledGame
    game: Game
    players: dict[int, int]  # by colour, of the match
    seconds: dict[int, float] = field(default_factory=lambda: defaultdict(float))  # by player

    @property
    def player(self) -> int:
        """Whose turn it is."""
        return self.players[self.game.to_move]


class Hall:
    """The tables of one process.

    Args:
        players: of the match.
        openings: how games begin.
        tables: most games at once.
        seed: of the match.
        max_moves: a game of more is stopped; None: three for each point of its board.
        schedule: who of them plays in which game.
    """

    def __init__(
        self,
        players: Sequence[Player],
        openings: Beginnings,
        *,
        tables: int,
        seed: int,
        max_moves: int | None = None,
        schedule: Schedule = TWO_PLAYERS,
    ) -> None:
        self._players = players
        self._schedule = schedule
        self._openings = openings
        self._seed = seed
        self._max_moves = max_moves
        self._tables: dict[int, _Table] = {}
        self._free = list(range(tables))[::-1]
        self._area, self._regions = np.zeros(NUM_POINTS, np.int8), np.zeros(1, AREA_SCRATCH)[0]

    def play(self, source: Source, sink: Sink) -> None:
        """Play all games of ``source``, until it has none.

        Raises:
            PlayerError: a player cannot go on.
            ValueError: an opening that cannot be.
        """
        there_are_more = True
        while there_are_more or self._tables:
            while there_are_more and self._free:
                number = source()
                if number is None:
                    there_are_more = False
                else:
                    self._begin(number, sink)
            for index, player in enumerate(self._players):
                for table, decision in player.poll():
                    self._take(table, index, decision, sink)

    def _begin(self, number: int, sink: Sink) -> None:
        table = self._free.pop()
        scheduled = self._schedule.game(number)
        game = Game(self._openings.start_of(scheduled.opening))
        colour = BLACK if scheduled.first_is_black else WHITE
        players = {colour: scheduled.first, opponent(colour): scheduled.second}
        self._tables[table] = _Table(number, scheduled, game, players)
        for player in sorted(players.values()):
            self._players[player].begin(table, game, game_seed(self._seed, number))
        self._go_on(table, sink)

    def _take(self, table: int, player: int, decision: Decision, sink: Sink) -> None:
        seat = self._tables[table]
        seat.seconds[player] += decision.seconds
        colour = seat.game.to_move
        if decision.point is None:
            seat.game.resign(colour)
        else:
            try:
                seat.game.play(decision.point)
            except ValueError as error:
                raise PlayerError(
                    f"{self._players[player].name} plays illegally in game {seat.number}: {error}"
                ) from None
            for each in seat.players.values():
                self._players[each].played(table, colour, decision.point, decision.win_loss)
        self._go_on(table, sink)

    def _go_on(self, table: int, sink: Sink) -> None:
        """Ask who is to move, or end the game."""
        seat = self._tables[table]
        if not self._is_over(seat.game):
            self._players[seat.player].think(table, seat.game)
            return
        for player in seat.players.values():
            self._players[player].leave(table)
        self._free.append(table)
        sink(self._result(self._tables.pop(table)))

    def _is_over(self, game: Game) -> bool:
        most = self._max_moves or MAX_MOVES_PER_POINT * game.x_size * game.y_size
        return game.finished or len(game.moves) >= most or bool(all_pass_alive(game.state, self._area, self._regions))

    def _result(self, seat: _Table) -> MatchResult:
        """Who has won; a game that was stopped counts as it stands."""
        game = seat.game
        result = game.result or result_text(game.score())
        first, second, first_is_black, _opening, _unit = seat.scheduled
        winner = {"B": seat.players[BLACK], "W": seat.players[WHITE]}.get(result[0])
        names = {colour: self._players[player].name for colour, player in seat.players.items()}
        record = record_of(game, black_name=names[BLACK], white_name=names[WHITE])
        return MatchResult(
            number=seat.number,
            first_is_black=first_is_black,
            points=0.5 if winner is None else float(winner == first),
            result=result,
            moves=len(game.moves),
            seconds=(seat.seconds[first], seat.seconds[second]),
            sgf=sgf.write(replace(record, result=result)),
            players=(first, second),
        )
