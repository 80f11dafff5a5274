"""A slow twin of the search, written for reading: Python objects, recursion, no batches.

Covers a fresh tree without noise: selection with forced playouts, value weighting, noise pruning, terminal nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from client.search.utility import expected_score_value, score_table
from client.search.values import Values
from client.search.weights import student_cdf, student_table
from common.features import FeatureOptions, encode, new_scratch
from common.go.passalive import AREA_SCRATCH
from common.go.play import legal_points, play
from common.go.points import NUM_POINTS, WHITE, point_of, position_of
from common.go.scoring import score
from common.go.state import NUM_RECENT


@dataclass
class Node:
    state: Any
    history: Any
    sign: float
    policy: dict[int, float] = field(default_factory=dict)
    own: Values[float] | None = None
    own_utility: float = 0.0
    terminal: bool = False
    visits: int = 0
    weight: float = 0.0
    utility: float = 0.0
    utility_sq: float = 0.0
    mean: Values[float] | None = None
    children: dict[int, Node] = field(default_factory=dict)
    asides: dict[int, Node] = field(default_factory=dict)  # children that have not counted here
    left_open: bool = False  # searched on although the game is over
    serial: int = 0  # in order of creation
    edge_visits: dict[int, int] = field(default_factory=dict)  # by move, where children may have several parents


class NaiveSearch:
    """One tree over copies of positions; ``parameters`` is a SEARCH_PARAMETERS record."""

    def __init__(self, answer: Any, length: int, parameters: Any) -> None:
        self.answer, self.length, self.p = answer, length, parameters
        self.centre = 0.0
        self.made = 0
        self.root: Node | None = None

    def search(self, state: Any, history: Any, visits: int) -> Node:
        self.area = math.sqrt(float(state["x_size"]) * float(state["y_size"]))
        self.root = self._node(state.copy(), history.copy())
        for _ in range(visits):
            self._playout(self.root)
        return self.root

    def _node(self, state: Any, history: Any) -> Node:
        self.made += 1
        return Node(state, history, 1.0 if state["to_move"] == WHITE else -1.0, serial=self.made)

    def _playout(self, node: Node) -> None:
        if node.visits == 0:
            self._evaluate(node)
        elif not node.terminal:
            move = self._select(node)
            if move not in node.children:
                node.children[move] = self._child(node, move)
            self._playout(node.children[move])
        node.visits += 1
        self._average(node)

    def _child(self, node: Node, move: int) -> Node:
        states, histories = np.array([node.state]), np.array([node.history])
        play(states[0], histories[0], point_of(move, self.length))
        return self._node(states[0], histories[0])

    def _options(self, node: Node) -> FeatureOptions:
        return FeatureOptions(0.0, False, False, NUM_RECENT)

    def _evaluate(self, node: Node) -> None:
        state = node.state
        if state["finished"] and state["no_result"] and node is not self.root:
            node.own, node.terminal = Values(0.0, 1.0, 0.0, 0.0, 0.0), True
        elif state["finished"] and node is not self.root and not node.left_open:
            area, scratch = np.zeros(NUM_POINTS, np.int8), np.zeros(1, AREA_SCRATCH)
            final = score(state, area, scratch[0])
            draw = float(state["draw_white_wins"])
            wins = 1.0 if final > 0 else 0.0 if final < 0 else draw
            mean, square = final, final**2
            if final == int(final):
                mean = final + draw - 0.5
                square = (1 - draw) * (final - 0.5) ** 2 + draw * (final + 0.5) ** 2
            node.own = Values(win_loss=2 * wins - 1, no_result=0.0, score_mean=mean, score_mean_sq=square, lead=mean)
            node.terminal = True
        else:
            self._ask(node)
        assert node.own is not None
        node.own_utility = self._utility(node.own)

    def _ask(self, node: Node) -> None:
        edge = self.length
        planes, inputs = np.zeros((22, edge, edge), np.float32), np.zeros(19, np.float32)
        options = self._options(node)
        encode(node.state.copy(), node.history, edge, options, planes, inputs, new_scratch())
        found = self.found = self.answer(planes, inputs, 0)
        legal = np.zeros(NUM_POINTS, np.int8)
        legal_points(node.state, node.history, legal)
        moves = sorted(position_of(int(point), edge) for point in np.flatnonzero(legal))
        logits = np.array([found.policy[move] for move in moves], np.float64)
        chances = np.exp(logits - logits.max())
        node.policy = dict(zip(moves, (chances / chances.sum()).astype(np.float32).tolist(), strict=True))
        counted = 1 - found.no_result
        node.own = Values(
            win_loss=node.sign * found.win_loss,
            no_result=found.no_result,
            score_mean=node.sign * found.score_mean,
            score_mean_sq=((found.score_mean / counted) ** 2 + found.score_stdev**2) * counted,
            lead=node.sign * found.lead,
        )
        if node is self.root:
            expected, cap = node.own.score_mean, self.area * self.p["dynamic_score_center_scale"]
            shrunk = expected * (1 - self.p["dynamic_score_center_zero_weight"])
            self.centre = min(max(shrunk, expected - cap), expected + cap)

    def _utility(self, own: Values[float]) -> float:
        stdev = math.sqrt(max(0.0, own.score_mean_sq - own.score_mean**2))
        static = expected_score_value(score_table(), own.score_mean, stdev, 0.0, 2.0, self.area)
        scale = self.p["dynamic_score_center_scale"]
        dynamic = expected_score_value(score_table(), own.score_mean, stdev, self.centre, scale, self.area)
        return float(
            own.win_loss * self.p["win_loss_utility_factor"]
            + own.no_result * self.p["no_result_utility_for_white"]
            + self.p["static_score_utility_factor"] * static
            + self.p["dynamic_score_utility_factor"] * dynamic
        )

    def _select(self, node: Node) -> int:
        p, at_root = self.p, node is self.root
        entered = [move for move in node.children if move in node.policy]  # others are illegal with this history
        visited = sum(node.policy[move] for move in (*entered, *node.asides))
        total = sum(self._seen(node, move) for move in entered)
        base = p["cpuct_exploration_base"]
        scale: float = p["cpuct_exploration"] + p["cpuct_exploration_log"] * math.log((total + base) / base)
        scale *= math.sqrt(total + 0.01)
        if p["cpuct_utility_stdev_scale"]:
            prior, share, square = (
                p["cpuct_utility_stdev_prior"],
                p["cpuct_utility_stdev_prior_weight"],
                node.utility**2,
            )
            spread = prior
            if node.weight > 1:
                moment = (square + prior**2) * share + max(node.utility_sq, square) * node.weight
                spread = math.sqrt(max(0.0, moment / (share + node.weight - 1) - square))
            scale *= 1 + p["cpuct_utility_stdev_scale"] * (spread / prior - 1)
        part: float = min(1.0, visited ** p["fpu_parent_weight_by_visited_policy_pow"])
        reduction: float = p["root_fpu_reduction_max"] if at_root else p["fpu_reduction_max"]
        urgency = part * node.utility + (1 - part) * node.own_utility - node.sign * reduction * math.sqrt(visited)
        fresh = self._fresh(node)
        candidates = [*entered, *sorted(fresh, key=lambda move: -node.policy[move])[:1]]
        values = [self._value(node, move, scale, urgency, total) for move in candidates]
        return candidates[values.index(max(values))]

    def _fresh(self, node: Node) -> list[int]:
        return [move for move in node.policy if move not in node.children]

    def _value(self, node: Node, move: int, scale: float, urgency: float, total: float) -> float:
        child, prior = node.children.get(move), node.policy[move]
        if child is None:
            return node.sign * urgency + scale * prior
        owed = math.sqrt(prior * total * self.p["root_desired_per_child_visits_coeff"])
        weight = self._seen(node, move)
        if node is self.root and weight < owed:
            return 1e20
        utility, weight = self._with_losses(node, child, weight)
        return node.sign * utility + scale * prior / (1 + weight)

    def _seen(self, node: Node, move: int) -> float:
        """The weight of a child as its parent sees it."""
        return node.children[move].weight

    def _with_losses(self, node: Node, child: Node, weight: float) -> tuple[float, float]:
        """Utility and weight of a child with the virtual losses of playouts that are in it."""
        return child.utility, weight

    def _corrected(self, node: Node, weights: list[float]) -> float:
        """The node's own utility as it is averaged with children of these weights."""
        return node.own_utility

    def _average(self, node: Node) -> None:
        assert node.own is not None
        if node.terminal:
            node.weight = node.visits
            node.utility, node.utility_sq, node.mean = node.own_utility, node.own_utility**2, node.own
            return
        children = list(node.children.values())
        weights = self._weights(node, children)
        own_utility = self._corrected(node, weights)
        node.weight = 1.0 + sum(weights)

        def mean(own: float, theirs: list[float]) -> float:
            pairs = zip(weights, theirs, strict=True)
            return float((own + sum(weight * value for weight, value in pairs)) / node.weight)

        node.utility_sq = mean(own_utility**2, [child.utility_sq for child in children])
        node.utility = mean(own_utility, [child.utility for child in children])
        means = [child.mean for child in children if child.mean is not None]
        node.mean = Values(*(mean(own, list(theirs)) for own, *theirs in zip(node.own, *means, strict=True)))

    def _weights(self, node: Node, children: list[Node]) -> list[float]:
        weights = [self._seen(node, move) for move in node.children]
        own = [node.sign * child.utility for child in children]
        if self.p["use_noise_pruning"] and len(children) > 1:
            priors = [node.policy.get(move, 1e-30) for move in node.children]
            for i in range(1, len(children)):
                before = sum(weights[:i])
                gap = sum(w * u for w, u in zip(weights[:i], own[:i], strict=True)) / before - own[i]
                share = 2 * before * priors[i] / sum(priors[:i])
                if gap > 0 and weights[i] > share:
                    cut = (weights[i] - share) * (1 - math.exp(-gap / self.p["noise_prune_utility_scale"]))
                    weights[i] -= cut
        exponent, total = self.p["value_weight_exponent"], sum(weights)
        if not exponent or not children:
            return weights
        mean = sum(w * u for w, u in zip(weights, own, strict=True)) / total
        raised = []
        for weight, utility in zip(weights, own, strict=True):
            stdev = math.sqrt(1e-8 + 1 / (1.5 * math.sqrt(weight)))
            raised.append(weight * (student_cdf(student_table(), (utility - mean) / stdev) + 1e-4) ** exponent)
        return [weight * total / sum(raised) for weight in raised]
