"""Which chains can be captured in a ladder, and by which moves: an exact search with the limits of rules.md 11.

Knows stones, chains and the ko point; not whose turn it is, nor the rules of the game. The search plays on a copy of
the board in the caller's LADDER_SCRATCH (`common.go.ladder_board`) and takes every move back. Nothing is allocated.

A *ladder map* is an ``int8[NUM_POINTS]`` of bits: LADDERED on every stone of a laddered chain, and ``1 << colour`` on
an empty point where that colour, the attacker, has a working move against a chain of two liberties.

In this module the *chain* (named by one stone, ``target``) is the one to be captured; its owner defends.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from common.go.board import ko_capture, would_be_suicide
from common.go.ladder_board import LADDER_SCRATCH as LADDER_SCRATCH
from common.go.ladder_board import MAX_DEPTH, load, play_stone, rebuild, undo_stone, wide
from common.go.points import EMPTY, NEIGHBOURS, NO_POINT, NUM_POINTS, STRIDE

LADDERED: Final = 1
"""Bit of a ladder map: a stone of a laddered chain."""

MAX_PLAYED: Final = 25000
"""Moves one search may play; after that the chain counts as not captured."""

_NONE: Final[Any] = np.int64(NO_POINT)
"""NO_POINT as a variable, see `wide`."""

_CAPTURED: Final = 0
_ESCAPED: Final = 1
_OPEN: Final = 2

# -- what a node looks at --


@njit(cache=True, nogil=True)
def _empty_around(board: Any, point: int) -> int:
    """Number of empty neighbours."""
    colour = board["colour"]
    return int(
        (colour[point - STRIDE] == EMPTY)
        + (colour[point - 1] == EMPTY)
        + (colour[point + 1] == EMPTY)
        + (colour[point + STRIDE] == EMPTY)
    )


@njit(cache=True, nogil=True)
def _liberty(board: Any, head: int, other_than: int) -> int:
    """A liberty of the chain ``head`` that is not ``other_than``; there must be one."""
    colour = board["colour"]
    following = board["chain_next"]
    stone = head
    for _ in range(board["chain_size"][head]):
        for offset in NEIGHBOURS:
            near = stone + offset
            if colour[near] == EMPTY and near != other_than:
                return near
        stone = following[stone]
    return NO_POINT


@njit(cache=True, nogil=True)
def _capturing_moves(board: Any, head: int, begin: int) -> int:
    """Lists the last liberties of the attacker's chains in atari beside the chain in ``moves[begin:]``.

    Returns:
        The end of the list; no point is in it twice.
    """
    colour = board["colour"]
    heads = board["chain_head"]
    following = board["chain_next"]
    liberties = board["chain_liberties"]
    moves = board["moves"]
    attacker = 3 - colour[head]
    end = begin
    stone = head
    for _ in range(board["chain_size"][head]):
        for offset in NEIGHBOURS:
            near = stone + offset
            if colour[near] == attacker and liberties[heads[near]] == 1:
                move = _liberty(board, wide(heads[near]), _NONE)
                known = False
                for index in range(begin, end):
                    known |= moves[index] == move
                if not known:
                    moves[end] = move
                    end += 1
        stone = following[stone]
    return end


@njit(cache=True, nogil=True)
def _extension_escapes(board: Any, head: int, point: int, lost: int) -> bool:
    """Whether the chain is sure to have three liberties after a stone at its liberty ``point``, its last one then.

    Counts the empty neighbours of the point and the liberties of its owner's other chains beside it; captures are
    left out, so the answer may be no where playing finds more.

    Args:
        lost: a liberty that the attacker will have taken by then, or NO_POINT.
    """
    colour = board["colour"]
    heads = board["chain_head"]
    found = 0
    first = NO_POINT
    second = NO_POINT
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == EMPTY and near != lost:
            first, second = second, near
            found += 1
    if found >= 3:
        return True
    for offset in NEIGHBOURS:
        near = point + offset
        friend = heads[near]
        if colour[near] != colour[head] or friend == head or board["chain_liberties"][friend] + found < 4:
            continue
        if board["chain_liberties"][friend] >= 5:
            return True
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
                    if found >= 3:
                        return True
                    first, second = second, liberty
            stone = board["chain_next"][stone]
    return False


@njit(cache=True, nogil=True)
def _order_score(board: Any, point: int, defender: int) -> int:
    """How promising the attacker's move at a liberty looks (rules.md 11, *move ordering*)."""
    colour = board["colour"]
    score = 2 * _empty_around(board, point)
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == defender:
            liberties = board["chain_liberties"][board["chain_head"][near]]
            if liberties > 1:
                score += 2 * liberties - 3
    return score


@njit(cache=True, nogil=True)
def _liberties_after(board: Any, point: int, colour_played: int, frame: Any) -> int:
    """Liberties of the chain that a stone at ``point`` would belong to."""
    play_stone(board, point, colour_played, frame)
    liberties = board["chain_liberties"][board["chain_head"][point]]
    undo_stone(board, frame)
    return int(liberties)


@njit(cache=True, nogil=True)
def _is_double_ko_capture(board: Any, head: int, first: int, second: int, begin: int, frame: Any) -> bool:
    """Whether two kos leave the defender no way out of atari (rules.md 11, attacker node 2)."""
    defender = wide(board["colour"][head])
    attacker = 3 - defender
    if _empty_around(board, first) != 0 or _empty_around(board, second) != 0:
        return False
    if ko_capture(board, first, attacker) == NO_POINT or ko_capture(board, second, attacker) == NO_POINT:
        return False
    if _liberties_after(board, first, defender, frame) > 2 or _liberties_after(board, second, defender, frame) > 2:
        return False
    return _capturing_moves(board, head, begin) == begin


@njit(cache=True, nogil=True)
def _enter_defender(board: Any, target: int, frame: Any) -> int:
    """Settles a node with the defender to move, or lists its moves from ``next_move`` on."""
    head = wide(board["chain_head"][target])
    if board["chain_liberties"][head] >= 2 or board["ko_point"] != NO_POINT:
        return _ESCAPED
    moves = board["moves"]
    begin = frame["next_move"]
    end = _capturing_moves(board, head, begin)
    extension = _liberty(board, head, _NONE)
    is_only_move = end == begin and board["depth"] + 1 < board["max_depth"]
    if is_only_move and _extension_escapes(board, head, extension, _NONE):
        board["played"] += 1
        return _ESCAPED
    known = False
    for index in range(begin, end):
        known |= moves[index] == extension
    if not known:
        moves[end] = extension
        end += 1
    frame["end_move"] = end
    return _OPEN


@njit(cache=True, nogil=True)
def _enter_attacker(board: Any, target: int, frame: Any) -> int:
    """Settles a node with the attacker to move, or lists its moves from ``next_move`` on."""
    head = wide(board["chain_head"][target])
    liberties = board["chain_liberties"][head]
    if liberties <= 1:
        return _CAPTURED
    if liberties >= 3:
        return _ESCAPED
    moves = board["moves"]
    begin = frame["next_move"]
    first = _liberty(board, head, _NONE)
    second = _liberty(board, head, first)
    if _is_double_ko_capture(board, head, first, second, begin, board["frame"][board["depth"] + 1]):
        return _CAPTURED
    frame["end_move"] = begin + 2
    step = abs(first - second)
    if step != 1 and step != STRIDE:  # the defender gets three liberties at an open point that the attacker leaves
        first_is_open = _empty_around(board, first) >= 3
        second_is_open = _empty_around(board, second) >= 3
        if first_is_open and second_is_open:
            return _ESCAPED
        if first_is_open or second_is_open:
            moves[begin] = first if first_is_open else second
            frame["end_move"] = begin + 1
            return _OPEN
    defender = wide(board["colour"][head])
    if _order_score(board, second, defender) > _order_score(board, first, defender):
        first, second = second, first
    moves[begin] = first
    moves[begin + 1] = second
    return _OPEN


# -- the search --


@njit(cache=True, nogil=True)
def _enter(board: Any, target: int, begin: int) -> int:
    """Settles the node at ``depth`` (even: the defender is to move), or lists its moves from ``moves[begin]`` on."""
    depth = board["depth"]
    frame = board["frame"][depth]
    frame["next_move"] = begin
    if depth >= board["max_depth"]:
        return _CAPTURED
    if depth % 2 == 0:
        return _enter_defender(board, target, frame)
    return _enter_attacker(board, target, frame)


@njit(cache=True, nogil=True)
def _search(board: Any, target: int, defender: int) -> int:
    """Searches the tree below the node that was entered at depth 0; its value, or _OPEN if MAX_PLAYED ends it."""
    frames = board["frame"]
    moves = board["moves"]
    verdict = _enter(board, target, board["depth"])  # its moves are the first in the list: index 0, as the depth
    while True:
        depth = board["depth"]
        defends = depth % 2 == 0
        if verdict == _OPEN:
            frame = frames[depth]
            if frame["next_move"] == frame["end_move"]:
                verdict = _CAPTURED if defends else _ESCAPED
                continue
            move = wide(moves[frame["next_move"]])
            frame["next_move"] += 1
            mover = defender if defends else 3 - defender
            if move == board["ko_point"] or would_be_suicide(board, move, mover):
                continue
            if board["played"] >= MAX_PLAYED:
                return _OPEN
            board["played"] += 1
            board["depth"] = depth + 1
            play_stone(board, move, mover, frames[depth + 1])
            verdict = _enter(board, target, frame["end_move"])
        elif depth == 0:
            return verdict
        else:
            undo_stone(board, frames[depth])
            board["depth"] = depth - 1
            if verdict == (_CAPTURED if defends else _ESCAPED):
                continue  # the parent's mover wanted just that: its value is the same
            verdict = _OPEN


@njit(cache=True, nogil=True)
def _is_captured(board: Any, target: int) -> bool:
    """Whether the chain of ``target`` is captured with its owner to move, who may retake any ko (rules.md 11).

    The board is left as it was.
    """
    root_ko = board["ko_point"]
    board["ko_point"] = NO_POINT
    board["played"] = 0
    board["depth"] = 0
    verdict = _search(board, target, wide(board["colour"][target]))
    while board["depth"] > 0:
        undo_stone(board, board["frame"][board["depth"]])
        board["depth"] -= 1
    board["ko_point"] = root_ko
    return bool(verdict == _CAPTURED)


@njit(cache=True, nogil=True)
def _works(board: Any, head: int, move: int, other: int, frame: Any) -> bool:
    """Whether the attacker's ``move`` at a liberty of a chain captures it; ``other`` is the chain's second liberty."""
    attacker = 3 - wide(board["colour"][head])
    if move == board["ko_point"] or _extension_escapes(board, head, other, move):
        return False
    if would_be_suicide(board, move, attacker):
        return False
    play_stone(board, move, attacker, frame)
    works = _is_captured(board, head)
    undo_stone(board, frame)
    return works


@njit(cache=True, nogil=True)
def _solve_all(area: int, ladder: Any, board: Any) -> None:
    """Writes the ladder map of the search's board, which has ``area`` points."""
    heads = board["chain_head"]
    liberties = board["chain_liberties"]
    board["max_depth"] = 3 * area // 2
    root_frame = board["frame"][MAX_DEPTH + 1]
    for point in range(NUM_POINTS):
        ladder[point] = 0
    for head in range(STRIDE, NUM_POINTS - STRIDE):
        if heads[head] != head or liberties[head] > 2:
            continue
        first = _liberty(board, head, _NONE)
        if liberties[head] == 1:
            laddered = not _extension_escapes(board, head, first, _NONE) and _is_captured(board, head)
        else:
            second = _liberty(board, head, first)
            bit = 1 << (3 - board["colour"][head])
            first_works = _works(board, head, first, second, root_frame)
            second_works = _works(board, head, second, first, root_frame)
            laddered = first_works or second_works
            if first_works:
                ladder[first] |= bit
            if second_works:
                ladder[second] |= bit
        if laddered:
            stone = head
            for _ in range(board["chain_size"][head]):
                ladder[stone] |= LADDERED
                stone = board["chain_next"][stone]


@njit(cache=True, nogil=True)
def ladder_map(state: Any, ladder: Any, scratch: Any) -> None:
    """The ladder map of the current board.

    Args:
        state: a STATE; read only.
        ladder: int8[NUM_POINTS], overwritten with bits LADDERED and ``1 << attacker``.
        scratch: a LADDER_SCRATCH, changed in place.
    """
    load(state, scratch)
    _solve_all(state["x_size"] * state["y_size"], ladder, scratch)


@njit(cache=True, nogil=True)
def earlier_ladder_map(state: Any, age: int, ladder: Any, scratch: Any) -> None:
    """The ladder map of the board 1 or 2 turns ago, which a STATE keeps by its colours; arguments as `ladder_map`."""
    rebuild(state["earlier_colour"][age - 1], state["earlier_ko_point"][age - 1], scratch)
    _solve_all(state["x_size"] * state["y_size"], ladder, scratch)
