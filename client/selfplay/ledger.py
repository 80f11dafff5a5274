"""The folder of a run of self-play: games by the net they were played by, and what was played, to go on from it.

``NET/sgfs``, ``NET/tdata`` and ``NET/selfplay-….cfg`` are for everybody (training-data.md 6). ``runs/SEED`` is the
run's own: ``run.json`` says what is played, each line of ``games.jsonl`` which games were written and where the files
of a net ended after them, with the games that are to go on from these. A game counts once its line is whole; what a
killed program wrote after that is cut off, and the game is played again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from client.games.folder import NOWHERE, FolderError, GameFolder, Place
from client.games.orders import FinishedGame
from client.games.starts import Fork
from common.differences import differences
from common.files import has_content, lock, named, write_whole
from common.parameter_classes import RowFileParameters
from common.text_files import read_json_object

RUNS: Final = "runs"
_DESCRIPTION: Final = "run.json"
_GAMES: Final = "games.jsonl"
_LOCK: Final = "lock"
_NAME_DIGITS: Final = 16


class RunError(ValueError):
    """The folder holds something else, or is damaged; the text says what and what to do."""


@dataclass(frozen=True)
class PlayedGame:
    """A game that is on disk."""

    seed: int
    rows: int
    forks: tuple[Fork, ...] = ()
    seki_forks: tuple[Fork, ...] = ()


@dataclass(frozen=True)
class _Saved:
    """A line of the ledger."""

    net: str
    place: Place  # of that net's files after these games
    games: tuple[PlayedGame, ...]


_LINE: Final = TypeAdapter(_Saved)


@dataclass(frozen=True, kw_only=True)
class RunFiles:
    """How a run is written."""

    seed: int
    text: str  # that is played, for people
    files: RowFileParameters
    version: int  # data format of rows


class Run:
    """The finished games of one seed in a folder; nobody else writes to them.

    Args:
        output: the folder; other runs may write there, too.
        description: what is played; equal, or the run there is another one.
        how: how it is written.

    Raises:
        RunError: another run of this seed is there, or its ledger is damaged.
        OSError: the folder cannot be read or written.
    """

    def __init__(self, output: Path, description: Mapping[str, Any], how: RunFiles) -> None:
        self._output, self._how = output, how
        self._own = own_folder(output, how.seed)
        self._agree(json.loads(json.dumps(description)))
        self.played: dict[int, PlayedGame] = {}  # by seed, those of before
        self._bytes = 0  # of the ledger
        self._places: dict[str, Place] = {}
        for saved, end in self._read():
            self._bytes = end
            self._places[saved.net] = saved.place
            self.played |= {game.seed: game for game in saved.games}
        try:
            self._folders = {net: self._folder(net) for net in self._places}
        except FolderError as error:
            raise RunError(str(error)) from None
        self._unsaved: dict[str, list[PlayedGame]] = {}

    @property
    def unsaved(self) -> int:
        """Games that were taken and are not on disk."""
        return sum(map(len, self._unsaved.values()))

    def add(self, game: FinishedGame) -> None:
        """Take a game; it counts after the next `save`."""
        net = game.last_network.name
        self._unsaved.setdefault(net, [])
        if net not in self._folders:
            self._folders[net] = self._folder(net)
        self._folders[net].add(game)
        rows = game.rows.count if game.rows is not None else 0
        self._unsaved[net].append(PlayedGame(game.order.seed, rows, game.forks, game.seki_forks))

    def save(self) -> None:
        """Write all that was taken; `OSError` if that cannot be, and then it can be tried again."""
        for net in list(self._unsaved):
            if self._places.get(net) is None:
                write_whole(self._text_path(net), self._how.text.encode())
                self._append(_Saved(net, NOWHERE, ()))
            place = self._folders[net].save()
            self._append(_Saved(net, place, tuple(self._unsaved[net])))
            del self._unsaved[net]

    def _folder(self, net: str) -> GameFolder:
        how = self._how
        place = self._places.get(net, NOWHERE)
        return GameFolder(self._output / net, how.seed, net, how.files, how.version, place)

    def _text_path(self, net: str) -> Path:
        folder = self._output / net
        folder.mkdir(exist_ok=True)
        name = hashlib.sha256(self._how.text.encode()).hexdigest()[:_NAME_DIGITS].upper()
        return folder / f"selfplay-{name}.cfg"

    def _agree(self, description: dict[str, Any]) -> None:
        """Say in the folder what is played, or compare; where no game was written yet, anything may begin."""
        path = self._own / _DESCRIPTION
        has_games = has_content(self._own / _GAMES)
        if has_games and not path.exists():
            raise RunError(f"{self._own} has games but no {_DESCRIPTION}: name another --output or --seed")
        if not has_games:
            write_whole(path, json.dumps(description, indent=1).encode() + b"\n")
            return
        told = differences(read_json_object(path), description)
        if told:
            raise RunError(
                f"{self._output} holds games of seed {self._how.seed} that were played otherwise ({told}):"
                " name another --seed or --output"
            )

    def _read(self) -> Iterator[tuple[_Saved, int]]:
        """Whole lines in order, each with the size of the ledger after it."""
        path = self._own / _GAMES
        end = 0
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True) if path.exists() else [], start=1):
            if not line.endswith(b"\n"):
                return
            end += len(line)
            try:
                yield _LINE.validate_json(line), end
            except ValidationError:
                raise RunError(f"{path}, line {number}, is damaged: name another --output or --seed") from None

    def _append(self, saved: _Saved) -> None:
        data = _LINE.dump_json(saved) + b"\n"
        path = self._own / _GAMES
        with named(path), path.open("r+b" if path.exists() else "wb") as file:
            file.truncate(self._bytes)  # what a killed process has left
            file.seek(self._bytes)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._bytes += len(data)
        self._places[saved.net] = saved.place


def own_folder(output: Path, seed: int) -> Path:
    """What belongs to the run of a seed alone; it is made.

    Raises:
        OSError: it cannot be, with what to do.
    """
    own = output / RUNS / str(seed)
    try:
        own.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"{output} cannot be written: {error.strerror or error}; name another folder by --output"
        ) from None
    return own


def lock_run(output: Path, seed: int) -> Any:
    """The lock of a run (`common.files.lock`)."""
    return lock(own_folder(output, seed) / _LOCK)
