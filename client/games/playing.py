"""What a game and the table at which it is played say to each other; nothing here computes.

Games of one kind are asked for the `next_searches` of all that are due, told by `take` what was found, and give
themselves by `finish`. They never see a search pool: whoever runs the searches keeps the trees too, and moves them on
by the moves that `take` tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from client.search.guidance import NO_GUIDANCE, Guidance
from common.parameter_classes import FOREVER, UNLIMITED

if TYPE_CHECKING:
    from client.games.orders import FinishedGame, GameOrder
    from client.search.pool import SearchResult


CACHE_MIB: Final = 256
"""What the kept evaluations of a network may take unless told otherwise."""


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
    state: np.void  # STATE, and its HISTORY; to be copied before the game goes on
    history: np.void
    parameters: np.void  # of client.search.parameters.to_record
    visits: int
    seed: int
    keep_tree: bool  # go on in the tree of the last search by this seat, as far as it reaches
    symmetry_salt: int  # of `SearchPool.start`
    playouts: int = UNLIMITED
    seconds: float = FOREVER  # by the clock, however many games share the time
    lcb: bool | None = None  # of `SearchPool.choose_move`
    policy_target: bool = False  # whether it is wanted
    guidance: Guidance = NO_GUIDANCE


@dataclass(frozen=True, slots=True)
class Found:
    """What a search said."""

    result: SearchResult | None  # None of a WARM_UP, of which only the tree is wanted
    point: int | None  # drawn for a TURN; otherwise None
    policy_target: npt.NDArray[np.float64] | None  # [length ** 2 + 1], if it was wanted


class Games(Protocol):
    """Games of one kind, configuration and networks that are played beside each other, each in a slot.

    How a game goes on follows from its record (`client.games.game`) and the search trees of its slot alone.
    """

    def begin(self, slot: int, order: GameOrder) -> None:
        """Begin the game of ``order`` in a slot without one."""

    def next_searches(self, due: Sequence[int]) -> list[SearchOrder | None]:
        """The search to run now for each slot of ``due``; None: its game is over. Asked once before each `take`."""

    def take(self, due: Sequence[int], found: Sequence[Found]) -> list[int | None]:
        """Take what the searches of the slots ``due`` found.

        Returns the points that were played, None for a slot where no move follows.
        """

    def finish(self, slot: int, order: GameOrder) -> FinishedGame:
        """What is kept of the game in ``slot``, which is over and was played for ``order``; frees the slot."""
