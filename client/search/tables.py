"""Hash tables of a slot: which node, and which entry of the subtree value bias, has a key of 128 bits.

Open addressing with linear probing in arrays that are made with the pool: a place holds 1 + an index, 0 where it is
free. Nothing is ever taken out of a table; a tree that is cut gets its tables written anew. There are at least twice as
many places as nodes, so that searches end soon. Knows what a record's key is called, not what it means.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.search.tree import NO_BIAS, NO_NODE, ROOT, Forest
from common.kernels import njit

Table = npt.NDArray[np.int32]

_PLACES_PER_ENTRY: Final = 2


def table_size(entries: int) -> int:
    """Places of a table for so many entries: a power of two."""
    return 1 << max(0, _PLACES_PER_ENTRY * entries - 1).bit_length()


@njit(cache=True, nogil=True)
def _first_place(table: Table, key: Any) -> Any:
    return np.int64(key & np.uint64(table.shape[0] - 1))


@njit(cache=True, nogil=True)
def _put(table: Table, key: Any, index: int) -> None:
    """Take the first free place from that of ``key`` on."""
    mask = table.shape[0] - 1
    place = _first_place(table, key)
    while table[place] != 0:
        place = (place + 1) & mask
    table[place] = index + 1


@njit(cache=True, nogil=True)
def clear_tables(forest: Forest, slot: int) -> None:
    """Forget a slot's nodes and entries; costs nothing where none were put in."""
    search = forest.searches[slot]
    if search["is_graph"]:
        forest.node_table[slot, :] = 0
    if search["num_biases"] > 0:
        forest.bias_table[slot, :] = 0
    search["num_biases"] = 0


# -- nodes --


@njit(cache=True, nogil=True)
def find_node(forest: Forest, slot: int, first: Any, second: Any, to_move: int) -> int:
    """The node of this key (two np.uint64) in which ``to_move`` moves, or NO_NODE."""
    table = forest.node_table[slot]
    mask = table.shape[0] - 1
    place = _first_place(table, first)
    while table[place] != 0:
        index = table[place] - 1
        node = forest.nodes[slot, index]
        key = node["key"]
        if key[0] == first and key[1] == second and node["to_move"] == to_move:
            return int(index)
        place = (place + 1) & mask
    return NO_NODE


@njit(cache=True, nogil=True)
def put_node(forest: Forest, slot: int, index: int) -> None:
    """Enter a node, whose key is set, in its slot's table."""
    _put(forest.node_table[slot], forest.nodes[slot, index]["key"][0], index)


@njit(cache=True, nogil=True)
def put_all_nodes(forest: Forest, slot: int) -> None:
    """Write the table of a slot anew: all nodes but the root."""
    forest.node_table[slot, :] = 0
    for index in range(ROOT + 1, forest.searches[slot]["num_nodes"]):
        put_node(forest, slot, index)


# -- entries of the subtree value bias --


@njit(cache=True, nogil=True)
def bias_of_key(forest: Forest, slot: int, first: Any, second: Any) -> int:
    """The entry of this key (two np.uint64), an empty one being added if there is none."""
    table = forest.bias_table[slot]
    biases = forest.biases[slot]
    mask = table.shape[0] - 1
    place = _first_place(table, first)
    while table[place] != 0:
        index = table[place] - 1
        key = biases[index]["key"]
        if key[0] == first and key[1] == second:
            return int(index)
        place = (place + 1) & mask
    added = forest.searches[slot]["num_biases"]
    forest.searches[slot]["num_biases"] = added + 1
    table[place] = added + 1
    entry = biases[added]
    entry["key"][0] = first
    entry["key"][1] = second
    entry["sum"] = 0.0
    entry["weight"] = 0.0
    return int(added)


@njit(cache=True, nogil=True)
def drop_unused_biases(forest: Forest, slot: int, new_index: npt.NDArray[np.int32]) -> None:
    """Keep the entries that a node has, and number them anew; ``new_index`` [N] is working space."""
    search = forest.searches[slot]
    nodes = forest.nodes[slot]
    biases = forest.biases[slot]
    if search["num_biases"] == 0:
        return
    for index in range(search["num_biases"]):
        new_index[index] = NO_BIAS
    for index in range(search["num_nodes"]):
        if nodes[index]["bias"] != NO_BIAS:
            new_index[nodes[index]["bias"]] = 0
    kept = 0
    forest.bias_table[slot, :] = 0
    for index in range(search["num_biases"]):
        if new_index[index] != NO_BIAS:
            new_index[index] = kept
            biases[kept] = biases[index]
            _put(forest.bias_table[slot], biases[kept]["key"][0], kept)
            kept += 1
    search["num_biases"] = kept
    for index in range(search["num_nodes"]):
        if nodes[index]["bias"] != NO_BIAS:
            nodes[index]["bias"] = new_index[nodes[index]["bias"]]
