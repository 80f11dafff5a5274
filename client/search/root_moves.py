"""Which moves the root may enter at all, and what a hint and avoided moves do to its policy (search.md 4.4, 4.5, 5).

Works on the root's STATE; knows no values.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.search.tree import ILLEGAL_PRIOR, NO_POSITION, Forest, Scratch
from common.go.board import is_illegal_suicide
from common.go.passalive import calculate_area
from common.go.play import is_legal
from common.go.points import BLACK, EMPTY, NO_POINT, PASS, STRIDE, opponent, point_at
from common.go.symmetry import FLIP_X, FLIP_Y, NUM_SYMMETRIES, TRANSPOSE
from common.kernels import njit

_MIN_TURNS: Final = 7
_MIN_PASSES: Final = 4
"""So many turns of the game, and so many passes of the opponent in turn, before moves can be useless."""
HINT_SHARE: Final = 0.02


# -- candidates --


@njit(cache=True, nogil=True)
def find_pass_alive(state: np.void, scratch: Scratch) -> None:
    """Fill ``scratch.area`` with the strictly pass-alive area of ``state``."""
    suicide = state["pass_alive_suicide"] != 0
    calculate_area(state, False, False, False, suicide, scratch.area, scratch.features[0]["area"])


@njit(cache=True, nogil=True)
def opponent_only_passes(state: np.void) -> bool:
    """Whether the game is old enough, and the opponent has passed on each of the last four turns that were his."""
    opp = opponent(state["to_move"])
    return bool(
        state["turns"] >= _MIN_TURNS
        and state["recent_colour"][0] == opp
        and state["recent_point"][0] == PASS
        and state["passes_in_turn"][opp] >= _MIN_PASSES
    )


@njit(cache=True, nogil=True)
def has_ban(state: np.void, history: np.void) -> bool:
    """Whether a ko or a superko forbids some move that could be played otherwise."""
    if state["ko_point"] != NO_POINT:
        return True
    for y in range(state["y_size"]):
        for x in range(state["x_size"]):
            point = point_at(x, y)
            if (
                state["colour"][point] == EMPTY
                and not is_illegal_suicide(state, point, state["to_move"])
                and not is_legal(state, history, point)
            ):
                return True
    return False


@njit(cache=True, nogil=True)
def turned_point(point: int, symmetry: int, x_size: int, y_size: int) -> int:
    """Where ``symmetry`` of the board (codes of `common.go.symmetry`) takes a point; a square if it transposes."""
    x = point % STRIDE - 1
    y = point // STRIDE - 1
    if symmetry & FLIP_Y:
        y = y_size - 1 - y
    if symmetry & FLIP_X:
        x = x_size - 1 - x
    if symmetry & TRANSPOSE:
        x, y = y, x
    return (y + 1) * STRIDE + x + 1


@njit(cache=True, nogil=True)
def maps_to_itself(state: np.void, symmetry: int) -> bool:
    """Whether board and cleanup marks look the same under ``symmetry``."""
    x_size = state["x_size"]
    y_size = state["y_size"]
    if symmetry & TRANSPOSE and x_size != y_size:
        return False
    for y in range(y_size):
        for x in range(x_size):
            point = point_at(x, y)
            other = turned_point(point, symmetry, x_size, y_size)
            if (
                state["colour"][point] != state["colour"][other]
                or state["ko_blocked"][point] != state["ko_blocked"][other]
                or state["second_cleanup_start"][point] != state["second_cleanup_start"][other]
            ):
                return False
    return True


@njit(cache=True, nogil=True)
def keep_one_of_each_orbit(
    state: np.void, avoid_until: npt.NDArray[np.int16], length: int, candidates: npt.NDArray[np.bool_]
) -> None:
    """Take points out of ``candidates`` [P] that are the image of one that stays.

    The first of each orbit stays: Black looks from the upper right down the columns, White from the lower left up.
    ``avoid_until`` [P] are the depths of the player to move; avoided points stand for nobody.
    """
    symmetric = np.int64(0)  # bit s: the board is symmetric under s
    for symmetry in range(1, NUM_SYMMETRIES):
        if maps_to_itself(state, symmetry):
            symmetric |= 1 << symmetry
    x_size = state["x_size"]
    y_size = state["y_size"]
    is_black = state["to_move"] == BLACK
    for column in range(x_size):
        for row in range(y_size):
            x = x_size - 1 - column if is_black else column
            y = row if is_black else y_size - 1 - row
            position = y * length + x
            if avoid_until[position] > 0 or not candidates[position]:
                continue
            for symmetry in range(1, NUM_SYMMETRIES):
                other: Any = turned_point(point_at(x, y), symmetry, x_size, y_size)
                image = (other // STRIDE - 1) * length + other % STRIDE - 1
                if symmetric >> symmetry & 1 and image != position:
                    candidates[image] = False


@njit(cache=True, nogil=True)
def find_candidates(forest: Forest, slot: int, scratch: Scratch, length: int) -> None:
    """Set a slot's ``candidates`` and ``limits_root`` from the root's position."""
    state = forest.states[slot]
    parameters = forest.parameters[slot]
    search = forest.searches[slot]
    candidates = forest.candidates[slot]
    prunes_useless = parameters["root_prune_useless_moves"] and opponent_only_passes(state)
    prunes_symmetric = parameters["root_symmetry_pruning"] and not has_ban(state, forest.histories[slot])
    search["limits_root"] = False
    if not (prunes_useless or prunes_symmetric):
        return
    for position in range(candidates.shape[0]):
        candidates[position] = True
    if prunes_symmetric:
        keep_one_of_each_orbit(state, forest.avoid_until[slot, state["to_move"] - 1], length, candidates)
    if prunes_useless:
        find_pass_alive(state, scratch)
        for y in range(state["y_size"]):
            for x in range(state["x_size"]):
                if scratch.area[point_at(x, y)] != EMPTY:
                    candidates[y * length + x] = False
    for position in range(candidates.shape[0]):
        if not candidates[position]:
            search["limits_root"] = True


@njit(cache=True, nogil=True)
def may_enter(forest: Forest, slot: int, position: int, to_move: int, depth: int) -> bool:
    """Whether a node ``depth`` turns below the root may have a child of ``position``, a legal move."""
    search = forest.searches[slot]
    if depth == 0 and search["limits_root"] and not forest.candidates[slot, position]:
        return False
    return not search["avoids"] or depth >= forest.avoid_until[slot, to_move - 1, position]


@njit(cache=True, nogil=True)
def write_open_policy(forest: Forest, slot: int, policy: npt.NDArray[np.float32]) -> None:
    """Fill ``policy`` [P] with the root's in use, moves that may not be entered being illegal (search.md 10.5).

    Where none is left of what is not avoided, the candidates do not count; where that leaves none, nothing does.
    """
    search = forest.searches[slot]
    to_move: Any = np.int64(forest.states[slot]["to_move"])
    priors = forest.priors[slot, 0]
    for leniency in range(3):
        found = False
        for position in range(policy.shape[0]):
            is_candidate = leniency > 0 or not search["limits_root"] or forest.candidates[slot, position]
            is_avoided = leniency < 2 and search["avoids"] and forest.avoid_until[slot, to_move - 1, position] > 0
            policy[position] = priors[position] if is_candidate and not is_avoided else ILLEGAL_PRIOR
            found = found or policy[position] >= 0.0
        if found:
            return


# -- policy --


@njit(cache=True, nogil=True)
def rescale_avoided(policy: npt.NDArray[np.float32], avoid_until: npt.NDArray[np.int16]) -> None:
    """Let the moves that are not avoided at the root sum to 1, in place; the avoided ones keep their probability."""
    total = 0.0
    for position in range(policy.shape[0]):
        if policy[position] > 0.0 and avoid_until[position] <= 0:
            total += policy[position]
    if total <= 0.0:
        return
    for position in range(policy.shape[0]):
        if policy[position] > 0.0 and avoid_until[position] <= 0:
            policy[position] /= total


@njit(cache=True, nogil=True)
def favour_hint(policy: npt.NDArray[np.float32], hint: int) -> None:
    """Move a fiftieth of everybody's probability to the legal move ``hint``, in place."""
    if hint == NO_POSITION or policy[hint] < 0.0:
        return
    moved = 0.0
    for position in range(policy.shape[0]):
        if policy[position] > 0.0 and position != hint:
            moved += HINT_SHARE * policy[position]
            policy[position] *= 1.0 - HINT_SHARE
    policy[hint] += moved
