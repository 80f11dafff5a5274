"""Which stones and points are alive even if their owner always passes, and which areas live independently.

Knows only the stones and chains of a STATE; no phases, no komi, no result (`common.go.scoring` turns areas into
scores). Sets of points are rows of bits (`common.go.bitrows`). Nothing is allocated: the caller owns one AREA_SCRATCH
record per thread, whose content means nothing between calls. Specification: rules.md 9.

An *area* is an ``int8[NUM_POINTS]`` with the owner of each point (EMPTY, BLACK or WHITE); off the board it is EMPTY.
A *region* of a colour is a maximal connected set of points without stones of that colour.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from common.go.bitrows import ROWS, beside, fill_connected, lowest_index, take_component
from common.go.points import BLACK, EMPTY, MAX_LENGTH, NEIGHBOURS, NUM_POINTS, STRIDE, WHITE, opponent
from common.go.state import State
from common.kernels import njit

_MAX_VITAL: Final = 4
"""A region is vital for the chains around any one of its points at most, hence for four."""
_WHITE_SHIFT: Final = 32
_LOW: Final = (1 << _WHITE_SHIFT) - 1
_MAX_REGIONS: Final = (MAX_LENGTH * MAX_LENGTH + 1) // 2
"""No two regions of a colour touch."""

AREA_SCRATCH: Final = np.dtype(
    [
        # sets of points as rows of bits; the first axis is a colour
        ("stones", np.int32, (3, ROWS)),
        ("owned", np.int32, (3, ROWS)),  # the area in the making, of BLACK and WHITE
        ("independent", np.int32, (3, ROWS)),
        ("in_atari", np.int32, ROWS),
        ("dame", np.int32, ROWS),
        ("left", np.int32, ROWS),  # points that belong to no region or component yet
        ("component", np.int32, ROWS),
        ("alive", np.int32, ROWS),  # stones of living chains of the colour in hand
        # the same of both colours at once: Black's bits, and White's from _WHITE_SHIFT on
        ("both_inside", np.int64, ROWS),
        ("both_found", np.int64, ROWS),
        ("undisputed", np.int64, ROWS),  # empty regions that only this colour borders
        ("eyes", np.int64, ROWS),  # regions that some chain of the colour might need
        # chains of the colour in hand
        ("chain_vital", np.int16, NUM_POINTS),  # at heads: regions that are vital for the chain
        ("living_count", np.int16),
        ("living", np.int16, NUM_POINTS),  # heads of those with two vital regions, as far as is known
        # regions of the colour in hand
        ("regions", np.int16),
        ("region", np.int32, (_MAX_REGIONS, ROWS)),
        ("first_row", np.int8, _MAX_REGIONS),
        ("last_row", np.int8, _MAX_REGIONS),
        ("is_undisputed", np.int8, _MAX_REGIONS),  # no stone of the opponent
        ("is_small", np.int8, _MAX_REGIONS),  # at most one point has no stone of the colour beside it
        ("is_clean", np.int8, _MAX_REGIONS),  # no chain that borders it is dead, as far as is known
        ("vital", np.int16, (_MAX_REGIONS, _MAX_VITAL)),  # heads of the chains for which the region is vital
        ("vital_count", np.int8, _MAX_REGIONS),
        # `common.go.scoring`
        ("member", np.int16, NUM_POINTS),
        ("seen", np.int8, NUM_POINTS),
    ],
    align=True,
)


# -- boards and rows --


@njit(cache=True, nogil=True)
def _read_stones(state: State, scratch: Any) -> None:
    """Stones and empty points of the board as rows."""
    colours = state["colour"]
    sets = scratch["stones"]
    for row in range(ROWS):
        for colour in range(3):
            sets[colour, row] = 0
    for row in range(1, state["y_size"] + 1):
        black = 0
        white = 0
        first = row * STRIDE + 1
        for x in range(state["x_size"]):
            black |= (colours[first + x] == BLACK) << x
            white |= (colours[first + x] == WHITE) << x
        sets[BLACK, row] = black
        sets[WHITE, row] = white
        sets[EMPTY, row] = ((1 << state["x_size"]) - 1) ^ (black | white)


@njit(cache=True, nogil=True)
def _write_area(state: State, sets: Any, area: Any) -> None:
    """The owners of the sets of BLACK and WHITE as an area."""
    for point in range(NUM_POINTS):
        area[point] = EMPTY
    for row in range(1, state["y_size"] + 1):
        black = sets[BLACK, row]
        white = sets[WHITE, row]
        first = row * STRIDE + 1
        for x in range(state["x_size"]):
            area[first + x] = ((black >> x) & 1) * BLACK + ((white >> x) & 1) * WHITE


# -- regions of both colours at once --


@njit(cache=True, nogil=True)
def _find_undisputed(last_row: int, scratch: Any) -> None:
    """Finds the empty regions that stones of one colour alone border."""
    stones = scratch["stones"]
    inside = scratch["both_inside"]
    found = scratch["both_found"]
    for row in range(1, last_row + 1):
        empty = np.int64(stones[EMPTY, row])
        inside[row] = empty | (empty << _WHITE_SHIFT)
        black = empty & beside(stones[BLACK], row)
        white = empty & beside(stones[WHITE], row)
        found[row] = black | (white << _WHITE_SHIFT)
    fill_connected(inside, found, last_row)
    for row in range(1, last_row + 1):
        black = found[row] & _LOW
        white = found[row] >> _WHITE_SHIFT
        scratch["undisputed"][row] = (black & ~white) | ((white & ~black) << _WHITE_SHIFT)


@njit(cache=True, nogil=True)
def _find_eyes(last_row: int, suicide: bool, scratch: Any) -> None:
    """Finds the regions of each colour all of whose points that count lie beside its stones.

    No other region is vital for a chain. They are what remains when the others are filled from such points on.
    """
    stones = scratch["stones"]
    inside = scratch["both_inside"]
    found = scratch["both_found"]
    for row in range(1, last_row + 1):
        empty = np.int64(stones[EMPTY, row])
        not_black = empty | stones[WHITE, row]
        not_white = empty | stones[BLACK, row]
        inside[row] = not_black | (not_white << _WHITE_SHIFT)
        black = (not_black if suicide else empty) & ~beside(stones[BLACK], row)
        white = (not_white if suicide else empty) & ~beside(stones[WHITE], row)
        found[row] = black | (white << _WHITE_SHIFT)
    fill_connected(inside, found, last_row)
    for row in range(1, last_row + 1):
        scratch["eyes"][row] = inside[row] & ~found[row]


# -- chains and regions of one colour (rules.md 9.1) --


@njit(cache=True, nogil=True)
def _first_vital(state: State, colour: int, point: int, vital: Any) -> int:
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
def _narrow_vital(state: State, point: int, vital: Any, count: int) -> int:
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
def _find_vital(state: State, colour: int, suicide: bool, region: int, scratch: Any) -> None:
    """Lists the chains that touch every empty point of a region, or with ``suicide`` every point."""
    points = scratch["region"][region]
    vital = scratch["vital"][region]
    count = _MAX_VITAL
    is_first = True
    for row in range(scratch["first_row"][region], scratch["last_row"][region] + 1):
        bits = points[row] if suicide else points[row] & scratch["stones"][EMPTY, row]
        while bits and count > 0:
            point = row * STRIDE + 1 + lowest_index(bits)
            bits &= bits - 1
            count = _first_vital(state, colour, point, vital) if is_first else _narrow_vital(state, point, vital, count)
            is_first = False
    scratch["vital_count"][region] = count
    for i in range(count):
        head = vital[i]
        scratch["chain_vital"][head] += 1
        if scratch["chain_vital"][head] == 2:
            scratch["living"][scratch["living_count"]] = head
            scratch["living_count"] += 1


@njit(cache=True, nogil=True)
def _describe_region(state: State, colour: int, suicide: bool, region: int, scratch: Any) -> None:
    """Fills in all that is known of a region before chains die."""
    points = scratch["region"][region]
    own = scratch["stones"][colour]
    opp_here = 0
    internal = 0  # bits without an own stone beside them, up to two of them
    unreachable = 0  # those among them that a vital chain would have to touch
    for row in range(scratch["first_row"][region], scratch["last_row"][region] + 1):
        here = points[row]
        opp = here & ~scratch["stones"][EMPTY, row]
        opp_here |= opp
        inner = here & ~beside(own, row)
        internal += (inner != 0) + (inner & (inner - 1) != 0)
        unreachable |= inner if suicide else inner & ~opp
    scratch["is_undisputed"][region] = opp_here == 0
    scratch["is_small"][region] = internal <= 1
    scratch["is_clean"][region] = 1
    scratch["vital_count"][region] = 0
    if unreachable == 0:
        _find_vital(state, colour, suicide, region, scratch)


@njit(cache=True, nogil=True)
def _find_regions(state: State, colour: int, suicide: bool, scratch: Any) -> None:
    """Finds all regions of ``colour`` and counts the vital ones of each chain."""
    left = scratch["left"]
    board = scratch["stones"]
    for row in range(ROWS):
        left[row] = board[EMPTY, row] | board[opponent(colour), row]
    for point in range(NUM_POINTS):
        scratch["chain_vital"][point] = 0
    scratch["living_count"] = 0
    scratch["regions"] = 0
    for row in range(1, state["y_size"] + 1):
        while left[row]:
            region = scratch["regions"]
            first_row, last_row = take_component(left, row, scratch["region"][region])
            scratch["first_row"][region] = first_row
            scratch["last_row"][region] = last_row
            scratch["regions"] = region + 1
            _describe_region(state, colour, suicide, region, scratch)


@njit(cache=True, nogil=True)
def _may_live(state: State, colour: int, suicide: bool, scratch: Any) -> bool:
    """Whether a chain of ``colour`` has two vital regions, without which none is alive.

    In most positions before the end of a game none has, and a look at the few eyes is all.
    """
    left = scratch["left"]
    shift = _WHITE_SHIFT if colour == WHITE else 0
    for row in range(ROWS):
        left[row] = 0
    for row in range(1, state["y_size"] + 1):
        left[row] = (scratch["eyes"][row] >> shift) & _LOW
    for point in range(NUM_POINTS):
        scratch["chain_vital"][point] = 0
    scratch["living_count"] = 0
    for row in range(1, state["y_size"] + 1):
        while left[row]:
            first_row, last_row = take_component(left, row, scratch["region"][0])
            scratch["first_row"][0] = first_row
            scratch["last_row"][0] = last_row
            _find_vital(state, colour, suicide, 0, scratch)
            if scratch["living_count"] > 0:
                return True
    return False


@njit(cache=True, nogil=True)
def _flip_alive(state: State, head: int, scratch: Any) -> None:
    """Puts the stones of a chain into ``alive``, or takes them out."""
    alive = scratch["alive"]
    stone = head
    for _ in range(state["chain_size"][head]):
        alive[stone // STRIDE] ^= 1 << (stone % STRIDE - 1)
        stone = state["chain_next"][stone]


@njit(cache=True, nogil=True)
def _bury_dead(state: State, scratch: Any) -> bool:
    """Takes chains with fewer than two vital regions out of ``living`` and ``alive``; whether there were any."""
    kept = 0
    for index in range(scratch["living_count"]):
        head = scratch["living"][index]
        if scratch["chain_vital"][head] >= 2:
            scratch["living"][kept] = head
            kept += 1
        else:
            _flip_alive(state, head, scratch)
    has_dead = bool(kept < scratch["living_count"])
    scratch["living_count"] = kept
    return has_dead


@njit(cache=True, nogil=True)
def _borders(points: Any, first_row: int, last_row: int, others: Any, exempt: Any) -> bool:
    """Whether the set ``points`` lies beside one of ``others`` that is not in ``exempt``."""
    for row in range(max(first_row - 1, 1), min(last_row + 1, ROWS - 2) + 1):
        if beside(points, row) & others[row] & ~exempt[row]:
            return True
    return False


@njit(cache=True, nogil=True)
def _let_chains_die(state: State, colour: int, scratch: Any) -> None:
    """Takes away chains with fewer than two vital regions, and the regions that these border, until nothing changes."""
    own = scratch["stones"][colour]
    for row in range(ROWS):
        scratch["alive"][row] = 0
    for index in range(scratch["living_count"]):
        _flip_alive(state, scratch["living"][index], scratch)
    while True:
        for region in range(scratch["regions"]):
            if not scratch["is_clean"][region]:
                continue
            first_row = scratch["first_row"][region]
            last_row = scratch["last_row"][region]
            # every region borders somebody, so nobody alive means nothing clean
            if scratch["living_count"] == 0 or _borders(
                scratch["region"][region], first_row, last_row, own, scratch["alive"]
            ):
                scratch["is_clean"][region] = 0
                for i in range(scratch["vital_count"][region]):
                    scratch["chain_vital"][scratch["vital"][region, i]] -= 1
        if not _bury_dead(state, scratch):
            return


# -- areas --


@njit(cache=True, nogil=True)
def _own_undisputed(state: State, colour: int, scratch: Any) -> None:
    """Adds the undisputed regions of ``colour`` to ``owned`` as far as they are nobody's."""
    own = scratch["owned"][colour]
    other = scratch["owned"][opponent(colour)]
    shift = _WHITE_SHIFT if colour == WHITE else 0
    for row in range(1, state["y_size"] + 1):
        own[row] |= (scratch["undisputed"][row] >> shift) & _LOW & ~other[row]


@njit(cache=True, nogil=True)
def _own_colour(state: State, colour: int, safe_big: bool, unsafe_big: bool, suicide: bool, scratch: Any) -> None:
    """Adds the pass-alive stones of ``colour`` and its regions to ``owned`` (rules.md 9.2, steps 1 and 2)."""
    stones = 0
    for row in range(ROWS):
        stones |= scratch["stones"][colour, row]
    if stones == 0:
        return
    if not _may_live(state, colour, suicide, scratch):
        if unsafe_big:
            _own_undisputed(state, colour, scratch)
        return
    _find_regions(state, colour, suicide, scratch)
    _let_chains_die(state, colour, scratch)
    own = scratch["owned"][colour]
    other = scratch["owned"][opponent(colour)]
    for row in range(ROWS):
        own[row] |= scratch["alive"][row]
        other[row] &= ~scratch["alive"][row]
    for region in range(scratch["regions"]):
        points = scratch["region"][region]
        undisputed = scratch["is_undisputed"][region] != 0
        is_safe = scratch["is_clean"][region] and (scratch["is_small"][region] or (safe_big and undisputed))
        if not is_safe and not (unsafe_big and undisputed):
            continue
        for row in range(scratch["first_row"][region], scratch["last_row"][region] + 1):
            if is_safe:
                own[row] |= points[row]
                other[row] &= ~points[row]
            else:
                own[row] |= points[row] & ~other[row]


@njit(cache=True, nogil=True)
def _calculate(
    state: State, non_pass_alive_stones: bool, safe_big: bool, unsafe_big: bool, suicide: bool, scratch: Any
) -> None:
    """`calculate_area` into the sets ``owned``."""
    owned = scratch["owned"]
    stones = scratch["stones"]
    _read_stones(state, scratch)
    _find_eyes(state["y_size"], suicide, scratch)
    if unsafe_big:
        _find_undisputed(state["y_size"], scratch)
    for row in range(ROWS):
        owned[BLACK, row] = 0
        owned[WHITE, row] = 0
    for colour in (BLACK, WHITE):
        _own_colour(state, colour, safe_big, unsafe_big, suicide, scratch)
    if non_pass_alive_stones:
        for row in range(ROWS):
            nobodys = ~(owned[BLACK, row] | owned[WHITE, row])
            owned[BLACK, row] |= stones[BLACK, row] & nobodys
            owned[WHITE, row] |= stones[WHITE, row] & nobodys


@njit(cache=True, nogil=True)
def calculate_area(
    state: State,
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
    _calculate(state, bool(non_pass_alive_stones), bool(safe_big), bool(unsafe_big), bool(suicide), scratch)
    _write_area(state, scratch["owned"], area)


@njit(cache=True, nogil=True)
def _read_weak_points(state: State, scratch: Any) -> None:
    """Stones in atari, and the points that nobody owns, which are all empty."""
    heads = state["chain_head"]
    liberties = state["chain_liberties"]
    owned = scratch["owned"]
    stones = scratch["stones"]
    for row in range(ROWS):
        scratch["dame"][row] = stones[EMPTY, row] & ~(owned[BLACK, row] | owned[WHITE, row])
        scratch["in_atari"][row] = 0
    for row in range(1, state["y_size"] + 1):
        bits = stones[BLACK, row] | stones[WHITE, row]
        first = row * STRIDE + 1
        found = 0
        while bits:
            x = lowest_index(bits)
            bits &= bits - 1
            found |= (liberties[heads[first + x]] == 1) << x
        scratch["in_atari"][row] = found


@njit(cache=True, nogil=True)
def _keep_independent(state: State, colour: int, scratch: Any) -> int:
    """Collects the components of ``owned`` that are not seki-like in ``independent``; returns how many."""
    left = scratch["left"]
    component = scratch["component"]
    stones = scratch["stones"][colour]
    kept = scratch["independent"][colour]
    for row in range(ROWS):
        left[row] = scratch["owned"][colour, row]
        kept[row] = 0
    count = 0
    for row in range(1, state["y_size"] + 1):
        while left[row]:
            first_row, last_row = take_component(left, row, component)
            weak = 0
            for here in range(first_row - 1, last_row + 2):
                weak |= component[here] & stones[here] & scratch["in_atari"][here]
                weak |= scratch["dame"][here] & beside(component, here) if 0 < here < ROWS - 1 else 0
            if weak == 0:
                count += 1
                for here in range(first_row, last_row + 1):
                    kept[here] |= component[here]
    return count


@njit(cache=True, nogil=True)
def independent_life_area(
    state: State, keep_territories: bool, keep_stones: bool, suicide: bool, area: Any, scratch: Any
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
    calculate_area(state, True, True, True, suicide, area, scratch)  # what counts is that it leaves its sets
    _read_weak_points(state, scratch)
    white_excess = 0
    for colour in (BLACK, WHITE):
        count = _keep_independent(state, colour, scratch)
        white_excess += count if colour == WHITE else -count
        for row in range(ROWS):
            stones = scratch["stones"][colour, row]
            owned = scratch["owned"][colour, row]
            if keep_stones:
                scratch["independent"][colour, row] |= owned & stones
            if keep_territories:
                scratch["independent"][colour, row] |= owned & ~stones
    _write_area(state, scratch["independent"], area)
    return white_excess
