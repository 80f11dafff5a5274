"""What ladder searches of a board looked at, so that the board a turn later need not search again.

A *reading* is the verdict of one search with a box that holds its footprint (`common.go.ladder_memo`), in one number:
as long as no point of the box changes colour, the verdict stands. A turn changes few points, so most searches of a
position are known from the one before; they take a comparison each, where the memo, which knows searches of all boards,
takes a key of all that stands around the chain and a look into a table of megabytes.

A STATE carries the readings of its board and of the one before (``reading``), in the order of the chains' heads.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from common.go.points import MAX_LENGTH, STRIDE
from common.go.state import MAX_READINGS, State
from common.kernels import njit

NO_READING: Final = 0

_MAX_CHANGED: Final = 16
"""Where more points have changed, after a large capture, nothing is taken over."""
_BITS: Final = 5  # of a row or column of the box
_FIELD: Final = (1 << _BITS) - 1
_BOX_SHIFT: Final = 1
_NAME_SHIFT: Final = _BOX_SHIFT + 4 * _BITS
_POINT_BITS: Final = 9

READINGS: Final = np.dtype(
    [
        ("known_count", np.int32),
        ("next_known", np.int32),  # those before have been asked for, or will not be any more
        ("known", np.int64, MAX_READINGS),  # of the board before, as far as they stand
        ("found_count", np.int32),
        ("found", np.int64, MAX_READINGS),  # of the board in hand
        ("changed_count", np.int32),
        ("changed", np.int16, _MAX_CHANGED),  # points
    ],
    align=True,
)


@njit(cache=True, nogil=True)
def name_of(head: int, move: int) -> int:
    """The search for the chain ``head`` after the attacker's ``move``, or PASS for one in atari; never 0."""
    return (head << _POINT_BITS) | move


@njit(cache=True, nogil=True)
def box_around(first_x: int, last_x: int, first_y: int, last_y: int) -> int:
    """A box of whole columns and rows, from 0 on, as a number."""
    return first_x | (last_x << _BITS) | (first_y << 2 * _BITS) | (last_y << 3 * _BITS)


@njit(cache=True, nogil=True)
def reading_of(name: int, found: int) -> int:
    """The reading of a search that found ``found``, as `common.go.ladder_memo.recall` tells it."""
    return (name << _NAME_SHIFT) | found


@njit(cache=True, nogil=True)
def verdict_of(reading: int) -> bool:
    """Whether the chain is captured."""
    return bool(reading & 1)


@njit(cache=True, nogil=True)
def _find_changed(state: State, readings: Any) -> bool:
    """List the points whose colours are not those of a turn ago; False if they are too many."""
    colour = state["colour"]
    earlier = state["earlier_colour"][0]
    count = 0
    for row in range(1, state["y_size"] + 1):
        first = row * STRIDE + 1
        differs = 0
        for x in range(MAX_LENGTH):
            differs |= colour[first + x] != earlier[first + x]
        if differs == 0:
            continue
        for x in range(MAX_LENGTH):
            if colour[first + x] != earlier[first + x]:
                if count == _MAX_CHANGED:
                    return False
                readings["changed"][count] = first + x
                count += 1
    readings["changed_count"] = count
    return True


@njit(cache=True, nogil=True)
def _stands(reading: Any, readings: Any) -> bool:
    """Whether none of the changed points is in the box of ``reading``."""
    box = reading >> _BOX_SHIFT
    first_x = box & _FIELD
    last_x = (box >> _BITS) & _FIELD
    first_y = (box >> 2 * _BITS) & _FIELD
    last_y = (box >> 3 * _BITS) & _FIELD
    for index in range(readings["changed_count"]):
        point = readings["changed"][index]
        x = point % STRIDE - 1
        y = point // STRIDE - 1
        if first_x <= x <= last_x and first_y <= y <= last_y:
            return False
    return True


@njit(cache=True, nogil=True)
def begin_readings(state: State, readings: Any) -> None:
    """Take over what still stands of the board a turn ago."""
    readings["known_count"] = 0
    readings["next_known"] = 0
    readings["found_count"] = 0
    earlier = state["reading"][1]
    if earlier[0] == NO_READING or not _find_changed(state, readings):
        return
    count = 0
    for index in range(MAX_READINGS):
        if earlier[index] == NO_READING:
            break
        if _stands(earlier[index], readings):
            readings["known"][count] = earlier[index]
            count += 1
    readings["known_count"] = count


@njit(cache=True, nogil=True)
def begin_without_readings(readings: Any) -> None:
    """Take over nothing: the board in hand is not that of a STATE."""
    readings["known_count"] = 0
    readings["next_known"] = 0
    readings["found_count"] = 0


@njit(cache=True, nogil=True)
def known_reading(readings: Any, name: int) -> int:
    """The reading of this name that is taken over, or NO_READING; names are asked for in order of their heads.

    The moves of one chain come in any order: those of its own stay where they are.
    """
    chain = name >> _POINT_BITS
    index = readings["next_known"]
    while index < readings["known_count"] and readings["known"][index] >> (_NAME_SHIFT + _POINT_BITS) < chain:
        index += 1
    readings["next_known"] = index
    while index < readings["known_count"] and readings["known"][index] >> (_NAME_SHIFT + _POINT_BITS) == chain:
        if readings["known"][index] >> _NAME_SHIFT == name:
            return int(readings["known"][index])
        index += 1
    return NO_READING


@njit(cache=True, nogil=True)
def keep_reading(readings: Any, reading: int) -> None:
    """One more reading of the board in hand, as far as there is room."""
    count = readings["found_count"]
    if count < MAX_READINGS:
        readings["found"][count] = reading
        readings["found_count"] = count + 1


@njit(cache=True, nogil=True)
def end_readings(state: State, readings: Any) -> None:
    """Give the readings of the board in hand to its STATE."""
    kept = state["reading"][0]
    for index in range(MAX_READINGS):
        kept[index] = readings["found"][index] if index < readings["found_count"] else NO_READING
