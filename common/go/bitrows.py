"""Sets of points as rows of bits, and connected sets among them: a few words instead of hundreds of branches.

Knows the board's shape only. A set is an ``int32[ROWS]``: bit x of row y + 1 is the point (x, y); the rows above and
below the board are 0, so that a neighbouring row always exists. Used by
`common.go.passalive` and `common.go.ladder_memo`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from common.go.points import MAX_LENGTH
from common.kernels import njit

ROWS: Final = MAX_LENGTH + 2

_INDEX_OF_BIT: Final = np.zeros(37, np.int8)
_INDEX_OF_BIT[[(1 << index) % 37 for index in range(36)]] = np.arange(36)  # 2 generates the residues modulo 37


@njit(cache=True, nogil=True)
def lowest_index(bits: int) -> int:
    """Index of the lowest set bit of a row that is not 0."""
    return int(_INDEX_OF_BIT[(bits & -bits) % 37])


@njit(cache=True, nogil=True)
def beside(points: Any, row: int) -> int:
    """The bits of ``row`` that have a neighbour in the set ``points``; bits off the board may be among them."""
    here = points[row]
    return int(points[row - 1] | points[row + 1] | (here << 1) | (here >> 1))


@njit(cache=True, nogil=True)
def fill_connected(inside: Any, found: Any, last_row: int) -> None:
    """Let the set ``found`` grow over all of ``inside`` that is connected to it; both are ``int64[ROWS]``.

    Of two boards at once: one's bits are the low half of a word, the other's the high half. ``found`` is part of
    ``inside``; rows before 1 and after ``last_row`` are not looked at.
    """
    found[1] = _fill_runs(inside[1], found[1])
    for y in range(2, last_row + 1):
        found[y] = _fill_runs(inside[y], found[y] | (found[y - 1] & inside[y]))
    grows = True
    while grows:  # up and down, until neither finds more
        grows = False
        for y in range(last_row - 1, 0, -1):
            new = found[y + 1] & inside[y] & ~found[y]
            if new:
                found[y] = _fill_runs(inside[y], found[y] | new)
                grows = True
        if not grows:
            return
        grows = False
        for y in range(2, last_row + 1):
            new = found[y - 1] & inside[y] & ~found[y]
            if new:
                found[y] = _fill_runs(inside[y], found[y] | new)
                grows = True


@njit(cache=True, nogil=True)
def _fill_runs(inside: int, seeds: int) -> int:
    """All bits of the runs of ``inside`` that hold one of ``seeds``, which are part of it."""
    filled = (inside & ~(inside + seeds)) | seeds  # the carry runs up to the end of each run
    path = inside
    filled |= path & (filled >> 1)  # and down in steps of 1, 2, 4, 8, 16
    path &= path >> 1
    filled |= path & (filled >> 2)
    path &= path >> 2
    filled |= path & (filled >> 4)
    path &= path >> 4
    filled |= path & (filled >> 8)
    path &= path >> 8
    return filled | (path & (filled >> 16))


@njit(cache=True, nogil=True)
def take_component(inside: Any, row: int, found: Any) -> tuple[int, int]:
    """Moves the connected set that holds the lowest bit of ``inside[row]`` from ``inside`` to ``found``.

    Args:
        inside: a set, changed in place; rows before ``row`` may be anything that is not connected to the bit.
        found: a set, overwritten.

    Returns:
        The first and the last row of what was found.
    """
    for index in range(ROWS):
        found[index] = 0
    seed = inside[row] & -inside[row]
    if (inside[row - 1] | inside[row + 1] | (inside[row] >> 1)) & seed == 0:  # a single point, as most eyes are
        found[row] = seed
        inside[row] ^= seed
        return row, row
    found[row] = _fill_runs(inside[row], seed)
    first = row
    last = row
    grows = True
    while grows:  # sweep down, then up; all is found when the way up finds nothing new
        y = first + 1
        while y <= last or inside[y] & found[y - 1]:
            found[y] = _fill_runs(inside[y], (found[y - 1] & inside[y]) | found[y])
            last = max(last, y)
            y += 1
        grows = False
        y = last - 1
        while y >= first or inside[y] & found[y + 1]:
            filled = _fill_runs(inside[y], (found[y + 1] & inside[y]) | found[y])
            grows |= filled != found[y]
            found[y] = filled
            first = min(first, y)
            y -= 1
    for y in range(first, last + 1):
        inside[y] &= ~found[y]
    return first, last
