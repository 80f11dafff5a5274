"""What ladder searches have found, for other positions in which all that they looked at is the same.

The positions of a search tree differ in a few stones, and most ladder searches of one look at nothing that is new. A
memo keeps the verdict of a search with the *footprint* of it: a set of points that holds every one whose colour the
search depended on. Where a later board has the same stones on the footprint, the verdict is the same, whatever game it
is of; so results do not depend on what a memo holds.

The footprint is found without watching the search at each step, from the points at which it listed moves: no other is
ever played at. It takes in these points and the chain in question, with all points around; and the chains that moves
could have joined, or that stand beside a chain of which the search counted liberties. How far it takes these in depends
on how many liberties they have that the search never played at. A chain of the defender with three has escaped whoever
joins it, and one of the attacker with two is never in atari: then nothing but its stones and those liberties mattered.
Of any other, all points around did.

It is one bit per point by rows, like the colours of the stones on it; a comparison is one of as many words as the board
has rows. Knows chains and colours as `common.go.ladder_board` has them, and no rule of ladders but these two.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from common.go.bitrows import ROWS as _ROWS
from common.go.bitrows import beside
from common.go.ladder_readings import cells_of
from common.go.points import BLACK, EMPTY, MAX_LENGTH, NEIGHBOURS, NO_POINT, NUM_POINTS, STRIDE, WHITE
from common.go.zobrist import STONE_KEYS, split_mix_64
from common.kernels import njit

UNKNOWN: Final = -1

_SETS: Final = 2048
_WAYS: Final = 16
_MAX_NOTED: Final = 1024
"""Searches that list more moves are not kept."""

_WHITE_SHIFT: Final = STRIDE
_AREA_SHIFT: Final = 2 * STRIDE
_STONES: Final = (1 << _AREA_SHIFT) - 1
_COLUMNS: Final = (1 << MAX_LENGTH) - 1
_ONE: Final = np.uint64(1)
_HALF: Final = np.uint64(32)
_SET_BITS: Final = np.uint64(_SETS - 1)
_ESCAPED: Final = 3
"""Liberties with which a chain of the defender has escaped."""
_NOT_IN_ATARI: Final = 2
_MOST_LIBERTIES: Final = 4 * STRIDE * STRIDE
"""More than a chain can have: KataGo's reader, where it is in error, counts liberties of others to their end."""
_ALONE: Final = 1
"""Mark of a point that is in a footprint."""
_AROUND: Final = 2
"""Of one that is in it with all beside it."""
_TAKEN: Final = 4
"""Of a stone whose chain is in it."""
_MOST_TOLD: Final = 63
"""Liberties that a key tells apart."""
_WORD: Final = np.uint64(64)
_SIZE_KEYS: Final = split_mix_64(0x51E, STRIDE * STRIDE)

LADDER_MEMO: Final = np.dtype(
    [
        ("size", np.int32),  # of the board in hand: columns times STRIDE, and rows
        ("rows_known", np.int8),
        ("rows", np.int64, _ROWS),  # stones of the board in hand: Black's bits, and White's from _WHITE_SHIFT on
        # moves that the search in hand has listed, from the first on; more are counted, but not kept
        ("noted_count", np.int32),
        ("noted", np.int16, _MAX_NOTED),
        # the footprint in the making
        ("mark", np.int8, NUM_POINTS),  # of each point
        ("weak", np.int16, STRIDE * STRIDE),  # heads of the defender's chains that are in it with all around
        ("weak_count", np.int32),
        ("around", np.int64, _ROWS),  # points with the mark _AROUND, bits as Black's
        ("area", np.int64, MAX_LENGTH),  # the footprint: entry y has row y
        # the table: sets of _WAYS entries, of which the oldest goes first
        ("key", np.uint64, (_SETS, _WAYS)),  # 0 = free; the last bit is the verdict
        ("content", np.int64, (_SETS, _WAYS, MAX_LENGTH)),  # rows: stones as in ``rows``, the footprint above
        ("cells", np.int64, (_SETS, _WAYS)),  # that the footprint lies in, `common.go.ladder_readings.cells_of`
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

    Twice the cells that the footprint lies in, and the verdict as the lowest bit.
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
            return 2 * int(memo["cells"][index, way]) + int(keys[way] & _ONE)
    return UNKNOWN


@njit(cache=True, nogil=True)
def _find_footprint(board: Any, target: int, memo: Any) -> None:
    """The footprint of the search for the chain of ``target`` that has just ended."""
    mark = memo["mark"]
    for point in range(NUM_POINTS):
        mark[point] = 0
    moves = 0
    for index in range(memo["noted_count"]):
        point = int(memo["noted"][index])
        if mark[point] == 0:
            mark[point] = _AROUND
            memo["noted"][moves] = point
            moves += 1
    memo["weak_count"] = 0
    defender = int(board["colour"][target])
    _take_chain(board, int(board["chain_head"][target]), defender, memo)
    for index in range(moves):
        _take_chains_beside(board, int(memo["noted"][index]), defender, False, memo)
    index = 0
    while index < memo["weak_count"]:
        head = int(memo["weak"][index])
        stone = head
        for _ in range(board["chain_size"][head]):
            _take_chains_beside(board, stone, defender, True, memo)
            stone = int(board["chain_next"][stone])
        index += 1
    _gather_area(memo)


@njit(cache=True, nogil=True)
def _take_chains_beside(board: Any, point: int, defender: int, attackers_only: bool, memo: Any) -> None:
    """Take in the chains that have stones beside ``point``."""
    heads = board["chain_head"]
    mark = memo["mark"]
    for offset in NEIGHBOURS:
        near = point + offset
        if (heads[near] == 0) | (mark[near] & _TAKEN != 0):
            continue
        if not (attackers_only and board["colour"][near] == defender):
            _take_chain(board, int(heads[near]), defender, memo)


@njit(cache=True, nogil=True)
def _take_chain(board: Any, head: int, defender: int, memo: Any) -> None:
    """Take in the chain ``head``, with all around or with as many liberties as make it safe."""
    colour = board["colour"]
    following = board["chain_next"]
    size = board["chain_size"][head]
    mark = memo["mark"]
    is_defender = colour[head] == defender
    enough = _MOST_LIBERTIES if board["as_katago"] else (_ESCAPED if is_defender else _NOT_IN_ATARI)
    first = NO_POINT
    second = NO_POINT
    third = NO_POINT
    found = 0
    stone = head
    seen = 0
    while seen < size and found < enough:
        for offset in NEIGHBOURS:
            near = stone + offset
            if colour[near] == EMPTY and mark[near] & _AROUND == 0 and near != first and near != second:
                first, second, third = near, first, second
                found += 1
        stone = following[stone]
        seen += 1
    how = _TAKEN | _ALONE
    if found < enough:
        how = _TAKEN | _AROUND
        if is_defender:
            memo["weak"][memo["weak_count"]] = head
            memo["weak_count"] += 1
    else:
        mark[first] |= _ALONE
        mark[second] |= _ALONE
        if third != NO_POINT:
            mark[third] |= _ALONE
    stone = head
    for _ in range(size):
        mark[stone] |= how
        stone = following[stone]


@njit(cache=True, nogil=True)
def _gather_area(memo: Any) -> None:
    """Write ``area`` from the marks."""
    last_row = memo["size"] % STRIDE
    mark = memo["mark"]
    around = memo["around"]
    for row in range(last_row + 2):
        points = 0
        for x in range(MAX_LENGTH):
            points |= (mark[row * STRIDE + 1 + x] & _AROUND != 0) << x
        around[row] = points
    for y in range(last_row):
        points = around[y + 1] | beside(around, y + 1)
        for x in range(MAX_LENGTH):
            points |= (mark[(y + 1) * STRIDE + 1 + x] & _ALONE != 0) << x
        memo["area"][y] = points & _COLUMNS


@njit(cache=True, nogil=True)
def remember(board: Any, target: int, key: Any, is_captured: bool, memo: Any) -> int:
    """Keep the verdict of the search for the chain of ``target``; the board must be as it was before it.

    Returns:
        What `recall` will, or UNKNOWN if the search was too long to be kept.
    """
    if memo["noted_count"] > _MAX_NOTED:
        return UNKNOWN
    _find_footprint(board, target, memo)
    rows = memo["rows"]
    area = memo["area"]
    index = (key >> _ONE) & _SET_BITS
    way = memo["next_way"][index]
    memo["next_way"][index] = (way + 1) % _WAYS
    memo["key"][index, way] = key | _ONE if is_captured else key & ~_ONE
    content = memo["content"][index, way]
    for y in range(memo["size"] % STRIDE):
        here = area[y]
        content[y] = (rows[y + 1] & (here | (here << _WHITE_SHIFT))) | (here << _AREA_SHIFT)
    cells = cells_of(area, memo["size"] // STRIDE, memo["size"] % STRIDE)
    memo["cells"][index, way] = cells
    return 2 * cells + int(is_captured)
