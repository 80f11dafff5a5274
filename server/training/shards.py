"""Rows of counted games on this host's disk, gathered into shards that the trainer reads.

A shard holds the rows of consecutive counted games, in the order of their numbers, until there are ``shard_rows`` of
them; the rest waits. So the shards follow from the games alone: every trainer host makes the same ones, and a game is
in exactly one. Shards are a cache: deleted, they are made again from the storage.

    <folder>/played/000000000001-000000000093.npz     games 1 to 93 of the run
    <folder>/random/tdata/…                           the same, played before there was a network (as KataGo names it)
    <folder>/done.json                                {"last_number": 93}: written last, so a kill in between is seen
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from common.npz import RowsError
from common.rows import Rows, read_npz, write_npz
from server.games.selectors import RowsFile, rows_after
from server.storage import load

logger = logging.getLogger(__name__)

DONE_FILE: Final = "done.json"
LOCK_FILE: Final = "lock"
_PLAYED: Final = "played"
_RANDOM: Final = "random/tdata"
_FETCH: Final = 500
"""Games asked for at a time."""


@dataclass(frozen=True)
class ShardFolder:
    """The shards of one run in ``folder``."""

    folder: Path
    run_id: int
    length: int
    shard_rows: int

    @property
    def last_number(self) -> int:
        """Number of the last game that is in a shard."""
        try:
            return int(json.loads((self.folder / DONE_FILE).read_text())["last_number"])
        except FileNotFoundError:
            return 0

    def prepare(self) -> None:
        """Make the folders; remove shards that a killed process left unfinished."""
        for kind in (_PLAYED, _RANDOM):
            (self.folder / kind).mkdir(parents=True, exist_ok=True)
        with self._alone():
            done = self.last_number
            for path in [*self.folder.rglob("*.npz"), *self.folder.rglob("*.tmp")]:
                if path.suffix == ".tmp" or int(path.stem.split("-")[0]) > done:
                    path.unlink()

    def update(self, keep_on: Callable[[], bool] = lambda: True) -> int:
        """Write the shards that have become full; returns how many rows were added. ``keep_on`` may end it early."""
        added = 0
        with self._alone():
            for games in self._full_shards(self.last_number):
                added += self._write(games)
                if not keep_on():
                    break
        return added

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for the other trainers of this host, which may train another size on the same rows."""
        with (self.folder / LOCK_FILE).open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _full_shards(self, number: int) -> Iterator[list[RowsFile]]:
        shard: list[RowsFile] = []
        while games := rows_after(self.run_id, number, _FETCH):
            for game in games:
                shard.append(game)
                if sum(member.rows for member in shard) >= self.shard_rows:
                    yield shard
                    shard = []
            number = games[-1].number

    def _write(self, games: Sequence[RowsFile]) -> int:
        first, last = games[0].number, games[-1].number
        written = 0
        for kind, from_random in ((_PLAYED, False), (_RANDOM, True)):
            parts = [rows for game in games if game.from_random is from_random and (rows := self._rows(game))]
            if not parts:
                continue
            path = self.folder / kind / f"{first:012d}-{last:012d}.npz"
            rows = Rows.concatenate(parts)
            write_npz(rows, path)
            os.utime(path, (last, last))  # the reader orders files by time; numbers are the same on every host
            written += rows.count
        temporary = self.folder / f"{DONE_FILE}.tmp"
        temporary.write_text(json.dumps({"last_number": last}))
        temporary.replace(self.folder / DONE_FILE)
        return written

    def _rows(self, game: RowsFile) -> Rows | None:
        try:
            return read_npz(load(game.file), length=self.length)
        except (FileNotFoundError, RowsError) as error:
            # It passed its audit, so the storage lost or damaged it: training goes on without, and a person is told.
            logger.error("the rows of game number %d (%s) cannot be read: %s", game.number, game.file, error)
            return None
