"""A node's averages from its children and its own evaluation (search.md 3). Nothing is added incrementally."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from client.search.select import edge_weight, sign_of
from client.search.tree import EVALUATED, NO_EDGE, Scratch
from client.search.values import NUM_VALUES
from client.search.weights import prune_noise, reweight
from common.kernels import njit

FloatArray = npt.NDArray[np.float64]

MAX_SHARE_CUT = 1.0 / 64.0
"""Cuts of small weights never exceed this share of the largest (search.md 3.3 and 10.6)."""


@njit(cache=True, nogil=True)
def recompute(
    nodes: npt.NDArray[np.void],
    edges: npt.NDArray[np.void],
    index: int,
    at_root: bool,
    parameters: np.void,
    student: FloatArray,
    scratch: Scratch,
) -> None:
    """Set all averages of node ``index`` of one slot; its visits are the caller's business.

    ``student`` is `client.search.weights.student_table`. A node where the game is over counts its outcome once per
    visit.
    """
    node = nodes[index]
    if node["first_edge"] == NO_EDGE:
        _set_to_own(node)
        return
    count = weigh_children(nodes, edges, index, at_root, parameters, student, scratch)
    _average(nodes, edges, node, count, scratch)


@njit(cache=True, nogil=True)
def weigh_children(
    nodes: npt.NDArray[np.void],
    edges: npt.NDArray[np.void],
    index: int,
    at_root: bool,
    parameters: np.void,
    student: FloatArray,
    scratch: Scratch,
) -> int:
    """Fill ``scratch.edges`` and ``scratch.weights`` with the children that have weight, and how much each counts.

    Returns:
        Their number.
    """
    node = nodes[index]
    sign = sign_of(node["to_move"])
    weights = scratch.weights
    count = 0
    total = 0.0
    largest = 0.0
    e = node["first_edge"]
    while e != NO_EDGE:
        edge = edges[e]
        child = nodes[edge["child"]]
        weight = edge_weight(edge, child)
        if weight > 0.0:
            scratch.edges[count] = e
            weights[count] = weight
            scratch.utilities[count] = sign * child["utility"]
            scratch.priors[count] = edge["prior"]
            total += weight
            largest = max(largest, weight)
            count += 1
        e = edge["next_edge"]
    subtract = 0.0
    prune = 0.0
    if parameters["use_noise_pruning"]:
        total = prune_noise(weights, scratch.utilities, scratch.priors, count, total, parameters)
    elif at_root and parameters["root_noise_enabled"]:
        subtract = min(parameters["chosen_move_subtract"], largest * MAX_SHARE_CUT)
        prune = min(parameters["chosen_move_prune"], largest * MAX_SHARE_CUT)
    exponent = parameters["value_weight_exponent"]
    reweight(student, weights, scratch.utilities, count, total, subtract, prune, exponent, scratch.factors)
    return count


@njit(cache=True, nogil=True)
def _set_to_own(node: np.void) -> None:
    times = 1 if node["status"] == EVALUATED else node["visits"]
    own_weight = node["own_weight"]
    node["weight"] = own_weight * times
    node["weight_sq"] = own_weight * own_weight * times
    mean = node["mean"]
    own = node["own"]
    for value in range(NUM_VALUES):
        mean[value] = own[value]
    node["utility"] = node["own_utility"]
    node["utility_sq"] = node["own_utility"] * node["own_utility"]


@njit(cache=True, nogil=True)
def _average(
    nodes: npt.NDArray[np.void], edges: npt.NDArray[np.void], node: np.void, count: int, scratch: Scratch
) -> None:
    own_weight = node["own_weight"]
    weight_sum = own_weight
    weight_sq = own_weight * own_weight
    utility = own_weight * node["own_utility"]
    utility_sq = own_weight * node["own_utility"] * node["own_utility"]
    mean = node["mean"]
    own = node["own"]
    for value in range(NUM_VALUES):
        mean[value] = own_weight * own[value]
    for i in range(count):
        child = nodes[edges[scratch.edges[i]]["child"]]
        weight = scratch.weights[i]
        share = weight / child["weight"]
        weight_sum += weight
        weight_sq += share * share * child["weight_sq"]
        utility += weight * child["utility"]
        utility_sq += weight * child["utility_sq"]
        child_mean = child["mean"]
        for value in range(NUM_VALUES):
            mean[value] += weight * child_mean[value]
    node["weight"] = weight_sum
    node["weight_sq"] = weight_sq
    node["utility"] = utility / weight_sum
    node["utility_sq"] = utility_sq / weight_sum
    for value in range(NUM_VALUES):
        mean[value] /= weight_sum
