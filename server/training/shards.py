"""Rows of counted games on this host's disk, gathered into shards that the trainer reads.

A shard stands for a part of the run's rows, numbered as they were first counted: its games are those whose first row
lies in it. So the shards follow from the games alone, every trainer host makes the same ones, a game is in exactly one,
and none changes its place when others are refused. Games that were refused after they had been counted are taken out
of the shards, and put back when they are restored. Shards are a cache: deleted, they are made again from the storage.

    <folder>/played/000000000000-000000010000.npz     the games whose first rows are 0 to 9,999 of the run
    <folder>/random/tdata/…                           the same, played before there was a network (as KataGo names it)
    <folder>/games/000000000000-000000010000.json     numbers of the games that are in these files
    <folder>/done.json                                up to where shards are made, and the moderations that they
                                                      reflect; written last
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from common.files import lock, write_whole
from common.npz import RowsError
from common.rows import Rows, read_npz, write_npz
from common.wire import MAX_ROWS
from server.games.selectors import RowsFile, moderated_parts, rows_between
from server.runs.models import RunTotals
from server.storage import load

logger = logging.getLogger(__name__)

DONE_FILE: Final = "done.json"
LOCK_FILE: Final = "lock"
_PLAYED: Final = "played"
_RANDOM: Final = "random/tdata"
_GAMES: Final = "games"
_KINDS: Final = (_PLAYED, _RANDOM, _GAMES)


@dataclass(frozen=True)
class _Done:
    """What the shards of a folder reflect."""

    shard_rows: int
    rows: int = 0
    """Rows of the run for which shards have been made; a multiple of ``shard_rows``."""
    moderations: int = 0
    """See `RunTotals.moderations`."""


@dataclass(frozen=True)
class ShardFolder:
    """The shards of one run in ``folder``."""

    folder: Path
    run_id: int
    length: int
    shard_rows: int

    def prepare(self) -> None:
        """Make the folders; remove what a killed process left unfinished, and shards of another size or layout."""
        for kind in _KINDS:
            (self.folder / kind).mkdir(parents=True, exist_ok=True)
        with self._alone():
            self._cleared()

    def update(self, keep_on: Callable[[], bool] = lambda: True) -> int:
        """Write the shards that have become full, and those whose games have been moderated; returns the rows added.

        ``keep_on`` may end it early.
        """
        added = 0
        with self._alone():
            # Another trainer may know another size of shards by now, or not yet: rows of both would count twice.
            done = self._cleared()
            # Read before the games: what is moderated meanwhile is found by the next update.
            totals = RunTotals.objects.get(run=self.run_id)
            if totals.moderations != done.moderations:
                for first in moderated_parts(self.run_id, done.moderations, self.shard_rows):
                    if first < done.rows:
                        added += self._follow_moderation(first)
                    if not keep_on():
                        return added
                done = _Done(self.shard_rows, done.rows, totals.moderations)
                self._note(done)
            while done.rows + self.shard_rows <= totals.last_row:
                games = rows_between(self.run_id, done.rows, done.rows + self.shard_rows)
                added += self._write(done.rows, games)
                done = _Done(self.shard_rows, done.rows + self.shard_rows, done.moderations)
                self._note(done)
                if not keep_on():
                    break
        return added

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for the other trainers of this host, which may train another size on the same rows."""
        with lock(self.folder / LOCK_FILE, patience_s=None):
            yield

    def _cleared(self) -> _Done:
        """What the shards reflect; all other files are gone."""
        try:
            told = json.loads((self.folder / DONE_FILE).read_text())
            done = _Done(**told)
        except (FileNotFoundError, ValueError, TypeError):  # none yet, or of an older version
            done = None
        if done is None or done.shard_rows != self.shard_rows:
            done = _Done(self.shard_rows)
            self._note(done)  # before any file goes: who is killed in between leaves no promise of what is gone
        for path in [path for kind in _KINDS for path in (self.folder / kind).iterdir()]:
            first = path.stem.split("-")[0]
            if not first.isdecimal() or int(first) >= done.rows or path.stem != self._name(int(first)):
                path.unlink()
        return done

    def _note(self, done: _Done) -> None:
        _write_json(self.folder / DONE_FILE, asdict(done))

    def _name(self, first: int) -> str:
        return f"{first:012d}-{first + self.shard_rows:012d}"

    def _follow_moderation(self, first: int) -> int:
        """Write the shard from row ``first`` on again if its games are no longer those that are counted."""
        games = rows_between(self.run_id, first, first + self.shard_rows)
        try:
            held = json.loads((self.folder / _GAMES / f"{self._name(first)}.json").read_text())
        except (FileNotFoundError, ValueError):
            held = None
        return 0 if held == [game.number for game in games] else self._write(first, games)

    def _write(self, first: int, games: Sequence[RowsFile]) -> int:
        """Write the files of one shard; returns how many rows there are in them."""
        written = 0
        for kind, from_random in ((_PLAYED, False), (_RANDOM, True)):
            parts = [rows for game in games if game.from_random is from_random and (rows := self._rows(game))]
            path = self.folder / kind / f"{self._name(first)}.npz"
            if not parts:
                path.unlink(missing_ok=True)
                continue
            rows = Rows.concatenate(parts)
            write_npz(rows, path)
            # The reader orders files by time; the same on every host. A file that was written anew has other rows,
            # which the reader finds out by a time of its own.
            age = first + 1 - rows.count / (self.shard_rows + MAX_ROWS + 1)
            os.utime(path, (age, age))
            written += rows.count
        _write_json(self.folder / _GAMES / f"{self._name(first)}.json", [game.number for game in games])
        return written

    def _rows(self, game: RowsFile) -> Rows | None:
        try:
            return read_npz(load(game.file), length=self.length)
        except (FileNotFoundError, RowsError) as error:
            # It passed its audit, so the storage lost or damaged it: training goes on without, and a person is told.
            logger.error("the rows of game number %d (%s) cannot be read: %s", game.number, game.file, error)
            return None


def _write_json(path: Path, value: object) -> None:
    write_whole(path, json.dumps(value).encode())
