"""What names an evaluation: 128 bits of what the net is shown of a position (search.md 13).

Two kinds of keys. That of a *situation* leaves the moves out that led to it, as KataGo's does: what the net said of the
position after one history answers for all others. That of the *inputs* has whatever the inputs depend on, so that an
evaluation under it, together with the symmetry, is the same whoever asked first. Knows no tree and no table.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from client.search.keys import mixed_words, situation_key
from common.features import FeatureOptions, included_turns
from common.go.play import is_once_banned, pass_repeats
from common.go.points import EMPTY, MAIN_PHASE, NO_POINT, NUM_POINTS, STRIDE
from common.go.scoring import own_komi
from common.go.state import History, State
from common.go.symmetry import NUM_SYMMETRIES
from common.go.zobrist import split_mix_64
from common.kernels import njit

_NUM_BOARDS: Final = 2  # earlier boards whose ladders the net is shown
_NUM_TABLES: Final = 2 + 2 * _NUM_BOARDS * 4
_WORDS: Final = split_mix_64(0xCAC4E, _NUM_TABLES * NUM_POINTS + 2 * NUM_SYMMETRIES + 2).copy()
_TABLES: Final = _WORDS[: _NUM_TABLES * NUM_POINTS].reshape(_NUM_TABLES, NUM_POINTS)
_ONCE_BANNED: Final = _TABLES[:2].copy()  # [word, point]
_EARLIER: Final = _TABLES[2:].reshape(_NUM_BOARDS, 4, 2, NUM_POINTS).copy()  # [turns ago - 1, colour, word, point]
_KO: Final = 3  # beside the colours of `_EARLIER`: the point that ko forbids
_SYMMETRIES: Final = _WORDS[_NUM_TABLES * NUM_POINTS : -2].reshape(NUM_SYMMETRIES, 2).copy()  # [symmetry, word]
_TOLD_SALT: Final = _WORDS[-2]
_MOVES_SALT: Final = _WORDS[-1]

_BITS_PER_POINT: Final = np.uint64(9)
_SYMMETRY_SHIFT: Final = np.uint64(61)  # leaves three bits
_HALF: Final = np.uint64(32)


@njit(cache=True, nogil=True)
def _told(state: State, history: History, options: FeatureOptions, turns: int) -> Any:
    """What the net is told of passes and ends, and whether it is shown a move, as one np.uint64."""
    passes = min(int(state["consecutive_passes"]), 2)
    repeats = pass_repeats(state, history)
    ends = passes > 0 or repeats
    told = np.uint64(passes)
    for flag in (
        repeats,
        ends and options.conservative_pass_at_root,
        ends and options.passing_hacks,
        state["finished"] != 0,
        state["past_end"] != 0,
        turns > 0,
    ):
        told = (told << np.uint64(1)) | np.uint64(flag)
    return told


@njit(cache=True, nogil=True)
def _earlier_boards(state: State, boards: int) -> tuple[Any, Any]:
    """The boards of the last ``boards`` turns, at most two."""
    first = np.uint64(0)
    second = np.uint64(0)
    for age in range(boards):
        colour = state["earlier_colour"][age]
        for y in range(state["y_size"]):
            start = (y + 1) * STRIDE + 1
            for point in range(start, start + state["x_size"]):
                if colour[point] != EMPTY:
                    first ^= _EARLIER[age, colour[point], 0, point]
                    second ^= _EARLIER[age, colour[point], 1, point]
        ko_point = state["earlier_ko_point"][age]
        if ko_point != NO_POINT:
            first ^= _EARLIER[age, _KO, 0, ko_point]
            second ^= _EARLIER[age, _KO, 1, ko_point]
    return first, second


@njit(cache=True, nogil=True)
def _history_key(state: State, turns: int) -> tuple[Any, Any]:
    """The last ``turns`` moves, the boards before them as far as their ladders are shown, and komi to the last bit."""
    moves = np.uint64(turns)
    for turn in range(turns):
        moves = (moves << _BITS_PER_POINT) | np.uint64(state["recent_point"][turn])
    komi = np.float64(own_komi(state)).view(np.uint64)
    first, second = mixed_words(moves, komi, _MOVES_SALT)
    earlier_first, earlier_second = _earlier_boards(state, min(turns, _NUM_BOARDS))
    return first ^ earlier_first, second ^ earlier_second


@njit(cache=True, nogil=True)
def evaluation_key(
    state: State, history: History, options: FeatureOptions, optimism: float, with_history: bool
) -> tuple[Any, Any]:
    """Two np.uint64 that name what the net says of a position, but for the symmetry.

    Args:
        state: the position, of which nothing is changed.
        history: its HISTORY, read only.
        options: what else the inputs depend on.
        optimism: weight of the optimistic policy.
        with_history: the key of the inputs; otherwise that of the situation.
    """
    first, second = situation_key(state, history)
    return key_of_situation(first, second, state, history, options, optimism, with_history)


@njit(cache=True, nogil=True)
def key_of_situation(
    first: Any,
    second: Any,
    state: State,
    history: History,
    options: FeatureOptions,
    optimism: float,
    with_history: bool,
) -> tuple[Any, Any]:
    """`evaluation_key` from the two words of `client.search.keys.situation_key`."""
    if state["phase"] > MAIN_PHASE:
        for y in range(state["y_size"]):
            start = (y + 1) * STRIDE + 1
            for point in range(start, start + state["x_size"]):
                if state["colour"][point] == EMPTY and is_once_banned(state, history, point):
                    first ^= _ONCE_BANNED[0, point]
                    second ^= _ONCE_BANNED[1, point]
    turns = included_turns(state, options, False)
    told = _told(state, history, options, turns)
    told |= np.uint64(np.float32(optimism).view(np.uint32)) << _HALF
    advantage = np.float64(options.playout_doubling_advantage + 0.0).view(np.uint64)  # a zero less than 0 is 0
    told_first, told_second = mixed_words(told, advantage, _TOLD_SALT)
    first ^= told_first
    second ^= told_second
    if with_history:
        told_first, told_second = _history_key(state, turns)
        first ^= told_first
        second ^= told_second
    return first, second


@njit(cache=True, nogil=True)
def key_symmetry(second: Any, salt: int) -> int:
    """The symmetry that the second word of a key draws; all are equally likely, and each of the eight salts in which
    a game may draw has another one."""
    return int(np.int64(second >> _SYMMETRY_SHIFT)) ^ salt


@njit(cache=True, nogil=True)
def with_symmetry(first: Any, second: Any, symmetry: int) -> tuple[Any, Any]:
    """The key of an evaluation in one symmetry."""
    return first ^ _SYMMETRIES[symmetry, 0], second ^ _SYMMETRIES[symmetry, 1]
