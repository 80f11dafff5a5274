"""What a finished search knows of positions inside its tree, as its turn is told of the root: for rows of them.

Such a position lies up to `MOST_DEPTH` moves from the root, has been visited often enough, and the player who is to
move there has only made most visited moves on the way to it; the other player may have made any. Its play-selection
values are the weights of its children, with lower bounds where the search uses them, but not pruned in hindsight, which
is done at the root alone (search.md 10). Values are White's. Specification: training-data.md 5.8.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.search.play_selection import (
    POLICY_TARGET_SCALE,
    Children,
    apply_lcb,
    best_child,
    cut_small_values,
    gather_children,
    new_children,
    search_entropy_and_surprise,
)
from client.search.pool import SearchPool
from client.search.root_policy import policy_entropy
from client.search.select import sign_of
from client.search.tree import EVALUATED, NO_EDGE, ROOT, Forest
from client.search.turns import CHILD, FOUND
from client.search.values import SCORE_MEAN, WIN_LOSS
from common.go.points import point_of
from common.kernels import njit

MOST_DEPTH: Final = 5
"""Moves from the root."""


@dataclass(frozen=True, slots=True)
class InnerNode:
    """A position inside a tree; P positions, C children."""

    moves: tuple[int, ...]  # points, from the root
    found: np.void  # FOUND; ``visits`` are the root's, ``point`` means nothing
    target: npt.NDArray[np.float64]  # [P] policy target by position
    children: npt.NDArray[np.void]  # [C] CHILD, those with visits, in order of creation


def inner_nodes(pool: SearchPool, slot: int, least_visits: int, played: int) -> list[InnerNode]:
    """The positions inside the tree of a finished search, those near the root first.

    Args:
        pool: where it ran.
        slot: whose.
        least_visits: of the last edge that leads to a position, 1 or more.
        played: the move (a point) whose subtree is left out, as the game enters it.
    """
    forest, length = pool.forest, pool.length
    nodes, edges = forest.nodes[slot], forest.edges[slot]
    root_visits = int(nodes[ROOT]["visits"])
    most = MOST_DEPTH * root_visits // least_visits  # there are no more in a tree; in a graph lines may share nodes
    children = new_children(length * length + 1)
    found, waiting = list[InnerNode](), deque[tuple[int, tuple[int, ...], bool, bool]]([(0, (), True, True)])
    while waiting:
        index, moves, mover_was_best, other_was_best = waiting.popleft()
        if moves and mover_was_best and len(found) < most:
            found.append(_read(forest, slot, index, moves, children, root_visits, length))
        if len(moves) == MOST_DEPTH:
            continue
        for edge, is_best in _edges_of(nodes, edges, index):
            child, point = int(edge["child"]), int(point_of(int(edge["position"]), length))
            onward = other_was_best, mover_was_best and is_best  # the players change places
            is_left_out = not moves and point == played
            if is_left_out or edge["visits"] < least_visits or not any(onward):
                continue
            if nodes[child]["status"] == EVALUATED and nodes[child]["first_edge"] != NO_EDGE:
                waiting.append((child, (*moves, point), *onward))
    return found


def _edges_of(nodes: npt.NDArray[np.void], edges: npt.NDArray[np.void], index: int) -> list[tuple[np.void, bool]]:
    """Edges of a node in order of creation, and whether each is the first one of most visits."""
    found, edge = [], int(nodes[index]["first_edge"])
    while edge != NO_EDGE:
        found.append(edges[edge])
        edge = int(edges[edge]["next_edge"])
    visits = [int(each["visits"]) for each in found]
    best = visits.index(max(visits)) if visits else -1
    return [(each, number == best) for number, each in enumerate(found)]


def _read(
    forest: Forest, slot: int, index: int, moves: tuple[int, ...], children: Children, root_visits: int, length: int
) -> InnerNode:
    """What is known of node ``index``, to which ``moves`` lead; ``children`` is working space."""
    node, priors = forest.nodes[slot, index], forest.priors[slot, index]
    lcb = bool(forest.parameters[slot]["use_lcb_for_selection"])
    count = int(_fill(forest, slot, index, children, lcb))
    found = np.zeros(1, FOUND)[0]
    found["search_entropy"], found["policy_surprise"] = search_entropy_and_surprise(children, count)
    found["visits"], found["mean"], found["raw"] = root_visits, node["mean"], node["own"]
    found["raw_policy_entropy"] = found["policy_entropy"] = policy_entropy(priors)
    target = np.zeros(len(priors))
    target[children.positions[:count]] = children.values[:count]
    kept = np.flatnonzero(children.visits[:count])
    found["num_children"] = len(kept)
    listed = np.zeros(len(kept), CHILD)
    listed["point"] = [point_of(position, length) for position in children.positions[kept].tolist()]
    listed["visits"] = children.visits[kept]
    listed["win_loss"], listed["score_mean"] = children.means[kept, WIN_LOSS], children.means[kept, SCORE_MEAN]
    return InnerNode(moves, found, target, listed)


@njit(cache=True, nogil=True)
def _fill(forest: Forest, slot: int, index: Any, children: Children, lcb: bool) -> int:
    """Fill ``children`` with those of a node and their play-selection values, the largest at least 10."""
    nodes = forest.nodes[slot]
    parameters = forest.parameters[slot]
    count: Any = np.int64(gather_children(nodes, forest.edges[slot], forest.priors[slot, index], index, children))
    values = children.values
    for i in range(count):
        values[i] = children.weights[i] if children.priors[i] >= 0.0 else 0.0
    if lcb:
        best_weight = values[best_child(children, count)]
        apply_lcb(children, count, best_weight, sign_of(nodes[index]["to_move"]), parameters)
    cut_small_values(values, count, parameters)
    largest = 0.0
    for i in range(count):
        largest = max(largest, values[i])
    if 0.0 < largest < POLICY_TARGET_SCALE:
        for i in range(count):
            values[i] *= POLICY_TARGET_SCALE / largest
    return int(count)
