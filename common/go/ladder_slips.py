"""Where KataGo's ladder reader may take a chain for escaped that is captured (rules.md 11, last paragraph).

Knows one node of the search on `common.go.ladder_board`; `common.go.ladders` asks it where its board says so, and
`common.audit_ladders` is for whom.
"""

from __future__ import annotations

from typing import Any, Final

from common.go.ladder_board import empty_around, wide
from common.go.points import NEIGHBOURS, opponent
from common.kernels import njit

_ENOUGH: Final = 3
"""Liberties of a chain that has escaped."""


@njit(cache=True, nogil=True)
def _sure_liberties(board: Any, point: int, colour_played: int) -> int:
    """A lower bound of the liberties of the chain that a stone at ``point`` would belong to, as KataGo has it."""
    colour = board["colour"]
    captures = 0
    joined = 0
    for offset in NEIGHBOURS:
        near = point + offset
        liberties = wide(board["chain_liberties"][board["chain_head"][near]])
        if colour[near] == colour_played:
            joined = max(joined, liberties - 1)
        elif colour[near] == opponent(colour_played) and liberties == 1:
            captures += 1
    return captures + max(joined, empty_around(board, point))


@njit(cache=True, nogil=True)
def _stand_together(board: Any, head: int, other: int) -> bool:
    """Whether a stone of the chain ``head`` stands beside one of the chain ``other``."""
    stone = head
    for _ in range(board["chain_size"][head]):
        for offset in NEIGHBOURS:
            if board["chain_head"][stone + offset] == other:
                return True
        stone = board["chain_next"][stone]
    return False


@njit(cache=True, nogil=True)
def passes_for_escaped(board: Any, head: int, liberty: int, frame: Any) -> bool:
    """Whether KataGo may take the chain ``head``, in atari at ``liberty``, for escaped by the liberties of another.

    So if its liberty is one of the captures, and one of the others seems to bring liberties enough. Only the last one
    that KataGo lists is looked at; which one that is does not follow from the board, so any may be.

    Args:
        frame: of the node, whose list has the defender's moves.
    """
    colour = board["colour"]
    defender = wide(colour[head])
    is_capture = False
    for offset in NEIGHBOURS:
        near = liberty + offset
        beside = wide(board["chain_head"][near])
        if colour[near] == opponent(defender) and board["chain_liberties"][beside] == 1:
            is_capture |= _stand_together(board, head, beside)
    if not is_capture:
        return False
    for index in range(frame["next_move"], frame["end_move"]):
        move = wide(board["moves"][index])
        if move != liberty and _sure_liberties(board, move, defender) >= _ENOUGH:
            return True
    return False
