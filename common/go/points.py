"""Where a point lies: the one coordinate system of the kernels, and its conversions.

Knows nothing of rules or stones. Four spellings of a point are in use:

===========  =======================================  ============  =================
spelling     meaning                                  corner (0,0)  pass
===========  =======================================  ============  =================
(x, y)       x to the right, y down, both from 0      (0, 0)        --
point        index into a board array (this module)   21            ``PASS`` (0)
position     ``y * length + x`` in a net's tensor     0             ``length ** 2``
vertex       GTP text, letters skip I, y from below   ``A19``       ``pass``
===========  =======================================  ============  =================

A board array has ``NUM_POINTS`` entries for every board size: rows are ``STRIDE`` apart, and everything that is not
on the board holds ``WALL``. So the neighbours of a point are always at the constant offsets of ``NEIGHBOURS``.
"""

from __future__ import annotations

from typing import Final

from common.go.basics import BLACK as BLACK
from common.go.basics import COLUMN_LETTERS
from common.go.basics import EMPTY as EMPTY
from common.go.basics import FIRST_CLEANUP as FIRST_CLEANUP
from common.go.basics import MAIN_PHASE as MAIN_PHASE
from common.go.basics import MAX_LENGTH as MAX_LENGTH
from common.go.basics import MIN_LENGTH as MIN_LENGTH
from common.go.basics import SECOND_CLEANUP as SECOND_CLEANUP
from common.go.basics import WHITE as WHITE
from common.kernels import njit

STRIDE: Final = MAX_LENGTH + 1
NUM_POINTS: Final = STRIDE * (MAX_LENGTH + 2) + 1
PASS: Final = 0
NO_POINT: Final = -1

WALL: Final = 3

NEIGHBOURS: Final = (-STRIDE, -1, 1, STRIDE)
"""Offsets of the four neighbours, in the order up, left, right, down."""


@njit(cache=True, nogil=True)
def point_at(x: int, y: int) -> int:
    """Point of column ``x`` and row ``y`` (both from 0, the top left corner is 0, 0)."""
    return (y + 1) * STRIDE + x + 1


@njit(cache=True, nogil=True)
def x_of(point: int) -> int:
    """Column of an on-board point."""
    return point % STRIDE - 1


@njit(cache=True, nogil=True)
def y_of(point: int) -> int:
    """Row of an on-board point, 0 at the top."""
    return point // STRIDE - 1


@njit(cache=True, nogil=True)
def opponent(colour: int) -> int:
    """The other colour of BLACK and WHITE."""
    return 3 - colour


@njit(cache=True, nogil=True)
def position_of(point: int, length: int) -> int:
    """Index of ``point`` in a square tensor of edge ``length``; the pass is ``length ** 2``."""
    if point == PASS:
        return length * length
    return (point // STRIDE - 1) * length + point % STRIDE - 1


@njit(cache=True, nogil=True)
def point_of(position: int, length: int) -> int:
    """Inverse of `position_of`."""
    if position == length * length:
        return PASS
    return (position // length + 1) * STRIDE + position % length + 1


def to_vertex(point: int, y_size: int) -> str:
    """GTP vertex of ``point`` on a board of ``y_size`` rows, e.g. ``C4``; ``pass`` for the pass."""
    if point == PASS:
        return "pass"
    return f"{COLUMN_LETTERS[point % STRIDE - 1]}{y_size - (point // STRIDE - 1)}"


def from_vertex(vertex: str, x_size: int, y_size: int) -> int:
    """Point named by a GTP ``vertex``, in any case.

    Raises:
        ValueError: not a vertex, or outside the board.
    """
    text = vertex.strip().upper()
    if text == "PASS":
        return PASS
    column = COLUMN_LETTERS.find(text[:1]) if text else -1
    if column < 0 or not text[1:].isascii() or not text[1:].isdigit():
        raise ValueError(f"{vertex!r} is not a board vertex such as C4, nor pass")
    row = int(text[1:])
    if column >= x_size or not 1 <= row <= y_size:
        raise ValueError(f"{vertex!r} lies outside a board of {x_size} columns and {y_size} rows")
    return (y_size - row + 1) * STRIDE + column + 1
