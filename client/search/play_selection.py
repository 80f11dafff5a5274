"""From visits to a move: play-selection values, LCB, and the draw of the move (search.md 10).

Works on `Children`, small arrays with one entry per child of the root in order of creation, which `gather_children`
fills from a tree. Values are White's unless a name says otherwise.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from client.search.backup import MAX_SHARE_CUT
from client.search.rng import choice
from client.search.select import edge_weight, exploration_scale, selection_value, sign_of
from client.search.tree import NO_EDGE, NO_NODE
from client.search.utility import utility_radius
from client.search.values import NUM_VALUES
from common.by_reference import by_reference
from common.kernels import njit

FloatArray = npt.NDArray[np.float64]

POLICY_TARGET_SCALE: Final = 10.0
"""The largest play-selection value of a training target is at least this (search.md 10.8)."""
REPORT_SCALE: Final = 1.0

_NO_TEMPERATURE: Final = 1e-4
_MIN_TOTAL_WEIGHT: Final = 1e-10
_ROUNDING: Final = 1e-10
"""Share of a weight that sums of floats may be wrong by."""


@by_reference
class Children(NamedTuple):
    """Children of one node, or its legal moves if it has none: entries 0 … count - 1 of arrays of P entries."""

    positions: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]  # the child, NO_NODE for a legal move
    visits: npt.NDArray[np.int32]  # through the edge
    priors: FloatArray
    weights: FloatArray  # through the edge
    weight_sqs: FloatArray  # through the edge
    utilities: FloatArray
    utility_sqs: FloatArray
    suppressed: npt.NDArray[np.bool_]  # is not to be played, however good
    bonuses: FloatArray  # utility that counts for the choice alone (`client.search.ending`)
    means: FloatArray  # [P, V] the child's averages, as `client.search.values.Values` names them
    values: FloatArray  # play-selection values, filled by `play_selection_values`
    lower_bounds: FloatArray  # utility - radius, player to move's view, filled by `apply_lcb`
    radii: FloatArray


def new_children(positions: int) -> Children:
    """Room for ``positions`` children."""
    return Children(
        positions=np.zeros(positions, np.int32),
        nodes=np.zeros(positions, np.int32),
        visits=np.zeros(positions, np.int32),
        priors=np.zeros(positions),
        weights=np.zeros(positions),
        weight_sqs=np.zeros(positions),
        utilities=np.zeros(positions),
        utility_sqs=np.zeros(positions),
        suppressed=np.zeros(positions, np.bool_),
        bonuses=np.zeros(positions),
        means=np.zeros((positions, NUM_VALUES)),
        values=np.zeros(positions),
        lower_bounds=np.zeros(positions),
        radii=np.zeros(positions),
    )


@njit(cache=True, nogil=True)
def gather_children(
    nodes: npt.NDArray[np.void],
    edges: npt.NDArray[np.void],
    priors: npt.NDArray[np.float32],
    index: int,
    children: Children,
) -> int:
    """Fill ``children`` from node ``index`` of one slot; returns how many there are.

    A node without children gives its legal moves, without visits (search.md 10.5).
    """
    count = 0
    e = nodes[index]["first_edge"]
    while e != NO_EDGE:
        edge = edges[e]
        child = nodes[edge["child"]]
        children.positions[count] = edge["position"]
        children.nodes[count] = edge["child"]
        children.bonuses[count] = 0.0
        children.visits[count] = edge["visits"]
        children.priors[count] = edge["prior"]
        children.weights[count] = edge_weight(edge, child)
        children.weight_sqs[count] = child["weight_sq"] * edge["visits"] / max(child["visits"], 1)
        children.utilities[count] = child["utility"]
        children.utility_sqs[count] = child["utility_sq"]
        children.suppressed[count] = False
        mean = child["mean"]
        for value in range(NUM_VALUES):
            children.means[count, value] = mean[value]
        count += 1
        e = edge["next_edge"]
    if count > 0:
        return count
    for position in range(priors.shape[0]):
        if priors[position] >= 0.0:
            children.positions[count] = position
            children.nodes[count] = NO_NODE
            children.bonuses[count] = 0.0
            children.visits[count] = 0
            children.priors[count] = priors[position]
            children.weights[count] = 0.0
            children.weight_sqs[count] = 0.0
            children.utilities[count] = 0.0
            children.utility_sqs[count] = 0.0
            children.suppressed[count] = False
            count += 1
    return count


@njit(cache=True, nogil=True)
def _may_be_played(children: Children, i: int) -> bool:
    return bool(children.priors[i] >= 0.0 and not children.suppressed[i])


@njit(cache=True, nogil=True)
def best_child(children: Children, count: int) -> int:
    """The child that pruning measures the others by: the one of most weight, the prior deciding between few visits."""
    best = 0
    best_goodness = -math.inf
    for i in range(count):
        visits = children.visits[i]
        weight = children.weights[i] if _may_be_played(children, i) else 0.0
        goodness = weight * max(0.0, visits - 1.0) / max(1.0, float(visits)) + 2.0 * children.priors[i]
        if goodness > best_goodness:
            best = i
            best_goodness = goodness
    return best


@njit(cache=True, nogil=True)
def _whole(weight: float) -> float:
    """``weight`` rounded up, but for what sums of floats have added to a whole number: 32.00000000000001 is 32."""
    return float(math.ceil(weight * (1.0 - _ROUNDING)))


@njit(cache=True, nogil=True)
def prune_to_hindsight(children: Children, count: int, best: int, scale: float, sign: float) -> None:
    """Leave every child but the best no more weight than PUCT would give it in hindsight (search.md 10.3)."""
    best_utility = children.utilities[best] + children.bonuses[best]
    limit = selection_value(sign, best_utility, scale, children.priors[best], children.weights[best])
    for i in range(count):
        if i == best:
            continue
        prior = children.priors[i]
        gap = limit - sign * (children.utilities[i] + children.bonuses[i])
        if not _may_be_played(children, i):
            children.values[i] = 0.0
        elif gap <= 0.0:
            children.values[i] = _whole(children.weights[i])
        else:
            wanted = max(0.0, scale * prior / gap - 1.0)
            children.values[i] = _whole(min(children.weights[i], wanted))


@njit(cache=True, nogil=True)
def _set_lower_bound(children: Children, i: int, sign: float, parameters: np.void) -> None:
    """Lower confidence bound of child ``i`` for the player to move, and its radius."""
    radius_of_utility = utility_radius(parameters)
    stdevs = parameters["lcb_stdevs"]
    weight = children.weights[i]
    weight_sq = children.weight_sqs[i]
    if children.visits[i] <= 0 or weight <= 0.0 or weight_sq <= 0.0:
        children.radii[i] = 2.0 * radius_of_utility * stdevs
        children.lower_bounds[i] = -children.radii[i]
        return
    effective = weight * weight / weight_sq
    prior_weight = weight / (effective * effective * effective)
    utility = children.utilities[i]
    square = utility * utility
    second = max(children.utility_sqs[i], square + 1e-8)
    second = (second * weight + (second + radius_of_utility * radius_of_utility) * prior_weight) / (
        weight + prior_weight
    )
    total = weight + prior_weight
    effective = total * total / (weight_sq + prior_weight * prior_weight)
    children.radii[i] = stdevs * math.sqrt((second - square) / effective)
    children.lower_bounds[i] = sign * (utility + children.bonuses[i]) - children.radii[i]


@njit(cache=True, nogil=True)
def set_lower_bounds(children: Children, count: int, sign: float, parameters: np.void) -> None:
    """Fill ``children.lower_bounds`` and ``children.radii``; ``sign`` is that of the player to move."""
    for i in range(count):
        _set_lower_bound(children, i, sign, parameters)


@njit(cache=True, nogil=True)
def apply_lcb(children: Children, count: int, best_weight: float, sign: float, parameters: np.void) -> None:
    """Raise the value of the child with the best lower bound above those it outdoes (search.md 10.4)."""
    set_lower_bounds(children, count, sign, parameters)
    best = -1
    best_bound = -math.inf
    for i in range(count):
        value = children.values[i]
        eligible = value > 0.0 and value >= parameters["min_visit_prop_for_lcb"] * best_weight
        if eligible and children.lower_bounds[i] > best_bound:
            best = i
            best_bound = children.lower_bounds[i]
    if best < 0 or (best == 0 and not parameters["use_non_buggy_lcb"]):
        return
    value = children.values[best]
    for i in range(count):
        excess = best_bound - children.lower_bounds[i]
        if i != best and excess >= 0.0:
            ratio = (children.radii[i] + excess) / (children.radii[i] + 0.2 * excess)
            value = max(value, ratio * ratio * children.values[i])
    children.values[best] = value


@njit(cache=True, nogil=True)
def cut_small_values(values: FloatArray, count: int, parameters: np.void) -> None:
    """Drop values below ``chosen_move_prune`` and take ``chosen_move_subtract`` off the others (search.md 10.6)."""
    largest = 0.0
    for i in range(count):
        largest = max(largest, values[i])
    prune = min(parameters["chosen_move_prune"], largest * MAX_SHARE_CUT)
    subtract = min(parameters["chosen_move_subtract"], largest * MAX_SHARE_CUT)
    for i in range(count):
        values[i] = 0.0 if values[i] < prune else max(0.0, values[i] - subtract)


@njit(cache=True, nogil=True)
def play_selection_values(
    node: np.void, children: Children, count: int, lcb: bool, at_least: float, parameters: np.void
) -> None:
    """Fill ``children.values`` for the root ``node``; the largest is scaled up to ``at_least`` (search.md 10)."""
    values = children.values
    sign = sign_of(node["to_move"])
    total = 0.0
    for i in range(count):
        total += children.weights[i]
        values[i] = children.weights[i] if _may_be_played(children, i) else 0.0
    if total > _MIN_TOTAL_WEIGHT:
        best = best_child(children, count)
        best_weight = values[best]
        scale = exploration_scale(total, node["utility"], node["utility_sq"], node["weight"], parameters)
        prune_to_hindsight(children, count, best, scale, sign)
        if lcb:
            apply_lcb(children, count, best_weight, sign, parameters)
    else:
        for i in range(count):
            values[i] = max(0.0, children.priors[i])
    cut_small_values(values, count, parameters)
    largest = 0.0
    for i in range(count):
        largest = max(largest, values[i])
    if 0.0 < largest < at_least:
        for i in range(count):
            values[i] *= at_least / largest


@njit(cache=True, nogil=True)
def temper_values(
    values: FloatArray, count: int, temperature: float, only_below_prob: float, weights: FloatArray
) -> None:
    """Fill ``weights`` with what the move is drawn in proportion to: values^(1/T) above the given share (search.md 10).

    Without temperature (T <= 1e-4 and ``only_below_prob`` >= 1) the first largest value alone has weight.
    """
    best = 0
    total = 0.0
    for i in range(count):
        total += values[i]
        if values[i] > values[best]:
            best = i
    largest = values[best]
    if temperature <= _NO_TEMPERATURE and only_below_prob >= 1.0:
        for i in range(count):
            weights[i] = 0.0
        weights[best] = 1.0
        return
    threshold = min(0.0, math.log(max(only_below_prob, 1e-50)) + math.log(total) - math.log(largest))
    for i in range(count):
        if values[i] <= 0.0:
            weights[i] = 0.0
            continue
        level = math.log(values[i]) - math.log(largest)
        if level <= threshold:
            level = (level - threshold) / max(temperature, _NO_TEMPERATURE) + threshold
        weights[i] = math.exp(level)


@njit(cache=True, nogil=True)
def choose_child(
    children: Children,
    count: int,
    temperature: float,
    only_below_prob: float,
    generator: npt.NDArray[np.uint64],
    weights: FloatArray,
) -> int:
    """Draw an index of ``children`` by its play-selection value; ``weights`` [P] is working space."""
    temper_values(children.values, count, temperature, only_below_prob, weights)
    return choice(generator, weights, count)


@njit(cache=True, nogil=True)
def search_entropy_and_surprise(children: Children, count: int) -> tuple[float, float]:
    """Entropy of the normalised play-selection values, and their KL divergence from the policy in use; nats."""
    total = 0.0
    for i in range(count):
        total += children.values[i]
    entropy = 0.0
    surprise = 0.0
    for i in range(count):
        if children.values[i] > 0.0:
            share = children.values[i] / total
            entropy -= share * math.log(share)
            surprise += share * (math.log(share) - math.log(max(children.priors[i], 1e-30)))
    return entropy, surprise
