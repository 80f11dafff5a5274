"""The ending bonus: points that let the root prefer, of moves worth the same, the one that ends the game tidily.

The points of a move follow from the root's raw ownership and board alone, so they are counted once per search; what
they are worth depends on a child's score. Specification: search.md 4.4.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from client.search.play_selection import Children
from client.search.root_moves import find_pass_alive
from client.search.select import sign_of
from client.search.tree import Context, Forest, Scratch
from client.search.utility import score_utility
from client.search.values import SCORE_MEAN, SCORE_MEAN_SQ
from common.go.points import EMPTY, FIRST_CLEANUP, NEIGHBOURS, NO_POINT, opponent, point_at
from common.go.rules import Scoring
from common.kernels import njit

_DECIDED: Final = 0.95
"""Ownership from which on a point belongs to somebody."""
_AREA: Final = int(Scoring.AREA)


@njit(cache=True, nogil=True)
def _captures(state: np.void, point: int) -> bool:
    opp = opponent(state["to_move"])
    for offset in NEIGHBOURS:
        near = point + offset
        if state["colour"][near] == opp and state["chain_liberties"][state["chain_head"][near]] == 1:
            return True
    return False


@njit(cache=True, nogil=True)
def _is_tidy_inside(state: np.void, point: int, area: npt.NDArray[np.int8]) -> bool:
    """Whether ``point`` touches no stone of the opponent and joins no two own groups that are not pass-alive."""
    own = state["to_move"]
    first = 0
    for offset in NEIGHBOURS:
        near = point + offset
        if state["colour"][near] == opponent(own):
            return False
        if state["colour"][near] == own and area[near] != own:
            head = state["chain_head"][near]
            if first != 0 and head != first:
                return False
            first = head
    return True


@njit(cache=True, nogil=True)
def ending_points(state: np.void, point: int, ownership: float, bonus: float, area: npt.NDArray[np.int8]) -> float:
    """The player's points for moving to the empty ``point``, where no ko is on the board.

    ``ownership`` is the player's, of the point; ``area`` the pass-alive area.
    """
    excess = (abs(ownership) - _DECIDED) / (1.0 - _DECIDED)
    if excess < 0.0:
        return 0.0
    if ownership < 0.0:
        counts_area = _counts_area(state)
        return 0.0 if counts_area and _captures(state, point) else -bonus * excess
    return -bonus * excess if _is_tidy_inside(state, point, area) else 0.0


@njit(cache=True, nogil=True)
def _counts_area(state: np.void) -> bool:
    """Whether stones in one's own area cost nothing: area scoring, and the last phase of territory scoring."""
    return bool(state["scoring_rule"] == _AREA or state["phase"] > FIRST_CLEANUP)


@njit(cache=True, nogil=True)
def pass_points(state: np.void, bonus: float) -> float:
    """The player's points for a pass: it takes the button, or loses no point to the opponent's."""
    if _counts_area(state):
        return -0.5 * bonus if state["button_left"] != 0 else 0.0
    return -2.0 / 3.0 * bonus


@njit(cache=True, nogil=True)
def set_ending_points(forest: Forest, slot: int, scratch: Scratch, length: int) -> None:
    """Fill a slot's ``ending_points`` from its root's position and ownership."""
    state = forest.states[slot]
    bonus = forest.parameters[slot]["root_ending_bonus_points"]
    points = forest.ending_points[slot]
    sign = sign_of(state["to_move"])
    for position in range(points.shape[0]):
        points[position] = 0.0
    points[length * length] = sign * pass_points(state, bonus)
    if state["ko_point"] != NO_POINT:
        return
    find_pass_alive(state, scratch)
    for y in range(state["y_size"]):
        for x in range(state["x_size"]):
            position = y * length + x
            point = point_at(x, y)
            if state["colour"][point] == EMPTY:
                ownership = sign * forest.root_ownership[slot, position]
                points[position] = sign * ending_points(state, point, ownership, bonus, scratch.area)


@njit(cache=True, nogil=True)
def ending_bonus(
    forest: Forest, slot: int, position: int, child: np.void, score_table: npt.NDArray[np.float64]
) -> float:
    """White's utility that a root child's move counts more, by its own score and spread."""
    points = forest.ending_points[slot, position]
    if points == 0.0:
        return 0.0
    search = forest.searches[slot]
    parameters = forest.parameters[slot]
    mean = child["mean"][SCORE_MEAN]
    mean_sq = child["mean"][SCORE_MEAN_SQ]
    moved = mean + points
    variance = max(0.0, mean_sq - mean * mean)
    centre = search["centre"]
    sqrt_area = search["sqrt_area"]
    return score_utility(score_table, moved, variance + moved * moved, centre, sqrt_area, parameters) - score_utility(
        score_table, mean, mean_sq, centre, sqrt_area, parameters
    )


@njit(cache=True, nogil=True)
def gather_bonuses(forest: Forest, slot: int, children: Children, count: int, context: Context) -> None:
    """Fill ``children.bonuses`` of the root's gathered children; those without weight have none."""
    if forest.parameters[slot]["root_ending_bonus_points"] == 0.0:
        return
    for i in range(count):
        if children.weights[i] > 0.0:
            child = forest.nodes[slot, children.nodes[i]]
            children.bonuses[i] = ending_bonus(forest, slot, children.positions[i], child, context.score_table)
