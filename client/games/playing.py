"""What a game and the table at which it is played say to each other; nothing here computes.

A game has three parts. Its beginning and what is asked after its end are scripts (`Script`): one search at a time,
ordered and told as Python's objects. Between them are its turns, in kernels for all games that are due at once: the
games write orders into `Games.turns` and read there what was found. They never see a search pool: whoever runs the
searches keeps the trees too, and moves them on by the moves that the orders tell.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from client.search.guidance import NO_GUIDANCE, Guidance
from common.parameter_classes import UNLIMITED

if TYPE_CHECKING:
    from client.games.game import Notes
    from client.games.orders import FinishedGame, GameOrder
    from client.games.played import TurnNotes
    from client.search.pool import SearchResult
    from client.search.turns import Slots, Turns

_T = TypeVar("_T")

CACHE_MIB: Final = 256
"""What the kept evaluations of a network may take unless told otherwise."""


class Purpose(IntEnum):
    """What a search in a game is for."""

    BESIDE_TURNS = 0
    """What a script asks: the raw policy, the fair komi, the net's word on a fork."""
    WARM_UP = 1
    """Fixes the score centre before a turn is searched with altered visits; no move follows."""
    TURN = 2
    """The move to play, and what is recorded of the turn."""
    WARM_UP_AGAIN = 3
    """Before a turn that is searched again when the game is over."""
    TURN_AGAIN = 4
    """A turn that had a cheap search, in full when the game is over."""
    SIDE_POSITION = 5
    """A position beside the game; the turn is its number."""


@dataclass(frozen=True, slots=True)
class SearchOrder:
    """A search that a game's script needs next."""

    seat: int  # whose network searches: index into the game's seats
    state: np.void  # STATE, and its HISTORY; to be copied before the game goes on
    history: np.void
    parameters: np.void  # of client.search.parameters.to_record
    visits: int
    seed: int
    symmetry_salt: int  # of `SearchPool.start`
    keep_tree: bool = False  # go on in the tree of the script's last search by this seat, as far as it reaches
    playouts: int = UNLIMITED
    guidance: Guidance = NO_GUIDANCE
    first_turn: int = 0  # number of the record's first turn, where that starts in mid-game
    tells: bool = False  # what is found is told as of a turn, too: in the slot's place in `Games.turns`


Script: TypeAlias = "Generator[SearchOrder, SearchResult, _T]"
"""Yields a search that is to be run, and is sent what it found; returns a `_T`. At most one search runs at a time."""


class Games(Protocol):
    """Games of one kind, configuration and networks that are played beside each other, each in a slot.

    From its first turn on, how a game goes on follows from its record (`client.games.game`) and the search trees of its
    slot alone.
    """

    records: npt.NDArray[np.void]
    """[slots] of a `client.games.game.game_dtype`."""
    notes: dict[int, Notes]
    """By slot, of the games that run."""
    turn_notes: TurnNotes
    turns: Turns
    """By slot; ``orders`` are written by `go_on`, what was found is written before it is asked again.

    What a script's search that `SearchOrder.tells` has found stays there until the script's next search; the move is
    drawn as the search's parameters say.
    """

    def begin(self, slot: int, order: GameOrder) -> Script[None]:
        """Begin the game of ``order`` in a slot without one; the searches before its first turn."""

    def go_on(self, slots: Slots) -> list[int]:
        """Take what the searches of ``slots`` have found, and order what is to be searched next.

        Asked first when the beginning is over, and whenever a search that it ordered is finished.

        Returns:
            Those of ``slots`` whose game is over; nothing is ordered there.
        """

    def end(self, slot: int, order: GameOrder) -> Script[FinishedGame]:
        """What is kept of the game in ``slot``, which is over and was played for ``order``; the slot is free after."""
