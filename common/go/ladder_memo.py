"""What ladder searches have found, for other positions in which all that they looked at is the same.

The positions of a search tree differ in a few stones, and most ladder searches of one look at nothing that is new. A
memo keeps the verdict of a search with the *footprint* of it: a set of points that holds every one whose colour the
search depended on. Where a later board has the same stones on the footprint, the verdict is the same, whatever game it
is of; so results do not depend on what a memo holds.

The footprint is found without watching the search at each step. With the points at which it listed moves and those of
the chain in question, it takes in the chains of the defender that moves could have joined to that chain, every chain
beside any of these, whose liberties count, and all points around. It is one bit per point by rows, like the colours of
the stones on it; a comparison is one of as many words as the board has rows. Knows chains and colours as
`common.go.ladder_board` has them, and no rule of ladders.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from common.go.bitrows import ROWS as _ROWS
from common.go.bitrows import beside, fill_connected, lowest_index
from common.go.ladder_readings import box_around
from common.go.points import BLACK, EMPTY, MAX_LENGTH, NEIGHBOURS, STRIDE, WHITE
from common.go.zobrist import STONE_KEYS, split_mix_64
from common.kernels import njit

UNKNOWN: Final = -1

_SETS: Final = 4096
_WAYS: Final = 4
_MAX_NOTED: Final = 1024
"""Searches that list more moves are not kept."""

_WHITE_SHIFT: Final = STRIDE
_AREA_SHIFT: Final = 2 * STRIDE
_STONES: Final = (1 << _AREA_SHIFT) - 1
_COLUMNS: Final = (1 << MAX_LENGTH) - 1
_ONE: Final = np.uint64(1)
_HALF: Final = np.uint64(32)
_SET_BITS: Final = np.uint64(_SETS - 1)
_MOST_TOLD: Final = 63
"""Liberties that a key tells apart."""
_WORD: Final = np.uint64(64)
_SIZE_KEYS: Final = split_mix_64(0x51E, STRIDE * STRIDE)

LADDER_MEMO: Final = np.dtype(
    [
        ("size", np.int32),  # of the board in hand: columns times STRIDE, and rows
        ("rows_known", np.int8),
        ("rows", np.int64, _ROWS),  # stones of the board in hand: Black's bits, and White's from _WHITE_SHIFT on
        ("footprint", np.int64, _ROWS),  # bits as Black's
        # moves that the search in hand has listed, from the first on; more are counted, but not kept
        ("noted_count", np.int32),
        ("noted", np.int16, _MAX_NOTED),
        # the footprint in the making
        ("inside", np.int64, _ROWS),  # stones of a colour
        ("found", np.int64, _ROWS),  # of these, those of chains that are in it
        # the table: sets of _WAYS entries, of which the oldest goes first
        ("key", np.uint64, (_SETS, _WAYS)),  # 0 = free; the last bit is the verdict
        ("content", np.int64, (_SETS, _WAYS, MAX_LENGTH)),  # rows: stones as in ``rows``, the footprint above
        ("box", np.int32, (_SETS, _WAYS)),  # around the footprint, `common.go.ladder_readings.box_around`
        ("next_way", np.int8, _SETS),
    ],
    align=True,
)


@njit(cache=True, nogil=True)
def forget_board(memo: Any, x_size: int, y_size: int) -> None:
    """Another board is in hand; what is known of others stays."""
    memo["size"] = x_size * STRIDE + y_size
    memo["rows_known"] = 0


@njit(cache=True, nogil=True)
def note(memo: Any, point: int) -> None:
    """Tell that the search in hand looks at a move at ``point``."""
    memo["noted"][memo["noted_count"] & (_MAX_NOTED - 1)] = point
    memo["noted_count"] += 1


@njit(cache=True, nogil=True)
def _read_rows(board: Any, memo: Any) -> None:
    colour = board["colour"]
    for row in range(1, memo["size"] % STRIDE + 1):
        black = 0
        white = 0
        for x in range(MAX_LENGTH):
            stone = colour[row * STRIDE + 1 + x]
            black |= (stone == BLACK) << x
            white |= (stone == WHITE) << x
        memo["rows"][row] = black | (white << _WHITE_SHIFT)
    memo["rows_known"] = 1


@njit(cache=True, nogil=True)
def _beside(board: Any, point: int) -> Any:
    """A number of the stones beside ``point`` and the liberties of their chains; uint64."""
    heads = board["chain_head"]
    total = np.uint64(0)
    for offset in NEIGHBOURS:
        near = point + offset
        head = heads[near]
        if head != 0:
            key = STONE_KEYS[board["colour"][near], near]
            shift = np.uint64(min(board["chain_liberties"][head], _MOST_TOLD))
            total ^= (key << shift) | (key >> (_WORD - shift))
    return total


@njit(cache=True, nogil=True)
def search_key(board: Any, head: int, memo: Any) -> Any:
    """Key of the searches for the chain ``head``, which has few liberties; uint64.

    Of what lies in every footprint of such a search: the chain, its liberties, and what stands beside them. So boards
    that differ there have entries in different sets. Searches after an attacker's move differ by its stone's key.
    """
    colour = board["colour"]
    owner = colour[head]
    key = _SIZE_KEYS[memo["size"]]
    stone = head
    for _ in range(board["chain_size"][head]):
        key ^= STONE_KEYS[owner, stone] ^ _beside(board, stone)
        for offset in NEIGHBOURS:
            if colour[stone + offset] == EMPTY:
                key ^= _beside(board, stone + offset)
        stone = board["chain_next"][stone]
    return key ^ (key >> _HALF)


@njit(cache=True, nogil=True)
def recall(board: Any, key: Any, memo: Any) -> int:
    """What an earlier search found, or UNKNOWN if there is none whose footprint is the same on this board.

    Twice the box around the footprint, and the verdict as the lowest bit.
    """
    if not memo["rows_known"]:
        _read_rows(board, memo)
    rows = memo["rows"]
    index = (key >> _ONE) & _SET_BITS
    keys = memo["key"][index]
    for way in range(_WAYS):
        if keys[way] | _ONE != key | _ONE:
            continue
        content = memo["content"][index, way]
        differs = 0
        for y in range(memo["size"] % STRIDE):  # on small boards one cache line of the table instead of three
            area = content[y] >> _AREA_SHIFT
            differs |= (rows[y + 1] & (area | (area << _WHITE_SHIFT))) ^ (content[y] & _STONES)
        if differs == 0:
            return 2 * int(memo["box"][index, way]) + int(keys[way] & _ONE)
    return UNKNOWN


@njit(cache=True, nogil=True)
def _find_footprint(board: Any, target: int, memo: Any) -> None:
    """The footprint of the search for the chain of ``target`` that has just ended, but for the points around it."""
    last_row = memo["size"] % STRIDE
    footprint = memo["footprint"]
    for row in range(last_row + 2):
        footprint[row] = 0
    for index in range(memo["noted_count"]):
        point = np.int64(memo["noted"][index])
        footprint[point // STRIDE] |= 1 << (point % STRIDE - 1)
    found = memo["found"]
    for row in range(1, last_row + 1):
        found[row] = beside(footprint, row)
    found[target // STRIDE] |= 1 << (target % STRIDE - 1)
    is_white = board["colour"][target] == WHITE
    _add_chains_at(found, is_white, last_row, memo)
    for row in range(1, last_row + 1):
        found[row] = beside(footprint, row)
    _add_chains_at(found, not is_white, last_row, memo)


@njit(cache=True, nogil=True)
def _add_chains_at(found: Any, is_white: bool, last_row: int, memo: Any) -> None:
    """Take in the chains of one colour that have stones at points of ``found``, which is used up."""
    shift = _WHITE_SHIFT if is_white else 0
    inside = memo["inside"]
    for row in range(1, last_row + 1):
        inside[row] = (memo["rows"][row] >> shift) & _COLUMNS
        found[row] &= inside[row]
    fill_connected(inside, found, last_row)
    for row in range(1, last_row + 1):
        memo["footprint"][row] |= found[row]


@njit(cache=True, nogil=True)
def remember(board: Any, target: int, key: Any, is_captured: bool, memo: Any) -> int:
    """Keep the verdict of the search for the chain of ``target``; the board must be as it was before it.

    Returns:
        What `recall` will, or UNKNOWN if the search was too long to be kept.
    """
    if memo["noted_count"] > _MAX_NOTED:
        return UNKNOWN
    _find_footprint(board, target, memo)
    footprint = memo["footprint"]
    rows = memo["rows"]
    index = (key >> _ONE) & _SET_BITS
    way = memo["next_way"][index]
    memo["next_way"][index] = (way + 1) % _WAYS
    memo["key"][index, way] = key | _ONE if is_captured else key & ~_ONE
    content = memo["content"][index, way]
    columns = 0
    first_y = MAX_LENGTH
    last_y = 0
    for y in range(memo["size"] % STRIDE):
        here = footprint[y + 1]
        around = here | (here << 1) | (here >> 1) | footprint[y] | footprint[y + 2]
        area = around & _COLUMNS
        content[y] = (rows[y + 1] & (area | (area << _WHITE_SHIFT))) | (area << _AREA_SHIFT)
        columns |= area
        if area != 0:
            first_y = min(first_y, y)
            last_y = y
    first_x = lowest_index(columns)
    last_x = first_x
    while columns >> (last_x + 1) != 0:
        last_x += 1
    box = box_around(first_x, last_x, first_y, last_y)
    memo["box"][index, way] = box
    return 2 * box + int(is_captured)
