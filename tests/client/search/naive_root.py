"""The slow twin with the rules of the root (search.md 4.4, 4.5, 5): all but mirror go and useless moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from client.search.rng import new_generators, normal, seed_generator, uniform
from common.go.passalive import AREA_SCRATCH, calculate_area
from common.go.points import NUM_POINTS, point_of
from tests.client.search.naive import NaiveSearch, Node


class NaiveRootSearch(NaiveSearch):
    """``avoid`` gives by colour and position until which depth a move is avoided."""

    def __init__(
        self,
        answer: Any,
        length: int,
        parameters: Any,
        *,
        seed: int = 0,
        hint: int | None = None,
        avoid: Mapping[tuple[int, int], int] | None = None,
        rescale: bool = False,
    ) -> None:
        super().__init__(answer, length, parameters)
        self.hint, self.avoid, self.rescale = hint, avoid or {}, rescale
        self.bonus: dict[int, float] = {}
        self.generator = new_generators(1)[0]
        seed_generator(self.generator, np.uint64(seed))

    def search(self, state: Any, history: Any, visits: int) -> Node:
        self.limit, self.first_turn = visits, int(state["turns"])
        size = int(state["x_size"]), int(state["y_size"])
        self.candidates = set(range(self.length**2 + 1))
        if self.p["root_symmetry_pruning"]:
            self.candidates = self._representatives(state, *size) | {self.length**2}
        return super().search(state, history, visits)

    def _until(self, state: Any, move: int) -> int:
        return self.avoid.get((int(state["to_move"]), move), 0)

    def _representatives(self, state: Any, width: int, height: int) -> set[int]:
        """Moves that stand for their orbits, from pictures of the turned board."""
        numbers = np.array([[y * self.length + x for x in range(width)] for y in range(height)])
        stones = np.array([[int(state["colour"][point_of(int(n), self.length)]) for n in row] for row in numbers])
        orbit = {int(n): {int(n)} for n in numbers.ravel()}
        for turns in range(4):
            for flip in (False, True):
                turned = [np.rot90(np.fliplr(board) if flip else board, turns) for board in (stones, numbers)]
                if turned[0].shape == stones.shape and (turned[0] == stones).all():
                    for one, other in zip(numbers.ravel(), turned[1].ravel(), strict=True):
                        orbit[int(one)].add(int(other))
        order = numbers[:, ::-1].T.ravel() if state["to_move"] == 1 else numbers[::-1].T.ravel()
        kept: set[int] = set()
        for move in order.tolist():
            if not self._until(state, move) and not orbit[move] & kept:
                kept.add(move)
        return kept | {move for move in orbit if self._until(state, move) and not orbit[move] & kept}

    def _ask(self, node: Node) -> None:
        super()._ask(node)
        if node is not self.root:
            return
        self._set_bonus(node)
        open_moves = [move for move in node.policy if not self._until(node.state, move)]
        if self.rescale and self.avoid:
            mass = sum(node.policy[move] for move in open_moves)
            node.policy |= {move: node.policy[move] / mass for move in open_moves}
        if self.hint in node.policy:
            for move in node.policy:
                node.policy[move] *= 0.98
            node.policy[self.hint] += 0.02 * sum(node.policy.values()) / 0.98

    def _set_bonus(self, node: Node) -> None:
        """Points by move, player's view: area scoring without button."""
        state, bonus = node.state, float(self.p["root_ending_bonus_points"])
        if bonus == 0.0 or state["ko_point"] >= 0:
            return
        area = np.zeros(NUM_POINTS, np.int8)
        calculate_area(state, False, False, False, bool(state["suicide"]), area, np.zeros(1, AREA_SCRATCH)[0])
        own, ownership = int(state["to_move"]), self.found.ownership
        for move in node.policy:
            point = point_of(move, self.length)
            if move == self.length**2:
                continue
            near = [point + step for step in (-1, 1, -20, 20)]
            theirs = [other for other in near if state["colour"][other] == 3 - own]
            heads = {int(state["chain_head"][n]) for n in near if state["colour"][n] == own and area[n] != own}
            if ownership[move] >= 0.95 and not theirs and len(heads) < 2:
                self.bonus[move] = -bonus * (float(ownership[move]) - 0.95) / 0.05
            captures = any(state["chain_liberties"][state["chain_head"][other]] == 1 for other in theirs)
            if ownership[move] <= -0.95 and not captures:
                self.bonus[move] = -bonus * (-0.95 - float(ownership[move])) / 0.05

    def _fresh(self, node: Node) -> list[int]:
        depth = int(node.state["turns"]) - self.first_turn
        fresh = [move for move in super()._fresh(node) if depth >= self._until(node.state, move)]
        return [move for move in fresh if node is not self.root or move in self.candidates]

    def _value(self, node: Node, move: int, scale: float, urgency: float, total: float) -> float:
        if node is not self.root:
            return super()._value(node, move, scale, urgency, total)
        child, weights = node.children.get(move), {m: c.weight for m, c in node.children.items()}
        left, per_visit = self.limit - node.visits, node.weight / node.visits
        wanted = float(self.p["futile_visits_threshold"]) * max(weights.values(), default=0.0)
        if child is None and wanted and left < wanted / per_visit:
            return -1e40
        utility, weight = urgency, 0.0
        if child is not None:
            assert child.mean is not None
            weight = child.weight
            if wanted and child.visits + left < wanted * (child.visits + 1) / (weight + per_visit):
                return -1e40
            if super()._value(node, move, scale, urgency, total) == 1e20:
                return 1e20
            others = [w for m, w in weights.items() if m != move]
            after = weight + (weight + per_visit) / (child.visits + 1)
            if move == self.hint and after < 0.8 * max(others, default=0.0):
                return 1e20
            utility = child.utility
            if self.bonus.get(move):
                spread = child.mean.score_mean_sq - child.mean.score_mean**2
                mean = child.mean.score_mean + node.sign * self.bonus[move]
                moved = child.mean._replace(score_mean=mean, score_mean_sq=mean**2 + max(0.0, spread))
                utility += self._utility(moved) - self._utility(child.mean)
        prior, noise = node.policy[move], float(self.p["wide_root_noise"])
        if noise:
            prior = prior ** (1 / (4 * noise + 1))
            if uniform(self.generator) < 0.5:
                utility += node.sign * noise * abs(normal(self.generator))
        return node.sign * utility + scale * prior / (1 + weight)
