"""The standings of a match of several players: points of each, and strengths in Elo from all games together.

Strengths are those of `common.bradley_terry`, seen from the first player; each two who meet have a draw more than they
have played, so that nobody is infinitely strong. Errors are those of the model, which takes games for independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from client.matches.ledger import MatchResult
from client.matches.schedule import Schedule
from client.matches.score import Score
from common.bradley_terry import NO_PARENT, Pairs, strengths
from common.elo import ELO_PER_LOG_GAMMA

_Z95: Final = 1.959964
_DRAWS_MORE: Final = 1.0


def seen_by_lower(result: MatchResult, schedule: Schedule) -> tuple[int, float]:
    """Number for `Score.add`, where the games of a meeting are a pair, and points of the player of lower index."""
    number = 2 * schedule.game(result.number).unit + (0 if result.first_is_black else 1)
    first, second = result.players
    return number, result.points if first < second else 1.0 - result.points


@dataclass(frozen=True)
class Standing:
    """One player."""

    name: str
    games: int
    points: float
    elo: float  # above the first player
    error: float  # half of the 95 % interval of that, 0 for the first
    moves: float  # its own
    seconds: float  # that it thought


@dataclass
class Standings:
    """The games of a match so far."""

    names: Sequence[str]
    schedule: Schedule
    scores: dict[tuple[int, int], Score] = field(default_factory=dict)  # of the first of each two players, by index
    _moves: dict[int, float] = field(default_factory=dict)
    _seconds: dict[int, float] = field(default_factory=dict)

    @property
    def games(self) -> int:
        """How many are played."""
        return sum(score.games for score in self.scores.values())

    def add(self, result: MatchResult) -> None:
        """Count a game."""
        pair = min(result.players), max(result.players)
        self.scores.setdefault(pair, Score()).add(*seen_by_lower(result, self.schedule))
        for player, seconds in zip(result.players, result.seconds, strict=True):
            self._moves[player] = self._moves.get(player, 0.0) + result.moves / 2
            self._seconds[player] = self._seconds.get(player, 0.0) + seconds

    def table(self) -> list[Standing]:
        """Everybody who meets somebody, the strongest first."""
        taking_part = sorted({player for meeting in self.schedule.meetings for player in meeting[:2]})
        place = {player: index for index, player in enumerate(taking_part)}
        pairs = {(min(meeting[:2]), max(meeting[:2])) for meeting in self.schedule.meetings}
        results = [(place[one], place[other], _DRAWS_MORE / 2, _DRAWS_MORE) for one, other in sorted(pairs)]
        played, points = dict.fromkeys(taking_part, 0), dict.fromkeys(taking_part, 0.0)
        for (one, other), score in self.scores.items():
            gained = score.share * score.games
            results.append((place[one], place[other], gained, score.games))
            for player, its_points in ((one, gained), (other, score.games - gained)):
                played[player] += score.games
                points[player] += its_points
        parents = np.full(len(taking_part), NO_PARENT)
        found = strengths(parents, Pairs.of(results), virtual_draws=0.0)
        standings = [
            Standing(
                name=self.names[player],
                games=played[player],
                points=points[player],
                elo=ELO_PER_LOG_GAMMA * float(found.log_gamma[place[player]]),
                error=_Z95 * ELO_PER_LOG_GAMMA * float(found.error[place[player]]),
                moves=self._moves.get(player, 0.0),
                seconds=self._seconds.get(player, 0.0),
            )
            for player in taking_part
        ]
        return sorted(standings, key=lambda standing: -standing.elo)

    def describe(self) -> list[str]:
        """The table, and how every two have played, as lines."""
        width = max(len(name) for name in self.names)
        lines = [f"{'':{width}}   games   points      %   Elo (95 %)        s per move"]
        for each in self.table():
            share = f"{100 * each.points / each.games:5.1f}" if each.games else "    –"
            thought = f"{each.seconds / max(each.moves, 1.0):.3f}"
            strength = f"{each.elo:+.0f} ± {each.error:.0f}"
            lines.append(
                f"{each.name:{width}} {each.games:7} {each.points:8.1f}  {share}   {strength:16} {thought:>10}"
            )
        for (one, other), score in sorted(self.scores.items()):
            lines.append(f"{self.names[one]} against {self.names[other]}, {score.games} games: {score.describe()}")
        return lines
