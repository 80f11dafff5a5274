"""Start positions from files of this machine: folders of SGF, and of positions one JSON object a line (selfplay.md 2).

For games that a person plays here: no text that was sent may name files (`common.parameters.REFUSED_KEYS`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from client.games import draws
from client.games.chance import Draw, generator
from common import config_text, sgf, wire
from common.config_text import ConfigError, Entry
from common.game_record import moves_of, start_of
from common.go.game import COLOUR_LETTERS, Game
from common.go.points import to_vertex
from common.go.rules import Ko, Rules
from common.parameter_kinds import number
from common.position_checks import PositionError, check_position
from common.sgf_record import GameRecord
from common.text_files import read_text

FILE_KEYS: Final = (
    "startPosesFromSgfDir",
    "startPosesProb",
    "startPosesLoadProb",
    "startPosesTurnWeightLambda",
    "startPosesSgfExcludes",
    "hintPosesDir",
    "hintPosesProb",
)
POSITION_SUFFIXES: Final = (".hintposes.txt", ".startposes.txt", ".bookposes.txt")
_SGF_SUFFIXES: Final = (".sgf", ".sgfs")
_HISTORY: Final = 5  # moves of a record that come with a position
_ANY_RULES: Final = Rules(ko=Ko.SIMPLE, suicide=True)


@dataclass(frozen=True)
class PositionSource:
    """Positions of one kind of files, and how often a game begins at one."""

    probability: float
    positions: tuple[wire.StartPosition, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class PositionSources:
    """What the files of a configuration give, in the order in which they are asked."""

    sources: tuple[PositionSource, ...]

    @property
    def longest_side(self) -> int:
        """Of the boards of all positions; 0 without any."""
        return max((max(each.x_size, each.y_size) for each in self._positions()), default=0)

    def check(self, length: int) -> None:
        """See that games can begin at all positions within tensors of edge ``length``; else `ConfigError`."""
        try:
            for position in self._positions():
                check_position(position, length)
        except PositionError as error:
            raise ConfigError(f"in the files of startPosesFromSgfDir and hintPosesDir {error}") from None

    def _positions(self) -> Iterator[wire.StartPosition]:
        return (position for source in self.sources for position in source.positions)

    def draw(self, seed: int) -> wire.StartPosition | None:
        """Where the game of ``seed`` begins; None: on the empty board."""
        random = generator(seed, 0, Draw.POSITION)
        for source in self.sources:
            if draws.coin(random, source.probability):
                return source.positions[draws.draw_index(np.array(source.weights), random)]
        return None


def without_files(text: str) -> str:
    """A configuration text without the keys that name files of this machine."""
    return config_text.overlay(text, "", without=FILE_KEYS)


def read_sources(text: str, seed: int) -> PositionSources:
    """The positions in the files that a configuration text names.

    Args:
        text: of the machine's owner.
        seed: of what is drawn in reading.

    Raises:
        ConfigError: a value does not hold, or a position cannot be read; its file and line are named.
        OSError: a folder or file cannot be read.
    """
    entries = config_text.parse(text)
    sources = []
    if "startPosesFromSgfDir" in entries:
        positions = _sampled(entries, np.random.default_rng([seed, 1]))
        decay = _number(entries, "startPosesTurnWeightLambda", -10, 10)
        first = min([0, *(position.initial_turn_number for position in positions)])
        weights = [
            position.weight * math.exp(-decay * (position.initial_turn_number + len(position.move_vertices) - first))
            for position in positions
        ]
        sources.append(_source(_number(entries, "startPosesProb", 0, 1), positions, weights))
    if "hintPosesDir" in entries:
        positions = list(_listed(_folders(entries["hintPosesDir"])))
        weights = [position.weight for position in positions]
        sources.append(_source(_number(entries, "hintPosesProb", 0, 1), positions, weights))
    return PositionSources(tuple(sources))


def _source(probability: float, positions: Sequence[wire.StartPosition], weights: Sequence[float]) -> PositionSource:
    """Positions of which there are none are never drawn, as KataGo has it."""
    return PositionSource(probability if positions else 0.0, tuple(positions), tuple(weights))


def _number(entries: dict[str, Entry], key: str, low: float, high: float) -> float:
    entry = entries.get(key)
    if entry is None:
        raise ConfigError(f"{key} is missing, it must be given beside the folder")
    try:
        return float(number(low, high).read(entry.value))
    except ValueError as problem:
        raise ConfigError(f"{entry.place}: {key}: {problem}") from None


def _folders(entry: Entry) -> list[Path]:
    folders = [Path(part.strip()) for part in entry.value.split(",") if part.strip()]
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{entry.place}: {folder} is no folder")
    return folders


def _files(folders: Iterable[Path], suffixes: Sequence[str]) -> list[Path]:
    return sorted(
        file
        for folder in folders
        for file in folder.rglob("*")
        if file.name.lower().endswith(tuple(suffixes)) and file.is_file()
    )


# -- one position a line --


def _listed(folders: Sequence[Path]) -> Iterator[wire.StartPosition]:
    for file in _files(folders, POSITION_SUFFIXES):
        for line_number, line in enumerate(read_text(file).split("\n"), start=1):
            if line.strip():
                try:
                    yield wire.StartPosition.from_json(line)
                except wire.MessageError as error:
                    raise ConfigError(f"{file}, line {line_number}: {error}") from None


# -- positions of records --


def _sampled(entries: dict[str, Entry], random: np.random.Generator) -> list[wire.StartPosition]:
    """Each position of the main lines of all records once, as far as it is kept by chance."""
    kept = _number(entries, "startPosesLoadProb", 0, 1)
    excluded = _excluded(entries.get("startPosesSgfExcludes"))
    seen: set[tuple[str, str, int]] = set()
    positions = []
    for file in _files(_folders(entries["startPosesFromSgfDir"]), _SGF_SUFFIXES):
        data = file.read_bytes()
        if hashlib.sha256(data).hexdigest()[:32].upper() in excluded:
            continue
        try:
            records = list(sgf.read_all(data)) if file.suffix.lower() == ".sgfs" else [sgf.read(data)]
            for record in records:
                positions += [each for each in _positions_of(record, seen) if draws.coin(random, kept)]
        except ValueError as error:
            raise ConfigError(f"{file}: {error}") from None
    return positions


def _excluded(entry: Entry | None) -> set[str]:
    """First halves of the SHA-256 of files that are not to be read, in upper-case hexadecimal digits."""
    hashes: set[str] = set()
    for name in (entry.value if entry else "").split(","):
        if name.strip():
            lines = read_text(Path(name.strip())).split("\n")
            hashes |= {line.partition("#")[0].strip().upper() for line in lines}
    return hashes - {""}


def _positions_of(record: GameRecord, seen: set[tuple[str, str, int]]) -> Iterator[wire.StartPosition]:
    """The positions of a record that are not in ``seen``, each with the last moves before it; notes them there."""
    game = Game(start_of(record).under(_ANY_RULES))
    moves = moves_of(record)
    boards = ["/".join(game.rows())]
    players = [game.to_move]
    for turn in range(len(moves) + 1):
        if game.finished:
            return
        key = boards[turn], COLOUR_LETTERS[players[turn]], int(game.state["ko_point"])
        if key not in seen and (turn or record.stones):
            seen.add(key)
            first = _begin_of_history(moves, turn, players[turn])
            yield _position(record, boards[first], players[first], moves[first:turn], game.start.first_turn + first)
        if turn < len(moves):
            colour, point = moves[turn]
            game.play(point, colour, tolerant=True)
            boards.append("/".join(game.rows()))
            players.append(game.to_move)


def _begin_of_history(moves: Sequence[tuple[int, int]], turn: int, next_player: int) -> int:
    """The turn from which on at most `_HISTORY` moves lead to ``turn``, the players in turn."""
    first, later = turn, next_player
    while first > max(0, turn - _HISTORY) and moves[first - 1][0] != later:
        first -= 1
        later = moves[first][0]
    return first


def _position(
    record: GameRecord, rows: str, player: int, moves: Sequence[tuple[int, int]], turn: int
) -> wire.StartPosition:
    return wire.StartPosition.from_object(
        {
            "xSize": record.x_size,
            "ySize": record.y_size,
            "board": rows,
            "nextPla": COLOUR_LETTERS[player],
            "moveLocs": [to_vertex(point, record.y_size) for _, point in moves],
            "movePlas": [COLOUR_LETTERS[colour] for colour, _ in moves],
            "initialTurnNumber": turn,
            "hintLoc": "null",
        }
    )
