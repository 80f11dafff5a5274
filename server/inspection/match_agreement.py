"""Whether a match game is like what its two networks would have played: pure functions over records and networks.

A match game has no rows, only moves and what the search of each turn found. Two things hold for whoever searched with
the networks, on any device and at any precision: the moves are likelier by the network of whose turn it is than by
chance, and the values lie near what it says of the position. A game that we play ourselves by the same networks and
text tells how far networks that are hardly trained hold to that. How the bounds were measured: docs/trust-audit.md.
Knows nothing of games, jobs or the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from common.game_record import moves_of, start_of
from common.go.points import PASS, WHITE, x_of, y_of
from common.replay import replay
from common.rows import Rows
from common.sgf_record import GameRecord
from nets.evaluation.batch import Evaluator
from server.inspection.agreement import ask

LEAST_PREFERENCE: Final = 0.0
"""Nats by which the network prefers the moves, on average, to moves by chance …"""
PREFERENCE_MARGIN: Final = 1.0
"""… or so much less than those of a game that we played, where networks know too little to prefer any."""
MOST_GAP: Final = 0.6
"""Mean distance of the searches' win - loss from the networks' …"""
GAP_MARGIN: Final = 0.4
"""… or so much more than in a game that we played, where networks err wildly and searches mend that."""
MOST_DRIFT: Final = 0.4
"""Mean distance of a game's values from those of the game played again, while both have the same moves."""
_LEAST: Final = 1e-9


class MatchView(NamedTuple):
    """What networks say of a game's moves."""

    moves: int
    """That were looked at."""
    preference: float
    gap: float

    def holds(self, own: MatchView | None) -> bool:
        """Whether the networks may have played so, by what they say of a game of ``own`` by the same networks and text.

        Nothing was looked at where neither network knows anything.
        """
        least, most = LEAST_PREFERENCE, MOST_GAP
        if own is not None and own.moves > 0:
            least = min(least, own.preference - PREFERENCE_MARGIN)
            most = max(most, own.gap + GAP_MARGIN)
        return self.moves == 0 or (self.preference >= least and self.gap <= most)


def searched_turns(record: GameRecord) -> npt.NDArray[np.intp]:
    """The turns of which the record tells a search."""
    return np.array([turn for turn, move in enumerate(record.moves) if move.values is not None], np.intp)


def match_view(
    record: GameRecord, evaluators: Mapping[int, Evaluator], turns: npt.NDArray[np.intp], length: int
) -> MatchView:
    """What the networks say of the moves at some searched turns; ``evaluators`` are by colour, if they know anything.

    The game has passed its audit, so its record can be played.
    """
    moves = moves_of(record)
    turns = np.array([turn for turn in turns if moves[turn][0] in evaluators], np.intp)
    colours, points = [colour for colour, _ in moves], [point for _, point in moves]
    game = replay(start_of(record), colours, points, length=length, encoded_turns=turns, legal_turns=turns)
    preferences, gaps = [], []
    for colour, evaluator in evaluators.items():
        of_colour = np.flatnonzero(np.array([colours[turn] for turn in turns]) == colour)
        if len(of_colour) == 0:
            continue
        rows = Rows.zeros(len(of_colour), length)
        rows.packed_planes[:] = game.packed_planes[of_colour]
        rows.global_inputs[:] = game.global_inputs[of_colour]
        legal = game.legal[turns[of_colour]]
        view = ask(evaluator, rows, legal)
        policy, sign = view.policy.mean(axis=1), 1.0 if colour == WHITE else -1.0
        for place, turn in enumerate(turns[of_colour]):
            values = record.moves[turn].values
            assert values is not None
            chance = policy[place, _position(points[turn], length)] * (legal[place] == 1).sum()
            preferences.append(np.log(max(chance, _LEAST)))
            gaps.append(abs(values.win_loss - sign * view.win_loss[place].mean()))
    if not gaps:
        return MatchView(0, 0.0, 0.0)
    return MatchView(len(gaps), float(np.mean(preferences)), float(np.mean(gaps)))


def _position(point: int, length: int) -> int:
    return length * length if point == PASS else y_of(point) * length + x_of(point)


class Drift(NamedTuple):
    """How a game's values go with those of the game played again, up to the first move in which they differ."""

    turns: int
    """Searched turns that both have, the first different one included."""
    distance: float
    """Mean distance of win - loss."""

    @property
    def holds(self) -> bool:
        """Whether rounding may have made the difference."""
        return self.turns == 0 or self.distance <= MOST_DRIFT


def drift(stored: GameRecord, played: GameRecord) -> Drift:
    """Compare the values of two records while their moves are the same."""
    distances = []
    for one, other in zip(stored.moves, played.moves, strict=False):
        if one.colour != other.colour:
            break
        if one.values is not None and other.values is not None:
            distances.append(abs(one.values.win_loss - other.values.win_loss))
        if one.at != other.at:
            break
    return Drift(len(distances), float(np.mean(distances)) if distances else 0.0)
