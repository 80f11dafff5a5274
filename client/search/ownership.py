"""Ownership and short-term errors averaged over a search (search.md 12)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from client.search.report import Ownership
from client.search.shares import (
    Walk,
    clear_shares,
    divide_as_searched,
    divide_by_squares,
    error_shares,
    ownership_shares,
)
from client.search.tree import OWNERSHIP_SCALE, ROOT, TERMINAL, Context, Forest, Scratch
from common.kernels import njit

FloatArray = npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def _average_ownership(forest: Forest, slot: int, top: int, walk: Walk, mean: FloatArray, stdev: FloatArray) -> None:
    """Fill mean and stdev [L * L] of node ``top``, both zeros."""
    count = ownership_shares(forest, slot, top, walk)
    for i in range(count):
        index = walk.counted[i]
        share = walk.shares[index]
        row = forest.ownership[slot, index]
        for position in range(mean.shape[0]):
            value = row[position] * (1.0 / OWNERSHIP_SCALE)
            mean[position] += share * value
            stdev[position] += share * value * value
    for position in range(mean.shape[0]):
        stdev[position] = math.sqrt(max(0.0, stdev[position] - mean[position] * mean[position]))
    clear_shares(walk, count)


def tree_ownership(forest: Forest, slot: int, nodes: Sequence[int], walk: Walk) -> list[Ownership]:
    """Ownership of each of ``nodes`` of a slot's tree, which have visits, in White's view; 0 where the game is over.

    Raises:
        ValueError: the pool keeps no ownership.
    """
    area = forest.ownership.shape[2]
    if area == 0:
        raise ValueError("this pool keeps no ownership: make it with ownership=True")
    divide_by_squares(forest, slot, walk)
    state = forest.states[slot]
    result = []
    for node in nodes:
        mean = np.zeros(area)
        stdev = np.zeros(area)
        if forest.nodes[slot, node]["status"] != TERMINAL:
            _average_ownership(forest, slot, node, walk, mean, stdev)
        result.append(Ownership(mean=_on_board(mean, state), stdev=_on_board(stdev, state)))
    return result


def _on_board(values: FloatArray, state: np.void) -> FloatArray:
    """The board's part [y_size, x_size] of a map by position."""
    length = math.isqrt(len(values))
    return values.reshape(length, length)[: state["y_size"], : state["x_size"]].copy()


@njit(cache=True, nogil=True)
def _average_errors(forest: Forest, slot: int, top: int, walk: Walk) -> tuple[float, float]:
    count = error_shares(forest, slot, top, walk)
    win_loss = 0.0
    score = 0.0
    for i in range(count):
        node = forest.nodes[slot, walk.counted[i]]
        if node["status"] != TERMINAL:
            share = walk.shares[walk.counted[i]]
            win_loss += share * node["own_win_loss_error"]
            score += share * node["own_score_error"]
    clear_shares(walk, count)
    return win_loss, score


def short_term_errors(forest: Forest, slot: int, scratch: Scratch, context: Context, walk: Walk) -> tuple[float, float]:
    """Expected short-term errors of winLoss and of the score in points, averaged over a slot's search.

    A decided game has none; (-1, -1) for a net that does not tell.
    """
    if not context.has_errors:
        return -1.0, -1.0
    divide_as_searched(forest, slot, scratch, context, walk)
    win_loss, score = _average_errors(forest, slot, int(ROOT), walk)
    return float(win_loss), float(score)
