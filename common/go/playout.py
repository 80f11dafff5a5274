"""Random games: uniform over the legal moves that do not fill an own one-point eye; a pass only if there is none.

Knows nothing of networks. Random numbers come from the caller's state, so that a game can be repeated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from common.go.play import is_legal, play
from common.go.points import EMPTY, PASS, STRIDE, WALL
from common.go.state import History, State
from common.kernels import njit


@njit(cache=True, nogil=True)
def random_below(random: Any, bound: int) -> int:
    """A number from 0 to ``bound - 1``; ``random`` (uint64 [1]) is the generator's state, changed in place.

    SplitMix64, mapped by multiplication; the bias of at most ``bound / 2**32`` is far below what games can show.
    """
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    word = random[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return int(np.int64(((word >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32)))


@njit(cache=True, nogil=True)
def fills_own_eye(state: State, point: int) -> bool:
    """Whether every neighbour of ``point`` on the board is a stone of the player to move."""
    colour = state["colour"]
    own = state["to_move"]
    return bool(
        (colour[point - STRIDE] == own or colour[point - STRIDE] == WALL)
        and (colour[point - 1] == own or colour[point - 1] == WALL)
        and (colour[point + 1] == own or colour[point + 1] == WALL)
        and (colour[point + STRIDE] == own or colour[point + STRIDE] == WALL)
    )


@njit(cache=True, nogil=True)
def _list_empty(state: State, empty: Any) -> int:
    """Write the empty points of the board into ``empty``; returns how many there are."""
    colour = state["colour"]
    count = 0
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        for point in range(first, first + state["x_size"]):
            empty[count] = point
            count += colour[point] == EMPTY
    return count


@njit(cache=True, nogil=True)
def play_random_game(state: State, history: History, random: Any, empty: Any, max_turns: int) -> int:
    """Play random turns until the game is finished or ``max_turns`` turns have been played.

    Args:
        state, history: a game in progress, changed in place.
        random: uint64 [1], the generator's state, changed in place.
        empty: int16 [NUM_POINTS], scratch.
        max_turns: bound on the turns played here.

    Returns:
        The number of turns played.
    """
    count = _list_empty(state, empty)
    captured = state["captured"]
    removed = captured[1] + captured[2]
    turns = 0
    while turns < max_turns and state["finished"] == 0:
        # Draw without replacement: a point that may not be played goes behind the end of what is left to draw from.
        left = count
        move = PASS
        while left > 0:
            drawn = random_below(random, left)
            left -= 1
            point = empty[drawn]
            empty[drawn] = empty[left]
            empty[left] = point
            if not fills_own_eye(state, point) and is_legal(state, history, point):
                move = point
                break
        if not play(state, history, move):
            break
        turns += 1
        if captured[1] + captured[2] != removed:
            removed = captured[1] + captured[2]
            count = _list_empty(state, empty)
        elif move != PASS:
            count -= 1
            empty[left] = empty[count]
    return turns
