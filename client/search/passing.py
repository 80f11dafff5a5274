"""Passes in the tree: which of them end it, how the net's wish to pass is held back, and looks aside (search.md 4.6).

Rules of the search, not of the game: `common.go.play` says when a game is over, and this module where the search goes
on nevertheless, so that it does not pass, or hope for a pass, in reliance on a count that nobody has agreed to.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.search.play_selection import Children
from client.search.root_moves import may_enter
from client.search.select import sign_of
from client.search.tree import ILLEGAL_PRIOR, NO_EDGE, NO_POSITION, Forest
from client.search.values import LEAD, SCORE_MEAN
from common.go.play import is_friendly_pass, pass_would_end_game
from common.go.points import MAIN_PHASE
from common.go.rules import Scoring
from common.go.state import History, State
from common.kernels import njit

Policy = npt.NDArray[np.float32]

NOT_SUPPRESSED: Final = -1

_TERRITORY: Final = int(Scoring.TERRITORY)
_MOST_PASS_ODDS: Final = 19.0
"""A pass is at most this many times as probable as all moves together: 95 %."""
_LEAST_PASS: Final = 1e-20
_LEAST_EDGE_VISITS: Final = 2
_OWNED: Final = 0.95
_ENOUGH_VISITS: Final = 500
_UTILITY_MARGIN: Final = 0.1
_POINTS_MARGIN: Final = 0.5

# -- the end of the game --


@njit(cache=True, nogil=True)
def is_left_open(state: State, history: History, at_root: bool, parameters: np.void) -> bool:
    """Whether the search goes on after a pass of the player to move even if the game is over by it.

    ``state`` and ``history`` are before the pass.
    """
    if at_root:
        return bool(parameters["conservative_pass"] and pass_would_end_game(state, history))
    return is_friendly_pass(state, history)


# -- the policy --


@njit(cache=True, nogil=True)
def cap_pass(policy: Policy) -> None:
    """Let the pass, the last position of ``policy``, have no more than 95 %; in place, and normalised as before."""
    last = policy.shape[0] - 1
    others = 0.0
    for position in range(last):
        if policy[position] > 0.0:
            others += policy[position]
    chance = float(policy[last])
    if chance <= _MOST_PASS_ODDS * others:
        return
    chance = max(_MOST_PASS_ODDS * others, _LEAST_PASS)
    total = others + chance
    for position in range(last):
        if policy[position] > 0.0:
            policy[position] = policy[position] / total
    policy[last] = chance / total


# -- looks aside --


@njit(cache=True, nogil=True)
def _best_move(forest: Forest, slot: int, index: int, depth: int) -> int:
    """Of the moves that node ``index`` may enter the likeliest but the pass (the lowest index of equals)."""
    priors = forest.priors[slot, index]
    to_move: Any = np.int64(forest.nodes[slot, index]["to_move"])
    best = NO_POSITION
    best_prior = np.float32(0.5 * ILLEGAL_PRIOR)
    for position in range(priors.shape[0] - 1):
        if priors[position] > best_prior and may_enter(forest, slot, position, to_move, depth):
            best = position
            best_prior = priors[position]
    return best


@njit(cache=True, nogil=True)
def look_aside(forest: Forest, slot: int, index: int, edge: int, position: int, depth: int) -> int:
    """A move to be looked at before the one that was chosen, or NO_POSITION; where a pass would end the phase.

    A node whose children have been visited at least twice is made to know both a pass and another move: it looks at
    the one that it has not entered, once, without counting that.

    Args:
        forest: all trees.
        slot: of the node.
        index: of the node.
        edge: the child that was chosen, or NO_EDGE.
        position: the move that was chosen instead.
        depth: turns below the root.
    """
    node = forest.nodes[slot, index]
    edges = forest.edges[slot]
    passing = forest.priors.shape[2] - 1
    chosen: Any = np.int64(edges[edge]["position"] if edge != NO_EDGE else position)
    visits = 0
    has_pass = False
    e = node["first_edge"]
    while e != NO_EDGE:
        visits += edges[e]["visits"]
        has_pass = has_pass or edges[e]["position"] == passing
        e = edges[e]["next_edge"]
    if visits < _LEAST_EDGE_VISITS:
        return NO_POSITION
    if not has_pass:
        return NO_POSITION if chosen == passing else passing
    if node["num_edges"] == 1 and chosen == passing:
        return int(_best_move(forest, slot, index, depth))
    return NO_POSITION


# -- the choice of the move --


@njit(cache=True, nogil=True)
def _is_worth_filling(
    ownership: npt.NDArray[np.float32], position: int, sign: float, state: State, length: int
) -> bool:
    """Whether a point is not simply inside the opponent's territory: there a stone would only be lost."""
    if sign * ownership[position] >= -_OWNED:
        return True
    y, x = position // length, position % length
    own = _OWNED
    return bool(
        (x > 0 and sign * ownership[position - 1] > own)
        or (x + 1 < state["x_size"] and sign * ownership[position + 1] > own)
        or (y > 0 and sign * ownership[position - length] > own)
        or (y + 1 < state["y_size"] and sign * ownership[position + length] > own)
    )


@njit(cache=True, nogil=True)
def _is_almost_as_good(children: Children, i: int, passing: int, sign: float) -> bool:
    """Whether child ``i`` is well enough known, and hardly worse than the pass."""
    is_known = children.visits[i] > _ENOUGH_VISITS or children.weights[i] > 2.0 * math.sqrt(children.weights[passing])
    worse = sign * (children.utilities[passing] - children.utilities[i])
    mean, other = children.means[i], children.means[passing]
    return bool(
        is_known
        and worse < _UTILITY_MARGIN
        and sign * (other[SCORE_MEAN] - mean[SCORE_MEAN]) < _POINTS_MARGIN
        and sign * (other[LEAD] - mean[LEAD]) < _POINTS_MARGIN
    )


@njit(cache=True, nogil=True)
def suppressed_pass(
    children: Children, count: int, ownership: npt.NDArray[np.float32], state: State, length: int
) -> int:
    """Index of the pass among the root's children, if neutral points are to be filled first, or NOT_SUPPRESSED.

    Args:
        children: of the root; their play-selection values are not needed.
        count: how many.
        ownership: [length ** 2] of the root, White's view.
        state: of the root.
        length: edge of the tensor.
    """
    if state["scoring_rule"] != _TERRITORY or state["phase"] != MAIN_PHASE:
        return NOT_SUPPRESSED
    passing = NOT_SUPPRESSED
    for i in range(count):
        if children.positions[i] == length * length:
            passing = i
    if passing == NOT_SUPPRESSED:
        return NOT_SUPPRESSED
    sign = sign_of(state["to_move"])
    for i in range(count):
        if i == passing or children.priors[i] < 0.0 or not _is_almost_as_good(children, i, passing, sign):
            continue
        if _is_worth_filling(ownership, children.positions[i], sign, state, length):
            return passing
    return NOT_SUPPRESSED


@njit(cache=True, nogil=True)
def suppress_pass(forest: Forest, slot: int, children: Children, count: int, length: int) -> None:
    """Mark the root's pass as not to be played, if the parameters ask for it and neutral points come first."""
    if not forest.parameters[slot]["fill_dame_before_pass"]:
        return
    passing = suppressed_pass(children, count, forest.root_ownership[slot], forest.states[slot], length)
    if passing != NOT_SUPPRESSED:
        children.suppressed[passing] = True
