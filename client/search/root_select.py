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
    best_child,
    exploration_scale,
    first_play_urgency,
    list_children,
    next_unentered,
    selection_value,
    sign_of,
    value_children,
    with_virtual_losses,
)
from client.search.tree import NO_EDGE, NO_POSITION, ROOT, Context, Forest, Scratch
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
    largest: float  # the largest weight among them, where futile moves are looked for
    per_visit: float  # the node's weight per visit
    left: float  # playouts that may still come
    largest_but_hint: float  # the largest weight of a child that is not the hint's, where there is a hint
    at_root: bool
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
def _largest_weight(edges: npt.NDArray[np.void], node: np.void, weights: Any, excluded: int) -> float:
    """The largest of the children's weights; the child of the move ``excluded`` does not count."""
    largest = 0.0
    e = node["first_edge"]
    i = 0
    while e != NO_EDGE:
        edge = edges[e]
        if edge["prior"] >= 0.0 and edge["position"] != excluded:
            largest = max(largest, weights[i])
        i += 1
        e = edge["next_edge"]
    return largest


@njit(cache=True, nogil=True)
def _overruling_value(
    edge: np.void,
    child: np.void,
    weight: float,
    outlook: Outlook,
    search: np.void,
    parameters: np.void,
    state: np.void,
    length: int,
) -> float:
    """What an existing child's value is regardless of PUCT: FUTILE, FORCED, or 0 where PUCT decides."""
    prior = float(edge["prior"])
    position: Any = np.int64(edge["position"])
    if outlook.at_root:
        threshold = parameters["futile_visits_threshold"]
        if threshold > 0.0 and is_futile(
            child["visits"], edge["visits"], weight, outlook.per_visit, outlook.left, outlook.largest, threshold
        ):
            return FUTILE
        coefficient = parameters["root_desired_per_child_visits_coeff"]
        if coefficient > 0.0 and is_forced(prior, weight, outlook.total, coefficient):
            return FORCED
        if (
            position == search["hint"]
            and prior >= 0.0
            and hint_is_owed(weight, edge["visits"], outlook.per_visit, outlook.largest_but_hint)
        ):
            return FORCED
    if search["mirroring"] != EMPTY and prior >= 0.0:
        mirroring = search["mirroring"]
        if is_owed_by_mirror(weight, outlook.total, position, state, mirroring, outlook.reply, outlook.depth, length):
            return FORCED
    return 0.0


@njit(cache=True, nogil=True)
def _child_value(
    edge: np.void,
    child: np.void,
    weight: float,
    utility: float,
    outlook: Outlook,
    search: np.void,
    parameters: np.void,
    generator: npt.NDArray[np.uint64],
    state: np.void,
    length: int,
) -> float:
    """Selection value of an existing child; ``utility`` is that of one that has weight, with its ending bonus."""
    overruling = _overruling_value(edge, child, weight, outlook, search, parameters, state, length)
    if overruling != 0.0:
        return overruling
    prior = float(edge["prior"])
    if not weight > 0.0:
        utility = outlook.urgency
    if child["virtual_losses"] > 0:
        utility, weight = with_virtual_losses(child, utility, weight, outlook.sign, parameters)
    if search["mirroring"] != EMPTY and prior >= 0.0:
        position: Any = np.int64(edge["position"])
        prior = expected_prior(prior, position, state, search["mirroring"], outlook.reply, outlook.depth, length)
    if outlook.at_root and parameters["wide_root_noise"] > 0.0 and prior >= 0.0:
        noise = parameters["wide_root_noise"]
        utility, prior = widened(utility, prior, outlook.sign, noise, generator)
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
    e = node["first_edge"]
    while e != NO_EDGE:
        scratch.entered[edges[e]["position"]] = True
        e = edges[e]["next_edge"]
    best: Any = np.int64(NO_POSITION)
    best_prior = -1.0
    to_move: Any = np.int64(node["to_move"])
    mirroring = search["mirroring"]
    for position in range(priors.shape[0]):
        prior = float(priors[position]) if position != NO_POSITION else 0.0
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
def _new_value(prior: float, outlook: Outlook, parameters: np.void, generator: npt.NDArray[np.uint64]) -> float:
    """Selection value of the best move that has no child."""
    utility = outlook.urgency
    if outlook.at_root:
        threshold = parameters["futile_visits_threshold"]
        if threshold > 0.0 and is_futile_to_enter(outlook.per_visit, outlook.left, outlook.largest, threshold):
            return FUTILE
        noise = parameters["wide_root_noise"]
        if noise > 0.0:
            utility, prior = widened(utility, prior, outlook.sign, noise, generator)
    return selection_value(outlook.sign, utility, outlook.scale, prior, 0.0)


@njit(cache=True, nogil=True)
def _outlook(
    forest: Forest, slot: int, index: int, depth: int, total: float, visited_prior: float, scratch: Scratch, length: int
) -> Outlook:
    """What a node's statistics say of all its moves; the children's weights are in the scratch."""
    node = forest.nodes[slot, index]
    edges = forest.edges[slot]
    search = forest.searches[slot]
    parameters = forest.parameters[slot]
    sign = sign_of(node["to_move"])
    at_root = index == ROOT
    largest = largest_but_hint = 0.0
    if at_root and parameters["futile_visits_threshold"] > 0.0:
        largest = _largest_weight(edges, node, scratch.weights, NO_POSITION)
    if at_root and search["hint"] != NO_POSITION:
        largest_but_hint = _largest_weight(edges, node, scratch.weights, search["hint"])
    reply: Any = np.int64(NO_POSITION)
    if search["mirroring"] != EMPTY:
        reply = expected_reply(scratch.state[0], forest.priors[slot, index], length)
    return Outlook(
        sign,
        exploration_scale(total, node["utility"], node["utility_sq"], node["weight"], parameters),
        first_play_urgency(node["utility"], node["own_utility"], visited_prior, sign, at_root, parameters),
        total,
        largest,
        node["weight"] / node["visits"],
        playouts_left(forest, slot),
        largest_but_hint,
        at_root,
        reply,
        depth,
    )


@njit(cache=True, nogil=True)
def _add_ending_bonuses(forest: Forest, slot: int, count: int, scratch: Scratch, context: Context) -> None:
    """Add the ending bonus to the utilities of those of the root's children, listed in the scratch, that have one."""
    for i in range(count):
        edge = forest.edges[slot, scratch.edges[i]]
        position: Any = np.int64(edge["position"])
        if scratch.weights[i] > 0.0 and forest.ending_points[slot, position] != 0.0:
            child = forest.nodes[slot, edge["child"]]
            scratch.utilities[i] += ending_bonus(forest, slot, position, child, context.score_table)


@njit(cache=True, nogil=True)
def _is_ruled(outlook: Outlook, search: np.void, parameters: np.void) -> bool:
    """Whether something besides forced playouts makes a difference between children: most searches have none of it."""
    if search["mirroring"] != EMPTY:
        return True
    return bool(
        outlook.at_root
        and (
            search["hint"] != NO_POSITION
            or parameters["futile_visits_threshold"] > 0.0
            or parameters["wide_root_noise"] > 0.0
        )
    )


@njit(cache=True, nogil=True)
def _force_playouts(count: int, outlook: Outlook, parameters: np.void, scratch: Scratch) -> None:
    """Let the values of children that are owed playouts be FORCED."""
    coefficient = parameters["root_desired_per_child_visits_coeff"]
    if coefficient > 0.0:
        for i in range(count):
            if is_forced(scratch.priors[i], scratch.weights[i], outlook.total, coefficient):
                scratch.factors[i] = FORCED


@njit(cache=True, nogil=True)
def _value_by_rules(forest: Forest, slot: int, count: int, outlook: Outlook, scratch: Scratch, length: int) -> None:
    """Fill ``factors`` of the scratch with the values of the children that it lists, one by one.

    A root may have hundreds of children: what is called for each of them takes records, since passing all arrays of a
    Forest takes longer than the rest.
    """
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    search = forest.searches[slot]
    parameters = forest.parameters[slot]
    generator = forest.generators[slot]
    state = scratch.state[0]
    for i in range(count):
        edge = edges[scratch.edges[i]]
        child = nodes[edge["child"]]
        weight = scratch.weights[i]
        utility = scratch.utilities[i]
        scratch.factors[i] = _child_value(
            edge, child, weight, utility, outlook, search, parameters, generator, state, length
        )


@njit(cache=True, nogil=True)
def select_by_rules(
    forest: Forest, slot: int, index: int, depth: int, scratch: Scratch, context: Context
) -> tuple[int, int]:
    """Choose at an evaluated node ``depth`` turns below the root, whose position is in the scratch.

    (edge, NO_POSITION) for an existing child, (NO_EDGE, position) for a new one; (NO_EDGE, NO_POSITION) if every move
    is avoided and there is no child.
    """
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    node = nodes[index]
    search = forest.searches[slot]
    parameters = forest.parameters[slot]
    generator = forest.generators[slot]
    length = context.length
    count, visited_prior, total, under_way = list_children(nodes, edges, node, scratch)
    outlook = _outlook(forest, slot, index, depth, total, visited_prior, scratch, length)
    if outlook.at_root and parameters["root_ending_bonus_points"] != 0.0:
        _add_ending_bonuses(forest, slot, count, scratch, context)
    if _is_ruled(outlook, search, parameters):
        _value_by_rules(forest, slot, count, outlook, scratch, length)
    else:
        sign, scale, urgency = outlook.sign, outlook.scale, outlook.urgency
        value_children(nodes, edges, count, under_way, sign, scale, urgency, parameters, scratch)
        if outlook.at_root:
            _force_playouts(count, outlook, parameters, scratch)
    best_edge, best_value = best_child(count, scratch)
    if search["rules_inside"] or search["limits_root"]:
        position, prior = _best_open(forest, slot, index, outlook, scratch, length)
    else:
        priors = forest.priors[slot, index]
        position = next_unentered(node, edges, priors, scratch.entered)
        prior = float(priors[position]) if position != NO_POSITION else 0.0
    if position != NO_POSITION and _new_value(prior, outlook, parameters, generator) > best_value:
        return NO_EDGE, position
    return best_edge, NO_POSITION
