"""A folder of finished games: ``sgfs/*.sgfs`` (one game a line) and ``tdata/*.npz``, as KataGo's programs read them.

File names follow from a seed, so the same run writes the same folder. Specification: training-data.md 6.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from client.games.orders import FinishedGame
from common.parameter_classes import RowFileParameters
from common.rows import DATA_FORMAT_VERSION, Rows, write_npz

ROW_FILES: Final = RowFileParameters()
"""What holds where nobody says otherwise."""
_NAME_BYTES: Final = 8
_SAVE_EVERY_S: Final = 2.0
_SHARE: Final = 20.0
"""Between two writings of a growing file lie this many times as many seconds as one took."""


class GameFolder:
    """Takes games and writes them: records at once, rows soon and in files of so many; nothing half-written.

    Args:
        directory: made if it does not exist, with ``sgfs`` and, once there are rows, ``tdata``.
        seed: names of the files, and the rows of the first one.
        files: how many rows a file holds; a game's may lie in two.
        version: data format of the rows, of `common.rows.DATA_FORMAT_VERSIONS`.
        clock: seconds; tests give their own.

    Raises:
        FileExistsError: a file of this seed is there already.
    """

    def __init__(
        self,
        directory: Path,
        seed: int,
        files: RowFileParameters = ROW_FILES,
        version: int = DATA_FORMAT_VERSION,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._directory = directory
        self._version = version
        self._rows_per_file = files.max_rows_per_train_file
        share = np.random.default_rng([seed, 0xF11E]).uniform(files.first_file_rand_min_prop, 1.0)
        self._most = max(1, int(share * self._rows_per_file))  # of the present file
        self._names = np.random.default_rng([seed, 0x5EED])
        self._clock = clock
        self._rows: list[Rows] = []
        self._count = 0
        self._saved = 0  # of `_count`
        self._rows_path: Path | None = None
        self._save_after = -math.inf
        self._sgf_path = self._new_path("sgfs", ".sgfs")
        self._sgf_bytes = 0
        self._lines: list[str] = []  # not yet written

    def add(self, game: FinishedGame) -> None:
        """Take a game; its record is on disk when this returns, its rows are unless others were written just now."""
        self._lines.append(game.sgf)
        if game.rows is not None:
            self._rows.append(game.rows)
            self._count += game.rows.count
        self._write_lines()
        while self._count >= self._most:
            self._end_file()
        if self._clock() >= self._save_after:
            self._write_rows()

    def flush(self) -> None:
        """Write everything that was taken; to be called at the end, also after an interrupted `add`."""
        self._write_lines()
        self._write_rows()

    def _write_rows(self) -> None:
        """The rows of the present file, which grows so until it is full; how long it took says when it is due again."""
        if self._saved == self._count:
            return
        self._rows_path = self._rows_path or self._new_path("tdata", ".npz")
        start = self._clock()
        write_npz(Rows.concatenate(self._rows), self._rows_path, self._version)
        self._saved = self._count
        now = self._clock()
        self._save_after = now + max(_SAVE_EVERY_S, _SHARE * (now - start))

    def _end_file(self) -> None:
        """Fill the present file; what is too much for it goes into the next one."""
        rows = Rows.concatenate(self._rows)
        rest = rows.take(slice(self._most, None))
        self._rows, self._count = [rows.take(slice(self._most))], self._most
        self._write_rows()
        self._rows, self._count, self._saved, self._rows_path = [rest], rest.count, 0, None
        self._most = self._rows_per_file

    def _write_lines(self) -> None:
        if not self._lines:
            return
        data = "".join(f"{line}\n" for line in self._lines).encode("utf-8")
        with self._sgf_path.open("r+b" if self._sgf_bytes else "wb") as file:
            file.truncate(self._sgf_bytes)  # what an interrupted call has left
            file.seek(self._sgf_bytes)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._lines, self._sgf_bytes = [], self._sgf_bytes + len(data)

    def _new_path(self, folder: str, suffix: str) -> Path:
        place = self._directory / folder
        place.mkdir(parents=True, exist_ok=True)
        path = place / (self._names.bytes(_NAME_BYTES).hex().upper() + suffix)
        if path.exists():
            raise FileExistsError(
                f"{path} exists: games of this seed are there already; take another --seed or --output"
            )
        return path
