"""The keys of earlier positions: a HISTORY record that grows at its end and is taken back from its end.

Knows nothing of what a key means. Keys live in an array in order of insertion and, by index, in a hash table with
linear probing. Because keys leave in the reverse order of their coming, a freed slot leaves no gap in anybody's probe
sequence, and no tombstones are needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from common.go.state import HISTORY_CAPACITY, HISTORY_TABLE, History
from common.kernels import njit


@njit(cache=True, nogil=True)
def is_full(history: History, wanted: int) -> bool:
    """Whether fewer than ``wanted`` more keys fit."""
    return bool(history["count"] > HISTORY_CAPACITY - wanted)


@njit(cache=True, nogil=True)
def add(history: History, key: Any, start: int) -> int:
    """Append the uint64 ``key``; the caller has seen to it that the history is not full.

    Returns:
        How often the key was there already at an index of at least ``start``.
    """
    table = history["table_index"]
    keys = history["key"]
    slot = key & np.uint64(HISTORY_TABLE - 1)
    occurrences = 0
    while table[slot] != 0:
        index = table[slot] - 1
        if index >= start and keys[index] == key:
            occurrences += 1
        slot = (slot + np.uint64(1)) & np.uint64(HISTORY_TABLE - 1)
    index = history["count"]
    keys[index] = key
    history["slot"][index] = slot
    table[slot] = index + 1
    history["count"] = index + 1
    return occurrences


@njit(cache=True, nogil=True)
def contains(history: History, key: Any, start: int) -> bool:
    """Whether the uint64 ``key`` is there at an index of at least ``start``."""
    table = history["table_index"]
    keys = history["key"]
    slot = key & np.uint64(HISTORY_TABLE - 1)
    while table[slot] != 0:
        index = table[slot] - 1
        if index >= start and keys[index] == key:
            return True
        slot = (slot + np.uint64(1)) & np.uint64(HISTORY_TABLE - 1)
    return False


@njit(cache=True, nogil=True)
def rewind(history: History, count: int) -> None:
    """Take back the newest keys until ``count`` (at least 0) are left."""
    count = max(count, 0)
    table = history["table_index"]
    slots = history["slot"]
    for index in range(history["count"] - 1, count - 1, -1):
        table[slots[index]] = 0
    if history["count"] > count:
        history["count"] = count


@njit(cache=True, nogil=True)
def copy_history(target: History, source: History) -> None:
    """Make ``target`` hold the keys of ``source``, and no others; what lies beyond them is left as it is."""
    rewind(target, 0)
    for index in range(source["count"]):
        slot = source["slot"][index]
        target["key"][index] = source["key"][index]
        target["slot"][index] = slot
        target["table_index"][slot] = index + 1
    target["count"] = source["count"]
