"""A folder of finished games: ``sgfs/*.sgfs`` (one game a line) and ``tdata/*.npz``, as KataGo's programs read them.

Files grow in steps, and whoever keeps where they ended can go on from there: what a killed program wrote beyond that is
cut off. Specification: training-data.md 6.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from client.games.orders import FinishedGame
from common.files import UNFINISHED, named
from common.parameter_classes import RowFileParameters
from common.rows import DATA_FORMAT_VERSION, Rows, read_npz, write_npz

ROW_FILES: Final = RowFileParameters()
"""What holds where nobody says otherwise."""
_NAME_DIGITS: Final = 16
"""Programs that shuffle rows take a name with ``_`` for a temporary file."""


class FolderError(ValueError):
    """Files do not hold what was written; the text says which and what to do."""


@dataclass(frozen=True)
class Place:
    """Where the files of a folder end."""

    record_bytes: int = 0
    """Of the file of records."""
    files: int = 0
    """Full files of rows."""
    rows: int = 0
    """In the file after these."""


NOWHERE: Final = Place()
"""Of a folder without games."""


class GameFolder:
    """Takes games and writes them, in files of so many rows, each of which is whole whenever somebody looks.

    Args:
        directory: made with its first game, with ``sgfs`` and, once there are rows, ``tdata``.
        seed: with ``name``, names of the files, and the rows of the first one.
        name: what tells folders of the same seed apart.
        files: how many rows a file holds; a game's may lie in two.
        version: data format of the rows, of `common.rows.DATA_FORMAT_VERSIONS`.
        place: what `save` gave last, to go on there; what lies beyond is removed.

    Raises:
        FolderError: less is there than ``place`` says.
        OSError: the files cannot be read or written.
    """

    def __init__(
        self,
        directory: Path,
        seed: int,
        name: str = "",
        files: RowFileParameters = ROW_FILES,
        version: int = DATA_FORMAT_VERSION,
        place: Place = NOWHERE,
    ) -> None:
        self._directory = directory
        self._origin = f"{seed}/{name}"
        self._version = version
        self._rows_per_file = files.max_rows_per_train_file
        share = np.random.default_rng([seed, 0xF11E]).uniform(files.first_file_rand_min_prop, 1.0)
        self._first = max(1, int(share * self._rows_per_file))
        self._lines: list[str] = []  # not yet written
        self._record_bytes = place.record_bytes
        self._files = place.files
        self._rows: list[Rows] = []  # of the present file and after it
        self._count = 0
        self._saved = 0  # of `_count`
        self._cut(place)

    def add(self, game: FinishedGame) -> None:
        """Take a game; it is on disk after the next `save`."""
        self._lines.append(game.sgf)
        if game.rows is not None:
            self._rows.append(game.rows)
            self._count += game.rows.count

    def save(self) -> Place:
        """Write all that was taken; after an error, or an interruption, it can be done again."""
        self._write_lines()
        while self._count >= self._most:
            self._end_file()
        if self._saved != self._count:
            self._rows = [Rows.concatenate(self._rows)]
            write_npz(self._rows[0], self._rows_path(self._files), self._version)
            self._saved = self._count
        return Place(self._record_bytes, self._files, self._saved)

    @property
    def _most(self) -> int:
        """Rows of the present file when it is full."""
        return self._rows_per_file if self._files else self._first

    def _end_file(self) -> None:
        """Fill the present file; what is too much for it goes into the next one."""
        rows = Rows.concatenate(self._rows)
        most = self._most
        write_npz(rows.take(slice(most)), self._rows_path(self._files), self._version)
        rest = rows.take(slice(most, None))
        self._rows, self._count, self._saved = [rest], rest.count, 0
        self._files += 1

    def _write_lines(self) -> None:
        if not self._lines:
            return
        data = "".join(f"{line}\n" for line in self._lines).encode("utf-8")
        path = self._path("sgfs", 0, ".sgfs")
        with named(path), path.open("r+b" if self._record_bytes else "wb") as file:
            file.truncate(self._record_bytes)  # what an interrupted call has left
            file.seek(self._record_bytes)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._lines, self._record_bytes = [], self._record_bytes + len(data)

    def _cut(self, place: Place) -> None:
        """Bring the files back to where they ended at ``place``."""
        records = self._path("sgfs", 0, ".sgfs", make=False)
        if (records.stat().st_size if records.exists() else 0) < place.record_bytes:
            raise FolderError(f"{records} is shorter than it was: name another --output")
        if records.exists():
            os.truncate(records, place.record_bytes)
        if place.rows:
            self._take_back(self._rows_path(place.files), place.rows)
        for path in self._beyond(place):
            path.unlink(missing_ok=True)
            path.with_name(path.name + UNFINISHED).unlink(missing_ok=True)

    def _take_back(self, path: Path, count: int) -> None:
        """Go on with the first ``count`` rows of a file that is not full."""
        rows = read_npz(path) if path.exists() else None
        if rows is None or rows.count < count:
            raise FolderError(f"{path} has fewer rows than it had: name another --output")
        self._rows, self._count = [rows.take(slice(count))], count
        self._saved = count if rows.count == count else 0

    def _beyond(self, place: Place) -> Iterator[Path]:
        """The files of rows that were begun after ``place``; that of `Place.rows` itself only if it holds none."""
        number = place.files + (1 if place.rows else 0)
        while (path := self._rows_path(number, make=False)).exists() or number <= place.files + 1:
            yield path
            number += 1

    def _rows_path(self, number: int, *, make: bool = True) -> Path:
        return self._path("tdata", number, ".npz", make=make)

    def _path(self, folder: str, number: int, suffix: str, *, make: bool = True) -> Path:
        place = self._directory / folder
        if make:
            place.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(f"{self._origin}/{folder}/{number}".encode()).hexdigest()[:_NAME_DIGITS].upper()
        return place / (name + suffix)
