"""The network's inputs of a position: 22 planes and 19 globals, "V7", seen from the player to move.

Knows STATE and HISTORY records and the tensor's layout; nothing of nets. Everything is written into the caller's
arrays and nothing is allocated. Symmetries are `common.go.symmetry`'s. Specification: features.md; the bits' order
in packed planes: training-data.md 1.

How it works: one pass over the board collects the planes of each position as bits of a number; a second one spreads
them to floats or packs them. Ladder maps are the costly part: a STATE carries those of the last three boards
(``ladder``, ``ladder_known``), and encoding completes them, so along a game each board is searched for ladders once.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from common.go.ladders import LADDER_SCRATCH, LADDERED, earlier_ladder_map, ladder_map
from common.go.passalive import AREA_SCRATCH
from common.go.play import (
    BANNED,
    is_friendly_pass,
    mark_points,
    pass_would_end_game,
    pass_would_end_phase,
)
from common.go.points import MAX_LENGTH, NUM_POINTS, PASS, SECOND_CLEANUP, STRIDE, WHITE, opponent
from common.go.rules import Ko, Scoring, Tax
from common.go.scoring import area_now, own_komi
from common.go.state import NUM_RECENT, History, State
from common.kernels import njit
from common.rows import NUM_GLOBAL_INPUTS as NUM_GLOBAL_INPUTS
from common.rows import NUM_PLANES as NUM_PLANES
from common.rows import GlobalInput, InputPlane

KOMI_SCALE: Final = 20
_MAX_LIBERTIES_SHOWN: Final = 3
_SHOWN_COUNTS: Final = (1 << (_MAX_LIBERTIES_SHOWN + 1)) - 2  # bits 1 to that
_NOBODY: Final = -1  # owns no point
_SIMPLE: Final = int(Ko.SIMPLE)
_POSITIONAL: Final = int(Ko.POSITIONAL)
_AREA: Final = int(Scoring.AREA)
_NO_TAX: Final = int(Tax.NONE)
_TAX_ALL: Final = int(Tax.ALL)


class FeatureOptions(NamedTuple):
    """What encoding depends on besides the position (features.md 1); the defaults are those of self-play."""

    playout_doubling_advantage: float = 0.0  # of the player to move: log2 of the ratio of playouts
    conservative_pass_at_root: bool = False  # the position is the root, and a pass that ends the game is hidden
    passing_hacks: bool = False  # hide such a pass when it would lose
    max_history: int = NUM_RECENT  # turns to show at most; the trainer and analysis may hide some


_OCTETS: Final = (MAX_LENGTH * MAX_LENGTH + 7) // 8

FEATURE_SCRATCH: Final = np.dtype(
    [
        ("area", AREA_SCRATCH),
        ("ladder", LADDER_SCRATCH),
        ("owner", np.int8, NUM_POINTS),
        ("marks", np.int8, NUM_POINTS),  # `common.go.play.mark_points` of the position encoded last
        ("point_bits", np.int32, NUM_POINTS),  # bit p: plane p is 1 at this point
        ("bits", np.int32, _OCTETS * 8),  # the same by position
    ],
    align=True,
)


def new_scratch() -> Any:
    """One FEATURE_SCRATCH record; a thread that encodes needs one of its own."""
    return np.zeros(1, FEATURE_SCRATCH)[0]


# -- history --


@njit(cache=True, nogil=True)
def _hides_pass(state: State, history: History, options: Any, own_lead: float, has_area: bool) -> bool:
    """Whether the net is not to know that a pass would end the game (features.md 3, rule 2)."""
    if not pass_would_end_game(state, history):
        return False
    if options.conservative_pass_at_root:
        return True
    if options.passing_hacks and has_area and own_lead <= 0:
        return True
    return is_friendly_pass(state, history)


@njit(cache=True, nogil=True)
def included_turns(state: State, options: Any, hides_pass: bool) -> int:
    """How many of the last turns are shown (features.md 3)."""
    if hides_pass:
        return 0
    most = 1 if state["finished"] else NUM_RECENT
    # A game that went on after its end shows the turns since then, and the one that ended it.
    most = int(max(0, min(most, options.max_history, state["turns_in_phase"] + state["past_end"])))
    player = opponent(state["to_move"])
    for turn in range(most):
        if state["recent_colour"][turn] != player:
            return turn
        player = opponent(player)
    return most


@njit(cache=True, nogil=True)
def _complete_ladders(state: State, turns: int, scratch: Any) -> None:
    """Finds the ladder maps of the current board and of those shown before it, as far as the STATE lacks them."""
    known = state["ladder_known"]
    if not known[0]:
        ladder_map(state, state["ladder"][0], scratch["ladder"])
        known[0] = 1
    for age in range(1, min(turns, 2) + 1):
        if not known[age]:
            earlier_ladder_map(state, age, state["ladder"][age], scratch["ladder"])
            known[age] = 1


# -- planes, as bits --


@njit(cache=True, nogil=True)
def _collect_liberties(state: State, point_bits: Any) -> None:
    """Writes the bits of chains with few liberties, and nothing else."""
    heads = state["chain_head"]
    liberties = state["chain_liberties"]
    for point in range(STRIDE, (state["y_size"] + 1) * STRIDE):
        count = min(liberties[heads[point]], _MAX_LIBERTIES_SHOWN + 1)
        point_bits[point] = ((1 << count) & _SHOWN_COUNTS) << (InputPlane.ONE_LIBERTY - 1)


@njit(cache=True, nogil=True)
def _collect_ladders(state: State, turns: int, captures: int, point_bits: Any) -> None:
    """Adds the bits of ladders; ``captures`` is the bit of working moves of the player to move."""
    now = state["ladder"][0]
    before = state["ladder"][min(turns, 1)]
    earlier = state["ladder"][min(turns, 2)]
    end = (state["y_size"] + 1) * STRIDE
    for point in range(STRIDE, end):
        value = (now[point] & LADDERED) << InputPlane.LADDERED
        value |= ((now[point] & captures) != 0) << InputPlane.LADDER_CAPTURE
        point_bits[point] |= value
    for point in range(STRIDE, end):
        value = (before[point] & LADDERED) << InputPlane.LADDERED_1_AGO
        value |= (earlier[point] & LADDERED) << InputPlane.LADDERED_2_AGO
        point_bits[point] |= value


@njit(cache=True, nogil=True)
def _collect_board(state: State, length: int, turns: int, has_area: bool, scratch: Any) -> None:
    """Writes the bits of everything but moves and cleanup phases.

    Of the scratch record, ``marks`` are those of `common.go.play.mark_points`, and ``owner`` holds the area if there is
    one. The loops over points are free of branches and know few arrays each, so that the compiler does many at once.
    """
    own = state["to_move"]
    opp = opponent(own)
    stones = state["colour"]
    owner = scratch["owner"]
    own_area = own if has_area else _NOBODY
    opp_area = opp if has_area else _NOBODY
    marks = scratch["marks"]
    point_bits = scratch["point_bits"]
    end = (state["y_size"] + 1) * STRIDE
    _collect_liberties(state, point_bits)
    for point in range(STRIDE, end):
        is_own = stones[point] == own
        is_opp = stones[point] == opp
        value = point_bits[point] if is_own | is_opp else 0
        value |= (1 << InputPlane.ON_BOARD) | (is_own << InputPlane.OWN_STONE) | (is_opp << InputPlane.OPP_STONE)
        point_bits[point] = value
    for point in range(STRIDE, end):
        value = ((marks[point] & BANNED) != 0) << InputPlane.KO_BANNED
        value |= (owner[point] == own_area) << InputPlane.OWN_AREA
        value |= (owner[point] == opp_area) << InputPlane.OPP_AREA
        point_bits[point] |= value
    _collect_ladders(state, turns, 1 << own, point_bits)
    bits = scratch["bits"]
    for index in range(8 * _OCTETS):
        bits[index] = 0
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        for x in range(state["x_size"]):
            bits[y * length + x] = point_bits[first + x]
    if state["phase"] > 0:
        _collect_cleanup(state, length, own, opp, bits)


@njit(cache=True, nogil=True)
def _collect_cleanup(state: State, length: int, own: int, opp: int, bits: Any) -> None:
    """Adds the bits that only cleanup phases have: ko blocks, and the stones at the start of the last phase."""
    start = state["second_cleanup_start"]
    in_last = state["phase"] == SECOND_CLEANUP
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        for x in range(state["x_size"]):
            point = first + x
            value = 0
            if state["ko_blocked"][point]:
                value |= 1 << InputPlane.KO_BLOCKED
            if in_last and start[point] == own:
                value |= 1 << InputPlane.ENCORE_START_OWN
            if in_last and start[point] == opp:
                value |= 1 << InputPlane.ENCORE_START_OPP
            bits[y * length + x] |= value


@njit(cache=True, nogil=True)
def _collect_moves(state: State, length: int, turns: int, bits: Any, global_inputs: Any) -> None:
    """Adds the last moves: the bits of their points, or the globals of passes."""
    for turn in range(turns):
        point = state["recent_point"][turn]
        if point == PASS:
            global_inputs[GlobalInput.PASS_1_AGO + turn] = 1.0
        else:
            bits[(point // STRIDE - 1) * length + point % STRIDE - 1] |= 1 << (InputPlane.MOVE_1_AGO + turn)


# -- globals --


@njit(cache=True, nogil=True)
def komi_wave(own_komi_points: float, area: int) -> float:
    """How far komi lies from one at which a draw is possible: a triangle wave of period 2 (features.md 5).

    Args:
        own_komi_points: selfKomi, clipped, in points.
        area: points of the board; draws are possible at komis of the same parity.
    """
    parity = area % 2
    draw_komi = 2.0 * math.floor((own_komi_points - parity) / 2.0) + parity
    above = min(max(own_komi_points - draw_komi, 0.0), 2.0)
    if above < 0.5:
        return above
    if above < 1.5:
        return 1.0 - above
    return above - 2.0


@njit(cache=True, nogil=True)
def _write_globals(state: State, options: Any, pass_ends_phase: bool, global_inputs: Any) -> None:
    """Writes the globals that do not tell passes; the array is zero before."""
    area = state["x_size"] * state["y_size"]
    most = float(area + KOMI_SCALE)
    komi = min(max(own_komi(state), -most), most)
    is_territory = state["scoring_rule"] != _AREA
    global_inputs[GlobalInput.SELF_KOMI] = komi / KOMI_SCALE
    if state["ko_rule"] != _SIMPLE:
        global_inputs[GlobalInput.KO_NOT_SIMPLE] = 1.0
        global_inputs[GlobalInput.KO_KIND] = 0.5 if state["ko_rule"] == _POSITIONAL else -0.5
    global_inputs[GlobalInput.MULTI_STONE_SUICIDE] = 1.0 if state["suicide"] else 0.0
    global_inputs[GlobalInput.TERRITORY_SCORING] = 1.0 if is_territory else 0.0
    global_inputs[GlobalInput.TAXED] = 1.0 if state["tax_rule"] != _NO_TAX else 0.0
    global_inputs[GlobalInput.GROUP_TAX] = 1.0 if state["tax_rule"] == _TAX_ALL else 0.0
    global_inputs[GlobalInput.ENCORE] = 1.0 if state["phase"] > 0 else 0.0
    global_inputs[GlobalInput.SECOND_ENCORE] = 1.0 if state["phase"] == SECOND_CLEANUP else 0.0
    global_inputs[GlobalInput.PASS_WOULD_END_PHASE] = 1.0 if pass_ends_phase else 0.0
    advantage = options.playout_doubling_advantage
    if advantage != 0.0:
        global_inputs[GlobalInput.HAS_PLAYOUT_DOUBLING] = 1.0
        global_inputs[GlobalInput.PLAYOUT_DOUBLING] = 0.5 * advantage
    global_inputs[GlobalInput.BUTTON] = 1.0 if state["button_left"] else 0.0
    if not is_territory or state["phase"] == SECOND_CLEANUP:
        global_inputs[GlobalInput.KOMI_PARITY] = komi_wave(komi, area)


# -- from bits to planes --


@njit(cache=True, nogil=True)
def _spread(bits: Any, length: int, planes: Any) -> None:
    """Bit p of every position into plane p of float32 [NUM_PLANES, length, length]."""
    area = length * length
    flat = planes.reshape(NUM_PLANES, area)  # one simple inner loop, which the compiler vectorises
    for plane in range(NUM_PLANES):
        for index in range(area):
            flat[plane, index] = np.float32((bits[index] >> plane) & 1)


@njit(cache=True, nogil=True)
def _transposed(square: Any) -> Any:
    """A square of 8 x 8 bits in a uint64, rows and columns exchanged (Warren, Hacker's Delight, section 7-3)."""
    swap = (square ^ (square >> np.uint64(7))) & np.uint64(0x00AA00AA00AA00AA)
    square ^= swap ^ (swap << np.uint64(7))
    swap = (square ^ (square >> np.uint64(14))) & np.uint64(0x0000CCCC0000CCCC)
    square ^= swap ^ (swap << np.uint64(14))
    swap = (square ^ (square >> np.uint64(28))) & np.uint64(0x00000000F0F0F0F0)
    return square ^ swap ^ (swap << np.uint64(28))


@njit(cache=True, nogil=True)
def _pack(bits: Any, length: int, packed: Any) -> None:
    """Bit p of every position into plane p of uint8 [NUM_PLANES, ceil(length**2 / 8)], first position on top.

    Eight positions times eight planes at once: their bits are a square, and the bytes of planes its columns.
    """
    for group in range(0, NUM_PLANES, 8):
        planes = min(8, NUM_PLANES - group)
        for octet in range((length * length + 7) // 8):
            square = np.uint64(0)
            for index in range(8):  # the bits end with a whole octet, so that the compiler can unroll this
                row = np.uint64((bits[8 * octet + index] >> group) & 0xFF)
                square |= row << np.uint64(8 * (7 - index))
            square = _transposed(square)
            for plane in range(planes):
                packed[group + plane, octet] = (square >> np.uint64(8 * plane)) & np.uint64(0xFF)


# -- the whole --


@njit(cache=True, nogil=True)
def _collect(state: State, history: History, length: int, options: Any, global_inputs: Any, scratch: Any) -> None:
    """Writes the globals, and the planes as ``bits`` of the scratch record."""
    has_area = state["scoring_rule"] == _AREA or state["phase"] == SECOND_CLEANUP
    own_lead = 0.0
    if has_area:
        board_score = area_now(state, scratch["owner"], scratch["area"])
        own_lead = own_komi(state) + (board_score if state["to_move"] == WHITE else -board_score)
    hides_pass = _hides_pass(state, history, options, own_lead, has_area)
    turns = included_turns(state, options, hides_pass)
    _complete_ladders(state, turns, scratch)
    mark_points(state, history, scratch["marks"])
    _collect_board(state, length, turns, has_area, scratch)
    for index in range(NUM_GLOBAL_INPUTS):
        global_inputs[index] = 0.0
    _collect_moves(state, length, turns, scratch["bits"], global_inputs)
    pass_ends_phase = not hides_pass and pass_would_end_phase(state, history)
    _write_globals(state, options, pass_ends_phase, global_inputs)


@njit(cache=True, nogil=True)
def encode(
    state: State, history: History, length: int, options: Any, planes: Any, global_inputs: Any, scratch: Any
) -> None:
    """Writes the inputs of a position as float32 (features.md 2-5).

    Args:
        state: a STATE; only its ladder maps are completed. A smaller board fills the tensor's upper left corner.
        history: its HISTORY, read only.
        length: edge of the tensor, at least that of the board and at most 19; not checked.
        options: a `FeatureOptions`.
        planes: float32 [NUM_PLANES, length, length], C-contiguous, overwritten.
        global_inputs: float32 [NUM_GLOBAL_INPUTS], overwritten.
        scratch: a FEATURE_SCRATCH, changed in place.
    """
    _collect(state, history, length, options, global_inputs, scratch)
    _spread(scratch["bits"], length, planes)


@njit(cache=True, nogil=True)
def encode_packed(
    state: State, history: History, length: int, options: Any, packed: Any, global_inputs: Any, scratch: Any
) -> None:
    """The same as `encode`, with eight positions of a plane in a byte, the first in its most significant bit.

    Args:
        packed: uint8 [NUM_PLANES, ceil(length**2 / 8)], overwritten; the last byte is padded with zeros.
    """
    _collect(state, history, length, options, global_inputs, scratch)
    _pack(scratch["bits"], length, packed)
