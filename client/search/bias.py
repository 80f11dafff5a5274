"""Subtree value bias: what a net misjudges in one place of the tree it misjudges alike elsewhere (search.md 6).

Moves made in the same surroundings share an entry of their slot: how far the utilities found below them differ, in the
weighted mean, from the net's own. That mean corrects the net's own utility wherever one of them is averaged. Without
the technique no node has an entry, and nothing here is called.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.search.tree import NO_BIAS
from common.go.points import EMPTY, NO_POINT, NUM_POINTS, PASS, STRIDE, WALL
from common.go.state import State
from common.go.zobrist import split_mix_64
from common.kernels import njit

_REACH: Final = 2  # the pattern is 5x5
_EDGE: Final = 2 * _REACH + 1
_CELLS: Final = _EDGE * _EDGE
_WORDS: Final = split_mix_64(0xB1A5, 2 * (3 + 3 * NUM_POINTS + 6 * _CELLS))
_MOVERS: Final = _WORDS[:6].reshape(2, 3).copy()  # [word, colour]
_POINTS: Final = _WORDS[6 : 6 + 6 * NUM_POINTS].reshape(2, 3, NUM_POINTS).copy()  # [word, move / before / ko, point]
_STONES: Final = _WORDS[6 + 6 * NUM_POINTS :].reshape(2, 3, 2, _CELLS).copy()  # [word, colour, in atari, cell]
_MOVE: Final = 0
_BEFORE: Final = 1
_KO: Final = 2

_MIN_TOTAL: Final = 1e-10
_MIN_WEIGHT: Final = 0.001


@njit(cache=True, nogil=True)
def has_bias(state: State, point: int) -> bool:
    """Whether a move at ``point`` has an entry: it is no pass, and a turn before it is known."""
    return bool(point != PASS and state["recent_point"][0] != NO_POINT)


@njit(cache=True, nogil=True)
def bias_key(state: State, point: int) -> tuple[Any, Any]:
    """Two np.uint64 for a move at ``point`` (no pass) in the position before it.

    They stand for the mover, this move, the one before, the simple-ko point, and the 25 points around with a mark of
    the stones in atari.
    """
    first = _MOVERS[0, state["to_move"]] ^ _POINTS[0, _MOVE, point]
    second = _MOVERS[1, state["to_move"]] ^ _POINTS[1, _MOVE, point]
    before = state["recent_point"][0]
    first ^= _POINTS[0, _BEFORE, before]
    second ^= _POINTS[1, _BEFORE, before]
    if state["ko_point"] != NO_POINT:
        first ^= _POINTS[0, _KO, state["ko_point"]]
        second ^= _POINTS[1, _KO, state["ko_point"]]
    colour = state["colour"]
    for cell in range(_CELLS):
        near = point + (cell // _EDGE - _REACH) * STRIDE + cell % _EDGE - _REACH
        # beyond the arrays there are no points; a row's end is followed by a wall, and one cell further by the next row
        if near < 0 or near >= NUM_POINTS:
            continue
        column = point % STRIDE + cell % _EDGE - _REACH
        if column < 1 or column >= STRIDE or colour[near] == WALL or colour[near] == EMPTY:
            continue
        in_atari = 1 if state["chain_liberties"][state["chain_head"][near]] == 1 else 0
        first ^= _STONES[0, colour[near], in_atari, cell]
        second ^= _STONES[1, colour[near], in_atari, cell]
    return first, second


@njit(cache=True, nogil=True)
def correction(biases: npt.NDArray[np.void], node: np.void, factor: float) -> float:
    """What is added to the node's own utility; ``biases`` are its slot's, ``factor`` is subtreeValueBiasFactor."""
    if node["bias"] == NO_BIAS:
        return 0.0
    entry = biases[node["bias"]]
    if entry["weight"] <= _MIN_WEIGHT:
        return 0.0
    return float(factor * entry["sum"] / entry["weight"])


@njit(cache=True, nogil=True)
def update_bias(
    biases: npt.NDArray[np.void],
    node: np.void,
    children_utility: float,
    total: float,
    original_total: float,
    exponent: float,
) -> None:
    """Replace what a node, which has an entry, has put into it.

    Args:
        children_utility: the mean over the children as they are averaged, of weight ``total``.
        original_total: their weight before any of it was pruned.
        exponent: subtreeValueBiasWeightExponent.
    """
    if total <= _MIN_TOTAL:
        return
    weight = original_total**exponent
    weighted = (children_utility - node["own_utility"]) * weight
    entry = biases[node["bias"]]
    entry["sum"] += weighted - node["bias_sum"]
    entry["weight"] += weight - node["bias_weight"]
    node["bias_sum"] = weighted
    node["bias_weight"] = weight


@njit(cache=True, nogil=True)
def release_bias(biases: npt.NDArray[np.void], node: np.void, free_prop: float) -> None:
    """Part a node from its entry, if it has one, and take the share ``free_prop`` of what it put there out again."""
    if node["bias"] == NO_BIAS:
        return
    entry = biases[node["bias"]]
    entry["sum"] -= free_prop * node["bias_sum"]
    entry["weight"] -= free_prop * node["bias_weight"]
    node["bias"] = NO_BIAS
    node["bias_sum"] = 0.0
    node["bias_weight"] = 0.0
