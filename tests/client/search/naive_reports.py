"""A slow twin of reports: recursion over Python objects, each quantity as search.md 12 says it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from client.search.tree import EVALUATED, NO_EDGE, OWNERSHIP_SCALE, TERMINAL, Forest
from client.search.weights import student_cdf, student_table
from common.go.points import WHITE

Floats = npt.NDArray[np.float64]


@dataclass(eq=False)
class Twin:
    """A node; ``node`` is its record."""

    node: Any
    ownership: Floats
    children: list[Child] = field(default_factory=list)

    @property
    def sign(self) -> float:
        return 1.0 if self.node["to_move"] == WHITE else -1.0

    @property
    def is_terminal(self) -> bool:
        return bool(self.node["status"] == TERMINAL)


@dataclass(eq=False)
class Child:
    position: int
    edge_visits: int
    prior: float
    to: Twin

    @property
    def weight(self) -> float:
        return float(self.to.node["weight"]) * self.edge_visits / max(1, int(self.to.node["visits"]))

    @property
    def weight_sq(self) -> float:
        return float(self.to.node["weight_sq"]) * self.edge_visits / max(1, int(self.to.node["visits"]))


def twins(forest: Forest, slot: int) -> list[Twin]:
    """The nodes of a slot's tree or graph."""
    count = int(forest.searches[slot]["num_nodes"])
    ownership = forest.ownership[slot] / OWNERSHIP_SCALE
    made = [Twin(forest.nodes[slot, index].copy(), ownership[index]) for index in range(count)]
    for twin in made:
        edge = int(twin.node["first_edge"])
        while edge != NO_EDGE:
            record = forest.edges[slot, edge]
            to = made[int(record["child"])]
            twin.children.append(Child(int(record["position"]), int(record["visits"]), float(record["prior"]), to))
            edge = int(record["next_edge"])
    return made


Use = Callable[[Twin, float], None]


def walk_ownership(twin: Twin, share: float, least: float, path: list[Twin], use: Use) -> None:
    """Tell ``use`` of every contribution of a node's raw ownership."""
    if share < least or not twin.children or twin in path:
        use(twin, share)
        return
    own = float(twin.node["own_weight"])
    weights = [child.weight for child in twin.children]
    below = share * sum(weights) / (sum(weights) + own)
    kept = share - below
    squares = sum(weight**2 for weight in weights)
    for child, weight in zip(twin.children, weights, strict=True):
        theirs = below * weight**2 / squares if squares > 0 else 0.0
        if theirs < 0.01 * least or child.to.node["status"] != EVALUATED:
            kept += theirs
        else:
            walk_ownership(child.to, theirs, least, [*path, twin], use)
    if squares == 0:
        kept = share
    use(twin, kept)


def ownership(twin: Twin) -> tuple[Floats, Floats]:
    """Mean and standard deviation."""
    found: list[tuple[float, Floats]] = []
    least = 0.5 / float(twin.node["visits"]) ** 0.75
    walk_ownership(twin, 1.0, least, [], lambda node, share: found.append((share, node.ownership)))
    assert math.isclose(sum(share for share, _ in found), 1.0)
    mean = sum((share * values for share, values in found), np.zeros_like(twin.ownership))
    second = sum((share * values**2 for share, values in found), np.zeros_like(twin.ownership))
    return mean, np.sqrt(np.maximum(0.0, second - mean**2))


def searched_weights(twin: Twin, p: Any) -> list[float]:
    """Weights after noise pruning and value weighting (search.md 3.2, 3.4), 0 for children without any."""
    weights = [child.weight for child in twin.children]
    some = [i for i, weight in enumerate(weights) if weight > 0]
    own = [twin.sign * float(twin.children[i].to.node["utility"]) for i in some]
    kept = [weights[i] for i in some]
    if p["use_noise_pruning"] and len(some) > 1:
        priors = [twin.children[i].prior for i in some]
        for i in range(1, len(some)):
            before = sum(kept[:i])
            gap = sum(w * u for w, u in zip(kept[:i], own[:i], strict=True)) / before - own[i]
            share = 2 * before * priors[i] / sum(priors[:i])
            if gap > 0 and kept[i] > share:
                kept[i] -= (kept[i] - share) * (1 - math.exp(-gap / p["noise_prune_utility_scale"]))
    total = sum(kept)
    if p["value_weight_exponent"] and some:
        mean = sum(w * u for w, u in zip(kept, own, strict=True)) / total
        for i, (weight, utility) in enumerate(zip(kept, own, strict=True)):
            stdev = math.sqrt(1e-8 + 1 / (1.5 * math.sqrt(weight)))
            chance = student_cdf(student_table(), (utility - mean) / stdev) + 1e-4
            kept[i] = weight * chance ** p["value_weight_exponent"]
        kept = [weight * total / sum(kept) for weight in kept]
    result = [0.0] * len(weights)
    for i, weight in zip(some, kept, strict=True):
        result[i] = weight
    return result


def error(twin: Twin, name: str, p: Any) -> float:
    """Short-term error of a node, averaged over what is below."""
    least = 0.25 / float(twin.node["visits"]) ** 0.625

    def walk(at: Twin, share: float, path: list[Twin]) -> float:
        own = 0.0 if at.is_terminal else float(at.node[name])
        if share < least or not at.children or at in path:
            return share * own
        weights = searched_weights(at, p)
        total = sum(weights) + float(at.node["own_weight"])
        below = sum(
            walk(child.to, share * weight / total, [*path, at])
            for child, weight in zip(at.children, weights, strict=True)
            if weight > 0
        )
        return below + share * float(at.node["own_weight"]) / total * own

    return walk(twin, 1.0, [])


def bound_and_radius(twin: Twin, child: Child, p: Any) -> tuple[float, float]:
    """Lower confidence bound for the player to move at ``twin``, and its radius (search.md 10.4)."""
    reach = sum(p[f"{kind}_utility_factor"] for kind in ("win_loss", "static_score", "dynamic_score"))
    w, w_sq = child.weight, child.weight_sq
    if w == 0:
        return -2 * reach * p["lcb_stdevs"], 2 * reach * p["lcb_stdevs"]
    u = float(child.to.node["utility"])
    prior_weight = w / (w**2 / w_sq) ** 3
    q = max(float(child.to.node["utility_sq"]), u**2 + 1e-8)
    q = (q * w + (q + reach**2) * prior_weight) / (w + prior_weight)
    radius = p["lcb_stdevs"] * math.sqrt((q - u**2) * (w_sq + prior_weight**2) / (w + prior_weight) ** 2)
    return twin.sign * u - radius, radius


def expected_child(twin: Twin, p: Any) -> Child:
    """The child of the largest play-selection value without pruning."""
    children = twin.children
    values = [child.weight for child in children]

    def goodness(i: int) -> float:
        visits = children[i].edge_visits
        return values[i] * max(0, visits - 1) / max(1, visits) + 2 * children[i].prior

    best_weight = values[max(range(len(children)), key=goodness)]
    if p["use_lcb_for_selection"]:
        bounds = [bound_and_radius(twin, child, p) for child in children]
        able = [i for i, v in enumerate(values) if v > 0 and v >= p["min_visit_prop_for_lcb"] * best_weight]
        if able:
            top = max(able, key=lambda i: bounds[i][0])
            for i, (bound, radius) in enumerate(bounds):
                x = bounds[top][0] - bound
                if i != top and x >= 0:
                    values[top] = max(values[top], ((radius + x) / (radius + 0.2 * x)) ** 2 * children[i].weight)
    return children[max(range(len(children)), key=lambda i: values[i])]


def line(root: Twin, first: Child, length: int, p: Any) -> list[tuple[int, int, int]]:
    """Position, visits and edge visits of each move of the line that begins with ``first``."""
    path = [root]
    child: Child | None = first
    found: list[tuple[int, int, int]] = []
    while child is not None and len(found) < length and child.to not in path:
        found.append((child.position, int(child.to.node["visits"]), child.edge_visits))
        path.append(child.to)
        child = expected_child(child.to, p) if child.to.children else None
        if child is not None and child.edge_visits == 0:
            child = None
    return found
