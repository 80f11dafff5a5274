"""Graph search: which positions of a tree are one node, and what a playout does that meets one again (search.md 7).

Two ways lead to one node if the position is the same and no short cycle could tell them apart: a position's key
depends on the moves that led there back to the last one that no repetition can undo. Without graph search nothing here
is called.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.search.keys import mixed_words, state_key, with_standing
from client.search.rng import uniform
from client.search.tree import Forest, Playouts, Scratch
from common.go.points import EMPTY, NEIGHBOURS, NO_POINT, NUM_POINTS, PASS
from common.go.state import History, State
from common.kernels import njit

_CHAIN_SALT: Final = np.uint64(0x6C62272E07BB0142)
_ROOT_SALT: Final = np.uint64(0x27D4EB2F165667C5)
_FORCED: Final = np.array([0xA0761D6478BD642F, 0xE7037ED1A0B428DB], np.uint64)
"""Tells a node that is searched although its game is over from one that is not."""


@njit(cache=True, nogil=True)
def repetition_is_impossible(state: State, bound: int, scratch: Scratch) -> bool:
    """Whether more than ``bound`` points around the last move would have to change before this position came again.

    They are the chain at its point with either its liberties or the empty regions beside it; after a suicide, the
    empty region there. Never so after a pass.
    """
    point = state["recent_point"][0]
    if point in (PASS, NO_POINT):
        return False
    chain = 0
    head = state["chain_head"][point]
    if state["colour"][point] != EMPTY:
        chain = state["chain_size"][head]
        if chain + state["chain_liberties"][head] > bound:
            return True
    return _reaches_beyond(state, point, chain, bound, scratch)


@njit(cache=True, nogil=True)
def _reaches_beyond(state: State, point: int, chain: int, bound: int, scratch: Scratch) -> bool:
    """Whether ``chain`` stones at ``point`` (0 if it is empty) and the empty points joined to them exceed ``bound``."""
    colour = state["colour"]
    seen = scratch.area
    found = scratch.points
    for index in range(NUM_POINTS):
        seen[index] = 0
    found[0] = point
    seen[point] = 1
    count = 1
    if chain > 0:
        for i in range(1, chain):
            found[i] = state["chain_next"][found[i - 1]]
            seen[found[i]] = 1
        count = chain
    read = 0
    while read < count and count <= bound:
        here = found[read]
        read += 1
        for offset in NEIGHBOURS:
            near = here + offset
            if colour[near] == EMPTY and seen[near] == 0:
                seen[near] = 1
                found[count] = near
                count += 1
    return bool(count > bound)


@njit(cache=True, nogil=True)
def root_key(state: State, history: History, bound: int, scratch: Scratch) -> tuple[Any, Any]:
    """The key of a tree's first root, the two words of which its descendants' keys are made.

    The turns before it are not known, and need not be: what they would add is the same for all of the tree. Where
    they count, they count as one that nothing else is.
    """
    first, second = state_key(state, history)
    if state["recent_point"][0] == NO_POINT or repetition_is_impossible(state, bound, scratch):
        return first, second
    return mixed_words(first, second, _ROOT_SALT)


@njit(cache=True, nogil=True)
def child_key(
    parent: Any,
    situation: Any,
    state: State,
    history: History,
    bound: int,
    force_non_terminal: bool,
    scratch: Scratch,
) -> tuple[Any, Any]:
    """The key of a node that a turn below a node of key ``parent`` (uint64 [2]) has led to.

    Args:
        situation: `client.search.keys.situation_key` of ``state``, uint64 [2].
        bound: graphSearchRepBound.
        force_non_terminal: whether the node is searched although its game is over.
    """
    first, second = with_standing(situation[0], situation[1], state, history)
    if not repetition_is_impossible(state, bound, scratch):
        chain_first, chain_second = mixed_words(parent[0], parent[1], _CHAIN_SALT)
        first ^= chain_first
        second ^= chain_second
    if force_non_terminal:
        first ^= _FORCED[0]
        second ^= _FORCED[1]
    return first, second


@njit(cache=True, nogil=True)
def catches_up(forest: Forest, slot: int, edge: int) -> bool:
    """Whether a playout that chose ``edge`` ends there, counting a visit that the child has had by another way."""
    chosen = forest.edges[slot, edge]
    if forest.nodes[slot, chosen["child"]]["visits"] <= chosen["visits"]:
        return False
    leak = forest.parameters[slot]["graph_search_catch_up_leak_prob"]
    return not (leak > 0.0 and uniform(forest.generators[slot]) < leak)


@njit(cache=True, nogil=True)
def is_on_path(nodes: npt.NDArray[np.void], playouts: Playouts, row: int, depth: int, index: int) -> bool:
    """Whether node ``index`` is among the first ``depth`` + 1 of the playout of ``row``; ``nodes`` are its slot's."""
    if nodes[index]["virtual_losses"] == 0:
        return False
    found = False
    for step in range(depth + 1):
        found = found or playouts.nodes[row, step] == index
    return found
