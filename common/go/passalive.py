"""Which stones and points are alive even if their owner always passes, and which areas live independently.

Knows only the stones and chains of a STATE; no phases, no komi, no result (`common.go.scoring` turns areas into
scores). Time is linear in the board's points. Nothing is allocated: the caller owns one AREA_SCRATCH record per thread,
whose content means nothing between calls. Specification: rules.md 9.

An *area* is an ``int8[NUM_POINTS]`` with the owner of each point (EMPTY, BLACK or WHITE); off the board it is EMPTY.
A *region* of a colour is a maximal connected set of points without stones of that colour.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from common.go.points import BLACK, EMPTY, NEIGHBOURS, NUM_POINTS, STRIDE, WALL, WHITE

_MAX_VITAL: Final = 4
"""A region is vital for the chains around any one of its points at most, hence for four."""
_UNSEEN: Final = -1
_NO_REGION: Final = -2
_ANY_CHAIN: Final = -1
"""Count of vital chains before a point has named them."""

AREA_SCRATCH: Final = np.dtype(
    [
        ("chains", np.int16),  # how many chains the colour in hand has
        ("chain", np.int16, NUM_POINTS),  # their heads
        ("regions", np.int16),  # how many regions it has
        ("region_of", np.int16, NUM_POINTS),  # region of each point, _NO_REGION under its stones and off the board
        ("member", np.int16, NUM_POINTS),  # points in order of discovery: region r is member[start[r]:start[r + 1]]
        ("start", np.int16, NUM_POINTS + 1),
        ("vital", np.int16, (NUM_POINTS, _MAX_VITAL)),  # heads of the chains for which a region is vital
        ("vital_count", np.int8, NUM_POINTS),
        ("contains_opponent", np.int8, NUM_POINTS),  # the three flags are per region
        ("is_clean", np.int8, NUM_POINTS),
        ("internal", np.int16, NUM_POINTS),  # points of a region with no stone of the colour beside them
        ("chain_vital", np.int16, NUM_POINTS),  # at heads: regions that are vital for the chain
        ("chain_alive", np.int8, NUM_POINTS),  # at heads
        ("dying_count", np.int16),
        ("dying", np.int16, NUM_POINTS),  # stack of heads whose regions are not yet taken away
        ("basic", np.int8, NUM_POINTS),  # calculate_area inside independent_life_area
        ("seen", np.int8, NUM_POINTS),
    ],
    align=True,
)


@njit(cache=True, nogil=True)
def _start(state: Any, colour: int, scratch: Any) -> None:
    """Lists the chains of ``colour``, alive and without vital regions so far; all other points are unseen."""
    stones = state["colour"]
    heads = state["chain_head"]
    region_of = scratch["region_of"]
    for point in range(NUM_POINTS):
        region_of[point] = _NO_REGION if (stones[point] == colour) | (stones[point] == WALL) else _UNSEEN
    count = 0
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        for point in range(first, first + state["x_size"]):
            if stones[point] == colour and heads[point] == point:
                scratch["chain"][count] = point
                scratch["chain_vital"][point] = 0
                scratch["chain_alive"][point] = 1
                count += 1
    scratch["chains"] = count


@njit(cache=True, nogil=True)
def _first_vital(state: Any, colour: int, point: int, vital: Any) -> int:
    """Lists the heads of the chains that touch ``point`` in ``vital``; returns how many."""
    stones = state["colour"]
    heads = state["chain_head"]
    count = 0
    for offset in NEIGHBOURS:
        neighbour = point + offset
        if stones[neighbour] == colour:
            head = heads[neighbour]
            known = False
            for i in range(count):
                known |= vital[i] == head
            if not known:
                vital[count] = head
                count += 1
    return count


@njit(cache=True, nogil=True)
def _narrow_vital(state: Any, point: int, vital: Any, count: int) -> int:
    """Keeps those of ``count`` chains in ``vital`` that touch ``point``; returns how many."""
    heads = state["chain_head"]
    kept = 0
    for i in range(count):
        head = vital[i]
        if (
            heads[point - STRIDE] == head
            or heads[point - 1] == head
            or heads[point + 1] == head
            or heads[point + STRIDE] == head
        ):
            vital[kept] = head
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _flood_region(state: Any, colour: int, seed: int, suicide: bool, scratch: Any) -> None:
    """Appends the region of ``colour`` that contains ``seed``, with all its attributes (rules.md 9.1)."""
    stones = state["colour"]
    region_of = scratch["region_of"]
    member = scratch["member"]
    region = scratch["regions"]
    vital = scratch["vital"][region]
    vital_count = _ANY_CHAIN
    read = scratch["start"][region]
    end = read + 1
    member[read] = seed
    region_of[seed] = region
    internal = 0
    contains_opponent = False
    while read < end:
        point = member[read]
        read += 1
        touches_colour = False
        for offset in NEIGHBOURS:
            neighbour = point + offset
            if region_of[neighbour] == _UNSEEN:
                region_of[neighbour] = region
                member[end] = neighbour
                end += 1
            touches_colour |= stones[neighbour] == colour
        internal += not touches_colour
        is_empty = stones[point] == EMPTY
        contains_opponent |= not is_empty
        if vital_count != 0 and (is_empty or suicide):
            if not touches_colour:
                vital_count = 0
            elif vital_count == _ANY_CHAIN:
                vital_count = _first_vital(state, colour, point, vital)
            else:
                vital_count = _narrow_vital(state, point, vital, vital_count)
    scratch["start"][region + 1] = end
    scratch["internal"][region] = internal
    scratch["contains_opponent"][region] = contains_opponent
    scratch["is_clean"][region] = 1
    scratch["vital_count"][region] = vital_count
    scratch["regions"] = region + 1


@njit(cache=True, nogil=True)
def _find_regions(state: Any, colour: int, suicide: bool, scratch: Any) -> None:
    """Finds all regions of ``colour`` and counts the vital ones of each chain."""
    region_of = scratch["region_of"]
    scratch["start"][0] = 0
    scratch["regions"] = 0
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        for point in range(first, first + state["x_size"]):
            if region_of[point] == _UNSEEN:
                _flood_region(state, colour, point, suicide, scratch)
    for region in range(scratch["regions"]):
        for i in range(scratch["vital_count"][region]):
            scratch["chain_vital"][scratch["vital"][region, i]] += 1


@njit(cache=True, nogil=True)
def _soil_regions(state: Any, head: int, scratch: Any) -> None:
    """Takes the regions beside the dead chain ``head`` away from all chains; ``dying`` gets those that this kills."""
    following = state["chain_next"]
    region_of = scratch["region_of"]
    is_clean = scratch["is_clean"]
    chain_vital = scratch["chain_vital"]
    chain_alive = scratch["chain_alive"]
    stone = head
    while True:
        for offset in NEIGHBOURS:
            region = region_of[stone + offset]
            if region < 0 or not is_clean[region]:
                continue
            is_clean[region] = 0
            for i in range(scratch["vital_count"][region]):
                other = scratch["vital"][region, i]
                chain_vital[other] -= 1
                if chain_alive[other] and chain_vital[other] < 2:
                    chain_alive[other] = 0
                    scratch["dying"][scratch["dying_count"]] = other
                    scratch["dying_count"] += 1
        stone = following[stone]
        if stone == head:
            return


@njit(cache=True, nogil=True)
def _let_chains_die(state: Any, scratch: Any) -> None:
    """Takes away chains with fewer than two vital regions, and the regions that these border, until nothing changes."""
    chains = scratch["chains"]
    deaths = 0
    scratch["dying_count"] = 0
    for index in range(chains):
        head = scratch["chain"][index]
        if scratch["chain_vital"][head] < 2:
            scratch["chain_alive"][head] = 0
            scratch["dying"][scratch["dying_count"]] = head
            scratch["dying_count"] += 1
    while scratch["dying_count"] > 0:
        if deaths + scratch["dying_count"] == chains:  # nobody lives, and every region borders somebody
            for region in range(scratch["regions"]):
                scratch["is_clean"][region] = 0
            return
        scratch["dying_count"] -= 1
        deaths += 1
        _soil_regions(state, scratch["dying"][scratch["dying_count"]], scratch)


@njit(cache=True, nogil=True)
def _mark_colour(state: Any, colour: int, safe_big: bool, unsafe_big: bool, suicide: bool, scratch: Any) -> None:
    """Marks the pass-alive stones of ``colour`` and its regions in ``basic`` (rules.md 9.2, steps 1 and 2)."""
    _start(state, colour, scratch)
    if scratch["chains"] == 0:
        return
    _find_regions(state, colour, suicide, scratch)
    _let_chains_die(state, scratch)
    area = scratch["basic"]
    for index in range(scratch["chains"]):
        head = scratch["chain"][index]
        if scratch["chain_alive"][head]:
            stone = head
            for _ in range(state["chain_size"][head]):
                area[stone] = colour
                stone = state["chain_next"][stone]
    member = scratch["member"]
    for region in range(scratch["regions"]):
        begin = scratch["start"][region]
        end = scratch["start"][region + 1]
        undisputed = not scratch["contains_opponent"][region]
        if scratch["is_clean"][region] and (scratch["internal"][region] <= 1 or (safe_big and undisputed)):
            for i in range(begin, end):
                area[member[i]] = colour
        elif unsafe_big and undisputed:
            for i in range(begin, end):
                if area[member[i]] == EMPTY:
                    area[member[i]] = colour


@njit(cache=True, nogil=True)
def _calculate_basic(
    state: Any, non_pass_alive_stones: bool, safe_big: bool, unsafe_big: bool, suicide: bool, scratch: Any
) -> None:
    """`calculate_area` into the scratch record's ``basic``."""
    basic = scratch["basic"]
    basic[:] = EMPTY
    for colour in (BLACK, WHITE):
        _mark_colour(state, colour, safe_big, unsafe_big, suicide, scratch)
    if non_pass_alive_stones:
        stones = state["colour"]
        for y in range(state["y_size"]):
            first = (y + 1) * STRIDE + 1
            for point in range(first, first + state["x_size"]):
                if basic[point] == EMPTY:
                    basic[point] = stones[point]


@njit(cache=True, nogil=True)
def calculate_area(
    state: Any,
    non_pass_alive_stones: bool,
    safe_big: bool,
    unsafe_big: bool,
    suicide: bool,
    area: Any,
    scratch: Any,
) -> None:
    """Pass-alive stones and territory, and on demand all other stones and one-coloured regions (rules.md 9.2).

    Args:
        state: a STATE; read only.
        non_pass_alive_stones: stones inside nobody's area belong to their own colour.
        safe_big: large empty regions that only pass-alive chains border count.
        unsafe_big: so do empty regions that any chains of one colour border.
        suicide: the flag S of rules.md 9.4.
        area: int8[NUM_POINTS], overwritten with the owners.
        scratch: an AREA_SCRATCH, changed in place.
    """
    # bool() makes variables of constants: numba would compile everything below once for each constant.
    _calculate_basic(state, bool(non_pass_alive_stones), bool(safe_big), bool(unsafe_big), bool(suicide), scratch)
    basic = scratch["basic"]
    for point in range(NUM_POINTS):  # numba compiles `area[:] = basic` with string formatting for ten seconds
        area[point] = basic[point]


@njit(cache=True, nogil=True)
def _flood_component(state: Any, seed: int, scratch: Any) -> tuple[int, bool]:
    """Collects the points of one owner around ``seed`` in ``member[0:size]``; returns size and whether seki-like."""
    stones = state["colour"]
    heads = state["chain_head"]
    liberties = state["chain_liberties"]
    basic = scratch["basic"]
    seen = scratch["seen"]
    member = scratch["member"]
    owner = basic[seed]
    seen[seed] = 1
    member[0] = seed
    read = 0
    size = 1
    is_seki_like = False
    while read < size:
        point = member[read]
        read += 1
        if stones[point] == owner and liberties[heads[point]] == 1:
            is_seki_like = True
        for offset in NEIGHBOURS:
            neighbour = point + offset
            if stones[neighbour] == WALL:
                continue
            if basic[neighbour] == owner:
                if not seen[neighbour]:
                    seen[neighbour] = 1
                    member[size] = neighbour
                    size += 1
            elif basic[neighbour] == EMPTY:  # dame: every stone is owned in `basic`
                is_seki_like = True
    return size, is_seki_like


@njit(cache=True, nogil=True)
def independent_life_area(
    state: Any, keep_territories: bool, keep_stones: bool, suicide: bool, area: Any, scratch: Any
) -> int:
    """Area of groups that need no seki to live (rules.md 9.3).

    Args:
        state: a STATE; read only.
        keep_territories: surrounded points and dead stones of seki-like groups count too.
        keep_stones: stones of seki-like groups count too.
        suicide: the flag S of rules.md 9.4.
        area: int8[NUM_POINTS], overwritten with the owners.
        scratch: an AREA_SCRATCH, changed in place.

    Returns:
        White's independent-life regions minus Black's (for the group tax).
    """
    stones = state["colour"]
    basic = scratch["basic"]
    seen = scratch["seen"]
    member = scratch["member"]
    calculate_area(state, True, True, True, suicide, area, scratch)  # leaves its answer in `basic`, too
    area[:] = EMPTY
    seen[:] = 0
    white_excess = 0
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        for point in range(first, first + state["x_size"]):
            owner = basic[point]
            if owner == EMPTY or seen[point]:
                continue
            size, is_seki_like = _flood_component(state, point, scratch)
            if not is_seki_like:
                white_excess += 1 if owner == WHITE else -1
                for i in range(size):
                    area[member[i]] = owner
    if keep_territories or keep_stones:
        for y in range(state["y_size"]):
            first = (y + 1) * STRIDE + 1
            for point in range(first, first + state["x_size"]):
                if (keep_stones and basic[point] == stones[point]) or (
                    keep_territories and basic[point] != stones[point]
                ):
                    area[point] = basic[point]
    return white_excess
