"""What a game and the table at which it is played say to each other; nothing here computes.

A game is asked for its `next_search`, told by `take` what was found, and gives itself by `finish`. It never sees a
search pool: whoever runs the searches keeps the trees too, and moves them on by the moves that `take` tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from client.games.orders import FinishedGame, GameOrder
    from client.search.pool import SearchResult


class Purpose(IntEnum):
    """What a search in a game is for."""

    OPENING = 0
    """The raw policy, from which a move of the opening is drawn."""
    WARM_UP = 1
    """Fixes the score centre before a turn is searched with altered visits; no move follows."""
    TURN = 2
    """The move to play, and what is recorded of the turn."""


@dataclass(frozen=True, slots=True)
class SearchOrder:
    """A search that a game needs next."""

    purpose: Purpose
    seat: int  # whose network searches: index into the game's seats
    state: np.void  # STATE, and its HISTORY; copied before the game goes on
    history: np.void
    parameters: np.void  # of client.search.parameters.to_record
    visits: int
    seed: int
    keep_tree: bool  # go on in the tree of the last search by this seat, as far as it reaches
    lcb: bool | None = None  # of `SearchPool.choose_move`
    policy_target: bool = False  # whether it is wanted


@dataclass(frozen=True, slots=True)
class Found:
    """What a search said."""

    result: SearchResult
    point: int | None  # drawn for a TURN; otherwise None
    policy_target: npt.NDArray[np.float64] | None  # [length ** 2 + 1], if it was wanted


class Playing(Protocol):
    """A game that is played, of whatever kind."""

    def next_search(self) -> SearchOrder | None:
        """The search to run now; None: the game is over. To be asked once before each `take`."""

    def take(self, found: Found) -> int | None:
        """Take what the search found; returns the point that was played, or None if no move follows from it."""

    def finish(self, order: GameOrder) -> FinishedGame:
        """What is kept of the game, which is over and was played for ``order``."""
