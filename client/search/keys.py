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
from common.go.bitrows import lowest_index
from common.go.board import is_illegal_suicide
from common.go.play import is_once_banned, is_superko_banned, pass_would_end_phase, unblocked_stone
from common.go.points import EMPTY, MAIN_PHASE, MAX_LENGTH, NO_POINT, NUM_POINTS, SECOND_CLEANUP, STRIDE
from common.go.rules import Ko
from common.go.scoring import own_komi
from common.go.state import History, State
from common.go.zobrist import SECOND_SEED, split_mix_64
from common.kernels import njit

KOMI_STEPS: Final = 256.0
"""Komi counts in steps of 1/256 point, the rest cut off."""

_NUM_TABLES: Final = 12
_WORDS: Final = split_mix_64(SECOND_SEED, _NUM_TABLES * NUM_POINTS + 2).copy()
_TABLES: Final = _WORDS[: _NUM_TABLES * NUM_POINTS].reshape(_NUM_TABLES, NUM_POINTS)
# The first two are the stones' (`common.go.zobrist.SECOND_STONE_KEYS`): a STATE keeps both words of its stones.
_SIMPLE_KO: Final = _TABLES[2:4].copy()  # [word, point]
_BANNED: Final = _TABLES[4:6].copy()  # [word, point]
_BLOCKED: Final = _TABLES[6:8].copy()  # [word, point]
_STARTED: Final = _TABLES[8:].reshape(2, 2, NUM_POINTS).copy()  # [word, colour - 1, point]
_SITUATION_SALT: Final = _WORDS[_NUM_TABLES * NUM_POINTS]
_STANDING_SALT: Final = _WORDS[_NUM_TABLES * NUM_POINTS + 1]

_LOW: Final = np.uint64(0xFFFFFFFF)
_SIMPLE: Final = int(Ko.SIMPLE)
_HALF: Final = np.uint64(32)
_ZERO: Final = np.uint64(0)


@njit(cache=True, nogil=True)
def mixed_words(first: Any, second: Any, salt: Any) -> tuple[Any, Any]:
    """128 well mixed bits from 128 others, one to one; ``salt`` tells one use from another. All np.uint64."""
    a, b, c, d = philox(first & _LOW, first >> _HALF, second & _LOW, second >> _HALF, salt & _LOW, salt >> _HALF)
    return (b << _HALF) | a, (d << _HALF) | c


@njit(cache=True, nogil=True)
def _empty_points(state: State, row: int) -> int:
    """The bits of a row's empty points, that of x = 0 first."""
    colour = state["colour"]
    bits = 0
    for x in range(MAX_LENGTH):
        bits |= (colour[row * STRIDE + 1 + x] == EMPTY) << x
    return bits


@njit(cache=True, nogil=True)
def _left_points(state: State, row: int) -> int:
    """The bits of a row's points from which a stone of the player to move has been taken off."""
    vacated = state["vacated"]
    own = state["to_move"]
    bits = 0
    for x in range(MAX_LENGTH):
        bits |= (vacated[row * STRIDE + 1 + x] & own != 0) << x
    return bits


@njit(cache=True, nogil=True)
def _with_bans(state: State, history: History, first: Any, second: Any) -> tuple[Any, Any]:
    """The words with the points that superko forbids the player to move and nothing else does; main phase.

    Where no stone of the player has been taken off, only a suicide can repeat a position, at a point without an empty
    neighbour (rules.md 4): rows of bits tell the few points that need a closer look.
    """
    if state["ko_rule"] == _SIMPLE:
        return first, second
    has_left = state["captured"][state["to_move"]] != 0
    above = 0
    here = _empty_points(state, 1)
    for row in range(1, state["y_size"] + 1):
        below = _empty_points(state, row + 1)
        bits = here & ~(above | below | (here << 1) | (here >> 1)) if state["suicide"] != 0 else 0
        if has_left:
            bits |= here & _left_points(state, row)
        while bits:
            point = row * STRIDE + 1 + lowest_index(bits)
            bits &= bits - 1
            if is_superko_banned(state, history, point) and not is_illegal_suicide(state, point, state["to_move"]):
                first ^= _BANNED[0, point]
                second ^= _BANNED[1, point]
        above, here = here, below
    return first, second


@njit(cache=True, nogil=True)
def _is_banned(state: State, history: History, point: int) -> bool:
    """Whether nothing but what has been before forbids the player to move the empty ``point``; cleanup phases.

    A ko capture of this phase can be made again only where its stone has gone.
    """
    return bool(
        state["vacated"][point] & state["to_move"] != 0
        and is_once_banned(state, history, point)
        and unblocked_stone(state, point) == NO_POINT
        and not is_illegal_suicide(state, point, state["to_move"])
    )


@njit(cache=True, nogil=True)
def _with_marks(state: State, history: History, first: Any, second: Any) -> tuple[Any, Any]:
    """The words with what the cleanup phases forbid and mark."""
    colour = state["colour"]
    for y in range(state["y_size"]):
        start = (y + 1) * STRIDE + 1
        for point in range(start, start + state["x_size"]):
            if colour[point] == EMPTY and _is_banned(state, history, point):
                first ^= _BANNED[0, point]
                second ^= _BANNED[1, point]
            if state["ko_blocked"][point] != 0:
                first ^= _BLOCKED[0, point]
                second ^= _BLOCKED[1, point]
            owner = state["second_cleanup_start"][point]
            if state["phase"] == SECOND_CLEANUP and owner != EMPTY:
                first ^= _STARTED[0, owner - 1, point]
                second ^= _STARTED[1, owner - 1, point]
    return first, second


@njit(cache=True, nogil=True)
def _points_key(state: State, history: History) -> tuple[Any, Any]:
    """Stones, what repetition forbids, and the markings of the cleanup phases."""
    first = state["grid_key"]
    second = state["second_key"]
    if state["phase"] == MAIN_PHASE:
        first, second = _with_bans(state, history, first, second)
    else:
        first, second = _with_marks(state, history, first, second)
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
    return with_standing(first, second, state, history)


@njit(cache=True, nogil=True)
def with_standing(first: Any, second: Any, state: State, history: History) -> tuple[Any, Any]:
    """`state_key` from the two words of `situation_key`."""
    standing = np.uint64(4 * (state["no_result"] != 0) + 2 * (state["finished"] != 0))
    if pass_would_end_phase(state, history):
        standing |= np.uint64(1)
    passes = np.uint64(state["consecutive_passes"])
    standing_first, standing_second = mixed_words(standing, passes, _STANDING_SALT)
    return first ^ standing_first, second ^ standing_second
