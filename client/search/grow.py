"""Trees are made, grown, cleared and cut (search.md 9). Knows the layout of `client.search.tree`, no rule of search."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from client.search.parameters import SEARCH_PARAMETERS
from client.search.rng import new_generators
from client.search.tree import (
    EDGE,
    EVALUATED,
    NO_EDGE,
    NO_NODE,
    NODE,
    ROOT,
    SEARCH,
    UNEVALUATED,
    UNKNOWN_POSITION,
    Forest,
)
from common.go.state import new_histories, new_states
from common.kernels import njit

_KEPT: Final = 0
"""Marks a node or an edge that stays, until it is numbered."""


def new_forest(slots: int, capacity: int, length: int, *, ownership: bool = False) -> Forest:
    """Trees of at most ``capacity`` nodes each, for boards up to ``length``; each begins as one unevaluated root."""
    positions = length * length + 1
    owned = positions - 1 if ownership else 0
    forest = Forest(
        nodes=np.zeros((slots, capacity), NODE),
        edges=np.zeros((slots, capacity), EDGE),
        priors=np.zeros((slots, capacity, positions), np.float32),
        ladders=np.zeros((slots, capacity, positions - 1), np.int8),
        ownership=np.zeros((slots, capacity, owned), np.int16),
        searches=np.zeros(slots, SEARCH),
        parameters=np.zeros(slots, SEARCH_PARAMETERS),
        states=new_states(slots),
        histories=new_histories(slots),
        raw_policies=np.zeros((slots, positions), np.float32),
        generators=new_generators(slots),
    )
    for slot in range(slots):
        clear_tree(forest, slot)
    return forest


@njit(cache=True, nogil=True)
def new_node(forest: Forest, slot: int) -> int:
    """Append an unevaluated node without visits to a slot's tree; returns its index."""
    search = forest.searches[slot]
    index = search["num_nodes"]
    search["num_nodes"] = index + 1
    node = forest.nodes[slot, index]
    node["visits"] = 0
    node["virtual_losses"] = 0
    node["first_edge"] = NO_EDGE
    node["last_edge"] = NO_EDGE
    node["num_edges"] = 0
    node["next_position"] = UNKNOWN_POSITION
    node["status"] = UNEVALUATED
    node["weight"] = 0.0
    node["weight_sq"] = 0.0
    return int(index)


@njit(cache=True, nogil=True)
def add_child(forest: Forest, slot: int, parent: int, position: int) -> int:
    """Append an edge for ``position`` and an unevaluated child; returns the edge."""
    search = forest.searches[slot]
    index = search["num_edges"]
    search["num_edges"] = index + 1
    edge = forest.edges[slot, index]
    edge["child"] = new_node(forest, slot)
    edge["next_edge"] = NO_EDGE
    edge["visits"] = 0
    edge["prior"] = forest.priors[slot, parent, position]
    edge["position"] = position
    node = forest.nodes[slot, parent]
    if node["last_edge"] == NO_EDGE:
        node["first_edge"] = index
    else:
        forest.edges[slot, node["last_edge"]]["next_edge"] = index
    node["last_edge"] = index
    node["num_edges"] += 1
    node["next_position"] = UNKNOWN_POSITION
    return int(index)


@njit(cache=True, nogil=True)
def clear_tree(forest: Forest, slot: int) -> None:
    """Leave a slot with one unevaluated node, the root."""
    search = forest.searches[slot]
    search["num_nodes"] = 0
    search["num_edges"] = 0
    new_node(forest, slot)


@njit(cache=True, nogil=True)
def _mark_subtree(
    forest: Forest, slot: int, top: int, new_node_index: npt.NDArray[np.int32], new_edge_index: npt.NDArray[np.int32]
) -> None:
    """Give ``top`` and every node and edge below it the index it will have, NO_NODE and NO_EDGE to the others.

    A pass first marks what stays, another numbers it. Nodes and edges lie in order of creation, so a pass forward sees
    each parent before its children, and nodes, which their parents have marked by then, are numbered in the same.
    """
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    num_nodes = forest.searches[slot]["num_nodes"]
    num_edges = forest.searches[slot]["num_edges"]
    for index in range(num_nodes):
        new_node_index[index] = NO_NODE
    for e in range(num_edges):
        new_edge_index[e] = NO_EDGE
    new_node_index[top] = _KEPT
    kept = 0
    for index in range(top, num_nodes):
        if new_node_index[index] == NO_NODE:
            continue
        new_node_index[index] = kept
        kept += 1
        e = nodes[index]["first_edge"]
        while e != NO_EDGE:
            new_edge_index[e] = _KEPT
            new_node_index[edges[e]["child"]] = _KEPT
            e = edges[e]["next_edge"]
    kept = 0
    for e in range(num_edges):
        if new_edge_index[e] != NO_EDGE:
            new_edge_index[e] = kept
            kept += 1


@njit(cache=True, nogil=True)
def _keep_subtree(
    forest: Forest, slot: int, top: int, new_node_index: npt.NDArray[np.int32], new_edge_index: npt.NDArray[np.int32]
) -> None:
    """Move the subtree of ``top`` to the front of the slot, everything else being forgotten."""
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    search = forest.searches[slot]
    _mark_subtree(forest, slot, top, new_node_index, new_edge_index)
    num_nodes = 0
    for index in range(top, search["num_nodes"]):
        target = new_node_index[index]
        if target == NO_NODE:
            continue
        num_nodes += 1
        node = nodes[index]
        if node["first_edge"] != NO_EDGE:
            node["first_edge"] = new_edge_index[node["first_edge"]]
            node["last_edge"] = new_edge_index[node["last_edge"]]
        nodes[target] = nodes[index]
        for position in range(forest.priors.shape[2]):
            forest.priors[slot, target, position] = forest.priors[slot, index, position]
        for position in range(forest.ladders.shape[2]):
            forest.ladders[slot, target, position] = forest.ladders[slot, index, position]
        for position in range(forest.ownership.shape[2]):
            forest.ownership[slot, target, position] = forest.ownership[slot, index, position]
    num_edges = 0
    for e in range(search["num_edges"]):
        target = new_edge_index[e]
        if target == NO_EDGE:
            continue
        num_edges += 1
        edge = edges[e]
        edge["child"] = new_node_index[edge["child"]]
        if edge["next_edge"] != NO_EDGE:
            edge["next_edge"] = new_edge_index[edge["next_edge"]]
        edges[target] = edges[e]
    search["num_nodes"] = num_nodes
    search["num_edges"] = num_edges


@njit(cache=True, nogil=True)
def promote_child(
    forest: Forest,
    slot: int,
    position: int,
    new_node_index: npt.NDArray[np.int32],
    new_edge_index: npt.NDArray[np.int32],
) -> bool:
    """Make the root's child of the move ``position`` the root; the rest of the tree is forgotten.

    Without such a child, or if it has no evaluation by the net, the whole tree is cleared.

    Args:
        new_node_index: int32 [N], working space.
        new_edge_index: int32 [N], working space.
    """
    edges = forest.edges[slot]
    e = forest.nodes[slot, ROOT]["first_edge"]
    while e != NO_EDGE and edges[e]["position"] != position:
        e = edges[e]["next_edge"]
    if e == NO_EDGE or forest.nodes[slot, edges[e]["child"]]["status"] != EVALUATED:
        clear_tree(forest, slot)
        return False
    _keep_subtree(forest, slot, edges[e]["child"], new_node_index, new_edge_index)
    for position_kept in range(forest.priors.shape[2]):
        forest.raw_policies[slot, position_kept] = forest.priors[slot, ROOT, position_kept]
    return True
