"""What names a position in a hash table: 128 bits of everything that decides how the game can go on from it.

Two words of 64 bits each, of which a collision needs both. What belongs to points is hashed by fixed random words,
XORed (Zobrist hashing); what is one number per position is packed into three words and mixed by the rounds of
`client.search.rng.philox`, whose products do not wrap around. Source: search.md 7 (the hash S); the evaluation cache
(search.md 13) begins from the same `situation_key`. Knows no tree.

The moves that led to a position are not part of it, except for what they forbid now.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from client.search.rng import philox
from common.go.board import is_illegal_suicide
from common.go.play import is_superko_banned, pass_would_end_phase
from common.go.points import EMPTY, MAIN_PHASE, NO_POINT, NUM_POINTS, SECOND_CLEANUP, STRIDE
from common.go.scoring import own_komi
from common.go.state import History, State
from common.go.zobrist import split_mix_64
from common.kernels import njit

KOMI_STEPS: Final = 256.0
"""Komi counts in steps of 1/256 point, the rest cut off."""

_NUM_TABLES: Final = 12
_WORDS: Final = split_mix_64(0x5EA2C4, _NUM_TABLES * NUM_POINTS + 2).copy()
_TABLES: Final = _WORDS[: _NUM_TABLES * NUM_POINTS].reshape(_NUM_TABLES, NUM_POINTS)
# STATE keeps a first word of the stones up to date; this is the second.
_STONES: Final = np.concatenate([np.zeros((1, NUM_POINTS), np.uint64), _TABLES[:2]])  # [colour, point]
_SIMPLE_KO: Final = _TABLES[2:4].copy()  # [word, point]
_BANNED: Final = _TABLES[4:6].copy()  # [word, point]
_BLOCKED: Final = _TABLES[6:8].copy()  # [word, point]
_STARTED: Final = _TABLES[8:].reshape(2, 2, NUM_POINTS).copy()  # [word, colour - 1, point]
_SITUATION_SALT: Final = _WORDS[_NUM_TABLES * NUM_POINTS]
_STANDING_SALT: Final = _WORDS[_NUM_TABLES * NUM_POINTS + 1]

_LOW: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)
_ZERO: Final = np.uint64(0)


@njit(cache=True, nogil=True)
def mixed_words(first: Any, second: Any, salt: Any) -> tuple[Any, Any]:
    """128 well mixed bits from 128 others, one to one; ``salt`` tells one use from another. All np.uint64."""
    a, b, c, d = philox(first & _LOW, first >> _HALF, second & _LOW, second >> _HALF, salt & _LOW, salt >> _HALF)
    return (b << _HALF) | a, (d << _HALF) | c


@njit(cache=True, nogil=True)
def _points_key(state: State, history: History) -> tuple[Any, Any]:
    """Stones, what repetition forbids, and the markings of the cleanup phases."""
    first = state["grid_key"]
    second = _ZERO
    colour = state["colour"]
    phase = state["phase"]
    to_move = state["to_move"]
    for y in range(state["y_size"]):
        start = (y + 1) * STRIDE + 1
        for point in range(start, start + state["x_size"]):
            second ^= _STONES[colour[point], point]
            if phase == MAIN_PHASE:
                if (
                    colour[point] == EMPTY
                    and is_superko_banned(state, history, point)
                    and not is_illegal_suicide(state, point, to_move)
                ):
                    first ^= _BANNED[0, point]
                    second ^= _BANNED[1, point]
                continue
            if state["ko_blocked"][point] != 0:
                first ^= _BLOCKED[0, point]
                second ^= _BLOCKED[1, point]
            owner = state["second_cleanup_start"][point]
            if phase == SECOND_CLEANUP and owner != EMPTY:
                first ^= _STARTED[0, owner - 1, point]
                second ^= _STARTED[1, owner - 1, point]
    if state["ko_point"] != NO_POINT:
        first ^= _SIMPLE_KO[0, state["ko_point"]]
        second ^= _SIMPLE_KO[1, state["ko_point"]]
    return first, second


@njit(cache=True, nogil=True)
def _packed_rules(state: State) -> Any:
    """Board size, turn, phase and rules in one np.uint64; the codes of the rules are below 4."""
    packed = _ZERO
    for field in (state["x_size"], state["y_size"]):
        packed = (packed << np.uint64(5)) | np.uint64(field)
    for code in (
        state["to_move"],
        state["phase"],
        state["ko_rule"],
        state["scoring_rule"],
        state["tax_rule"],
        state["suicide"],
        state["has_button"],
        state["friendly_pass_ok"],
        state["pass_alive_suicide"],
        state["button_left"],
    ):
        packed = (packed << np.uint64(2)) | np.uint64(code)
    return packed


@njit(cache=True, nogil=True)
def situation_key(state: State, history: History) -> tuple[Any, Any]:
    """Two np.uint64 that name the board, whose turn it is, and the rules with komi as that player sees it.

    Equal for positions that differ only in how they came about, which includes all passes so far, as long as the same
    points are forbidden.
    """
    first, second = _points_key(state, history)
    komi = np.uint64(np.int64(own_komi(state) * KOMI_STEPS)) & _LOW
    scalar_first, scalar_second = mixed_words(_packed_rules(state), komi, _SITUATION_SALT)
    return first ^ scalar_first, second ^ scalar_second


@njit(cache=True, nogil=True)
def state_key(state: State, history: History) -> tuple[Any, Any]:
    """`situation_key` told apart by the passes just made, by whether one more ends the phase, and by an end."""
    first, second = situation_key(state, history)
    standing = np.uint64(4 * (state["no_result"] != 0) + 2 * (state["finished"] != 0))
    if pass_would_end_phase(state, history):
        standing |= np.uint64(1)
    passes = np.uint64(state["consecutive_passes"])
    standing_first, standing_second = mixed_words(standing, passes, _STANDING_SALT)
    return first ^ standing_first, second ^ standing_second
