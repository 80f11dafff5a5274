"""Ownership and short-term errors averaged over a search (search.md 12)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from client.search.borrow import borrowed
from client.search.report import Ownership
from client.search.shares import Walk, error_shares, ownership_shares
from client.search.tree import OWNERSHIP_SCALE, ROOT, TERMINAL, Context, Forest, Scratch
from common.kernels import njit

FloatArray = npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def _average_ownership(
    ownership: npt.NDArray[np.int16], shares: FloatArray, count: int, mean: FloatArray, stdev: FloatArray
) -> None:
    """Fill mean and stdev [L * L] of the first ``count`` rows of ``ownership`` [N, L * L], weighted with ``shares``."""
    ownership = borrowed(ownership)
    mean[:] = 0.0
    stdev[:] = 0.0
    for index in range(count):
        share = shares[index]
        if share <= 0.0:
            continue
        row = ownership[index]
        for position in range(mean.shape[0]):
            value = row[position] * (1.0 / OWNERSHIP_SCALE)
            mean[position] += share * value
            stdev[position] += share * value * value
    for position in range(mean.shape[0]):
        stdev[position] = math.sqrt(max(0.0, stdev[position] - mean[position] * mean[position]))


def tree_ownership(forest: Forest, slot: int, node: int, walk: Walk) -> Ownership:
    """Ownership of one node of a slot's tree, White's view; the node has been evaluated by the net.

    Raises:
        ValueError: the pool keeps no ownership.
    """
    area = forest.ownership.shape[2]
    if area == 0:
        raise ValueError("this pool keeps no ownership: make it with ownership=True")
    ownership_shares(forest, slot, node, walk)
    mean = np.zeros(area)
    stdev = np.zeros(area)
    count = int(forest.searches[slot]["num_nodes"])
    _average_ownership(forest.ownership[slot], walk.shares, count, mean, stdev)
    state = forest.states[slot]
    return Ownership(mean=_on_board(mean, state), stdev=_on_board(stdev, state))


def _on_board(values: FloatArray, state: np.void) -> FloatArray:
    """The board's part [y_size, x_size] of a map by position."""
    length = math.isqrt(len(values))
    return values.reshape(length, length)[: state["y_size"], : state["x_size"]].copy()


def short_term_errors(forest: Forest, slot: int, scratch: Scratch, context: Context, walk: Walk) -> tuple[float, float]:
    """Expected short-term errors of winLoss and of the score in points, averaged over a slot's search.

    A decided game has none; (-1, -1) for a net that does not tell.
    """
    if not context.has_errors:
        return -1.0, -1.0
    error_shares(forest, slot, ROOT, scratch, context, walk)
    nodes = forest.nodes[slot, : forest.searches[slot]["num_nodes"]]
    shares = walk.shares[: len(nodes)] * (nodes["status"] != TERMINAL)
    return _weighted(shares, nodes["own_win_loss_error"]), _weighted(shares, nodes["own_score_error"])


def _weighted(shares: FloatArray, values: FloatArray) -> float:
    """Sum of products, without those of share 0: what a node without an evaluation holds means nothing."""
    return float(np.sum(shares * values, where=shares > 0.0))
