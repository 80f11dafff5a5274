"""How far a search goes: visits, playouts and time, and what makes them fewer (search.md 8).

The first half is for whoever orders searches; the kernels below it keep to the limits. A limit of playouts becomes one
of visits when a search begins, since by then the visits of a reused tree are known. Time is the business of the pool's
owner, who looks at the clock between rounds and calls `SearchPool.stop`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from client.search.root_select import is_futile, is_futile_to_enter
from client.search.select import edge_weight
from client.search.tree import NO_EDGE, ROOT
from common.go.points import PASS, opponent
from common.kernels import njit
from common.parameter_classes import FOREVER, UNLIMITED, SearchParameters, ThinkingParameters

LEAST_TIMED_PLAYOUTS: Final = 2
"""Time ends no search before these."""
_RECENT_SEARCHES: Final = 3


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a search ends; whichever limit is reached first."""

    visits: int = UNLIMITED  # of the root, a reused tree's included
    playouts: int = UNLIMITED  # of this search
    seconds: float = FOREVER

    def scaled(self, factor: float) -> Limits:
        """The limits times ``factor``, counts rounded up."""
        if factor == 1.0:
            return self
        return Limits(scaled_count(self.visits, factor), scaled_count(self.playouts, factor), self.seconds * factor)

    def within(self, other: Limits) -> Limits:
        """The stricter of both, limit by limit."""
        return Limits(
            min(self.visits, other.visits), min(self.playouts, other.playouts), min(self.seconds, other.seconds)
        )


def limits_of(parameters: SearchParameters) -> Limits:
    """Of a turn's search."""
    return Limits(parameters.max_visits, parameters.max_playouts, parameters.max_time)


def pondering_limits(parameters: ThinkingParameters) -> Limits:
    """Of a search in the opponent's time."""
    return Limits(parameters.max_visits_pondering, parameters.max_playouts_pondering, parameters.max_time_pondering)


def winning_factor(
    own_win_losses: Sequence[float], win_loss_utility_factor: float, parameters: ThinkingParameters
) -> float:
    """What searches are shortened by for a player who has been winning.

    Args:
        own_win_losses: root win_loss of the player's own searches, in his view, latest last; fewer than three: 1.
        win_loss_utility_factor: of the search.
        parameters: say from when on, and to what factor where every search says that the game is won.
    """
    threshold = parameters.search_factor_when_winning_threshold
    if len(own_win_losses) < _RECENT_SEARCHES or win_loss_utility_factor - threshold <= 1e-10:
        return 1.0
    excess = min(own_win_losses[-_RECENT_SEARCHES:]) - threshold
    if excess <= 0.0:
        return 1.0
    return 1.0 + excess / (win_loss_utility_factor - threshold) * (parameters.search_factor_when_winning - 1.0)


def playouts_in(seconds: float, playouts: int, spent: float) -> float:
    """Playouts that ``seconds`` more will bring at the pace of ``playouts`` in ``spent`` seconds."""
    if playouts < LEAST_TIMED_PLAYOUTS or spent <= 0.0:
        return math.inf
    return max(0.0, seconds) * playouts / spent


# -- kernels --


@njit(cache=True, nogil=True)
def scaled_count(count: int, factor: float) -> int:
    """``count`` times ``factor``, rounded up; at least 1."""
    if factor == 1.0:
        return count
    return max(1, math.ceil(count * factor))


@njit(cache=True, nogil=True)
def pass_factor(state: np.void, parameters: np.void) -> float:
    """What the opponent's last turns make of the limits: 1 unless he passed, another factor if twice running."""
    other = opponent(state["to_move"])
    points = state["recent_point"]
    colours = state["recent_colour"]
    if points[0] != PASS or colours[0] != other:
        return 1.0
    if points[2] == PASS and colours[2] == other:
        return float(parameters["search_factor_after_two_pass"])
    return float(parameters["search_factor_after_one_pass"])


@njit(cache=True, nogil=True)
def leaves_in_flight(playouts: int, most: int, least_playouts: float) -> int:
    """How many leaves a search of ``playouts`` may have under evaluation at once: each stands for ``least_playouts``.

    Threads of the specification (4.7) are leaves here. ``most`` is what the pool has room for.
    """
    if least_playouts <= 0.0 or playouts >= most * least_playouts:
        return most
    return max(1, int(playouts / least_playouts))


@njit(cache=True, nogil=True)
def set_limits(
    search: np.void, root: np.void, state: np.void, parameters: np.void, visits: int, playouts: int, leaves: int
) -> None:
    """Write a beginning search's limits: ``visits`` of its root and ``playouts`` of its own, and its leaves."""
    factor = pass_factor(state, parameters)
    kept = int(root["visits"])
    limit = min(scaled_count(visits, factor), kept + scaled_count(playouts, factor))
    search["kept_visits"] = kept
    search["visits_limit"] = limit
    search["leaves"] = leaves_in_flight(max(0, limit - kept), leaves, parameters["min_playouts_per_thread"])


@njit(cache=True, nogil=True)
def is_decided(nodes: npt.NDArray[np.void], edges: npt.NDArray[np.void], left: float, threshold: float) -> bool:
    """Whether every root move but the heaviest is futile, so that the playouts ``left`` would change nothing."""
    root = nodes[ROOT]
    if threshold <= 0.0 or root["first_edge"] == NO_EDGE:
        return False
    heaviest = root["first_edge"]
    largest = 0.0
    e = root["first_edge"]
    while e != NO_EDGE:
        weight = edge_weight(edges[e], nodes[edges[e]["child"]])
        if weight > largest:
            largest = weight
            heaviest = e
        e = edges[e]["next_edge"]
    mean_weight = root["weight"] / root["visits"]
    if not is_futile_to_enter(mean_weight, left, largest, threshold):
        return False
    e = root["first_edge"]
    while e != NO_EDGE:
        edge = edges[e]
        child = nodes[edge["child"]]
        weight = edge_weight(edge, child)
        visits = child["visits"]
        if e != heaviest and not is_futile(visits, edge["visits"], weight, mean_weight, left, largest, threshold):
            return False
        e = edge["next_edge"]
    return True
