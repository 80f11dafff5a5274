"""What the two games of a pair begin with: board, rules and komi, and perhaps stones and moves of a record.

An opening follows from the number of the pair alone, whoever plays it and wherever. Moves that are drawn from a
network's policy are added by `client.matches.playing`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from client.games.komi import base_komi, komi_draws
from client.games.setup import draw_board, draw_rules
from common import sgf
from common.game_record import moves_of, start_of
from common.go.game import Game
from common.go.rules import Rules
from common.go.start import GameStart
from common.parameters import GameInitParameters, MatchConfig

SUFFIXES: Final = (".sgf", ".sgfs")


class OpeningError(ValueError):
    """A file of openings that cannot be used; the text names it."""


@dataclass(frozen=True)
class Given:
    """What the command line says of every game; None: as the configuration or the record has it."""

    size: tuple[int, int] | None = None
    rules: Rules | None = None
    komi: float | None = None

    def put_over(self, start: GameStart) -> GameStart:
        """The same beginning under these rules; ValueError if it is not possible on such a board."""
        if self.size is not None:
            start = replace(start, x_size=self.size[0], y_size=self.size[1])
        rules = start.rules if self.rules is None else self.rules.with_komi(start.rules.komi)
        return start.under(rules if self.komi is None else rules.with_komi(self.komi))


@dataclass(frozen=True)
class Openings:
    """How the pairs of a match begin.

    Args:
        config: boards, rules and komi to draw from where there are no records.
        given: put over all of it.
        records: beginnings from files, taken in turn.
        seed: of the draws.
    """

    config: MatchConfig
    given: Given
    records: tuple[GameStart, ...]
    seed: int

    def start_of(self, pair: int) -> GameStart:
        """The opening of a pair."""
        if self.records:
            return self.records[pair % len(self.records)]
        random = np.random.default_rng([self.seed, pair])
        return self.given.put_over(_drawn(self.config.init, random))


def _drawn(init: GameInitParameters, random: np.random.Generator) -> GameStart:
    """The empty board of a game that is drawn, with a komi around the text's own."""
    x_size, y_size = draw_board(init, random)
    rules = draw_rules(init, random)
    komi = komi_draws(init, base_komi(init), x_size * y_size, random).draw(random)
    return GameStart(x_size, y_size, rules.with_komi(komi))


@dataclass(frozen=True)
class ReadOpenings:
    """What files of openings hold."""

    starts: tuple[GameStart, ...]
    guesses: tuple[str, ...]
    """What the records do not say as it should be, and was taken instead; a sentence each, the commonest first."""


def read_openings(path: Path, most_moves: int | None, given: Given) -> ReadOpenings:
    """The openings in a file of SGF, or in all such files of a folder, in order of their names.

    Args:
        path: ``.sgf`` or ``.sgfs`` (several games), or a folder.
        most_moves: how many moves of each are taken; None: all.
        given: put over what the records say.

    Raises:
        OpeningError: nothing there, or a record that cannot be played.
        OSError: it cannot be read.
    """
    openings = []
    guesses: Counter[str] = Counter()
    settled = tuple(name for name, value in (("RU", given.rules), ("KM", given.komi)) if value is not None)
    for file in _files(path):
        try:
            for record in sgf.read_all(file.read_bytes()):
                guesses.update(warning for warning in record.warnings if not warning.startswith(settled))
                start = given.put_over(start_of(record))
                start = start.followed_by(moves_of(record)[:most_moves])
                if Game(start).finished:
                    raise ValueError("the game is over when the opening is")
                openings.append(start)
        except ValueError as error:
            raise OpeningError(f"{file}: {error}") from None
    if not openings:
        raise OpeningError(f"{path} holds no game in SGF")
    told = tuple(f"{count} of {len(openings)} games: {warning}" for warning, count in guesses.most_common())
    return ReadOpenings(tuple(openings), told)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
