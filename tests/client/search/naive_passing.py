"""The slow twin with the passing rules of search.md 4.6."""

from __future__ import annotations

from typing import Any

from common.features import FeatureOptions
from common.go.play import pass_repeats, pass_would_end_game, pass_would_end_phase
from common.go.rules import Scoring
from common.go.state import NUM_RECENT
from tests.client.search.naive import NaiveSearch, Node


class NaivePassing(NaiveSearch):
    """Looks aside are kept apart until they count: a move there is as good as a new one."""

    looks_aside = 0
    left_open = 0
    capped = 0

    def search(self, state: Any, history: Any, visits: int) -> Node:
        root = super().search(state, history, 1)
        while root.visits < visits:
            self._playout(root)
        return _merged(root)

    def _playout(self, node: Node) -> bool:  # type: ignore[override]
        if node.visits == 0:
            self._evaluate(node)
        elif not node.terminal:
            move = self._select(node)
            aside = self._aside(node, move)
            if aside is not None:
                self.looks_aside += 1
                node.asides[aside] = self._child(node, aside)
                self._playout(node.asides[aside])
                return False
            if move in node.asides:
                node.children[move] = node.asides.pop(move)
                node.children = dict(sorted(node.children.items(), key=lambda item: item[1].serial))
            else:
                if move not in node.children:
                    node.children[move] = self._child(node, move)
                if not self._playout(node.children[move]):
                    return False
        node.visits += 1
        self._average(node)
        return True

    def _aside(self, node: Node, move: int) -> int | None:
        passing = self.length**2
        ends = pass_would_end_phase(node.state, node.history)
        visits = sum(child.visits for child in node.children.values())
        if not self.p["enable_more_passing_hacks"] or not ends or visits < 2:
            return None
        known = {**node.children, **node.asides}
        if passing not in known:
            return passing if move != passing else None
        if len(known) == 1 and move == passing:
            others = [other for other in node.policy if other != passing]
            return max(others, key=lambda other: node.policy[other]) if others else None
        return None

    def _child(self, node: Node, move: int) -> Node:
        child = super()._child(node, move)
        if move == self.length**2:
            ends = pass_would_end_game(node.state, node.history)
            if node is self.root:
                child.left_open = ends and bool(self.p["conservative_pass"])
            else:
                friendly = node.state["friendly_pass_ok"] and node.state["scoring_rule"] == int(Scoring.AREA)
                second = node.state["consecutive_passes"] == 1 and not pass_repeats(node.state, node.history)
                child.left_open = bool(friendly and second)
            self.left_open += child.left_open
        return child

    def _options(self, node: Node) -> FeatureOptions:
        conservative = bool(self.p["conservative_pass"]) and node is self.root
        return FeatureOptions(0.0, conservative, bool(self.p["enable_passing_hacks"]), NUM_RECENT)

    def _ask(self, node: Node) -> None:
        super()._ask(node)
        passing = self.length**2
        others = sum(chance for move, chance in node.policy.items() if move != passing)
        if self.p["enable_passing_hacks"] and node.policy[passing] > 19 * others:
            self.capped += 1
            node.policy[passing] = max(1e-20, 19 * others)
            total = others + node.policy[passing]
            node.policy = {move: chance / total for move, chance in node.policy.items()}


def _merged(node: Node) -> Node:
    """The tree with looks aside among the children, in order of creation."""
    both = {**node.children, **node.asides}
    node.children = dict(sorted(both.items(), key=lambda item: item[1].serial))
    for child in node.children.values():
        _merged(child)
    return node
