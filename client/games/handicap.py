"""Handicap games: extra black stones, placed by the net's policy before Black's first move (selfplay.md 5)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from client.games import draws
from client.games.draft import Draft
from client.games.inquiries import Inquirer
from client.games.playing import Script
from common.go import board
from common.go.handicap import most_extra_stones
from common.go.points import BLACK, point_of
from common.parameters import GameInitParameters


def draw_extra_stones(init: GameInitParameters, x_size: int, y_size: int, random: np.random.Generator) -> int:
    """How many stones Black has besides its first move; 0 in most games."""
    fixed, most = init.num_extra_black_fixed, most_extra_stones(x_size, y_size)
    if (fixed is None and most == 0) or not draws.coin(random, init.handicap_prob):
        return 0
    return fixed if fixed is not None else 1 + int(random.integers(most))


def place_stones(
    draft: Draft, count: int, temperature: float, length: int, inquirer: Inquirer, random: np.random.Generator
) -> Script[int]:
    """Set up ``count`` black stones; returns how many there was room for.

    Each is drawn from the raw policy to the power of 1 / ``temperature``, without the pass; after each the game begins
    anew with all of them, so that nobody sees in which order they came.
    """
    for placed in range(count):
        result = yield from inquirer.raw(draft.state, draft.history, seat=0)
        policy = _on_living_points(result.raw_policy[:-1], draft.state, length)
        if not (policy > 0).any():
            return placed
        point = int(point_of(draws.policy_position(policy, temperature, random), length))
        draft.restart(replace(draft.start, stones=(*draft.start.stones, (BLACK, point))))
    return count


def _on_living_points(policy: npt.NDArray[np.float32], state: np.void, length: int) -> npt.NDArray[np.float32]:
    """The policy but for moves that would take the stones off the board again, where suicide is allowed."""
    dead = [
        position
        for position in np.flatnonzero(policy > 0)
        if board.would_be_suicide(state, point_of(int(position), length), BLACK)
    ]
    policy = policy.copy()
    policy[dead] = 0.0
    return policy
