"""The slow twin with graph search and subtree value bias: positions are compared as they are, not by hashes.

Every set of points here is found by walking over the board's colours, every key is a tuple.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from common.go.play import is_legal, legal_points, pass_would_end_phase, play
from common.go.points import EMPTY, FIRST_CLEANUP, NO_POINT, NUM_POINTS, PASS, SECOND_CLEANUP, STRIDE, WALL, point_of
from common.go.scoring import own_komi
from tests.client.search.naive import NaiveSearch, Node

NEIGHBOURS = (1, -1, STRIDE, -STRIDE)


def chain_at(colour: Any, point: int) -> set[int]:
    """The points joined to ``point`` that are coloured like it."""
    found, waiting = {point}, [point]
    while waiting:
        here = waiting.pop()
        near = {here + offset for offset in NEIGHBOURS if colour[here + offset] == colour[point]} - found
        found |= near
        waiting += near
    return found


def liberties(colour: Any, chain: set[int]) -> set[int]:
    return {point + offset for point in chain for offset in NEIGHBOURS if colour[point + offset] == EMPTY}


def is_settled(state: Any, bound: int) -> bool:
    """Whether the last move made repetition impossible nearby (search.md 7)."""
    point, colour = int(state["recent_point"][0]), state["colour"]
    if point in (PASS, NO_POINT):
        return False
    chain = chain_at(colour, point)
    if colour[point] == EMPTY:
        return len(chain) > bound
    empties: set[int] = set()
    for liberty in liberties(colour, chain):
        empties |= chain_at(colour, liberty)
    return len(chain) + max(len(empties), len(liberties(colour, chain))) > bound


def situation(state: Any, history: Any) -> tuple[Any, ...]:
    """All that tells positions of one game apart, except how they came about."""
    legal = np.zeros(NUM_POINTS, np.int8)
    legal_points(state, history, legal)
    phase = int(state["phase"])
    return (
        state["colour"].tobytes(),
        int(state["to_move"]),
        phase,
        state["ko_blocked"].tobytes() if phase >= FIRST_CLEANUP else b"",
        state["second_cleanup_start"].tobytes() if phase == SECOND_CLEANUP else b"",
        int(state["ko_point"]),
        legal.tobytes(),
        int(state["button_left"]),
        int(own_komi(state) * 256),
        bool(pass_would_end_phase(state, history)),
        int(state["consecutive_passes"]),
        bool(state["finished"]),
        bool(state["no_result"]),
    )


def surroundings(state: Any, point: int) -> tuple[Any, ...] | None:
    """What moves must have in common to share a bias: of a move at ``point`` on the board before it."""
    before = int(state["recent_point"][0])
    if point == PASS or before == NO_POINT:
        return None
    colour, pattern = state["colour"], []
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            near = point + dy * STRIDE + dx
            on_board = (
                0 <= point // STRIDE - 1 + dy < state["y_size"] and 0 <= point % STRIDE - 1 + dx < state["x_size"]
            )
            if not on_board or colour[near] in (EMPTY, WALL):
                pattern.append((0, False))
            else:
                pattern.append((int(colour[near]), len(liberties(colour, chain_at(colour, near))) == 1))
    return int(state["to_move"]), before, point, int(state["ko_point"]), tuple(pattern)


@dataclass
class Bias:
    sum: float = 0.0
    weight: float = 0.0


class NaiveGraph(NaiveSearch):
    """Covers what the base covers, and several ways to one node."""

    def search(self, state: Any, history: Any, visits: int) -> Node:
        self.area = float(np.sqrt(float(state["x_size"]) * float(state["y_size"])))
        self.root = self._node(state.copy(), history.copy())
        self.nodes: dict[Any, Node] = {}
        self.biases: dict[Any, Bias] = {}
        self.key_of: dict[int, Any] = {}  # by id of the node
        self.numbers: dict[Any, int] = {}
        self.bias_of: dict[int, Bias] = {}
        self.put_in: dict[int, tuple[float, float]] = {}
        self.caught_up = self.cycles = self.shared = self.again = 0
        self.key_of[id(self.root)] = self._number(("root",))
        if is_settled(state, self.p["graph_search_rep_bound"]) or state["recent_point"][0] == NO_POINT:
            self.key_of[id(self.root)] = self._number(situation(state, history))
        for _ in range(visits):
            self._walk()
        return self.root

    def _number(self, key: Any) -> int:
        return self.numbers.setdefault(key, len(self.numbers))

    def _walk(self) -> None:
        assert self.root is not None
        states, histories = np.array([self.root.state]), np.array([self.root.history])
        state, history = states[0], histories[0]
        moves, node = [], self.root
        self.path = path = [self.root]
        while node.visits > 0 and not node.terminal:
            move = self._select(node)
            point = point_of(move, self.length)
            if self.p["use_graph_search"] and node is not self.root and not is_legal(state, history, point):
                self._evaluate_again(node, state, history)
                break
            bias_key = surroundings(state, point)
            assert play(state, history, point)
            if move not in node.children:
                node.children[move] = self._joined(node, state, history, bias_key)
                node.edge_visits[move] = 0
            child = node.children[move]
            if self.p["use_graph_search"] and self._stops(child, node.edge_visits[move], path):
                node.edge_visits[move] += 1
                break
            path.append(child)
            moves.append(move)
            node = child
        else:
            if node.visits == 0:
                self._evaluate(node)
        for depth in range(len(path) - 1, -1, -1):
            path[depth].visits += 1
            if depth < len(moves):
                path[depth].edge_visits[moves[depth]] += 1
            self._average(path[depth])

    def _evaluate_again(self, node: Node, state: Any, history: Any) -> None:
        """A node that was evaluated with a history in which other moves were legal; this counts above it alone."""
        node.state, node.history = state.copy(), history.copy()
        node.visits -= 1
        self._evaluate(node)
        self.again += 1

    def _stops(self, child: Node, edge_visits: int, path: list[Node]) -> bool:
        catches_up = child.visits > edge_visits and self.p["graph_search_catch_up_leak_prob"] < 1
        in_circle = any(child is node for node in path)
        self.caught_up += catches_up
        self.cycles += in_circle
        return catches_up or in_circle

    def _joined(self, parent: Node, state: Any, history: Any, bias_key: Any) -> Node:
        key: Any = situation(state, history)
        if not is_settled(state, self.p["graph_search_rep_bound"]):
            key = (self.key_of[id(parent)], key)
        if self.p["use_graph_search"] and key in self.nodes:
            self.shared += 1
            return self.nodes[key]
        child = self._node(state.copy(), history.copy())
        self.nodes[key] = child
        self.key_of[id(child)] = self._number(key)
        if bias_key is not None and self.p["subtree_value_bias_factor"] > 0:
            self.bias_of[id(child)] = self.biases.setdefault(bias_key, Bias())
        return child

    def _seen(self, node: Node, move: int) -> float:
        child = node.children[move]
        return child.weight * node.edge_visits[move] / max(child.visits, 1)

    def _with_losses(self, node: Node, child: Node, weight: float) -> tuple[float, float]:
        """A playout that may close a circle is itself in the child."""
        if not any(child is other for other in self.path):
            return child.utility, weight
        names = ("win_loss_utility_factor", "static_score_utility_factor", "dynamic_score_utility_factor")
        lost = -node.sign * sum(float(self.p[name]) for name in names)
        return child.utility + (lost - child.utility) / (1 + max(0.25, weight)), weight + 1

    def _corrected(self, node: Node, weights: list[float]) -> float:
        entry = self.bias_of.get(id(node))
        if entry is None:
            return node.own_utility
        if sum(weights) > 1e-10:
            pairs = zip(weights, node.children.values(), strict=True)
            below = sum(weight * child.utility for weight, child in pairs) / sum(weights)
            original = sum(self._seen(node, move) for move in node.children)
            weight = original ** self.p["subtree_value_bias_weight_exponent"]
            old_sum, old_weight = self.put_in.get(id(node), (0.0, 0.0))
            entry.sum += (below - node.own_utility) * weight - old_sum
            entry.weight += weight - old_weight
            self.put_in[id(node)] = ((below - node.own_utility) * weight, weight)
        if entry.weight <= 0.001:
            return node.own_utility
        return float(node.own_utility + self.p["subtree_value_bias_factor"] * entry.sum / entry.weight)
