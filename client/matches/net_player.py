"""A network with its settings as a player: all its tables share the batches of one `client.engine.queries.Queries`."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from client.engine.queries import Queries, Query, Ticket
from client.games.chance import search_seed, symmetry_salt
from client.games.decided import first_resignation_turn, should_resign
from client.games.playing import Purpose
from client.matches.openings import Openings
from client.matches.players import Decision, PlayerError
from client.search.limits import Limits, limits_of
from client.search.parameters import to_record
from common.go.game import Game
from common.go.points import WHITE, point_of
from common.go.start import GameStart
from common.parameters import MatchParameters, SearchParameters

_POLICY_OPENING: Final = 1
"""Keeps these draws apart from those of boards and rules, which the same seeds decide."""


@dataclass
class _Seat:
    """A table at which the player sits."""

    seed: int
    win_losses: list[float] = field(default_factory=list)  # White's, of whoever said them, the newest last
    since: float = 0.0  # when it began to think


class NetPlayer:
    """A network at several tables; see `client.matches.players.Player`.

    Args:
        name: for records.
        queries: through its network; closed with the player.
        search: how it searches, limits of visits, playouts and time included.
        match: when it resigns.
    """

    def __init__(self, name: str, queries: Queries, search: SearchParameters, match: MatchParameters) -> None:
        self.name = name
        self.queries = queries
        self._search = search
        self._match = match
        self._record = to_record(search)
        self._seats: dict[int, _Seat] = {}
        self._tables: dict[Ticket, int] = {}  # of the searches that run

    def warm_up(self, start: GameStart) -> None:
        """Load the network, compile the search, and let the backend settle on its shapes."""
        self.raw_policy(Game(start), 0)

    def begin(self, table: int, game: Game, seed: int) -> None:
        """Forget what was searched at this table."""
        self.queries.forget(table)
        self._seats[table] = _Seat(seed)

    def think(self, table: int, game: Game) -> None:
        """Ask for a search."""
        seat = self._seats[table]
        seat.since = time.monotonic()
        search = self._search
        query = Query(
            game=game,
            parameters=self._record,
            seed=search_seed(seat.seed, game.turn, Purpose.TURN),
            draw_white_wins=search.draw_equivalent_wins_for_white,
            limits=limits_of(search),
            line=table,
            symmetry_salt=symmetry_salt(seat.seed),
        )
        self._tables[self.queries.ask(query)] = table

    def poll(self) -> list[tuple[int, Decision]]:
        """One round of all searches."""
        decisions = []
        for ticket in self.queries.poll() if self.queries.is_busy else ():
            table = self._tables.pop(ticket)
            if ticket.result is None or ticket.point is None:
                raise PlayerError(f"{self.name} failed: {ticket.error}") from ticket.error
            seat = self._seats[table]
            win_loss = ticket.result.mean.win_loss
            point = None if self._resigns(ticket.query.game, seat, win_loss) else ticket.point
            decisions.append((table, Decision(point, time.monotonic() - seat.since, win_loss)))
        return decisions

    def played(self, table: int, colour: int, point: int, win_loss: float | None) -> None:
        """Remember how its player saw the game."""
        if win_loss is not None:
            self._seats[table].win_losses.append(win_loss)

    def leave(self, table: int) -> None:
        """Drop the tree."""
        self.queries.forget(table)

    def close(self) -> None:
        """Give the network back."""
        self.queries.close()

    def raw_policy(self, game: Game, seed: int) -> npt.NDArray[np.float64]:
        """The network's policy [L * L + 1] by position, 0 where illegal; waits for it.

        Raises:
            PlayerError: the network failed.
        """
        try:
            ticket = self.queries.run(Query(game=game, parameters=self._record, seed=seed, limits=Limits(visits=1)))
        except Exception as error:
            raise PlayerError(f"{self.name} failed: {error}") from error
        assert ticket.result is not None
        return np.maximum(ticket.result.raw_policy.astype(np.float64), 0.0)

    def _resigns(self, game: Game, seat: _Seat, win_loss: float) -> bool:
        """Whether it gives up instead of playing, as both players have long seen it lose (selfplay.md 9)."""
        if not self._match.allow_resignation or game.turn <= first_resignation_turn(game.x_size * game.y_size):
            return False
        values, threshold = np.array([*seat.win_losses, win_loss]), self._match.resign_threshold
        turns = self._match.resign_consec_turns
        return bool(should_resign(values, 0, len(values), game.to_move == WHITE, threshold, turns))


@dataclass(frozen=True)
class PolicyOpenings:
    """Openings with moves drawn from a network's raw policy added; they follow from the number of the pair alone.

    Args:
        player: whose network is asked.
        openings: what they begin with.
        moves: drawn after that.
        seed: of the draws.
    """

    player: NetPlayer
    openings: Openings
    moves: int
    seed: int

    def start_of(self, pair: int) -> GameStart:
        """The opening of a pair; it ends before a move that would end the game."""
        game = Game(self.openings.start_of(pair))
        random = np.random.default_rng([self.seed, pair, _POLICY_OPENING])
        for _ in range(self.moves):
            policy = self.player.raw_policy(game, int(random.integers(1 << 63)))
            policy[-1] = 0.0  # an opening has no passes
            if policy.sum() <= 0.0:
                break
            position = int(random.choice(len(policy), p=policy / policy.sum()))
            game.play(int(point_of(position, max(game.x_size, game.y_size))))
        return game.start.followed_by(game.moves)
