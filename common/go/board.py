"""Stones, chains and captures on the board of a STATE record.

Knows the mechanics of rules.md 2 and nothing of turns, repetition or scores. A chain is named by its *head*, one of
its stones; ``chain_head`` of a point without a stone is 0, which is never a stone, so that one comparison tells
whether a neighbour belongs to a chain. The liberties of a chain are counted exactly and kept up to date.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from common.go.points import (
    BLACK,
    EMPTY,
    MAX_LENGTH,
    MIN_LENGTH,
    NEIGHBOURS,
    NO_POINT,
    NUM_POINTS,
    STRIDE,
    WALL,
    WHITE,
    opponent,
)
from common.go.state import State
from common.go.zobrist import SECOND_STONE_KEYS, STONE_KEYS
from common.kernels import njit


@njit(cache=True, nogil=True)
def reset(state: State, x_size: int, y_size: int) -> bool:
    """Make ``state`` an empty board of ``x_size`` columns and ``y_size`` rows (2 to 19); rules stay as they are.

    `common.go.play.begin` must follow before the first turn.

    Returns:
        False, leaving ``state`` as it was, for an impossible size.
    """
    if not (MIN_LENGTH <= x_size <= MAX_LENGTH and MIN_LENGTH <= y_size <= MAX_LENGTH):
        return False
    state["x_size"] = x_size
    state["y_size"] = y_size
    colour = state["colour"]
    for point in range(NUM_POINTS):
        x = point % STRIDE - 1
        y = point // STRIDE - 1
        colour[point] = EMPTY if 0 <= x < x_size and 0 <= y < y_size else WALL
        state["chain_head"][point] = 0
        state["chain_next"][point] = 0
        state["chain_liberties"][point] = 0
        state["chain_size"][point] = 0
        state["chain_key"][point] = np.uint64(0)
        state["vacated"][point] = 0
        state["ko_blocked"][point] = 0
        state["second_cleanup_start"][point] = 0
    state["grid_key"] = np.uint64(0)
    state["second_key"] = np.uint64(0)
    state["ko_blocked_key"] = np.uint64(0)
    state["ko_point"] = NO_POINT
    for index in range(3):
        state["captured"][index] = 0
    return True


@njit(cache=True, nogil=True)
def _absorb(state: State, head: int, point: int) -> int:
    """Name ``point`` a stone of the chain ``head``; returns how many liberties that adds to the chain."""
    colour = state["colour"]
    chain_head = state["chain_head"]
    added = 0
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == EMPTY and not (
            chain_head[near - STRIDE] == head
            or chain_head[near - 1] == head
            or chain_head[near + 1] == head
            or chain_head[near + STRIDE] == head
        ):
            added += 1
    chain_head[point] = head
    return added


@njit(cache=True, nogil=True)
def _merge(state: State, first: int, second: int) -> int:
    """Make one chain of two different ones; returns its head. The smaller one is walked through."""
    size = state["chain_size"]
    if size[first] < size[second]:
        first, second = second, first
    following = state["chain_next"]
    added = 0
    stone = second
    for _ in range(size[second]):
        added += _absorb(state, first, stone)
        stone = following[stone]
    following[first], following[second] = following[second], following[first]
    size[first] += size[second]
    state["chain_liberties"][first] += added
    state["chain_key"][first] ^= state["chain_key"][second]
    return first


@njit(cache=True, nogil=True)
def _remove_chain(state: State, head: int) -> None:
    """Take the chain ``head`` off the board and give its points back to the chains around it."""
    colour = state["colour"]
    chain_head = state["chain_head"]
    following = state["chain_next"]
    liberties = state["chain_liberties"]
    size = state["chain_size"][head]
    owner = colour[head]
    state["grid_key"] ^= state["chain_key"][head]
    state["captured"][owner] += size
    second_key = state["second_key"]
    stone = head
    for _ in range(size):
        colour[stone] = EMPTY
        chain_head[stone] = 0
        state["vacated"][stone] |= owner
        second_key ^= SECOND_STONE_KEYS[owner, stone]
        up = chain_head[stone - STRIDE]
        left = chain_head[stone - 1]
        right = chain_head[stone + 1]
        down = chain_head[stone + STRIDE]
        # A neighbour of the removed chain itself may gain here: its count is never read again.
        if up != 0:
            liberties[up] += 1
        if left != 0 and left != up:
            liberties[left] += 1
        if right != 0 and right != up and right != left:
            liberties[right] += 1
        if down != 0 and down != up and down != left and down != right:
            liberties[down] += 1
        stone = following[stone]
    state["second_key"] = second_key


@njit(cache=True, nogil=True)
def place_stone(state: State, point: int, colour_placed: int) -> None:
    """Play a stone at the empty ``point``: rules.md 2, steps 1 to 3, and set ``ko_point``.

    Does not check legality; a stone that is left without liberties is taken off again.
    """
    colour = state["colour"]
    chain_head = state["chain_head"]
    liberties = state["chain_liberties"]
    key = STONE_KEYS[colour_placed, point]
    colour[point] = colour_placed
    state["grid_key"] ^= key
    state["second_key"] ^= SECOND_STONE_KEYS[colour_placed, point]
    state["chain_key"][point] = key
    state["chain_size"][point] = 1
    state["chain_next"][point] = point
    liberties[point] = 0
    liberties[point] = _absorb(state, point, point)
    state["ko_point"] = NO_POINT

    # The point is no liberty any more, once for each chain beside it.
    up = chain_head[point - STRIDE]
    left = chain_head[point - 1]
    right = chain_head[point + 1]
    down = chain_head[point + STRIDE]
    if up != 0:
        liberties[up] -= 1
    if left != 0 and left != up:
        liberties[left] -= 1
    if right != 0 and right != up and right != left:
        liberties[right] -= 1
    if down != 0 and down != up and down != left and down != right:
        liberties[down] -= 1

    head = point
    captures = False
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == colour_placed:
            if chain_head[near] != head:
                head = _merge(state, head, chain_head[near])
        elif colour[near] == opponent(colour_placed) and liberties[chain_head[near]] == 0:
            captures = True
    if captures:
        _capture_around(state, point, colour_placed, head)
    elif liberties[head] == 0:
        _remove_chain(state, head)


@njit(cache=True, nogil=True)
def _capture_around(state: State, point: int, colour_placed: int, head: int) -> None:
    """Take off the opponent's chains beside ``point`` that have no liberty, and set ``ko_point``."""
    colour = state["colour"]
    chain_head = state["chain_head"]
    liberties = state["chain_liberties"]
    other_colour = opponent(colour_placed)
    before = state["captured"][other_colour]
    last = NO_POINT
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == other_colour and liberties[chain_head[near]] == 0:
            _remove_chain(state, chain_head[near])
            last = near
    if state["captured"][other_colour] == before + 1 and state["chain_size"][head] == 1 and liberties[head] == 1:
        state["ko_point"] = last


@njit(cache=True, nogil=True)
def would_be_suicide(state: State, point: int, colour_placed: int) -> bool:
    """Whether a stone at the empty ``point`` would be left without liberties (rules.md 2, *suicide test*)."""
    colour = state["colour"]
    chain_head = state["chain_head"]
    liberties = state["chain_liberties"]
    for offset in NEIGHBOURS:
        near = point + offset
        other = colour[near]
        if other == EMPTY:
            return False
        if other == colour_placed:
            if liberties[chain_head[near]] > 1:
                return False
        elif other != WALL and liberties[chain_head[near]] == 1:
            return False
    return True


@njit(cache=True, nogil=True)
def is_lone_suicide(state: State, point: int, colour_placed: int) -> bool:
    """Whether a stone at the empty ``point`` would only die itself, which no rules allow."""
    colour = state["colour"]
    return would_be_suicide(state, point, colour_placed) and (
        colour[point - STRIDE] != colour_placed
        and colour[point - 1] != colour_placed
        and colour[point + 1] != colour_placed
        and colour[point + STRIDE] != colour_placed
    )


@njit(cache=True, nogil=True)
def is_illegal_suicide(state: State, point: int, colour_placed: int) -> bool:
    """Whether the rules forbid a stone at the empty ``point`` for want of liberties."""
    if state["suicide"] == 0:
        return would_be_suicide(state, point, colour_placed)
    return is_lone_suicide(state, point, colour_placed)


@njit(cache=True, nogil=True)
def ko_capture(state: State, point: int, colour_placed: int) -> int:
    """The stone that a capture of ko shape at ``point`` would take (rules.md 2, *koCapture*), or NO_POINT."""
    colour = state["colour"]
    if colour[point] != EMPTY:
        return NO_POINT
    taken = NO_POINT
    for offset in NEIGHBOURS:
        near = point + offset
        other = colour[near]
        if other == WALL:
            continue
        if other != opponent(colour_placed):
            return NO_POINT
        head = state["chain_head"][near]
        if state["chain_liberties"][head] == 1:
            if taken != NO_POINT or state["chain_size"][head] != 1:
                return NO_POINT
            taken = near
    return taken


@njit(cache=True, nogil=True)
def key_after(state: State, point: int, colour_placed: int) -> Any:
    """``grid_key`` as it would be after a stone at the empty ``point`` with its captures, or after its suicide.

    Returns:
        uint64.
    """
    colour = state["colour"]
    chain_head = state["chain_head"]
    liberties = state["chain_liberties"]
    chain_key = state["chain_key"]
    key = state["grid_key"] ^ STONE_KEYS[colour_placed, point]
    breathes = False
    own = STONE_KEYS[colour_placed, point]
    for index in range(4):
        near = point + NEIGHBOURS[index]
        other = colour[near]
        if other == EMPTY:
            breathes = True
            continue
        if other == WALL:
            continue
        head = chain_head[near]
        repeated = False
        for earlier in range(index):
            repeated = repeated or chain_head[point + NEIGHBOURS[earlier]] == head
        if repeated:
            continue
        if other == colour_placed:
            own ^= chain_key[head]
            breathes = breathes or liberties[head] > 1
        elif liberties[head] == 1:
            key ^= chain_key[head]
            breathes = True
    return key if breathes else key ^ own


@njit(cache=True, nogil=True)
def set_stone(state: State, point: int, colour_set: int) -> bool:
    """Set up a stone of BLACK or WHITE on an empty point, without capturing.

    Returns:
        False, leaving the board as it was, if the point is no empty point of the board, or if the stone or a chain
        beside it would have no liberty.
    """
    colour = state["colour"]
    if not 0 <= point < NUM_POINTS or colour[point] != EMPTY or not BLACK <= colour_set <= WHITE:
        return False
    if would_be_suicide(state, point, colour_set):
        return False
    for offset in NEIGHBOURS:
        near = point + offset
        if colour[near] == opponent(colour_set) and state["chain_liberties"][state["chain_head"][near]] == 1:
            return False
    place_stone(state, point, colour_set)
    return True


@njit(cache=True, nogil=True)
def copy_state(targets: Any, target: int, sources: Any, source: int) -> None:
    """Make record ``targets[target]`` the same position as ``sources[source]``; the HISTORY stays shared.

    One copy of 10.9 kB; the history must be rewound to ``history_count`` of a state before that state is used again.
    """
    targets[target] = sources[source]
