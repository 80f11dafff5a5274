"""Which move a playout takes at the root, and at every node while moves are avoided or mirror go is faced.

Forced playouts, futile moves, the hint, wide noise, the ending bonus, candidates, avoided moves (search.md 4.4, 4.5)
and mirror go (14). Nodes below the root usually choose by `client.search.select.select_move`, which knows none of it.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from client.search.ending import ending_bonus
from client.search.mirror import expected_prior, expected_reply, is_owed_by_mirror
from client.search.rng import normal, uniform
from client.search.root_moves import may_enter
from client.search.select import (
    NOT_ALLOWED,
    best_unentered,
    exploration_scale,
    first_play_urgency,
    selection_value,
    sign_of,
    weigh_children,
    with_virtual_losses,
)
from client.search.tree import NO_EDGE, NO_POSITION, ROOT, UNKNOWN_POSITION, Context, Forest, Scratch
from common.go.points import EMPTY
from common.kernels import njit

FORCED: Final = 1e20
FUTILE: Final = -1e40
_HINT_SHARE: Final = 0.8
"""The hint's child is visited until it has this share of every other child's weight."""


class Outlook(NamedTuple):
    """What the values of a node's moves have in common."""

    sign: float
    scale: float
    urgency: float
    total: float  # weight of the legal children
    largest: float  # the largest weight among them
    per_visit: float  # the node's weight per visit
    left: float  # playouts that may still come
    reply: int  # position of the mirror reply, in mirror go
    depth: int  # turns below the root


@njit(cache=True, nogil=True)
def is_forced(prior: float, weight: float, children_weight: float, coefficient: float) -> bool:
    """Whether a root child is owed a playout for its prior (search.md 4.4)."""
    return prior > 0.0 and weight < math.sqrt(prior * children_weight * coefficient)


@njit(cache=True, nogil=True)
def is_futile(
    visits: int, edge_visits: int, weight: float, per_visit: float, left: float, largest: float, threshold: float
) -> bool:
    """Whether a root child cannot reach ``threshold`` times the ``largest`` weight with the playouts that are left."""
    return visits + left < threshold * largest * (edge_visits + 1) / (weight + per_visit)


@njit(cache=True, nogil=True)
def is_futile_to_enter(per_visit: float, left: float, largest: float, threshold: float) -> bool:
    """`is_futile` of a root move that has no child yet."""
    return left < threshold * largest / per_visit


@njit(cache=True, nogil=True)
def hint_is_owed(weight: float, visits: int, per_visit: float, largest_other: float) -> bool:
    """Whether the hint's child has too little weight beside the largest of the others."""
    return weight + (weight + per_visit) / (visits + 1) < _HINT_SHARE * largest_other


@njit(cache=True, nogil=True)
def widened(
    utility: float, prior: float, sign: float, noise: float, generator: npt.NDArray[np.uint64]
) -> tuple[float, float]:
    """Utility and prior of a legal root move under wide root noise; draws anew each time."""
    prior = prior ** (1.0 / (4.0 * noise + 1.0))
    if uniform(generator) < 0.5:
        utility += sign * noise * abs(normal(generator))
    return utility, prior


@njit(cache=True, nogil=True)
def playouts_left(forest: Forest, slot: int) -> float:
    """How many more playouts the limit of visits and the clock leave."""
    search = forest.searches[slot]
    by_visits = search["visits_limit"] - forest.nodes[slot, ROOT]["visits"] - search["pending"]
    return float(min(float(by_visits), search["playouts_left"]))


@njit(cache=True, nogil=True)
def _largest_weight(forest: Forest, slot: int, node: np.void, weights: Any, excluded: int) -> float:
    """The largest of the children's weights; the child of the move ``excluded`` does not count."""
    largest = 0.0
    e = node["first_edge"]
    i = 0
    while e != NO_EDGE:
        edge = forest.edges[slot, e]
        if edge["prior"] >= 0.0 and edge["position"] != excluded:
            largest = max(largest, weights[i])
        i += 1
        e = edge["next_edge"]
    return largest


@njit(cache=True, nogil=True)
def _overruling_value(
    forest: Forest, slot: int, index: int, e: int, weight: float, outlook: Outlook, scratch: Scratch, length: int
) -> float:
    """What an existing child's value is regardless of PUCT: FUTILE, FORCED, or 0 where PUCT decides."""
    parameters = forest.parameters[slot]
    search = forest.searches[slot]
    edge = forest.edges[slot, e]
    prior = float(edge["prior"])
    position: Any = np.int64(edge["position"])
    if index == ROOT:
        child = forest.nodes[slot, edge["child"]]
        threshold = parameters["futile_visits_threshold"]
        if threshold > 0.0 and is_futile(
            child["visits"], edge["visits"], weight, outlook.per_visit, outlook.left, outlook.largest, threshold
        ):
            return FUTILE
        coefficient = parameters["root_desired_per_child_visits_coeff"]
        if coefficient > 0.0 and is_forced(prior, weight, outlook.total, coefficient):
            return FORCED
        if position == search["hint"] and prior >= 0.0:
            other = _largest_weight(forest, slot, forest.nodes[slot, index], scratch.weights, position)
            if hint_is_owed(weight, edge["visits"], outlook.per_visit, other):
                return FORCED
    if search["mirroring"] != EMPTY and prior >= 0.0:
        state = scratch.state[0]
        mirroring = search["mirroring"]
        if is_owed_by_mirror(weight, outlook.total, position, state, mirroring, outlook.reply, outlook.depth, length):
            return FORCED
    return 0.0


@njit(cache=True, nogil=True)
def _child_value(
    forest: Forest, slot: int, index: int, e: int, weight: float, outlook: Outlook, scratch: Scratch, context: Context
) -> float:
    """Selection value of an existing child."""
    overruling = _overruling_value(forest, slot, index, e, weight, outlook, scratch, context.length)
    if overruling != 0.0:
        return overruling
    parameters = forest.parameters[slot]
    search = forest.searches[slot]
    edge = forest.edges[slot, e]
    child = forest.nodes[slot, edge["child"]]
    position: Any = np.int64(edge["position"])
    prior = float(edge["prior"])
    utility = child["utility"] if weight > 0.0 else outlook.urgency
    if index == ROOT and weight > 0.0 and parameters["root_ending_bonus_points"] != 0.0:
        utility += ending_bonus(forest, slot, position, child, context.score_table)
    if child["virtual_losses"] > 0:
        utility, weight = with_virtual_losses(child, utility, weight, outlook.sign, parameters)
    if search["mirroring"] != EMPTY and prior >= 0.0:
        mirroring = search["mirroring"]
        prior = expected_prior(
            prior, position, scratch.state[0], mirroring, outlook.reply, outlook.depth, context.length
        )
    if index == ROOT and parameters["wide_root_noise"] > 0.0 and prior >= 0.0:
        noise = parameters["wide_root_noise"]
        utility, prior = widened(utility, prior, outlook.sign, noise, forest.generators[slot])
    return selection_value(outlook.sign, utility, outlook.scale, prior, weight)


@njit(cache=True, nogil=True)
def _best_open(
    forest: Forest, slot: int, index: int, outlook: Outlook, scratch: Scratch, length: int
) -> tuple[int, float]:
    """The move of the largest prior that has no child and may have one, or NO_POSITION; and that prior."""
    search = forest.searches[slot]
    node = forest.nodes[slot, index]
    edges = forest.edges[slot]
    priors = forest.priors[slot, index]
    if not search["rules_inside"] and not search["limits_root"]:
        if node["next_position"] == UNKNOWN_POSITION:
            node["next_position"] = best_unentered(node, edges, priors, scratch.entered)
        position: Any = np.int64(node["next_position"])
        return position, float(priors[position]) if position != NO_POSITION else 0.0
    e = node["first_edge"]
    while e != NO_EDGE:
        scratch.entered[edges[e]["position"]] = True
        e = edges[e]["next_edge"]
    best: Any = np.int64(NO_POSITION)
    best_prior = -1.0
    to_move: Any = np.int64(node["to_move"])
    mirroring = search["mirroring"]
    for position in range(priors.shape[0]):
        prior = float(priors[position])
        if prior < 0.0 or scratch.entered[position] or not may_enter(forest, slot, position, to_move, outlook.depth):
            continue
        if mirroring != EMPTY:
            state = scratch.state[0]
            prior = expected_prior(prior, position, state, mirroring, outlook.reply, outlook.depth, length)
        if prior > best_prior:
            best = position
            best_prior = prior
    e = node["first_edge"]
    while e != NO_EDGE:
        scratch.entered[edges[e]["position"]] = False
        e = edges[e]["next_edge"]
    return best, best_prior


@njit(cache=True, nogil=True)
def _new_value(forest: Forest, slot: int, index: int, prior: float, outlook: Outlook) -> float:
    """Selection value of the best move that has no child."""
    parameters = forest.parameters[slot]
    utility = outlook.urgency
    if index == ROOT:
        threshold = parameters["futile_visits_threshold"]
        if threshold > 0.0 and is_futile_to_enter(outlook.per_visit, outlook.left, outlook.largest, threshold):
            return FUTILE
        noise = parameters["wide_root_noise"]
        if noise > 0.0:
            utility, prior = widened(utility, prior, outlook.sign, noise, forest.generators[slot])
    return selection_value(outlook.sign, utility, outlook.scale, prior, 0.0)


@njit(cache=True, nogil=True)
def _outlook(
    forest: Forest, slot: int, index: int, depth: int, total: float, visited_prior: float, scratch: Scratch, length: int
) -> Outlook:
    """What a node's statistics say of all its moves; the children's weights are in the scratch."""
    node = forest.nodes[slot, index]
    parameters = forest.parameters[slot]
    sign = sign_of(node["to_move"])
    reply: Any = np.int64(NO_POSITION)
    if forest.searches[slot]["mirroring"] != EMPTY:
        reply = expected_reply(scratch.state[0], forest.priors[slot, index], length)
    return Outlook(
        sign,
        exploration_scale(total, node["utility"], node["utility_sq"], node["weight"], parameters),
        first_play_urgency(node["utility"], node["own_utility"], visited_prior, sign, index == ROOT, parameters),
        total,
        _largest_weight(forest, slot, node, scratch.weights, NO_POSITION),
        node["weight"] / node["visits"],
        playouts_left(forest, slot),
        reply,
        depth,
    )


@njit(cache=True, nogil=True)
def select_by_rules(
    forest: Forest, slot: int, index: int, depth: int, scratch: Scratch, context: Context
) -> tuple[int, int]:
    """Choose at an evaluated node ``depth`` turns below the root, whose position is in the scratch.

    (edge, NO_POSITION) for an existing child, (NO_EDGE, position) for a new one; (NO_EDGE, NO_POSITION) if every move
    is avoided and there is no child.
    """
    node = forest.nodes[slot, index]
    edges = forest.edges[slot]
    count, visited_prior, total = weigh_children(forest.nodes[slot], edges, node, scratch.weights)
    outlook = _outlook(forest, slot, index, depth, total, visited_prior, scratch, context.length)
    best_value = NOT_ALLOWED
    best_edge: Any = np.int64(NO_EDGE)
    e: Any = np.int64(node["first_edge"])
    for i in range(count):
        value = _child_value(forest, slot, index, e, scratch.weights[i], outlook, scratch, context)
        if value > best_value:
            best_value = value
            best_edge = e
        e = np.int64(edges[e]["next_edge"])
    position, prior = _best_open(forest, slot, index, outlook, scratch, context.length)
    if position != NO_POSITION and _new_value(forest, slot, index, prior, outlook) > best_value:
        return NO_EDGE, position
    return best_edge, NO_POSITION
