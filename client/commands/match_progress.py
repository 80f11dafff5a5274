"""How a match stands, said now and then, and all there is to say at its end."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final

from client.commands.local import say
from client.matches.ledger import MatchResult
from client.matches.score import Score, SequentialTest
from client.matches.standings import Standings, seen_by_lower
from client.matches.workers import MatchSetup
from common import sgf

REPORT_EVERY_S: Final = 10.0


class Progress(ABC):
    """The games of a match so far."""

    def __init__(self) -> None:
        self._said = time.monotonic()
        self._played: set[int] = set()  # hashes of all different games
        self._repeated = 0

    @property
    def is_decided(self) -> bool:
        """Whether a test has decided the match."""
        return False

    @staticmethod
    def of(setup: MatchSetup, test: SequentialTest | None) -> Progress:
        """Of a match; ValueError if there is no such test of it."""
        if len(setup.names) == 2:
            return _OfTwo(setup, test)
        if test is not None:
            raise ValueError("--sprt is a test of two players")
        return _OfMany(setup)

    @property
    @abstractmethod
    def games(self) -> int:
        """How many are played."""

    def add(self, result: MatchResult) -> None:
        """Count a game."""
        record = sgf.read(result.sgf)
        moves = tuple((move.colour, move.at) for move in record.moves)
        game = hash((record.x_size, record.y_size, record.rules, record.stones, moves))
        self._repeated += game in self._played
        self._played.add(game)
        self._count(result)

    @abstractmethod
    def _count(self, result: MatchResult) -> None:
        """Count it for the score."""

    @abstractmethod
    def _in_short(self) -> str:
        """The score, in one line."""

    @abstractmethod
    def _lines(self) -> list[str]:
        """All there is to say."""

    def report_what_is_there(self, folder: Path) -> None:
        """A line about the games of before, if there are any."""
        if self.games:
            say(f"{folder} has {self.games} games already: {self._in_short()}")

    def report_now_and_then(self) -> None:
        """A line, unless there was one just before."""
        if time.monotonic() - self._said >= REPORT_EVERY_S:
            self._said = time.monotonic()
            say(f"{self.games} games: {self._in_short()}")

    def report(self) -> None:
        """All there is to say."""
        for line in self._lines() if self.games else ():
            say(line)
        if self._repeated:
            say(
                f"{self._repeated} games repeat another one move by move, and the errors above are too small: give"
                " --openings or --policy-moves, or a chosenMoveTemperature"
            )


class _OfTwo(Progress):
    """Two players: their score, and a test."""

    def __init__(self, setup: MatchSetup, test: SequentialTest | None) -> None:
        super().__init__()
        self._names, self._schedule, self._test = setup.names, setup.schedule, test
        self._score, self._as_black = Score(), Score()
        self._seconds = [0.0, 0.0]
        self._moves = 0

    @property
    def games(self) -> int:
        return self._score.games

    @property
    def is_decided(self) -> bool:
        return self._test is not None and self._test.verdict(self._score) is not None

    def _count(self, result: MatchResult) -> None:
        number, points = seen_by_lower(result, self._schedule)
        self._score.add(number, points)
        is_swapped = result.players == (1, 0)
        if result.first_is_black != is_swapped:
            self._as_black.add(number, points)
        self._moves += result.moves
        seconds = result.seconds[::-1] if is_swapped else result.seconds
        self._seconds = [before + now for before, now in zip(self._seconds, seconds, strict=True)]

    def _in_short(self) -> str:
        return self._score.describe()

    def _lines(self) -> list[str]:
        first, second = self._names
        lines = [f"{first} against {second}, {self.games} games: {self._score.describe()}"]
        if self._as_black.games:
            lines.append(f"of these with Black: {self._as_black.describe()}")
        thought = ", ".join(
            f"{name} {seconds / max(self._moves / 2, 1):.3f} s"
            for name, seconds in zip(self._names, self._seconds, strict=True)
        )
        lines.append(f"{self._moves / self.games:.1f} moves a game; time per move: {thought}")
        if self._test is not None:
            lines.append(self._test.describe(self._score))
        return lines


class _OfMany(Progress):
    """More players: a table."""

    def __init__(self, setup: MatchSetup) -> None:
        super().__init__()
        self._standings = Standings(setup.names, setup.schedule)

    @property
    def games(self) -> int:
        return self._standings.games

    def _count(self, result: MatchResult) -> None:
        self._standings.add(result)

    def _in_short(self) -> str:
        return ", ".join(f"{each.name} {each.elo:+.0f} ± {each.error:.0f}" for each in self._standings.table())

    def _lines(self) -> list[str]:
        return self._standings.describe()
