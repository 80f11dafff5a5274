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

from common.go.board import ko_capture
from common.go.ladder_board import LADDER_SCRATCH as LADDER_SCRATCH
from common.go.ladder_board import MAX_DEPTH, empty_around, load, play_stone, rebuild, undo_stone, wide
from common.go.ladder_liberties import CAPTURES, NO_HEAD, liberties_if_played, liberty_of, look_around
from common.go.ladder_memo import UNKNOWN, forget_board, note, recall, remember, search_key
from common.go.ladder_readings import (
    NO_READING,
    begin_readings,
    begin_without_readings,
    end_readings,
    keep_reading,
    known_reading,
    name_of,
    reading_of,
    verdict_of,
)
from common.go.ladder_slips import passes_for_escaped
from common.go.points import EMPTY, NEIGHBOURS, NO_POINT, NUM_POINTS, PASS, STRIDE, opponent
from common.go.state import State
from common.go.zobrist import STONE_KEYS
from common.kernels import njit

LADDERED: Final = 1
"""Bit of a ladder map: a stone of a laddered chain."""

MAX_PLAYED: Final = 25000
"""Moves one search may play; after that the chain counts as not captured."""

_MAX_REMEMBERED: Final = 1000
"""Longer searches are not remembered: in which order moves are tried depends on more than the stones around, and may
decide whether MAX_PLAYED ends them."""

_NONE: Final[Any] = np.int64(NO_POINT)
"""NO_POINT as a variable, see `wide`."""

_CAPTURED: Final = 0
_ESCAPED: Final = 1
_OPEN: Final = 2

# -- what a node looks at --


@njit(cache=True, nogil=True)
def _list_moves(board: Any, head: int, begin: int) -> int:
    """Lists the defender's moves in ``moves[begin:]``: captures of chains beside its chain, then its last liberty.

    Returns:
        The end of the list; no point is in it twice.
    """
    colour = board["colour"]
    heads = board["chain_head"]
    moves = board["moves"]
    attacker = opponent(colour[head])
    extension = NO_POINT
    end = begin
    stone = head
    for _ in range(board["chain_size"][head]):
        for offset in NEIGHBOURS:
            near = stone + offset
            if colour[near] == EMPTY:
                extension = near
            elif colour[near] == attacker and board["chain_liberties"][heads[near]] == 1:
                end = _append(moves, begin, end, liberty_of(board, wide(heads[near])))
        stone = board["chain_next"][stone]
    end = _append(moves, begin, end, extension)
    for index in range(begin, end):
        note(board["memo"], wide(moves[index]))
    return end


@njit(cache=True, nogil=True)
def _append(moves: Any, begin: int, end: int, move: int) -> int:
    """Puts ``move`` at the end of ``moves[begin:end]`` unless it is there; returns the new end."""
    for index in range(begin, end):
        if moves[index] == move:
            return end
    moves[end] = move
    return end + 1


@njit(cache=True, nogil=True)
def _order_score(board: Any, point: int, empty: int, defender: int) -> int:
    """How promising the attacker's move at a liberty looks (rules.md 11, *move ordering*)."""
    colour = board["colour"]
    score = 2 * empty
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == defender:
            liberties = board["chain_liberties"][board["chain_head"][near]]
            if liberties > 1:
                score += 2 * liberties - 3
    return score


@njit(cache=True, nogil=True)
def _liberties_after(board: Any, point: int, colour_played: int, frame: Any) -> int:
    """Liberties of the chain that a stone at ``point`` would belong to, captures and all."""
    play_stone(board, point, colour_played, frame)
    liberties = board["chain_liberties"][board["chain_head"][point]]
    undo_stone(board, frame)
    return int(liberties)


@njit(cache=True, nogil=True)
def _are_double_ko(board: Any, defender: int, first: int, second: int, frame: Any) -> bool:
    """Whether two liberties without empty neighbours are kos that leave the defender in atari (rules.md 11)."""
    attacker = opponent(defender)
    if ko_capture(board, first, attacker) == NO_POINT or ko_capture(board, second, attacker) == NO_POINT:
        return False
    return (
        _liberties_after(board, first, defender, frame) <= 2 and _liberties_after(board, second, defender, frame) <= 2
    )


@njit(cache=True, nogil=True)
def _enter_defender(board: Any, target: int, frame: Any) -> int:
    """Settles a node with the defender to move, or lists its moves from ``next_move`` on."""
    head = wide(board["chain_head"][target])
    if board["chain_liberties"][head] >= 2 or board["ko_point"] != NO_POINT:
        return _ESCAPED
    frame["end_move"] = _list_moves(board, head, wide(frame["next_move"]))
    if board["as_katago"] and passes_for_escaped(board, head, liberty_of(board, head), frame):
        return _ESCAPED
    return _OPEN


@njit(cache=True, nogil=True)
def _enter_attacker(board: Any, target: int, frame: Any) -> int:
    """Settles a node with the attacker to move, or lists its moves from ``next_move`` on.

    Both liberties are put into the list, for `_foresee`, but its end leaves out one that cannot work.
    """
    head = wide(board["chain_head"][target])
    liberties = board["chain_liberties"][head]
    if liberties <= 1:
        return _CAPTURED
    if liberties >= 3:
        return _ESCAPED
    defender = wide(board["colour"][head])
    first, second, has_prey = look_around(board, head)
    note(board["memo"], first)
    note(board["memo"], second)
    first_empty = empty_around(board, first)
    second_empty = empty_around(board, second)
    is_closed = first_empty + second_empty == 0 and not has_prey
    if is_closed and _are_double_ko(board, defender, first, second, board["frame"][board["depth"] + 1]):
        return _CAPTURED
    begin = frame["next_move"]
    frame["end_move"] = begin + 2
    frame["has_prey"] = has_prey
    step = abs(first - second)
    swap = False
    if (first_empty >= 3 or second_empty >= 3) and step != 1 and step != STRIDE:
        # the defender gets three liberties at an open point that the attacker leaves
        if first_empty >= 3 and second_empty >= 3:
            return _ESCAPED
        frame["end_move"] = begin + 1
        swap = second_empty >= 3
    else:
        first_score = _order_score(board, first, first_empty, defender)
        swap = _order_score(board, second, second_empty, defender) > first_score
    board["moves"][begin] = second if swap else first
    board["moves"][begin + 1] = first if swap else second
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
def _foresee(board: Any, target: int, move: int, liberties: int) -> int:
    """The value of the node after a legal move if liberties tell it, or _OPEN if it has to be played.

    Counts in ``played`` what playing would have counted, so that MAX_PLAYED ends the same searches.

    Args:
        liberties: what `liberties_if_played` says of the move.
    """
    depth = board["depth"]
    if board["played"] + 2 > MAX_PLAYED or depth + 2 >= board["max_depth"] or liberties >= CAPTURES:
        return _OPEN
    if depth % 2 == 0:
        if liberties == 2:
            return _OPEN
        board["played"] += 1
        return _ESCAPED if liberties == 3 else _CAPTURED
    frame = board["frame"][depth]
    if frame["has_prey"] or liberties == 1:
        return _OPEN  # the defender may have something to capture
    begin = board["frame"][depth - 1]["end_move"]
    other = wide(board["moves"][2 * begin + 2 - frame["next_move"]])  # of moves[begin] and the next the one not taken
    head = wide(board["chain_head"][target])
    found = liberties_if_played(board, other, wide(board["colour"][head]), head, move, 3)
    if found == 2 or found >= CAPTURES:
        return _OPEN
    board["played"] += 1 + (found > 0)  # the defender does not play a suicide
    return _ESCAPED if found == 3 else _CAPTURED


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
            mover = defender if defends else opponent(defender)
            liberties = liberties_if_played(board, move, mover, NO_HEAD, _NONE, 3 if defends else 2)
            if liberties == 0 or move == board["ko_point"]:
                continue
            verdict = _foresee(board, target, move, liberties)
            if verdict != _OPEN:
                if verdict == (_CAPTURED if defends else _ESCAPED):
                    verdict = _OPEN  # not what the mover wanted: the next move
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
def _is_captured_now(board: Any, head: int, liberty: int) -> bool:
    """`_is_captured` of a chain in atari, whose ``liberty`` is given, or as an earlier search knows it."""
    memo = board["memo"]
    key = search_key(board, head, memo)
    found = recall(board, key, memo)
    if found == UNKNOWN:
        memo["noted_count"] = 0
        note(memo, liberty)
        is_captured = _is_captured(board, head)
        if board["played"] <= _MAX_REMEMBERED:
            found = remember(board, head, key, is_captured, memo)
        if found == UNKNOWN:
            return is_captured
    reading = reading_of(name_of(head, wide(PASS), wide(PASS)), found)
    keep_reading(board["readings"], reading)
    return verdict_of(reading)


@njit(cache=True, nogil=True)
def _is_captured_after(board: Any, head: int, move: int, other: int, frame: Any) -> bool:
    """`_is_captured` of a chain of two liberties after the attacker's ``move`` at one, or as a search before knows it.

    ``other`` is the chain's second liberty.
    """
    memo = board["memo"]
    attacker = opponent(wide(board["colour"][head]))
    key = search_key(board, head, memo) ^ STONE_KEYS[attacker, move]
    found = recall(board, key, memo)
    if found == UNKNOWN:
        memo["noted_count"] = 0
        note(memo, move)
        note(memo, other)
        play_stone(board, move, attacker, frame)
        is_captured = _is_captured(board, head)
        undo_stone(board, frame)
        if board["played"] <= _MAX_REMEMBERED:
            found = remember(board, head, key, is_captured, memo)
        if found == UNKNOWN:
            return is_captured
    reading = reading_of(name_of(head, move, other), found)
    keep_reading(board["readings"], reading)
    return verdict_of(reading)


@njit(cache=True, nogil=True)
def _glance(board: Any, head: int, move: int, other: int, has_prey: bool) -> int:
    """Whether the attacker's ``move`` at a liberty of a chain captures it, or _OPEN if it has to be searched.

    ``other`` is the chain's second liberty.
    """
    defender = wide(board["colour"][head])
    found = liberties_if_played(board, other, defender, head, move, 3)
    if found % CAPTURES == 3 or move == board["ko_point"]:
        return _ESCAPED
    own = liberties_if_played(board, move, opponent(defender), NO_HEAD, _NONE, 2)
    if own == 0:
        return _ESCAPED
    if found <= 1 and not has_prey and own == 2:
        return _CAPTURED  # all that the defender can do is to extend in vain
    return _OPEN


@njit(cache=True, nogil=True)
def _is_laddered_now(board: Any, head: int) -> bool:
    """Whether a chain in atari is captured though its owner is to move."""
    reading = known_reading(board["readings"], name_of(head, wide(PASS), wide(PASS)))
    if reading != NO_READING:
        keep_reading(board["readings"], reading)
        return verdict_of(reading)
    defender = wide(board["colour"][head])
    liberty, _, has_prey = look_around(board, head)
    found = liberties_if_played(board, liberty, defender, NO_HEAD, _NONE, 3)
    if found % CAPTURES == 3:
        return False
    if found <= 1 and not has_prey:
        return True
    return _is_captured_now(board, head, liberty)


@njit(cache=True, nogil=True)
def _works(board: Any, head: int, move: int, other: int, has_prey: bool, frame: Any) -> bool:
    """Whether the attacker's ``move`` at one of a chain's two liberties captures it; ``other`` is the second."""
    reading = known_reading(board["readings"], name_of(head, move, other))
    if reading != NO_READING and move != board["ko_point"]:
        keep_reading(board["readings"], reading)
        return verdict_of(reading)
    verdict = _glance(board, head, move, other, has_prey)
    if verdict != _OPEN:
        return bool(verdict == _CAPTURED)
    return _is_captured_after(board, head, move, other, frame)


@njit(cache=True, nogil=True)
def _find_working_moves(board: Any, head: int, ladder: Any, frame: Any) -> bool:
    """Marks the attacker's moves that capture a chain of two liberties; whether there is one."""
    first, second, has_prey = look_around(board, head)
    first_works = _works(board, head, first, second, has_prey, frame)
    second_works = _works(board, head, second, first, has_prey, frame)
    bit = 1 << opponent(board["colour"][head])
    if first_works:
        ladder[first] |= bit
    if second_works:
        ladder[second] |= bit
    return first_works or second_works


@njit(cache=True, nogil=True)
def _solve_all(x_size: int, y_size: int, ladder: Any, board: Any) -> None:
    """Writes the ladder map of the search's board, chain by chain in order of their heads."""
    heads = board["chain_head"]
    liberties = board["chain_liberties"]
    board["max_depth"] = 3 * x_size * y_size // 2
    forget_board(board["memo"], x_size, y_size)
    root_frame = board["frame"][MAX_DEPTH + 1]
    for point in range(NUM_POINTS):
        ladder[point] = 0
    for head in range(STRIDE, (y_size + 1) * STRIDE):
        if (heads[head] != head) | (liberties[head] > 2):
            continue
        if liberties[head] == 1:
            laddered = _is_laddered_now(board, head)
        else:
            laddered = _find_working_moves(board, head, ladder, root_frame)
        if laddered:
            stone = head
            for _ in range(board["chain_size"][head]):
                ladder[stone] |= LADDERED
                stone = board["chain_next"][stone]


@njit(cache=True, nogil=True)
def ladder_map(state: State, ladder: Any, scratch: Any) -> None:
    """The ladder map of the current board.

    Args:
        state: a STATE, whose ``reading`` of this board is overwritten.
        ladder: int8[NUM_POINTS], overwritten with bits LADDERED and ``1 << attacker``.
        scratch: a LADDER_SCRATCH, changed in place.
    """
    load(state, scratch)
    begin_readings(state, scratch["readings"])
    _solve_all(wide(state["x_size"]), wide(state["y_size"]), ladder, scratch)
    end_readings(state, scratch["readings"])


@njit(cache=True, nogil=True)
def earlier_ladder_map(state: State, age: int, ladder: Any, scratch: Any) -> None:
    """The ladder map of the board 1 or 2 turns ago, which a STATE keeps by its colours; arguments as `ladder_map`."""
    rebuild(state["earlier_colour"][age - 1], state["earlier_ko_point"][age - 1], scratch)
    begin_without_readings(scratch["readings"])
    _solve_all(wide(state["x_size"]), wide(state["y_size"]), ladder, scratch)


@njit(cache=True, nogil=True)
def katago_ladder_map(state: State, age: int, ladder: Any, scratch: Any) -> None:
    """The ladder map of the board now, or 1 or 2 turns ago, with all that KataGo's reader may take for escaped.

    Args:
        state: a STATE, only read.
        age: 0, 1 or 2 turns.
        ladder: as for `ladder_map`; it has no bits that that one lacks.
        scratch: a LADDER_SCRATCH for this alone, as it keeps what it found.
    """
    if age == 0:
        rebuild(state["colour"], state["ko_point"], scratch)
    else:
        rebuild(state["earlier_colour"][age - 1], state["earlier_ko_point"][age - 1], scratch)
    begin_without_readings(scratch["readings"])
    scratch["as_katago"] = 1
    _solve_all(wide(state["x_size"]), wide(state["y_size"]), ladder, scratch)
