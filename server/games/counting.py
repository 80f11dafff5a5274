"""What one game adds to the counts of its run, contributor, networks, gate and pairing, by the state in which it is.

A change of state subtracts what the game added in the old state and adds what it adds in the new one, so that every
count can be taken back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

from django.db import connection
from django.db.models import F, Model

from server.accounts.models import Contributor
from server.games.models import Game, GameKind, GameState
from server.gates.services import GateChange, gates_change
from server.gates.verdicts import candidate_half_points
from server.networks.models import Network
from server.runs.models import RunTotals

Columns = defaultdict[int, Counter[str]]
"""Changes of columns by the key of their row."""
Pairing = tuple[int, int, int]
"""Run, black network and white network."""
_ADD_PAIRINGS: Final = """
    INSERT INTO games_matchscore (run_id, black_network_id, white_network_id, games, black_half_points)
    SELECT run, black, white, 0, 0 FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS pairing (run, black, white)
    ORDER BY black, white ON CONFLICT (black_network_id, white_network_id) DO NOTHING
"""
_ADD_SCORES: Final = """
    UPDATE games_matchscore AS score
    SET games = score.games + change.games, black_half_points = score.black_half_points + change.points
    FROM unnest(%s::bigint[], %s::bigint[], %s::int[], %s::int[]) AS change (black, white, games, points)
    WHERE score.black_network_id = change.black AND score.white_network_id = change.white
"""


def _columns() -> Columns:
    return defaultdict(Counter)


def _scores() -> defaultdict[Pairing, Counter[str]]:
    return defaultdict(Counter)


@dataclass
class Counts:
    """Changes of counters, to be applied at once."""

    runs: Columns = field(default_factory=_columns)
    contributors: Columns = field(default_factory=_columns)
    networks: Columns = field(default_factory=_columns)
    gates: dict[int, GateChange] = field(default_factory=dict)
    scores: defaultdict[Pairing, Counter[str]] = field(default_factory=_scores)
    """Changes of the columns of `MatchScore`."""

    def add(self, other: Counts) -> None:
        """Add the changes of ``other`` to these."""
        self._combine(other, 1)

    def subtract(self, other: Counts) -> None:
        """Take the changes of ``other`` from these."""
        self._combine(other, -1)

    def _combine(self, other: Counts, sign: int) -> None:
        for mine, theirs in (
            (self.runs, other.runs),
            (self.contributors, other.contributors),
            (self.networks, other.networks),
        ):
            for key, columns in theirs.items():
                for name, change in columns.items():
                    mine[key][name] += sign * change
        for pairing, columns in other.scores.items():
            for name, change in columns.items():
                self.scores[pairing][name] += sign * change
        for key, theirs_at_gate in other.gates.items():
            gate = self.gates.setdefault(key, GateChange())
            gate.pending += sign * theirs_at_gate.pending
            gate.played += sign * theirs_at_gate.played
            gate.half_points += sign * theirs_at_gate.half_points

    def apply(self) -> None:
        """Write the changes, in the order of locks of `server.games.moving`; inside the caller's transaction."""
        scores = {pairing: columns for pairing, columns in self.scores.items() if any(columns.values())}
        for run in {run for run, _, _ in scores}:
            self.runs[run]["match_changes"] += 1
        self.apply_to(RunTotals, self.runs)
        gates_change(self.gates)
        self.apply_to(Contributor, self.contributors)
        self.apply_to(Network, self.networks)
        if scores:
            _apply_scores(scores)

    @staticmethod
    def apply_to(model: type[Model], changes: Columns) -> None:
        """Add the changes to the rows of ``model``, in the order of their keys."""
        for key in sorted(changes):
            added = {name: F(name) + change for name, change in changes[key].items() if change != 0}
            if added:
                model._default_manager.filter(pk=key).update(**added)


def counts_of(game: Game, state: GameState) -> Counts:
    """What ``game`` adds while it is in ``state``. ``game.job.gate`` must be loaded."""
    counts = Counts()
    if state == GameState.REFUSED:
        counts.runs[game.run_id]["refused_games"] += 1
        counts.contributors[game.contributor_id]["refused_games"] += 1
    elif state == GameState.COUNTED:
        training = game.kind == GameKind.TRAINING
        games, rows = "training_games" if training else "match_games", game.num_training_rows
        for columns in (counts.runs[game.run_id], counts.contributors[game.contributor_id]):
            columns[games] += 1
            columns["training_rows"] += rows
        for network, made in _rows_by_network(game).items():
            counts.networks[network][games] += 1
            counts.networks[network]["training_rows"] += made
        if not training and game.is_decisive:
            score = counts.scores[game.run_id, game.black_network_id, game.white_network_id]
            score["games"] += 1
            score["black_half_points"] += candidate_half_points(candidate_is_black=True, winner=game.winner)
    gate = game.job.gate
    if gate is not None:
        counts.gates[gate.pk] = _gate_change(game, gate.candidate_id, state)
    return counts


def _rows_by_network(game: Game) -> dict[int, int]:
    """The networks that played a game, which counts for each of them, with the rows that each made."""
    later = dict(zip_longest(game.later_networks, game.later_rows, fillvalue=0))
    first = game.num_training_rows - sum(later.values())
    return {game.black_network_id: first, game.white_network_id: first} | later


def _apply_scores(scores: Mapping[Pairing, Counter[str]]) -> None:
    """Change the scores of pairings while the totals of their runs are locked, so that no two do so at once."""
    runs, blacks, whites = (list(column) for column in zip(*scores, strict=True))
    games = [columns["games"] for columns in scores.values()]
    points = [columns["black_half_points"] for columns in scores.values()]
    with connection.cursor() as cursor:
        cursor.execute(_ADD_PAIRINGS, [runs, blacks, whites])
        cursor.execute(_ADD_SCORES, [blacks, whites, games, points])


def _gate_change(game: Game, candidate: int, state: GameState) -> GateChange:
    if state == GameState.RECEIVED:
        return GateChange(pending=1)
    if state in (GameState.HELD, GameState.REFUSED) or not game.is_decisive:
        return GateChange()
    is_black = game.black_network_id == candidate
    points = candidate_half_points(candidate_is_black=is_black, winner=game.winner)
    return GateChange(played=1, half_points=points)
