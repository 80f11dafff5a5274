"""Where a game may begin instead of the empty board: a position of a finished game, or one that somebody gave.

Plain data that goes between processes; how a game is begun from it is `client.games.origins`' business.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

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
