"""Which move a playout takes from a node: PUCT with first-play urgency (search.md 4.1 to 4.3, 4.7).

The formulas are pure functions of numbers; `select_move` applies them to a node below the root and its edges. What
holds at the root besides, or where moves are avoided, is `client.search.root_select`.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from client.search.tree import NO_EDGE, NO_POSITION, UNKNOWN_POSITION, Scratch
from client.search.utility import utility_radius
from common.go.points import WHITE
from common.kernels import njit

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
def _first_of_largest(priors: npt.NDArray[np.float32], entered: npt.NDArray[np.bool_]) -> int:
    """Position of the largest prior that is not marked (the lowest index of equals), or NO_POSITION.

    As integers the bits of floats are in their order, and those of illegal moves, as of all negative numbers, below 0;
    a maximum and a minimum of integers, which may be taken in any order, are vectorised.
    """
    bits = priors.view(np.int32)
    count = bits.shape[0]
    largest = np.int32(-1)
    for position in range(count):
        largest = max(largest, np.int32(-1) if entered[position] else bits[position])
    if largest < 0:
        return NO_POSITION
    first = np.int32(count)
    for position in range(count):
        is_best = (bits[position] == largest) & (not entered[position])
        first = min(first, np.int32(position) if is_best else np.int32(count))
    return int(first)


@njit(cache=True, nogil=True)
def best_unentered(
    node: np.void, edges: npt.NDArray[np.void], priors: npt.NDArray[np.float32], entered: npt.NDArray[np.bool_]
) -> int:
    """Position of the largest prior among moves without an edge (the lowest index of equals), or NO_POSITION."""
    e = node["first_edge"]
    while e != NO_EDGE:
        entered[edges[e]["position"]] = True
        e = edges[e]["next_edge"]
    best = _first_of_largest(priors, entered)
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
def list_children(
    nodes: npt.NDArray[np.void], edges: npt.NDArray[np.void], node: np.void, scratch: Scratch
) -> tuple[int, float, float, bool]:
    """Fill ``edges``, ``weights``, ``utilities`` and ``priors`` of the scratch with a node's children.

    Returns:
        Their number, the sums of the priors and weights of the legal ones, and whether playouts are under way through
        any. What is to be computed of each child is so computed of several at once, in loops over arrays.
    """
    visited_prior = 0.0
    total = 0.0
    count = 0
    under_way = 0
    e = node["first_edge"]
    while e != NO_EDGE:
        edge = edges[e]
        child = nodes[edge["child"]]
        weight = edge_weight(edge, child)
        prior = float(edge["prior"])
        scratch.edges[count] = e
        scratch.weights[count] = weight
        scratch.utilities[count] = child["utility"]
        scratch.priors[count] = prior
        under_way |= child["virtual_losses"]
        if prior >= 0.0:
            visited_prior += prior
            total += weight
        count += 1
        e = edge["next_edge"]
    return count, visited_prior, total, under_way != 0


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
def value_children(
    nodes: npt.NDArray[np.void],
    edges: npt.NDArray[np.void],
    count: int,
    under_way: bool,
    sign: float,
    scale: float,
    urgency: float,
    parameters: np.void,
    scratch: Scratch,
) -> None:
    """Fill ``factors`` of the scratch with the selection values of the ``count`` children that it lists.

    ``under_way`` is what `list_children` says, the numbers are those of `selection_value` at the node.
    """
    weights = scratch.weights
    utilities = scratch.utilities
    priors = scratch.priors
    values = scratch.factors
    for i in range(count):
        utility = utilities[i] if weights[i] > 0.0 else urgency
        value = sign * utility + scale * priors[i] / (1.0 + weights[i])
        values[i] = NOT_ALLOWED if priors[i] < 0.0 else value
    if under_way:
        for i in range(count):
            child = nodes[edges[scratch.edges[i]]["child"]]
            if child["virtual_losses"] > 0:
                utility = utilities[i] if weights[i] > 0.0 else urgency
                utility, weight = with_virtual_losses(child, utility, weights[i], sign, parameters)
                values[i] = selection_value(sign, utility, scale, priors[i], weight)


@njit(cache=True, nogil=True)
def best_child(count: int, scratch: Scratch) -> tuple[int, float]:
    """The edge of the largest of ``count`` values (the first of equals) and that value; NO_EDGE if none is allowed."""
    best_value = NOT_ALLOWED
    best = NO_EDGE
    for i in range(count):
        if scratch.factors[i] > best_value:
            best_value = scratch.factors[i]
            best = i
    return (int(scratch.edges[best]) if best != NO_EDGE else NO_EDGE), best_value


@njit(cache=True, nogil=True)
def select_move(
    nodes: npt.NDArray[np.void],
    edges: npt.NDArray[np.void],
    priors: npt.NDArray[np.float32],
    index: int,
    parameters: np.void,
    scratch: Scratch,
) -> tuple[int, int]:
    """Choose at an evaluated node below the root: (edge, NO_POSITION) for an existing child, (NO_EDGE, position) else.

    ``nodes`` and ``edges`` are one slot's, ``priors`` [P] the node's policy in use. (NO_EDGE, NO_POSITION) cannot come
    out, since the pass is always legal.
    """
    node = nodes[index]
    sign = sign_of(node["to_move"])
    count, visited_prior, total, under_way = list_children(nodes, edges, node, scratch)
    scale = exploration_scale(total, node["utility"], node["utility_sq"], node["weight"], parameters)
    urgency = first_play_urgency(node["utility"], node["own_utility"], visited_prior, sign, False, parameters)
    value_children(nodes, edges, count, under_way, sign, scale, urgency, parameters, scratch)
    best_edge, best_value = best_child(count, scratch)
    position = next_unentered(node, edges, priors, scratch.entered)
    if position != NO_POSITION:
        prior = float(priors[position])
        if selection_value(sign, urgency, scale, prior, 0.0) > best_value:
            return NO_EDGE, position
    return best_edge, NO_POSITION
