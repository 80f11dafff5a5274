"""Where one game begins: at a fork, at a start position, or on the empty board (selfplay.md 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from client.games.draft import Draft
from client.games.setup import draw_board, draw_rules
from client.games.start_positions import hint_of_position, moves_of_position, start_of_position
from client.games.starts import Fork, ForkKind, GivenStart
from common.go.start import GameStart, PlayerView
from common.parameters import GameInitParameters
from common.replay import MAX_TURNS

NORMAL: Final = "normal"
FORK: Final = "fork"
HINT_FORK: Final = "hintfork"
SGF_POSITION: Final = "sgfpos"
HINT_POSITION: Final = "hintpos"


@dataclass(frozen=True)
class Origin:
    """A game where it begins, before komi, handicap and opening."""

    draft: Draft
    game_type: str  # one of the five above
    hint: int | None = None  # a point that the first search is to look at
    is_seki_fork: bool = False
    training_weight: float = 1.0

    @property
    def is_pool(self) -> bool:
        """It goes on with a finished game."""
        return self.game_type in (FORK, HINT_FORK)

    @property
    def is_position(self) -> bool:
        """It begins at a position that somebody gave."""
        return self.game_type in (SGF_POSITION, HINT_POSITION)


def origin_of(
    given: GivenStart | None, init: GameInitParameters, view: PlayerView, random: np.random.Generator
) -> Origin:
    """Draw rules and board where nothing else determines them, and play up to where the game begins."""
    if isinstance(given, Fork):
        return _of_fork(given, view)
    rules = draw_rules(init, random)
    size = draw_board(init, random)  # drawn for positions too, so that what follows does not depend on them
    if given is None:
        return Origin(Draft(GameStart(*size, rules), view), NORMAL)
    draft = Draft(start_of_position(given, rules), view)
    is_whole = all(_can_play(draft, colour, point) for colour, point in moves_of_position(given))
    hint = hint_of_position(given) if is_whole and not draft.is_over else None
    if hint is not None and not draft.is_legal(hint):
        hint = None
    return Origin(draft, SGF_POSITION if hint is None else HINT_POSITION, hint, training_weight=given.training_weight)


def _of_fork(fork: Fork, view: PlayerView) -> Origin:
    draft = Draft(fork.start, view)
    for colour, point in fork.moves:
        if not draft.play_legal(colour, point):
            raise ValueError(f"move {len(draft.moves) + 1} of a fork is illegal")
    return Origin(
        draft,
        HINT_FORK if fork.kind is ForkKind.HINT else FORK,
        is_seki_fork=fork.kind is ForkKind.SEKI,
        training_weight=fork.training_weight,
    )


def _can_play(draft: Draft, colour: int, point: int) -> bool:
    """Play a recorded move; False where it cannot be, or leaves no room for a game."""
    return len(draft.moves) < MAX_TURNS // 2 and draft.play_legal(colour, point)
