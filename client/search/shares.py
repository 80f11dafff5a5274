"""How much each node's own evaluation counts in an average over a subtree (search.md 12).

The averages of `client.search.backup` are kept in the tree; those of ownership and short-term errors, which few ask
for, are made when they are asked for, by a walk down the tree that hands a share of 1 on from parent to child. How a
node divides its share is told beforehand, for all nodes at once: by `divide_by_squares` or `divide_as_searched`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from client.search.backup import weigh_children
from client.search.select import edge_weight
from client.search.tree import EVALUATED, NO_EDGE, Context, Forest, Scratch
from common.by_reference import by_reference
from common.kernels import njit

FloatArray = npt.NDArray[np.float64]


@by_reference
class Walk(NamedTuple):
    """Working space for a tree of N nodes and M edges."""

    shares: FloatArray  # [N] the result, which sums to 1; all 0 between calls
    counted: npt.NDArray[np.int32]  # [N] the nodes that have a share
    kept: FloatArray  # [N] what a node keeps of a share handed to it
    handed: FloatArray  # [M] what goes on through each edge of it
    on_path: npt.NDArray[np.bool_]  # [N] all False between calls
    nodes: npt.NDArray[np.int32]  # [N] the path
    edges: npt.NDArray[np.int32]  # [N] the next edge of each node on the path
    below: FloatArray  # [N] the share handed to each node on the path


def new_walk(nodes: int, edges: int) -> Walk:
    """Working space for trees of so many nodes and edges."""
    return Walk(
        shares=np.zeros(nodes),
        counted=np.zeros(nodes, np.int32),
        kept=np.zeros(nodes),
        handed=np.zeros(edges),
        on_path=np.zeros(nodes, np.bool_),
        nodes=np.zeros(nodes, np.int32),
        edges=np.zeros(nodes, np.int32),
        below=np.zeros(nodes),
    )


@njit(cache=True, nogil=True)
def divide_by_squares(forest: Forest, slot: int, walk: Walk) -> None:
    """For ownership: children count together as their weights, among each other as the squares of these.

    A child where the game is over has no ownership; its part stays with the parent.
    """
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    for index in range(forest.searches[slot]["num_nodes"]):
        total = 0.0
        squares = 0.0
        e = nodes[index]["first_edge"]
        while e != NO_EDGE:
            weight = edge_weight(edges[e], nodes[edges[e]["child"]])
            total += weight
            squares += weight * weight
            e = edges[e]["next_edge"]
        walk.kept[index] = 1.0
        if squares <= 0.0:
            continue
        rest = total / (total + nodes[index]["own_weight"])
        e = nodes[index]["first_edge"]
        while e != NO_EDGE:
            child = nodes[edges[e]["child"]]
            weight = edge_weight(edges[e], child)
            handed = rest * weight * weight / squares if child["status"] == EVALUATED else 0.0
            walk.handed[e] = handed
            walk.kept[index] -= handed
            e = edges[e]["next_edge"]


@njit(cache=True, nogil=True)
def divide_as_searched(forest: Forest, slot: int, scratch: Scratch, context: Context, walk: Walk) -> None:
    """For short-term errors: children count as in the averages of the search, without cuts at the root."""
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    parameters = forest.parameters[slot]
    for e in range(forest.searches[slot]["num_edges"]):
        walk.handed[e] = 0.0
    for index in range(forest.searches[slot]["num_nodes"]):
        walk.kept[index] = 1.0
        if nodes[index]["first_edge"] == NO_EDGE:
            continue
        count, _ = weigh_children(nodes, edges, index, False, parameters, context.student_table, scratch)
        total = nodes[index]["own_weight"]
        for i in range(count):
            total += scratch.weights[i]
        for i in range(count):
            handed = scratch.weights[i] / total
            walk.handed[scratch.edges[i]] = handed
            walk.kept[index] -= handed


@njit(cache=True, nogil=True)
def _add(walk: Walk, index: int, share: float, count: int) -> int:
    """Give a node a share; returns how many nodes have one, ``count`` before."""
    if share <= 0.0:
        return count
    if walk.shares[index] == 0.0:
        walk.counted[count] = index
        count += 1
    walk.shares[index] += share
    return count


@njit(cache=True, nogil=True)
def _enter(forest: Forest, slot: int, index: int, share: float, depth: int, walk: Walk) -> None:
    """Put a node that has children on the path at ``depth``."""
    walk.nodes[depth] = index
    walk.edges[depth] = forest.nodes[slot, index]["first_edge"]
    walk.below[depth] = share
    walk.on_path[index] = True


@njit(cache=True, nogil=True)
def fill_shares(forest: Forest, slot: int, top: int, least: float, cut: float, walk: Walk) -> int:
    """Fill ``walk.shares`` with how much each node counts in the average of node ``top``, by the division told.

    A node that gets less than ``least`` (in (0, 1]), or is met again on its own path, keeps all of it; less than
    ``cut`` is not handed on at all. Work is linear in the nodes of a tree, and bounded by ``least`` in a graph: at
    each depth, no more than 1 / least nodes are gone through.

    Returns:
        How many nodes count: the first of ``walk.counted``. `clear_shares` is to be called when they have been read.
    """
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    _enter(forest, slot, top, 1.0, 0, walk)
    count = _add(walk, top, walk.kept[top], 0)
    depth = 0
    while depth >= 0:
        e = walk.edges[depth]
        if e == NO_EDGE:
            walk.on_path[walk.nodes[depth]] = False
            depth -= 1
            continue
        walk.edges[depth] = edges[e]["next_edge"]
        share = walk.below[depth] * walk.handed[e]
        child = edges[e]["child"]
        if share < cut:
            count = _add(walk, walk.nodes[depth], share, count)
        elif share < least or nodes[child]["first_edge"] == NO_EDGE or walk.on_path[child]:
            count = _add(walk, child, share, count)
        else:
            depth += 1
            _enter(forest, slot, child, share, depth, walk)
            count = _add(walk, child, share * walk.kept[child], count)
    return count


@njit(cache=True, nogil=True)
def clear_shares(walk: Walk, count: int) -> None:
    """Take the shares of the ``count`` nodes that have one away."""
    for i in range(count):
        walk.shares[walk.counted[i]] = 0.0


@njit(cache=True, nogil=True)
def ownership_shares(forest: Forest, slot: int, top: int, walk: Walk) -> int:
    """`fill_shares` for the ownership of node ``top``, which has visits, after `divide_by_squares`."""
    least = 0.5 / max(1.0, float(forest.nodes[slot, top]["visits"])) ** 0.75
    return fill_shares(forest, slot, top, least, 0.01 * least, walk)


@njit(cache=True, nogil=True)
def error_shares(forest: Forest, slot: int, top: int, walk: Walk) -> int:
    """`fill_shares` for the short-term errors of node ``top``, which has visits, after `divide_as_searched`."""
    least = 0.25 / max(1.0, float(forest.nodes[slot, top]["visits"])) ** 0.625
    return fill_shares(forest, slot, top, least, 0.0, walk)
