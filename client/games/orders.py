"""What goes into a stream of games and what comes out: plain data that can be pickled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from client.games.starts import Fork, GivenStart
from client.networks import Network
from common.audit import GameFacts
from common.rows import Rows
from common.wire import StartPosition

if TYPE_CHECKING:  # the table of kinds names what plays, and that knows orders
    from client.games.kinds import GameKind


@dataclass(frozen=True, kw_only=True)
class GameOrder:
    """One game to play. It follows from this alone, up to the rounding of the evaluator.

    Whoever needs more with the finished game derives a class from this one: the order comes back with the game.
    """

    seed: int
    kind: GameKind[Any]
    config: str  # KataGo configuration text (common.parameters)
    black: Network
    white: Network
    length: int  # edge of the tensors of the rows
    bots: tuple[int, int] = (0, 1)  # match: which bot of the configuration is Black, which White
    start: GivenStart | None = None  # where it begins; None: on the empty board

    @property
    def positions(self) -> Sequence[StartPosition]:
        """Where games of the same origin may begin besides, for the audit."""
        return (self.start,) if isinstance(self.start, StartPosition) else ()


@dataclass(frozen=True, slots=True)
class NetChange:
    """A game went on with another network."""

    turn: int  # of the record; its search is the first one by that network
    network: Network


@dataclass(frozen=True)
class FinishedGame:
    """A game that came to its end."""

    order: GameOrder
    facts: GameFacts
    sgf: str  # one line
    rows: Rows | None  # None for match games, and for self-play of which no turn became a row
    leader: str  # who won, or is ahead where the move limit stopped the game: B, W, 0 for a draw, - for none
    forks: tuple[Fork, ...] = ()  # games to be played besides, which go on from it (`client.games.fork_pools`)
    seki_forks: tuple[Fork, ...] = ()  # games of which some are to be played
    net_changes: tuple[NetChange, ...] = ()  # by turn

    @property
    def last_network(self) -> Network:
        """By which a game of self-play ended; its order names the one by which it began."""
        return self.net_changes[-1].network if self.net_changes else self.order.black
