"""The board of a ladder search: stones are played on it and taken back, the last one first.

Knows stones, chains, captures and the ko point, and keeps exact liberties; not what is searched (`common.go.ladders`).
It is a copy of a STATE's board in the caller's LADDER_SCRATCH, whose fields are named as in STATE so that kernels of
`common.go.board` work on it. Mechanics: rules.md 2; suicides must not be played.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from common.go.ladder_memo import LADDER_MEMO
from common.go.ladder_readings import READINGS
from common.go.points import BLACK, EMPTY, MAX_LENGTH, NEIGHBOURS, NO_POINT, NUM_POINTS, STRIDE, WHITE, opponent
from common.go.state import State
from common.kernels import njit

_AREA: Final = MAX_LENGTH * MAX_LENGTH
MAX_DEPTH: Final = 3 * _AREA // 2
"""The deepest search on the largest board, in moves (rules.md 11, *limits*)."""

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
        ("has_prey", np.int8),  # at a node of the attacker: a chain of his beside the one to be captured is in atari
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
        ("as_katago", np.int8),  # whether chains may pass for escaped as with KataGo's reader (rules.md 11)
        ("frame", _FRAME, MAX_DEPTH + 2),
        ("moves", np.int16, (MAX_DEPTH + 2) * _AREA // 2),  # a node's moves are distinct liberties of chains in atari
        ("readings", READINGS),
        ("memo", LADDER_MEMO),
    ],
    align=True,
)


@njit(cache=True, nogil=True)
def wide(number: Any) -> Any:
    """A number of an array for passing on: numba compiles a function for every width (and constant) it is given."""
    return np.int64(number)


@njit(cache=True, nogil=True)
def empty_around(board: Any, point: int) -> int:
    """Number of empty neighbours."""
    count = 0
    for offset in NEIGHBOURS:
        count += board["colour"][point + offset] == EMPTY
    return count


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
def play_stone(board: Any, point: int, colour_played: int, frame: Any) -> None:
    """Plays a stone that is no suicide and sets the ko point; ``frame`` gets what `undo_stone` needs."""
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
    heads[point] = point
    liberties[point] = empty_around(board, point)
    board["ko_point"] = NO_POINT
    last = NO_POINT
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == opponent(colour_played) and liberties[heads[near]] == 0:
            frame["captured"][frame["captures"]] = heads[near]
            frame["captures"] += 1
            last = near
            _take_off(board, heads[near])
    head = point
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == colour_played and heads[near] != head:
            head = _merge(board, head, wide(heads[near]), frame)
    if frame["captures"] == 1 and size[frame["captured"][0]] == 1 and size[head] == 1 and liberties[head] == 1:
        board["ko_point"] = last


@njit(cache=True, nogil=True)
def undo_stone(board: Any, frame: Any) -> None:
    """Takes back the move that `play_stone` wrote to ``frame``; moves come back in reverse order."""
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
        _put_back(board, frame["captured"][index], opponent(owner))
    board["colour"][point] = EMPTY
    heads[point] = 0
    _add_liberty(board, point, 1)
    following[point] = frame["next"]
    board["chain_liberties"][point] = frame["liberties"]
    size[point] = frame["size"]
    board["ko_point"] = frame["ko_point"]


@njit(cache=True, nogil=True)
def load(state: State, board: Any) -> None:
    """Copies the board of a STATE; chains as far as there is board, and the row above and below."""
    end = (state["y_size"] + 2) * STRIDE
    for point in range(NUM_POINTS):
        board["colour"][point] = state["colour"][point]
    for point in range(end):
        board["chain_head"][point] = state["chain_head"][point]
    for point in range(end):
        board["chain_next"][point] = state["chain_next"][point]
    for point in range(end):
        board["chain_liberties"][point] = state["chain_liberties"][point]
    for point in range(end):
        board["chain_size"][point] = state["chain_size"][point]
    board["ko_point"] = state["ko_point"]


@njit(cache=True, nogil=True)
def rebuild(colours: Any, ko_point: int, board: Any) -> None:
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
