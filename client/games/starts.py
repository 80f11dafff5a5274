"""Where a game may begin instead of the empty board: a position of a finished game, or one that somebody gave.

Plain data that goes between processes; how a game is begun from it is `client.games.origins`' business.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from common import wire
from common.go.start import GameStart, Stone


class ForkKind(IntEnum):
    """How a fork came about; it decides what the new game is called."""

    PLAIN = 0
    """By a move that the net liked best among some random ones."""
    SEKI = 1
    """Near the end of a game in which points belonged to nobody, under other rules."""
    HINT = 2
    """By the hinted move that a game had not played."""


@dataclass(frozen=True)
class Fork:
    """A position of a finished game, to be gone on with (selfplay.md 2)."""

    kind: ForkKind
    start: GameStart  # of the finished game, under the fork's rules and komi; its own ``moves`` are none
    moves: tuple[Stone, ...]  # from there on
    training_weight: float  # of the finished game's rows


GivenStart = Fork | wire.StartPosition


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """How a game came about, as its record and its rows tell it."""

    game_type: str = "normal"  # of common.sgf_record.GAME_TYPES
    extra_black: int = 0  # handicap stones besides Black's first move
    white_doublings: float = 0.0  # of playouts; negative where Black has more
    hint: int | None = None  # point that the first search looks at
    used_initial_position: bool = False  # it goes on with a finished game
    is_seki_fork: bool = False
    training_weight: float = 1.0  # of its rows

    @property
    def is_near_hint(self) -> bool:
        """Its first turns are searched in full more often (selfplay.md 7)."""
        return self.hint is not None or self.game_type == "hintfork"


PLAIN: Final = Provenance()
"""A game on the empty board."""
