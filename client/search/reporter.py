"""Reports made of a slot's tree, at any time between two calls of its pool (search.md 12, engine.md 4 and 11).

Allocates, walks the whole tree and returns Python objects: for engines that show a search to people, not for games.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt

from client.search.ownership import short_term_errors, tree_ownership
from client.search.play_selection import REPORT_SCALE, new_children, set_lower_bounds
from client.search.pool import SearchPool, fill_root_values
from client.search.report import MoveReport, Outlook, Ownership, Report, ReportOptions, RootReport, Variation
from client.search.select import first_play_urgency, sign_of
from client.search.shares import new_walk
from client.search.tree import NO_EDGE, ROOT, TERMINAL
from client.search.utility import score_stdev, utility_radius
from client.search.values import Values
from client.search.variation import follow_line, new_line
from common.go.hashes import position_hash, symmetric_hash
from common.go.play import play
from common.go.points import point_of, position_of
from common.go.symmetry import symmetric_points, turned

FloatArray = npt.NDArray[np.float64]

DEFAULT: Final = ReportOptions()


class Reporter:
    """Says what the searches of one pool have found; owns the working space for it.

    Usage::

        reporter = Reporter(pool)
        while not pool.step():
            report = seen_by(reporter.report(slot), BLACK)
    """

    def __init__(self, pool: SearchPool) -> None:
        self._pool = pool
        self._forest = pool.forest
        nodes, edges = pool.forest.nodes.shape[1], pool.forest.edges.shape[1]
        self._walk = new_walk(nodes, edges)
        self._children = new_children(pool.length**2 + 1)
        self._line_children = new_children(pool.length**2 + 1)

    def report(self, slot: int, options: ReportOptions = DEFAULT) -> Report:
        """All of a running or finished search, in White's view.

        Raises:
            ValueError: ownership is wanted of a pool that keeps none.
            RuntimeError: the slot has searched nothing yet.
        """
        self._need_visits(slot)
        state = self._forest.states[slot]
        root = self._root(slot)
        moves = self._visited_moves(slot, options)
        moves += self._unvisited_moves(slot, options, {move.point for move in moves})
        moves.sort(key=lambda move: (move.visits > 0, move.play_selection_value, move.visits, move.prior), reverse=True)
        return Report(
            x_size=int(state["x_size"]),
            y_size=int(state["y_size"]),
            root=root,
            moves=tuple(with_mirror_images(moves, options, int(state["x_size"]), int(state["y_size"]))),
            policy=self._policy(slot),
            ownership=self.ownership(slot) if options.ownership else None,
        )

    def ownership(self, slot: int) -> Ownership:
        """Who owns each point, averaged over a running or finished search; White's view.

        Raises:
            ValueError: the pool keeps no ownership.
            RuntimeError: the slot has searched nothing yet.
        """
        self._need_visits(slot)
        return tree_ownership(self._forest, slot, int(ROOT), self._walk)

    def _need_visits(self, slot: int) -> None:
        if self._forest.nodes[slot, ROOT]["visits"] == 0:
            raise RuntimeError(f"slot {slot} has searched nothing yet")

    def _policy(self, slot: int) -> FloatArray:
        state = self._forest.states[slot]
        policy = self._forest.raw_policies[slot].astype(np.float64)
        length = self._pool.length
        board = policy[:-1].reshape(length, length)[: state["y_size"], : state["x_size"]]
        return np.append(board.ravel(), policy[-1])

    # -- the root --

    def _root(self, slot: int) -> RootReport:
        root = self._forest.nodes[slot, ROOT]
        state = self._forest.states[slot]
        errors = short_term_errors(self._forest, slot, self._pool.scratch, self._pool.context, self._walk)
        return RootReport(
            to_move=int(root["to_move"]),
            values=self._pruned_values(slot),
            visits=int(root["visits"]),
            weight=float(root["weight"]),
            win_loss_error=errors[0],
            score_error=errors[1],
            raw=outlook(Values(*root["own"].tolist()), float(root["own_utility"])),
            raw_win_loss_error=float(root["own_win_loss_error"]),
            raw_score_error=float(root["own_score_error"]),
            raw_variance_time=float(root["own_variance_time"]),
            this_hash=position_hash(state),
            symmetric_hash=symmetric_hash(state),
        )

    def _pruned_values(self, slot: int) -> Outlook:
        """Averages over the children by their play-selection values, LCB off, and the root's own evaluation."""
        root = self._forest.nodes[slot, ROOT]
        if root["num_edges"] > 0:
            count = fill_root_values(self._forest, slot, False, REPORT_SCALE, self._children)
            weights = self._children.values[:count]
            total = float(weights.sum() + root["own_weight"])
            if weights.sum() > 0.0:
                means = weights @ self._children.means[:count] + root["own_weight"] * root["own"]
                utility = weights @ self._children.utilities[:count] + root["own_weight"] * root["own_utility"]
                return outlook(Values(*(means / total).tolist()), float(utility) / total)
        return outlook(Values(*root["mean"].tolist()), float(root["utility"]))

    # -- its moves --

    def _visited_moves(self, slot: int, options: ReportOptions) -> list[MoveReport]:
        forest = self._forest
        nodes, edges = forest.nodes[slot], forest.edges[slot]
        parameters = forest.parameters[slot]
        root = nodes[ROOT]
        if root["num_edges"] == 0:
            return []
        sign = sign_of(root["to_move"])
        count = fill_root_values(forest, slot, None, REPORT_SCALE, self._children)
        set_lower_bounds(self._children, count, sign, parameters)
        moves = []
        edge = int(root["first_edge"])
        for i in range(count):
            child = nodes[edges[edge]["child"]]
            if child["visits"] > 0 and self._children.weights[i] > 0.0:
                moves.append(self._visited_move(slot, i, edge, options))
            edge = int(edges[edge]["next_edge"])
        assert edge == NO_EDGE
        return moves

    def _visited_move(self, slot: int, i: int, edge: int, options: ReportOptions) -> MoveReport:
        """Entry ``i`` of the gathered children, to which the root's ``edge`` leads."""
        table = self._children
        forest = self._forest
        sign = sign_of(forest.nodes[slot, ROOT]["to_move"])
        index = int(forest.edges[slot, edge]["child"])
        child = forest.nodes[slot, index]
        values = outlook(Values(*table.means[i].tolist()), float(table.utilities[i]))
        radius = float(table.radii[i])
        owned = options.moves_ownership and child["status"] != TERMINAL
        return MoveReport(
            point=int(point_of(int(table.positions[i]), self._pool.length)),
            values=values,
            visits=int(child["visits"]),
            edge_visits=int(table.visits[i]),
            weight=float(child["weight"]),
            edge_weight=float(table.weights[i]),
            prior=float(table.priors[i]),
            lcb=values.winrate - sign * radius * self._winrate_per_utility(slot),
            utility_lcb=sign * float(table.lower_bounds[i]),
            play_selection_value=float(table.values[i]),
            symmetry_of=None,
            pv=self._variation(slot, edge, options),
            ownership=tree_ownership(forest, slot, index, self._walk) if owned else None,
        )

    def _winrate_per_utility(self, slot: int) -> float:
        """What a step in utility is in winrate, were all of it won or lost games."""
        parameters = self._forest.parameters[slot]
        return 0.5 * float(parameters["win_loss_utility_factor"]) / float(utility_radius(parameters))

    def _variation(self, slot: int, edge: int, options: ReportOptions) -> Variation:
        line = new_line(options.pv_length, self._forest.nodes.shape[1])
        length = follow_line(self._forest, slot, edge, self._line_children, line)
        points = [int(point_of(position, self._pool.length)) for position in line.positions[:length].tolist()]
        if options.cut_at_phase_end:
            length = self._moves_in_phase(slot, points)
        return Variation(
            points=tuple(points[:length]),
            visits=tuple(line.visits[:length].tolist()),
            edge_visits=tuple(line.edge_visits[:length].tolist()),
        )

    def _moves_in_phase(self, slot: int, points: list[int]) -> int:
        """How many of ``points``, played from the root, leave the game in the root's phase."""
        state, history = self._forest.states[slot].copy(), self._forest.histories[slot].copy()
        phase = state["phase"]
        for count, point in enumerate(points):
            play(state, history, point)
            if state["phase"] != phase:
                return count
        return len(points)

    def _unvisited_moves(self, slot: int, options: ReportOptions, listed: set[int]) -> list[MoveReport]:
        """Moves by prior that bring the ``listed`` ones up to the least number; what the search assumes of them."""
        missing = options.min_moves - len(listed)
        if missing <= 0:
            return []
        length = self._pool.length
        left_out = {position_of(point, length) for point in listed | options.unlisted}
        priors = self._forest.priors[slot, ROOT]
        best_first = np.argsort(-priors, kind="stable").tolist()
        positions = [position for position in best_first if priors[position] >= 0.0 and position not in left_out]
        values = self._assumed(slot)
        return [self._unvisited_move(slot, position, values) for position in positions[:missing]]

    def _assumed(self, slot: int) -> Outlook:
        """What the search takes a move without visits for; its score and chance of no result are the root's."""
        root = self._forest.nodes[slot, ROOT]
        edges = self._forest.edges[slot]
        parameters = self._forest.parameters[slot]
        sign = sign_of(root["to_move"])
        visited_prior = 0.0
        edge = int(root["first_edge"])
        while edge != NO_EDGE:
            visited_prior += max(0.0, float(edges[edge]["prior"]))
            edge = int(edges[edge]["next_edge"])
        utility = first_play_urgency(root["utility"], root["own_utility"], visited_prior, sign, True, parameters)
        mean = Values(*root["mean"].tolist())
        win_loss = min(max(mean.win_loss + utility - float(root["utility"]), -1.0), 1.0)
        return outlook(mean._replace(win_loss=win_loss), float(utility))

    def _unvisited_move(self, slot: int, position: int, values: Outlook) -> MoveReport:
        parameters = self._forest.parameters[slot]
        sign = sign_of(self._forest.nodes[slot, ROOT]["to_move"])
        radius = 2.0 * float(utility_radius(parameters)) * float(parameters["lcb_stdevs"])
        point = int(point_of(position, self._pool.length))
        return MoveReport(
            point=point,
            values=values,
            visits=0,
            edge_visits=0,
            weight=0.0,
            edge_weight=0.0,
            prior=float(self._forest.priors[slot, ROOT, position]),
            lcb=values.winrate - sign * radius * self._winrate_per_utility(slot),
            utility_lcb=-sign * radius,
            play_selection_value=0.0,
            symmetry_of=None,
            pv=Variation((point,), (0,), (0,)),
            ownership=None,
        )


def outlook(mean: Values[float], utility: float) -> Outlook:
    """Averages as a report gives them."""
    return Outlook(
        utility=utility,
        winrate=0.5 * (1.0 + mean.win_loss),
        no_result=mean.no_result,
        score_lead=mean.lead,
        score_selfplay=mean.score_mean,
        score_stdev=float(score_stdev(mean.score_mean, mean.score_mean_sq)),
    )


def with_mirror_images(moves: list[MoveReport], options: ReportOptions, x_size: int, y_size: int) -> list[MoveReport]:
    """``moves``, each followed by its images under the symmetries of the options that are not listed themselves."""
    done = set(options.unlisted)
    done.update(move.point for move in moves)
    result = []
    for move in moves:
        result.append(move)
        for symmetry in options.symmetries:
            to = symmetric_points(symmetry, x_size, y_size)
            image = int(to[move.point])
            if image not in done:
                done.add(image)
                result.append(_mirror_image(move, image, to, symmetry))
    return result


def _mirror_image(move: MoveReport, image: int, to: npt.NDArray[np.int16], symmetry: int) -> MoveReport:
    """What ``move`` says of its image under ``symmetry``, which takes point p to ``to[p]``."""
    owned = move.ownership
    if owned is not None:
        owned = Ownership(mean=turned(owned.mean, symmetry), stdev=turned(owned.stdev, symmetry))
    pv = dataclasses.replace(move.pv, points=tuple(to[list(move.pv.points)].tolist()))
    return dataclasses.replace(move, point=image, symmetry_of=move.point, pv=pv, ownership=owned)
