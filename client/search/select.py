"""Which move a playout takes from a node: PUCT with first-play urgency (search.md 4.1 to 4.3, 4.7).

The formulas are pure functions of numbers; `select_move` applies them to a node below the root and its edges. What
holds at the root besides, or where moves are avoided, is `client.search.root_select`.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from client.search.tree import ILLEGAL_PRIOR, NO_EDGE, NO_POSITION, UNKNOWN_POSITION
from client.search.utility import utility_radius
from common.go.points import WHITE
from common.kernels import njit

FloatArray = npt.NDArray[np.float64]

NOT_ALLOWED: Final = -1e50
_TOTAL_OFFSET: Final = 0.01
_MIN_VIRTUAL_WEIGHT: Final = 0.25


@njit(cache=True, nogil=True)
def sign_of(to_move: int) -> float:
    """+1 where White moves, -1 where Black does: turns White's utility into that of the player to move."""
    return 1.0 if to_move == WHITE else -1.0


@njit(cache=True, nogil=True)
def stdev_factor(utility: float, utility_sq: float, weight: float, parameters: np.void) -> float:
    """How the spread of a node's utilities stretches its exploration."""
    prior = parameters["cpuct_utility_stdev_prior"]
    stdev = prior
    if weight > 1.0:
        prior_weight = parameters["cpuct_utility_stdev_prior_weight"]
        square = utility * utility
        second_moment = ((square + prior * prior) * prior_weight + max(utility_sq, square) * weight) / (
            prior_weight + weight - 1.0
        )
        stdev = math.sqrt(max(0.0, second_moment - square))
    return float(1.0 + parameters["cpuct_utility_stdev_scale"] * (stdev / prior - 1.0))


@njit(cache=True, nogil=True)
def exploration_scale(
    children_weight: float, utility: float, utility_sq: float, weight: float, parameters: np.void
) -> float:
    """What multiplies P / (1 + w); utility, its square and weight are the node's own averages (search.md 4.1)."""
    coefficient = parameters["cpuct_exploration"]
    log_coefficient = parameters["cpuct_exploration_log"]
    if log_coefficient != 0.0:
        base = parameters["cpuct_exploration_base"]
        coefficient += log_coefficient * math.log((children_weight + base) / base)
    scale = coefficient * math.sqrt(children_weight + _TOTAL_OFFSET)
    if parameters["cpuct_utility_stdev_scale"] != 0.0:
        scale *= stdev_factor(utility, utility_sq, weight, parameters)
    return float(scale)


@njit(cache=True, nogil=True)
def first_play_urgency(
    utility: float, own_utility: float, visited_prior: float, sign: float, at_root: bool, parameters: np.void
) -> float:
    """White's utility assumed for a move that has no visits (search.md 4.2)."""
    if parameters["fpu_parent_weight_by_visited_policy"]:
        share = min(1.0, visited_prior ** parameters["fpu_parent_weight_by_visited_policy_pow"])
        base = share * utility + (1.0 - share) * own_utility
    else:
        own_share = parameters["fpu_parent_weight"]
        base = own_share * own_utility + (1.0 - own_share) * utility
    reduction = parameters["root_fpu_reduction_max"] if at_root else parameters["fpu_reduction_max"]
    loss_prop = parameters["root_fpu_loss_prop"] if at_root else parameters["fpu_loss_prop"]
    urgency = base - sign * reduction * math.sqrt(visited_prior)
    return float(urgency + (-sign * utility_radius(parameters) - urgency) * loss_prop)


@njit(cache=True, nogil=True)
def selection_value(sign: float, utility: float, scale: float, prior: float, weight: float) -> float:
    """The PUCT value of a move, higher is better for the player to move (search.md 4.3)."""
    if prior < 0.0:
        return NOT_ALLOWED
    return sign * utility + scale * prior / (1.0 + weight)


@njit(cache=True, nogil=True)
def edge_weight(edge: np.void, child: np.void) -> float:
    """The weight of a child as seen through one edge to it."""
    return float(child["weight"] * edge["visits"] / max(child["visits"], 1))


@njit(cache=True, nogil=True)
def best_unentered(
    node: np.void, edges: npt.NDArray[np.void], priors: npt.NDArray[np.float32], entered: npt.NDArray[np.bool_]
) -> int:
    """Position of the largest prior among moves without an edge (the lowest index of equals), or NO_POSITION."""
    e = node["first_edge"]
    while e != NO_EDGE:
        entered[edges[e]["position"]] = True
        e = edges[e]["next_edge"]
    best = NO_POSITION
    best_prior = np.float32(0.5 * ILLEGAL_PRIOR)
    for position in range(priors.shape[0]):
        if priors[position] > best_prior and not entered[position]:
            best = position
            best_prior = priors[position]
    e = node["first_edge"]
    while e != NO_EDGE:
        entered[edges[e]["position"]] = False
        e = edges[e]["next_edge"]
    return best


@njit(cache=True, nogil=True)
def next_unentered(
    node: np.void, edges: npt.NDArray[np.void], priors: npt.NDArray[np.float32], entered: npt.NDArray[np.bool_]
) -> int:
    """`best_unentered`, which the node remembers until one more is entered."""
    if node["next_position"] == UNKNOWN_POSITION:
        node["next_position"] = best_unentered(node, edges, priors, entered)
    return int(node["next_position"])


@njit(cache=True, nogil=True)
def weigh_children(
    nodes: npt.NDArray[np.void], edges: npt.NDArray[np.void], node: np.void, weights: FloatArray
) -> tuple[int, float, float]:
    """Fill ``weights`` with those of a node's children; their number, and priors and weights of the legal ones."""
    visited_prior = 0.0
    total = 0.0
    count = 0
    e = node["first_edge"]
    while e != NO_EDGE:
        edge = edges[e]
        weights[count] = edge_weight(edge, nodes[edge["child"]])
        if edge["prior"] >= 0.0:
            visited_prior += float(edge["prior"])
            total += weights[count]
        count += 1
        e = edge["next_edge"]
    return count, visited_prior, total


@njit(cache=True, nogil=True)
def with_virtual_losses(
    child: np.void, utility: float, weight: float, sign: float, parameters: np.void
) -> tuple[float, float]:
    """A child's utility and weight as if the playouts under way through it had lost (search.md 4.7)."""
    virtual = child["virtual_losses"] * parameters["num_virtual_losses_per_thread"]
    lost = -sign * utility_radius(parameters)
    utility += (lost - utility) * virtual / (virtual + max(_MIN_VIRTUAL_WEIGHT, weight))
    return float(utility), float(weight + virtual)


@njit(cache=True, nogil=True)
def select_move(
    nodes: npt.NDArray[np.void],
    edges: npt.NDArray[np.void],
    priors: npt.NDArray[np.float32],
    index: int,
    parameters: np.void,
    weights: FloatArray,
    entered: npt.NDArray[np.bool_],
) -> tuple[int, int]:
    """Choose at an evaluated node below the root: (edge, NO_POSITION) for an existing child, (NO_EDGE, position) else.

    ``nodes`` and ``edges`` are one slot's, ``priors`` [P] the node's policy in use, ``weights`` and ``entered`` [P] the
    scratch's. (NO_EDGE, NO_POSITION) cannot come out, since the pass is always legal.
    """
    node = nodes[index]
    sign = sign_of(node["to_move"])
    count, visited_prior, total = weigh_children(nodes, edges, node, weights)
    scale = exploration_scale(total, node["utility"], node["utility_sq"], node["weight"], parameters)
    urgency = first_play_urgency(node["utility"], node["own_utility"], visited_prior, sign, False, parameters)
    best_value = NOT_ALLOWED
    best_edge = NO_EDGE
    e = node["first_edge"]
    for i in range(count):
        edge = edges[e]
        child = nodes[edge["child"]]
        weight = weights[i]
        utility = child["utility"] if weight > 0.0 else urgency
        if child["virtual_losses"] > 0:
            utility, weight = with_virtual_losses(child, utility, weight, sign, parameters)
        value = selection_value(sign, utility, scale, float(edge["prior"]), weight)
        if value > best_value:
            best_value = value
            best_edge = e
        e = edge["next_edge"]
    position = next_unentered(node, edges, priors, entered)
    if position != NO_POSITION:
        prior = float(priors[position])
        if selection_value(sign, urgency, scale, prior, 0.0) > best_value:
            return NO_EDGE, position
    return best_edge, NO_POSITION
