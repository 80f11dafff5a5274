"""Who owns each point, the score if the game ended now, and what komi means to the player to move.

Knows the rules' scoring, tax, bonuses and button; the areas themselves come from `common.go.passalive`. Nothing here
changes the STATE, and nothing is allocated: the caller owns an area (int8[NUM_POINTS]) and one AREA_SCRATCH per
thread. Scores are White minus Black. Specification: rules.md 3, 4.3, 5, 7, 8, 9.5.
"""

from __future__ import annotations

import math
from typing import Any, Final

from common.go.passalive import calculate_area, independent_life_area
from common.go.points import BLACK, EMPTY, NEIGHBOURS, SECOND_CLEANUP, STRIDE, WHITE
from common.go.rules import Scoring, Tax
from common.go.state import State
from common.kernels import njit

BUTTON_POINTS: Final = 0.5
_TAX_PER_REGION: Final = 2


@njit(cache=True, nogil=True)
def count_area(state: State, area: Any) -> int:
    """White's points of ``area`` minus Black's."""
    excess = 0
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        for point in range(first, first + state["x_size"]):
            owner = area[point]
            excess += int(owner == WHITE) - int(owner == BLACK)
    return excess


@njit(cache=True, nogil=True)
def plain_area(state: State, area: Any, scratch: Any) -> None:
    """All stones and all one-coloured regions, whatever the rules: seki is nobody's business here.

    Training rows compare it with `area_now` to tell which points seki and tax take away (training-data.md 2).
    """
    calculate_area(state, True, True, True, state["pass_alive_suicide"] != 0, area, scratch)


@njit(cache=True, nogil=True)
def area_now(state: State, area: Any, scratch: Any) -> int:
    """The owners by which the position would be scored now (rules.md 7 and 8).

    Args:
        state: a STATE; read only.
        area: int8[NUM_POINTS], overwritten with the owners.
        scratch: an AREA_SCRATCH, changed in place.

    Returns:
        The board score: White's points minus Black's, after the group tax.
    """
    is_area = state["scoring_rule"] == Scoring.AREA
    tax = state["tax_rule"]
    if is_area and tax == Tax.NONE:
        plain_area(state, area, scratch)
        return count_area(state, area)
    keep_territories = not is_area and tax == Tax.NONE
    suicide = state["pass_alive_suicide"] != 0
    white_excess = independent_life_area(state, keep_territories, is_area, suicide, area, scratch)
    if not is_area:
        _add_original_stones(state, area)
    board_score = count_area(state, area)
    if tax == Tax.ALL:
        board_score -= _TAX_PER_REGION * white_excess
    return board_score


@njit(cache=True, nogil=True)
def _add_original_stones(state: State, area: Any) -> None:
    """Under territory rules unowned points go to the stones on them; not to stones added in the last phase."""
    stones = state["colour"]
    start = state["second_cleanup_start"]
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        for point in range(first, first + state["x_size"]):
            if area[point] == EMPTY and (state["phase"] < SECOND_CLEANUP or start[point] == stones[point]):
                area[point] = stones[point]


@njit(cache=True, nogil=True)
def white_bonus_points(state: State) -> float:
    """Everything that is added to the board score: bonuses and komi, without a button that nobody has taken."""
    return float(state["white_bonus"] + state["handicap_bonus"] + state["komi"])


@njit(cache=True, nogil=True)
def _button_points(state: State) -> float:
    """A button still left at the end goes to the player to move (rules.md 5)."""
    if not state["button_left"]:
        return 0.0
    return BUTTON_POINTS if state["to_move"] == WHITE else -BUTTON_POINTS


@njit(cache=True, nogil=True)
def score(state: State, area: Any, scratch: Any) -> float:
    """The final score, White minus Black, if the game ended now; exact, in steps of a half.

    A button still left counts for the player to move; the STATE itself keeps it. Arguments as in `area_now`.
    """
    return area_now(state, area, scratch) + white_bonus_points(state) + _button_points(state)


@njit(cache=True, nogil=True)
def all_pass_alive(state: State, area: Any, scratch: Any) -> bool:
    """Whether every point is pass-alive area of one side, so that self-play may stop (rules.md 4.3).

    Args:
        state: a STATE; read only.
        area: int8[NUM_POINTS], overwritten with the strictly pass-alive area.
        scratch: an AREA_SCRATCH, changed in place.
    """
    calculate_area(state, False, False, False, state["pass_alive_suicide"] != 0, area, scratch)
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        for point in range(first, first + state["x_size"]):
            if area[point] == EMPTY:
                return False
    return True


@njit(cache=True, nogil=True)
def scoring_values(state: State, area: Any, values: Any, scratch: Any) -> None:
    """What each point is worth in the final score: a training target (rules.md 9.5).

    Args:
        state: a STATE; read only.
        area: int8[NUM_POINTS], the final owners as `score` leaves them.
        values: float32[NUM_POINTS], overwritten: White's points positive, in -1 to 1, 0 off the board.
        scratch: an AREA_SCRATCH, changed in place.
    """
    values[:] = 0.0
    seen = scratch["seen"]
    seen[:] = 0
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        for point in range(first, first + state["x_size"]):
            if area[point] == EMPTY:
                continue
            if state["tax_rule"] != Tax.ALL:
                values[point] = 1.0 if area[point] == WHITE else -1.0
            elif not seen[point]:
                _value_component(state, area, point, values, scratch)


@njit(cache=True, nogil=True)
def _value_component(state: State, area: Any, seed: int, values: Any, scratch: Any) -> None:
    """Under group tax two points of each component's surrounded points are taken away, evenly."""
    stones = state["colour"]
    member = scratch["member"]
    seen = scratch["seen"]
    owner = area[seed]
    sign = 1.0 if owner == WHITE else -1.0
    member[0] = seed
    seen[seed] = 1
    read = 0
    size = 1
    surrounded = 0
    while read < size:
        point = member[read]
        read += 1
        surrounded += stones[point] != owner
        for offset in NEIGHBOURS:
            neighbour = point + offset
            if area[neighbour] == owner and not seen[neighbour]:
                seen[neighbour] = 1
                member[size] = neighbour
                size += 1
    share = max(0.0, (surrounded - _TAX_PER_REGION) / surrounded) if surrounded else 0.0
    for i in range(size):
        point = member[i]
        values[point] = sign if stones[point] == owner else sign * share


@njit(cache=True, nogil=True)
def draw_adjustment(state: State) -> float:
    """What is added to White's score so that a draw is worth its share of a win; 0 if there is no draw (rules.md 3)."""
    komi = state["komi"]
    if (math.floor(komi) == komi) == (state["has_button"] != 0):
        return 0.0
    return float(state["draw_white_wins"] - 0.5)


@njit(cache=True, nogil=True)
def own_komi(state: State) -> float:
    """Komi, bonuses and draw adjustment as the player to move sees them: selfKomi of rules.md 3."""
    white_komi = white_bonus_points(state) + draw_adjustment(state)
    return white_komi if state["to_move"] == WHITE else -white_komi
