"""Which chains can be captured in a ladder, and by which moves: an exact search with the limits of rules.md 11.

Knows stones, chains and the ko point; not whose turn it is, nor the rules of the game. The search plays on a copy of
the board in the caller's LADDER_SCRATCH, whose fields are named as in STATE so that kernels of `common.go.board` work
on it; every move is taken back. Nothing is allocated.

A *ladder map* is an ``int8[NUM_POINTS]`` of bits: LADDERED on every stone of a laddered chain, and ``1 << colour`` on
an empty point where that colour, the attacker, has a working move against a chain of two liberties.

In this module the *chain* (named by one stone, ``target``) is the one to be captured; its owner defends.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from common.go.board import ko_capture, would_be_suicide
from common.go.points import BLACK, EMPTY, MAX_LENGTH, NEIGHBOURS, NO_POINT, NUM_POINTS, STRIDE, WHITE

LADDERED: Final = 1
"""Bit of a ladder map: a stone of a laddered chain."""

MAX_PLAYED: Final = 25000
"""Moves one search may play; after that the chain counts as not captured."""

_AREA: Final = MAX_LENGTH * MAX_LENGTH
_MAX_DEPTH: Final = 3 * _AREA // 2

_NONE: Final[Any] = np.int64(NO_POINT)
"""NO_POINT as a variable, see `_wide`."""

_CAPTURED: Final = 0
_ESCAPED: Final = 1
_OPEN: Final = 2

_FRAME: Final = np.dtype(
    [
        ("point", np.int16),
        # what stood at the point before: it belongs to a stone that was captured there and may come back
        ("next", np.int16),
        ("liberties", np.int16),
        ("size", np.int16),
        ("ko_point", np.int16),
        ("merges", np.int16),
        ("host", np.int16, 4),  # chains that took in others, in order, with their liberties before
        ("host_liberties", np.int16, 4),
        ("guest", np.int16, 4),
        ("captures", np.int16),
        ("captured", np.int16, 4),  # heads of the chains taken off
        # the moves of the node after this move that are still to be tried are moves[next_move:end_move]
        ("next_move", np.int32),
        ("end_move", np.int32),
    ],
    align=True,
)
"""One move on the search's board with all that is needed to take it back, and the node that it leads to."""

LADDER_SCRATCH: Final = np.dtype(
    [
        ("colour", np.int8, NUM_POINTS),
        ("chain_head", np.int16, NUM_POINTS),
        ("chain_next", np.int16, NUM_POINTS),
        ("chain_liberties", np.int16, NUM_POINTS),
        ("chain_size", np.int16, NUM_POINTS),
        ("ko_point", np.int16),
        ("played", np.int32),  # moves that the search in hand has played
        ("depth", np.int32),  # of the node in hand; frame[depth] is the move that led to it
        ("max_depth", np.int32),
        ("frame", _FRAME, _MAX_DEPTH + 2),
        ("moves", np.int16, (_MAX_DEPTH + 2) * _AREA // 2),  # a node's moves are distinct liberties of chains in atari
    ],
    align=True,
)


@njit(cache=True, nogil=True)
def _wide(number: Any) -> Any:
    """A number of an array for passing on: numba compiles a function for every width (and constant) it is given."""
    return np.int64(number)


# -- the search's board --


@njit(cache=True, nogil=True)
def _absorb(board: Any, head: int, point: int) -> int:
    """Names ``point`` a stone of the chain ``head``; returns how many liberties that adds to the chain."""
    colour = board["colour"]
    heads = board["chain_head"]
    added = 0
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == EMPTY and not (
            heads[near - STRIDE] == head
            or heads[near - 1] == head
            or heads[near + 1] == head
            or heads[near + STRIDE] == head
        ):
            added += 1
    heads[point] = head
    return added


@njit(cache=True, nogil=True)
def _add_liberty(board: Any, point: int, amount: int) -> None:
    """Counts ``point`` as one liberty more (or less) of each chain beside it."""
    heads = board["chain_head"]
    liberties = board["chain_liberties"]
    up = heads[point - STRIDE]
    left = heads[point - 1]
    right = heads[point + 1]
    down = heads[point + STRIDE]
    if up != 0:
        liberties[up] += amount
    if left != 0 and left != up:
        liberties[left] += amount
    if right != 0 and right != up and right != left:
        liberties[right] += amount
    if down != 0 and down != up and down != left and down != right:
        liberties[down] += amount


@njit(cache=True, nogil=True)
def _take_off(board: Any, head: int) -> None:
    """Takes the chain ``head`` off the board; its own fields stay for `_put_back`."""
    colour = board["colour"]
    heads = board["chain_head"]
    following = board["chain_next"]
    stone = head
    for _ in range(board["chain_size"][head]):
        colour[stone] = EMPTY
        heads[stone] = 0
        stone = following[stone]
    for _ in range(board["chain_size"][head]):
        _add_liberty(board, stone, 1)
        stone = following[stone]


@njit(cache=True, nogil=True)
def _put_back(board: Any, head: int, owner: int) -> None:
    """The reverse of `_take_off`."""
    colour = board["colour"]
    heads = board["chain_head"]
    following = board["chain_next"]
    stone = head
    for _ in range(board["chain_size"][head]):
        _add_liberty(board, stone, -1)
        stone = following[stone]
    for _ in range(board["chain_size"][head]):
        colour[stone] = owner
        heads[stone] = head
        stone = following[stone]


@njit(cache=True, nogil=True)
def _merge(board: Any, first: int, second: int, frame: Any) -> int:
    """Makes one chain of two different ones, the smaller joining the larger; returns its head."""
    size = board["chain_size"]
    following = board["chain_next"]
    liberties = board["chain_liberties"]
    host, guest = first, second
    if size[first] < size[second]:
        host, guest = second, first
    index = frame["merges"]
    frame["host"][index] = host
    frame["host_liberties"][index] = liberties[host]
    frame["guest"][index] = guest
    frame["merges"] = index + 1
    added = 0
    stone = guest
    for _ in range(size[guest]):
        added += _absorb(board, host, stone)
        stone = following[stone]
    following[host], following[guest] = following[guest], following[host]
    size[host] += size[guest]
    liberties[host] += added
    return host


@njit(cache=True, nogil=True)
def _play(board: Any, point: int, colour_played: int, frame: Any) -> None:
    """Plays a stone that is no suicide and sets the ko point; ``frame`` gets what `_undo` needs."""
    colour = board["colour"]
    heads = board["chain_head"]
    liberties = board["chain_liberties"]
    size = board["chain_size"]
    frame["point"] = point
    frame["next"] = board["chain_next"][point]
    frame["liberties"] = liberties[point]
    frame["size"] = size[point]
    frame["ko_point"] = board["ko_point"]
    frame["merges"] = 0
    frame["captures"] = 0

    _add_liberty(board, point, -1)
    colour[point] = colour_played
    board["chain_next"][point] = point
    size[point] = 1
    liberties[point] = _absorb(board, point, point)
    board["ko_point"] = NO_POINT
    last = NO_POINT
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == 3 - colour_played and liberties[heads[near]] == 0:
            frame["captured"][frame["captures"]] = heads[near]
            frame["captures"] += 1
            last = near
            _take_off(board, heads[near])
    head = point
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == colour_played and heads[near] != head:
            head = _merge(board, head, _wide(heads[near]), frame)
    if frame["captures"] == 1 and size[frame["captured"][0]] == 1 and size[head] == 1 and liberties[head] == 1:
        board["ko_point"] = last


@njit(cache=True, nogil=True)
def _undo(board: Any, frame: Any) -> None:
    """Takes back the move that `_play` wrote to ``frame``; moves come back in reverse order."""
    heads = board["chain_head"]
    following = board["chain_next"]
    size = board["chain_size"]
    point = frame["point"]
    owner = board["colour"][point]
    for index in range(frame["merges"] - 1, -1, -1):
        host = frame["host"][index]
        guest = frame["guest"][index]
        following[host], following[guest] = following[guest], following[host]
        size[host] -= size[guest]
        board["chain_liberties"][host] = frame["host_liberties"][index]
        stone = guest
        for _ in range(size[guest]):
            heads[stone] = guest
            stone = following[stone]
    for index in range(frame["captures"] - 1, -1, -1):
        _put_back(board, frame["captured"][index], 3 - owner)
    board["colour"][point] = EMPTY
    heads[point] = 0
    _add_liberty(board, point, 1)
    following[point] = frame["next"]
    board["chain_liberties"][point] = frame["liberties"]
    size[point] = frame["size"]
    board["ko_point"] = frame["ko_point"]


@njit(cache=True, nogil=True)
def _load(state: Any, board: Any) -> None:
    """Copies the board of a STATE."""
    for point in range(NUM_POINTS):
        board["colour"][point] = state["colour"][point]
    for point in range(NUM_POINTS):
        board["chain_head"][point] = state["chain_head"][point]
    for point in range(NUM_POINTS):
        board["chain_next"][point] = state["chain_next"][point]
    for point in range(NUM_POINTS):
        board["chain_liberties"][point] = state["chain_liberties"][point]
    for point in range(NUM_POINTS):
        board["chain_size"][point] = state["chain_size"][point]
    board["ko_point"] = state["ko_point"]


@njit(cache=True, nogil=True)
def _rebuild(colours: Any, ko_point: int, board: Any) -> None:
    """Sets up the board with these colours; chains are found anew."""
    colour = board["colour"]
    heads = board["chain_head"]
    following = board["chain_next"]
    for point in range(NUM_POINTS):
        colour[point] = colours[point]
        heads[point] = 0
    for head in range(STRIDE, NUM_POINTS - STRIDE):
        owner = colour[head]
        if heads[head] != 0 or (owner != BLACK and owner != WHITE):
            continue
        # The circular list is also the queue of the flood: stones are read in its order and put in at its end.
        following[head] = head
        liberties = _absorb(board, head, head)
        size = 1
        last = head
        stone = head
        while True:
            for offset in NEIGHBOURS:
                near = stone + offset
                if colour[near] == owner and heads[near] == 0:
                    liberties += _absorb(board, head, near)
                    following[last] = near
                    following[near] = head
                    last = near
                    size += 1
            stone = following[stone]
            if stone == head:
                break
        board["chain_liberties"][head] = liberties
        board["chain_size"][head] = size
    board["ko_point"] = ko_point


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
                move = _liberty(board, _wide(heads[near]), _NONE)
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
    """Whether it is plain that the chain has three liberties after a stone at its liberty ``point``.

    Args:
        lost: a liberty that the attacker will have taken by then, or NO_POINT.
    """
    colour = board["colour"]
    heads = board["chain_head"]
    liberties = board["chain_liberties"]
    defender = colour[head]
    enough = 4 if lost == NO_POINT else 5  # the point itself is no liberty any more, nor is the lost one
    empty = 0
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == EMPTY:
            empty += near != lost
        elif colour[near] == defender and heads[near] != head and liberties[heads[near]] >= enough:
            return True
    return empty >= 3


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
    _play(board, point, colour_played, frame)
    liberties = board["chain_liberties"][board["chain_head"][point]]
    _undo(board, frame)
    return int(liberties)


@njit(cache=True, nogil=True)
def _is_double_ko_capture(board: Any, head: int, first: int, second: int, begin: int, frame: Any) -> bool:
    """Whether two kos leave the defender no way out of atari (rules.md 11, attacker node 2)."""
    defender = _wide(board["colour"][head])
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
    head = _wide(board["chain_head"][target])
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
    head = _wide(board["chain_head"][target])
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
    defender = _wide(board["colour"][head])
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
            move = _wide(moves[frame["next_move"]])
            frame["next_move"] += 1
            mover = defender if defends else 3 - defender
            if move == board["ko_point"] or would_be_suicide(board, move, mover):
                continue
            if board["played"] >= MAX_PLAYED:
                return _OPEN
            board["played"] += 1
            board["depth"] = depth + 1
            _play(board, move, mover, frames[depth + 1])
            verdict = _enter(board, target, frame["end_move"])
        elif depth == 0:
            return verdict
        else:
            _undo(board, frames[depth])
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
    verdict = _search(board, target, _wide(board["colour"][target]))
    while board["depth"] > 0:
        _undo(board, board["frame"][board["depth"]])
        board["depth"] -= 1
    board["ko_point"] = root_ko
    return bool(verdict == _CAPTURED)


@njit(cache=True, nogil=True)
def _works(board: Any, head: int, move: int, other: int, frame: Any) -> bool:
    """Whether the attacker's ``move`` at a liberty of a chain captures it; ``other`` is the chain's second liberty."""
    attacker = 3 - _wide(board["colour"][head])
    if move == board["ko_point"] or _extension_escapes(board, head, other, move):
        return False
    if would_be_suicide(board, move, attacker):
        return False
    _play(board, move, attacker, frame)
    works = _is_captured(board, head)
    _undo(board, frame)
    return works


@njit(cache=True, nogil=True)
def _solve_all(area: int, ladder: Any, board: Any) -> None:
    """Writes the ladder map of the search's board, which has ``area`` points."""
    heads = board["chain_head"]
    liberties = board["chain_liberties"]
    board["max_depth"] = 3 * area // 2
    root_frame = board["frame"][_MAX_DEPTH + 1]
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
    _load(state, scratch)
    _solve_all(state["x_size"] * state["y_size"], ladder, scratch)


@njit(cache=True, nogil=True)
def earlier_ladder_map(state: Any, age: int, ladder: Any, scratch: Any) -> None:
    """The ladder map of the board 1 or 2 turns ago, which a STATE keeps by its colours; arguments as `ladder_map`."""
    _rebuild(state["earlier_colour"][age - 1], state["earlier_ko_point"][age - 1], scratch)
    _solve_all(state["x_size"] * state["y_size"], ladder, scratch)
