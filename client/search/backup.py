"""A node's averages from its children and its own evaluation (search.md 3). Nothing is added incrementally."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from client.search.bias import correction, update_bias
from client.search.select import edge_weight, sign_of
from client.search.tree import EVALUATED, NO_BIAS, NO_EDGE, Scratch
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
    biases: npt.NDArray[np.void],
    index: int,
    at_root: bool,
    parameters: np.void,
    student: FloatArray,
    scratch: Scratch,
) -> None:
    """Set all averages of node ``index`` of one slot; its visits are the caller's business.

    ``nodes``, ``edges`` and ``biases`` are the slot's, ``student`` is `client.search.weights.student_table`. A node
    without children counts its own evaluation once per visit.
    """
    node = nodes[index]
    factor = parameters["subtree_value_bias_factor"]
    if node["first_edge"] == NO_EDGE:
        shift = correction(biases, node, factor) if node["status"] == EVALUATED else 0.0
        set_to_own(node, node["own_utility"] + shift)
        return
    count, original_total = weigh_children(nodes, edges, index, at_root, parameters, student, scratch)
    own_utility = node["own_utility"]
    if node["bias"] != NO_BIAS:
        _learn_bias(biases, node, count, original_total, parameters, scratch)
        own_utility += correction(biases, node, factor)
    _average(nodes, edges, node, own_utility, count, scratch)


@njit(cache=True, nogil=True)
def weigh_children(
    nodes: npt.NDArray[np.void],
    edges: npt.NDArray[np.void],
    index: int,
    at_root: bool,
    parameters: np.void,
    student: FloatArray,
    scratch: Scratch,
) -> tuple[int, float]:
    """Fill ``scratch.edges`` and ``scratch.weights`` with the children that have weight, and how much each counts.

    Returns:
        Their number, and their weights' sum before anything was taken off.
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
    original_total = total
    subtract = 0.0
    prune = 0.0
    if parameters["use_noise_pruning"]:
        total = prune_noise(weights, scratch.utilities, scratch.priors, count, total, parameters)
    elif at_root and parameters["root_noise_enabled"]:
        subtract = min(parameters["chosen_move_subtract"], largest * MAX_SHARE_CUT)
        prune = min(parameters["chosen_move_prune"], largest * MAX_SHARE_CUT)
    exponent = parameters["value_weight_exponent"]
    reweight(student, weights, scratch.utilities, count, total, subtract, prune, exponent, scratch.factors)
    return count, original_total


@njit(cache=True, nogil=True)
def _learn_bias(
    biases: npt.NDArray[np.void],
    node: np.void,
    count: int,
    original_total: float,
    parameters: np.void,
    scratch: Scratch,
) -> None:
    """Tell the node's entry how far its children, as they are averaged, are from its own utility."""
    sign = sign_of(node["to_move"])
    total = 0.0
    utility = 0.0
    for i in range(count):
        total += scratch.weights[i]
        utility += scratch.weights[i] * sign * scratch.utilities[i]
    mean = utility / total if total > 0.0 else 0.0
    exponent = parameters["subtree_value_bias_weight_exponent"]
    update_bias(biases, node, mean, total, original_total, exponent)


@njit(cache=True, nogil=True)
def set_to_own(node: np.void, own_utility: float) -> None:
    """Make a node without children as good as its own evaluation, its utility being ``own_utility``.

    Where the game is over, or every move avoided, each visit counts the same again.
    """
    times = node["visits"]
    own_weight = node["own_weight"]
    node["weight"] = own_weight * times
    node["weight_sq"] = own_weight * own_weight * times
    mean = node["mean"]
    own = node["own"]
    for value in range(NUM_VALUES):
        mean[value] = own[value]
    node["utility"] = own_utility
    node["utility_sq"] = own_utility * own_utility


@njit(cache=True, nogil=True)
def _average(
    nodes: npt.NDArray[np.void],
    edges: npt.NDArray[np.void],
    node: np.void,
    own_utility: float,
    count: int,
    scratch: Scratch,
) -> None:
    own_weight = node["own_weight"]
    weight_sum = own_weight
    weight_sq = own_weight * own_weight
    utility = own_weight * own_utility
    utility_sq = own_weight * own_utility * own_utility
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
