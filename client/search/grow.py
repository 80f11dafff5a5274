"""Trees are made, grown and cleared. Knows the layout of `client.search.tree`, no rule of search."""

from __future__ import annotations

from typing import Final

import numpy as np

from client.search.parameters import SEARCH_PARAMETERS
from client.search.rng import new_generators
from client.search.tables import clear_tables, table_size
from client.search.tree import (
    BIAS,
    EDGE,
    NO_BIAS,
    NO_EDGE,
    NO_POSITION,
    NODE,
    ROOT,
    SEARCH,
    UNEVALUATED,
    UNKNOWN_POSITION,
    Forest,
)
from common.go.state import MAX_READINGS, new_histories, new_states
from common.kernels import njit

NODES_PER_VISIT: Final = 1.25
EDGES_PER_VISIT: Final = 2.5
"""A kept graph may have more nodes and edges than its root has visits, since other ways than the root's led to some."""


def new_forest(slots: int, visits: int, length: int, *, ownership: bool = False) -> Forest:
    """Trees for searches of up to ``visits``, on boards up to ``length``; each begins as one unevaluated root."""
    positions = length * length + 1
    owned = positions - 1 if ownership else 0
    nodes = int(visits * NODES_PER_VISIT)
    places = table_size(nodes)
    forest = Forest(
        nodes=np.zeros((slots, nodes), NODE),
        edges=np.zeros((slots, int(visits * EDGES_PER_VISIT)), EDGE),
        priors=np.zeros((slots, nodes, positions), np.float32),
        ladders=np.zeros((slots, nodes, length), np.uint32),
        readings=np.zeros((slots, nodes, MAX_READINGS), np.int64),
        ownership=np.zeros((slots, nodes, owned), np.int16),
        node_table=np.zeros((slots, places), np.int32),
        biases=np.zeros((slots, nodes), BIAS),
        bias_table=np.zeros((slots, places), np.int32),
        searches=np.zeros(slots, SEARCH),
        parameters=np.zeros(slots, SEARCH_PARAMETERS),
        states=new_states(slots),
        histories=new_histories(slots),
        raw_policies=np.zeros((slots, positions), np.float32),
        generators=new_generators(slots),
        avoid_until=np.zeros((slots, 2, positions), np.int16),
        candidates=np.ones((slots, positions), np.bool_),
        root_ownership=np.zeros((slots, positions - 1), np.float32),
        ending_points=np.zeros((slots, positions)),
    )
    forest.searches["hint"] = NO_POSITION
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
    node["bias"] = NO_BIAS
    node["bias_sum"] = 0.0
    node["bias_weight"] = 0.0
    return int(index)


@njit(cache=True, nogil=True)
def add_edge(forest: Forest, slot: int, parent: int, position: int, child: int) -> int:
    """Append an edge without visits from ``parent`` to ``child`` for the move ``position``; returns its index."""
    search = forest.searches[slot]
    index = search["num_edges"]
    search["num_edges"] = index + 1
    edge = forest.edges[slot, index]
    edge["child"] = child
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
    clear_tables(forest, slot)
    search["num_nodes"] = 0
    search["num_edges"] = 0
    new_node(forest, slot)


@njit(cache=True, nogil=True)
def drop_root_edges(forest: Forest, slot: int) -> bool:
    """Unlink the root's children whose moves are illegal or no candidates; False if there are none.

    The root keeps the visits of those that stay and one of its own. What was below stays in the way until
    `client.search.reuse.keep_below`.
    """
    search = forest.searches[slot]
    root = forest.nodes[slot, ROOT]
    edges = forest.edges[slot]
    dropped = False
    last = NO_EDGE
    visits = 1
    e = root["first_edge"]
    while e != NO_EDGE:
        following = edges[e]["next_edge"]
        position = edges[e]["position"]
        is_candidate = not search["limits_root"] or forest.candidates[slot, position]
        if is_candidate and forest.raw_policies[slot, position] >= 0.0:
            visits += edges[e]["visits"]
            last = e
        else:
            dropped = True
            root["num_edges"] -= 1
            if last == NO_EDGE:
                root["first_edge"] = following
            else:
                edges[last]["next_edge"] = following
        e = following
    if dropped:
        root["last_edge"] = last
        root["visits"] = visits
        root["next_position"] = UNKNOWN_POSITION
    return dropped
