"""A folder of finished games: ``sgfs/*.sgfs`` (one game a line) and ``tdata/*.npz``, as KataGo's programs read them.

File names follow from a seed, so the same run writes the same folder. Specification: training-data.md 6.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import numpy as np

from client.selfplay.orders import FinishedGame
from common.rows import Rows, write_npz

ROWS_PER_FILE: Final = 20_000
_NAME_BYTES: Final = 8


class GameFolder:
    """Collects games and writes them; nothing is left half-written.

    Args:
        directory: made if it does not exist, with ``sgfs`` and, once there are rows, ``tdata``.
        seed: names of the files.

    Raises:
        FileExistsError: a file of this seed is there already.
    """

    def __init__(self, directory: Path, seed: int) -> None:
        self._directory = directory
        self._names = np.random.default_rng([seed, 0x5EED])
        self._rows: list[Rows] = []
        self._count = 0
        self._lines: list[str] = []
        self._sgf_path = self._new_path("sgfs", ".sgfs")

    def add(self, game: FinishedGame) -> None:
        """Take a game; its rows may be written to disk now."""
        self._lines.append(game.sgf)
        if game.rows is not None:
            self._rows.append(game.rows)
            self._count += game.rows.count
        if self._count >= ROWS_PER_FILE:
            self._write_rows()

    def flush(self) -> None:
        """Write everything that was taken."""
        if self._rows:
            self._write_rows()
        if self._lines:
            self._write_lines()

    def _write_rows(self) -> None:
        write_npz(Rows.concatenate(self._rows), self._new_path("tdata", ".npz"))
        self._rows, self._count = [], 0

    def _write_lines(self) -> None:
        temporary = self._sgf_path.with_name(self._sgf_path.name + ".tmp")
        with temporary.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in self._lines)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._sgf_path)

    def _new_path(self, folder: str, suffix: str) -> Path:
        place = self._directory / folder
        place.mkdir(parents=True, exist_ok=True)
        path = place / (self._names.bytes(_NAME_BYTES).hex().upper() + suffix)
        if path.exists():
            raise FileExistsError(
                f"{path} exists: games of this seed are there already; take another --seed or --output"
            )
        return path
