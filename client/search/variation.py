"""The line of play that a search expects (search.md 12)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from client.search.play_selection import Children, apply_lcb, best_child, gather_children
from client.search.select import sign_of
from client.search.tree import NO_EDGE, ROOT, Forest
from common.kernels import njit


class Line(NamedTuple):
    """Room for a line of D moves in a tree of N nodes."""

    positions: npt.NDArray[np.int32]  # [D]
    visits: npt.NDArray[np.int32]  # [D] of the node after each move
    edge_visits: npt.NDArray[np.int32]  # [D]
    nodes: npt.NDArray[np.int32]  # [D] after each move
    met: npt.NDArray[np.bool_]  # [N] all False between calls


def new_line(length: int, nodes: int) -> Line:
    """Room for lines of at most ``length`` moves."""
    return Line(
        positions=np.zeros(length, np.int32),
        visits=np.zeros(length, np.int32),
        edge_visits=np.zeros(length, np.int32),
        nodes=np.zeros(length, np.int32),
        met=np.zeros(nodes, np.bool_),
    )


@njit(cache=True, nogil=True)
def expected_child(node: np.void, children: Children, count: int, parameters: np.void) -> int:
    """The child of the largest play-selection value below the root: there nothing is pruned (search.md 10)."""
    values = children.values
    for i in range(count):
        values[i] = children.weights[i] if children.priors[i] >= 0.0 else 0.0
    if parameters["use_lcb_for_selection"]:
        best_weight = values[best_child(children, count)]
        apply_lcb(children, count, best_weight, sign_of(node["to_move"]), parameters)
    best = 0
    for i in range(count):
        if values[i] > values[best]:
            best = i
    return best


@njit(cache=True, nogil=True)
def _expected_edge(forest: Forest, slot: int, index: int, children: Children) -> int:
    """The edge of `expected_child` at node ``index``; NO_EDGE if no child has visits."""
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    e = nodes[index]["first_edge"]
    if e == NO_EDGE:
        return NO_EDGE
    count = gather_children(nodes, edges, forest.priors[slot, index], index, children)
    best = expected_child(nodes[index], children, count, forest.parameters[slot])
    if children.visits[best] == 0:
        return NO_EDGE
    for _ in range(best):
        e = edges[e]["next_edge"]
    return int(e)


@njit(cache=True, nogil=True)
def follow_line(forest: Forest, slot: int, edge: int, children: Children, line: Line) -> int:
    """Fill ``line`` with root edge ``edge`` and what the search expects after it.

    Ends where it would come to a position that it has been in, as lines of a graph may.

    Args:
        children: working space.

    Returns:
        Number of moves, at least 1.
    """
    edges = forest.edges[slot]
    line.met[ROOT] = True
    length = 0
    while edge != NO_EDGE and length < line.positions.shape[0]:
        child = edges[edge]["child"]
        if line.met[child]:
            break
        line.met[child] = True
        line.positions[length] = edges[edge]["position"]
        line.edge_visits[length] = edges[edge]["visits"]
        line.visits[length] = forest.nodes[slot, child]["visits"]
        line.nodes[length] = child
        length += 1
        edge = _expected_edge(forest, slot, child, children)
    line.met[ROOT] = False
    for i in range(length):
        line.met[line.nodes[i]] = False
    return length
