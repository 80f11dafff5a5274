"""What a ladder search sees of liberties without playing a move: of a chain, and of one that a stone would belong to.

Knows one position of `common.go.ladder_board`, and changes nothing; whose turn it is, and what follows from what is
seen, is for `common.go.ladders`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from common.go.ladder_board import wide
from common.go.points import EMPTY, NEIGHBOURS, NO_POINT, STRIDE, opponent
from common.kernels import njit

CAPTURES: Final = 4
"""Added to a number of liberties, which is at most 3, where captures bring more."""

NO_HEAD: Final[Any] = np.int64(0)
"""No chain."""


@njit(cache=True, nogil=True)
def liberty_of(board: Any, head: int) -> int:
    """The first liberty of the chain ``head``; there must be one."""
    colour = board["colour"]
    following = board["chain_next"]
    stone = head
    for _ in range(board["chain_size"][head]):
        for offset in NEIGHBOURS:
            near = stone + offset
            if colour[near] == EMPTY:
                return near
        stone = following[stone]
    return NO_POINT


@njit(cache=True, nogil=True)
def look_around(board: Any, head: int) -> tuple[int, int, bool]:
    """The liberties of a chain of one or two, and whether a chain of the attacker beside it is in atari."""
    colour = board["colour"]
    heads = board["chain_head"]
    liberties = board["chain_liberties"]
    attacker = opponent(colour[head])
    first = NO_POINT
    second = NO_POINT
    has_prey = False
    stone = head
    for _ in range(board["chain_size"][head]):
        for offset in NEIGHBOURS:
            near = stone + offset
            if colour[near] == EMPTY:
                if first == NO_POINT:
                    first = near
                elif near != first:
                    second = near
            has_prey |= (colour[near] == attacker) & (liberties[heads[near]] == 1)
        stone = board["chain_next"][stone]
    return first, second, has_prey


@njit(cache=True, nogil=True)
def liberties_if_played(board: Any, point: int, colour_played: int, spent: int, lost: int, enough: int) -> int:
    """Liberties, counted up to ``enough``, of the chain that a stone at ``point`` would belong to.

    Args:
        spent: head of a chain beside the point that is known to bring no other liberty, or 0.
        lost: a liberty that the opponent will have taken by then, or NO_POINT.
        enough: 2 or 3.

    Returns:
        0 for a suicide, to ``enough`` for that and more; with CAPTURES added if the stone captures, not counting what
        that frees.
    """
    colour = board["colour"]
    heads = board["chain_head"]
    liberties = board["chain_liberties"]
    found = 0
    captures = 0
    friends = False
    for offset in NEIGHBOURS:  # no branches, which would be mispredicted; a point without a stone has no liberties
        near = point + offset
        head = heads[near]
        is_own = colour[near] == colour_played
        found += (colour[near] == EMPTY) & (near != lost)
        friends |= is_own & (head != spent) & (liberties[head] > 1)
        captures |= (not is_own) & (liberties[head] == 1)
    if found < enough and friends:
        found = _liberties_with_friends(board, point, colour_played, spent, lost, enough)
    return min(found, enough) + CAPTURES * captures


@njit(cache=True, nogil=True)
def _touches(board: Any, point: int, head: int) -> bool:
    """Whether a stone of the chain ``head`` is beside ``point``."""
    heads = board["chain_head"]
    return bool(
        (heads[point - STRIDE] == head)
        | (heads[point - 1] == head)
        | (heads[point + 1] == head)
        | (heads[point + STRIDE] == head)
    )


@njit(cache=True, nogil=True)
def _liberties_with_friends(board: Any, point: int, colour_played: int, spent: int, lost: int, enough: int) -> int:
    """The same where chains beside the point may bring liberties, without captures."""
    colour = board["colour"]
    heads = board["chain_head"]
    liberties = board["chain_liberties"]
    only = NO_HEAD
    friends = 0
    found = 0
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] != colour_played:
            found += (colour[near] == EMPTY) & (near != lost)
            continue
        friend = wide(heads[near])
        if friend != spent and friend != only and liberties[friend] > 1:
            only = friend
            friends += 1
            if liberties[friend] - 1 - (lost != NO_POINT) >= enough:
                return enough
    if friends > 1:
        return _liberties_of_friends(board, point, colour_played, spent, lost, enough)
    found += liberties[only] - 1 - (lost != NO_POINT and _touches(board, lost, only))
    for offset in NEIGHBOURS:
        near = point + offset
        found -= colour[near] == EMPTY and near != lost and _touches(board, near, only)
    return int(min(found, enough))


@njit(cache=True, nogil=True)
def _liberties_of_friends(board: Any, point: int, colour_played: int, spent: int, lost: int, enough: int) -> int:
    """The same where several chains may have liberties in common, which are looked for stone by stone."""
    colour = board["colour"]
    heads = board["chain_head"]
    liberties = board["chain_liberties"]
    found = 0
    first = NO_POINT
    second = NO_POINT
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == EMPTY and near != lost:
            first, second = second, near
            found += 1
    for offset in NEIGHBOURS:
        near = point + offset
        friend = heads[near]
        if colour[near] != colour_played or friend == spent or liberties[friend] == 1:
            continue
        stone = near
        for _ in range(board["chain_size"][friend]):
            for other in NEIGHBOURS:
                liberty = stone + other
                if (
                    colour[liberty] == EMPTY
                    and liberty != point
                    and liberty != lost
                    and liberty != first
                    and liberty != second
                ):
                    found += 1
                    if found >= enough:
                        return enough
                    first, second = second, liberty
            stone = board["chain_next"][stone]
    return found
