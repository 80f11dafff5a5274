"""A tree that is kept from one search to the next: a child becomes the root, and all is averaged anew (search.md 9).

The edges of a graph may lead to nodes that lie before or behind a parent, and back to an ancestor, so everything here
walks along edges, on arrays made with the pool. In a tree the order is the same as without graph search.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from client.search.backup import recompute, set_to_own
from client.search.bias import release_bias
from client.search.grow import clear_tree
from client.search.leaf import set_own_utility, set_own_weight
from client.search.tables import drop_unused_biases, put_all_nodes
from client.search.tree import EVALUATED, NO_BIAS, NO_EDGE, NO_NODE, ROOT, Context, Forest, Scratch
from common.go.state import MAX_READINGS
from common.kernels import njit

_KEPT: Final = 0
"""Marks a node or an edge that stays, until it is numbered."""
_UNSEEN: Final = -2
"""Marks a node that the walk has not come to; NO_EDGE is that of a node all of whose children it has seen."""


@njit(cache=True, nogil=True)
def _mark_below(forest: Forest, slot: int, top: int, scratch: Scratch) -> bool:
    """Mark ``top`` and every node and edge below it in the scratch; True if a way leads from ``top`` back to it."""
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    for index in range(forest.searches[slot]["num_nodes"]):
        scratch.new_nodes[index] = NO_NODE
    for e in range(forest.searches[slot]["num_edges"]):
        scratch.new_edges[e] = NO_EDGE
    scratch.new_nodes[top] = _KEPT
    scratch.stack[0] = top
    waiting = 1
    returns = False
    while waiting > 0:
        waiting -= 1
        e = nodes[scratch.stack[waiting]]["first_edge"]
        while e != NO_EDGE:
            scratch.new_edges[e] = _KEPT
            child = edges[e]["child"]
            returns = returns or child == top
            if scratch.new_nodes[child] == NO_NODE:
                scratch.new_nodes[child] = _KEPT
                scratch.stack[waiting] = child
                waiting += 1
            e = edges[e]["next_edge"]
    return returns


@njit(cache=True, nogil=True)
def _number(forest: Forest, slot: int, top: int, returns: bool, scratch: Scratch) -> None:
    """Number what is marked in its present order, ``top`` being the root unless it is needed below, too.

    No number is larger than the one before, as the old root goes: it is no node's child.
    """
    kept = 1
    for index in range(forest.searches[slot]["num_nodes"]):
        if scratch.new_nodes[index] != NO_NODE and (index != top or returns):
            scratch.new_nodes[index] = kept
            kept += 1
    if not returns:
        scratch.new_nodes[top] = ROOT
    kept = 0
    for e in range(forest.searches[slot]["num_edges"]):
        if scratch.new_edges[e] != NO_EDGE:
            scratch.new_edges[e] = kept
            kept += 1


@njit(cache=True, nogil=True)
def _copy_node(forest: Forest, slot: int, source: int, target: int) -> None:
    forest.nodes[slot, target] = forest.nodes[slot, source]
    for position in range(forest.priors.shape[2]):
        forest.priors[slot, target, position] = forest.priors[slot, source, position]
    for row in range(forest.ladders.shape[2]):
        forest.ladders[slot, target, row] = forest.ladders[slot, source, row]
    for index in range(MAX_READINGS):
        forest.readings[slot, target, index] = forest.readings[slot, source, index]
    for position in range(forest.ownership.shape[2]):
        forest.ownership[slot, target, position] = forest.ownership[slot, source, position]


@njit(cache=True, nogil=True)
def _move_to_front(forest: Forest, slot: int, returns: bool, scratch: Scratch) -> None:
    """Move what is numbered to the front of the slot, everything else being forgotten."""
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    search = forest.searches[slot]
    num_nodes = 1 if returns else 0
    for index in range(search["num_nodes"]):
        target = scratch.new_nodes[index]
        if target == NO_NODE:
            continue
        num_nodes += 1
        node = nodes[index]
        if node["first_edge"] != NO_EDGE:
            node["first_edge"] = scratch.new_edges[node["first_edge"]]
            node["last_edge"] = scratch.new_edges[node["last_edge"]]
        if target != index:
            _copy_node(forest, slot, index, target)
    num_edges = 0
    for e in range(search["num_edges"]):
        target = scratch.new_edges[e]
        if target == NO_EDGE:
            continue
        num_edges += 1
        edge = edges[e]
        edge["child"] = scratch.new_nodes[edge["child"]]
        if edge["next_edge"] != NO_EDGE:
            edge["next_edge"] = scratch.new_edges[edge["next_edge"]]
        if target != e:
            edges[target] = edges[e]
    search["num_nodes"] = num_nodes
    search["num_edges"] = num_edges


@njit(cache=True, nogil=True)
def _copy_to_root(forest: Forest, slot: int, source: int) -> bool:
    """Make node 0 a copy of ``source`` with edges of its own, for want of whose room False is returned."""
    search = forest.searches[slot]
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    first_new = search["num_edges"]
    count = nodes[source]["num_edges"]
    if first_new + count > edges.shape[0]:
        return False
    _copy_node(forest, slot, source, ROOT)
    e = nodes[source]["first_edge"]
    for added in range(first_new, first_new + count):
        edges[added] = edges[e]
        edges[added]["next_edge"] = added + 1
        e = edges[e]["next_edge"]
    edges[first_new + count - 1]["next_edge"] = NO_EDGE
    nodes[ROOT]["first_edge"] = first_new
    nodes[ROOT]["last_edge"] = first_new + count - 1
    search["num_edges"] = first_new + count
    return True


@njit(cache=True, nogil=True)
def _release_others(forest: Forest, slot: int, top: int, returns: bool, scratch: Scratch) -> None:
    """Part the nodes that go from their subtree value biases, and the one that becomes the root."""
    free_prop = forest.parameters[slot]["subtree_value_bias_free_prop"]
    for index in range(forest.searches[slot]["num_nodes"]):
        if scratch.new_nodes[index] == NO_NODE or (index == top and not returns):
            release_bias(forest.biases[slot], forest.nodes[slot, index], free_prop)


@njit(cache=True, nogil=True)
def keep_below(forest: Forest, slot: int, top: int, scratch: Scratch) -> bool:
    """Make ``top`` the root of a slot and keep what lies below; False if there is no room, the tree being lost."""
    returns = _mark_below(forest, slot, top, scratch)
    _number(forest, slot, top, returns, scratch)
    search = forest.searches[slot]
    if search["num_biases"] > 0:
        _release_others(forest, slot, top, returns, scratch)
    _move_to_front(forest, slot, returns, scratch)
    if returns:
        if not _copy_to_root(forest, slot, scratch.new_nodes[top]):
            return False
        root = forest.nodes[slot, ROOT]
        root["bias"] = NO_BIAS
        root["bias_sum"] = 0.0
        root["bias_weight"] = 0.0
    if search["is_graph"]:
        put_all_nodes(forest, slot)
    drop_unused_biases(forest, slot, scratch.new_nodes)
    return True


@njit(cache=True, nogil=True)
def promote_child(forest: Forest, slot: int, position: int, scratch: Scratch) -> bool:
    """Make the root's child of the move ``position`` the root; what no way leads to from there is forgotten.

    Without such a child, or if it has no evaluation by the net, the whole tree is cleared.
    """
    edges = forest.edges[slot]
    e = forest.nodes[slot, ROOT]["first_edge"]
    while e != NO_EDGE and edges[e]["position"] != position:
        e = edges[e]["next_edge"]
    if (
        e == NO_EDGE
        or forest.nodes[slot, edges[e]["child"]]["status"] != EVALUATED
        or not keep_below(forest, slot, edges[e]["child"], scratch)
    ):
        clear_tree(forest, slot)
        return False
    for position_kept in range(forest.priors.shape[2]):
        forest.raw_policies[slot, position_kept] = forest.priors[slot, ROOT, position_kept]
    return True


@njit(cache=True, nogil=True)
def fits(forest: Forest, slot: int, visits: int) -> bool:
    """Whether the kept tree of a slot was grown as this search would, and has room for a root of ``visits``."""
    search = forest.searches[slot]
    parameters = forest.parameters[slot]
    missing = max(0, visits - forest.nodes[slot, ROOT]["visits"])
    return bool(
        search["is_graph"] == parameters["use_graph_search"]
        and search["is_biased"] == (parameters["subtree_value_bias_factor"] > 0.0)
        and search["num_nodes"] + missing <= forest.nodes.shape[1]
        and search["num_edges"] + missing <= forest.edges.shape[1]
    )


@njit(cache=True, nogil=True)
def _recompute_kept(forest: Forest, slot: int, index: int, scratch: Scratch, context: Context) -> None:
    node = forest.nodes[slot, index]
    if node["visits"] == 0:
        return
    set_own_utility(forest, slot, index, context)
    if node["status"] == EVALUATED:
        set_own_weight(forest, slot, index, context)
    if node["first_edge"] == NO_EDGE:
        set_to_own(node, node["own_utility"])
        return
    recompute(
        forest.nodes[slot],
        forest.edges[slot],
        forest.biases[slot],
        index,
        index == ROOT,
        forest.parameters[slot],
        context.student_table,
        scratch,
    )


@njit(cache=True, nogil=True)
def recompute_tree(forest: Forest, slot: int, scratch: Scratch, context: Context) -> None:
    """Average every node anew under the current score centre, children before parents, the first child first.

    Nodes without children are as good as their evaluation, without subtree value bias until their next visit.
    """
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    next_edge = scratch.new_nodes
    for unseen in range(forest.searches[slot]["num_nodes"]):
        next_edge[unseen] = _UNSEEN
    next_edge[ROOT] = nodes[ROOT]["first_edge"]
    scratch.stack[0] = ROOT
    depth = 0
    while depth >= 0:
        index: Any = np.int64(scratch.stack[depth])
        e = next_edge[index]
        if e == NO_EDGE:
            _recompute_kept(forest, slot, index, scratch, context)
            depth -= 1
            continue
        next_edge[index] = edges[e]["next_edge"]
        child = edges[e]["child"]
        if next_edge[child] == _UNSEEN:
            next_edge[child] = nodes[child]["first_edge"]
            depth += 1
            scratch.stack[depth] = child
