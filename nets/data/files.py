"""Files of rows: found in folders, counted, told apart, read. Our own, and those of KataGo's self-play and shuffler.

Knows files and what their names and places mean (training-data.md 1 and 6); nothing of passes and batches
(``nets/data/passes.py``).
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from common import json_text
from common.npz import RowsError, rows_in_file
from common.rows import GLOBAL_TARGETS_MEMBER, SHARD_LIMITS, Rows, read_npz

_log = logging.getLogger(__name__)

_RANDOM_PLAY: Final = ("random", "tdata")
"""Folders that, one in the other, mark rows of random play (training-data.md 6)."""
_TRAIN: Final = "train"
_VALIDATION: Final = "val"
_SHUFFLED: Final = "train.json"
"""Folders of a shuffler's output, and the file that it writes last (training-data.md 6)."""
_NAME_DIGITS: Final = 13
"""Digits of a name's hash that decide whether a file is for validation (training-data.md 6)."""


_CHANGED: Final = "changed"
_GONE: Final = "gone"
"""Reasons of `UnusableFile`, beside those of ``read_npz``."""


class UnusableFile(RowsError):
    """A file of rows that is damaged, of another kind, or gone."""

    def __init__(self, reason: str, path: str, text: str) -> None:
        super().__init__(reason, f"{path}: {text}")
        self.path, self.text = path, text

    def __reduce__(self) -> tuple[type[UnusableFile], tuple[str, str, str]]:
        """So that it can be told to another process."""
        return type(self), (self.reason, self.path, self.text)


@dataclass(frozen=True)
class DataFile:
    """One file of rows."""

    path: str
    rows: int
    modified: float
    """Seconds; the age of data is the file's modification time."""
    shuffled: bool = False
    """Whether a shuffler wrote it, which has applied the window already."""

    @property
    def is_random_play(self) -> bool:
        """Whether its games were played before there was a net."""
        folders = Path(self.path).parts[:-1]
        return _RANDOM_PLAY in pairwise(folders)


class DataFolder:
    """The row files below some folders; looks again when asked, and opens only what is new.

    A file that cannot be read is left out, with one warning in the log. Of the outputs of KataGo's shuffler, which lie
    beside each other and repeat most rows, the newest complete one counts. What it keeps for validation, and of other
    files ``validation_share``, is not trained on (training-data.md 6). Paths are resolved, so nothing counts twice.
    """

    def __init__(self, folders: Sequence[str | Path], *, validation_share: float = 0.0) -> None:
        self.folders = [Path(folder).resolve() for folder in folders]
        self.validation: list[DataFile] = []
        """Files for validation when last looked at, oldest first."""
        self.run_rows = 0
        """Rows to train on when last looked at; of shuffled ones, all that the shuffler chose from."""
        self.validation_share = validation_share
        self._known: dict[str, DataFile] = {}
        self.refused: dict[str, str] = {}
        """Path -> reason, of files that could not be read when last looked at."""

    def scan(self) -> list[DataFile]:
        """All readable files to train on, oldest first.

        Raises ``FileNotFoundError`` for a missing folder, ``ValueError`` for one whose files repeat each other.
        """
        found: dict[str, DataFile] = {}
        kept: set[str] = set()
        chosen_from: dict[Path, int] = {}
        for folder in self.folders:
            if folder.is_file():
                raise NotADirectoryError(f"{folder} is a file; give the folder that it lies in")
            if not folder.is_dir():
                raise FileNotFoundError(f"the data folder {folder} does not exist")
            source = _source_of(folder)
            if source.shuffle is not None:
                chosen_from[source.shuffle] = source.run_rows
            for path in source.searched.rglob("*.npz"):
                with suppress(FileNotFoundError):  # a file may go while we look
                    self._look(path, found, shuffled=source.shuffle is not None)
                if _is_for_validation(path, self.validation_share, shuffled=source.shuffle is not None):
                    kept.add(str(path))
        self._known = found
        self.refused = {path: reason for path, reason in self.refused.items() if path in found}
        usable = [file for file in found.values() if file.rows > 0]
        usable.sort(key=lambda file: (file.modified, file.path))
        self.validation = [file for file in usable if file.path in kept]
        files = [file for file in usable if file.path not in kept]
        shuffled = sum(file.rows for file in files if file.shuffled)
        self.run_rows = sum(file.rows for file in files) - shuffled + max(shuffled, sum(chosen_from.values()))
        return files

    def leave_out(self, error: UnusableFile) -> None:
        """Do without a file whose content turned out to be unusable, until it is written anew; says so in the log."""
        _log.warning("left out: %s", error)
        self._known.pop(error.path, None)  # what has changed or is gone is found out by looking again
        if error.reason not in (_CHANGED, _GONE):
            with suppress(FileNotFoundError):
                self._known[error.path] = DataFile(error.path, 0, os.stat(error.path).st_mtime)
                self.refused[error.path] = error.text

    def _look(self, path: Path, found: dict[str, DataFile], *, shuffled: bool) -> None:
        modified = path.stat().st_mtime
        known = self._known.get(str(path))
        if known is not None and known.modified == modified:
            found[str(path)] = replace(known, shuffled=shuffled)  # a shuffle may have been completed since
            return
        try:
            rows = rows_in_file(path, GLOBAL_TARGETS_MEMBER)
            if rows > SHARD_LIMITS.max_rows:  # room is made for what a file declares before it is read
                raise RowsError("too_big", f"it declares {rows} rows; at most {SHARD_LIMITS.max_rows} are read")
            found[str(path)] = DataFile(str(path), rows, modified, shuffled)
        except FileNotFoundError:
            raise
        except (RowsError, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            if str(path) not in self.refused:
                _log.warning("left out: %s: %s", path, reason)
            self.refused[str(path)] = reason
            found[str(path)] = DataFile(str(path), 0, modified)
        else:
            self.refused.pop(str(path), None)


@dataclass(frozen=True)
class _Source:
    """Where to search for the files of a folder that was asked for."""

    searched: Path
    shuffle: Path | None = None
    """The output of a shuffler that it belongs to."""
    run_rows: int = 0
    """Rows that the shuffler chose from."""


def _source_of(folder: Path) -> _Source:
    """Of the outputs of a shuffler in ``folder``, whose names are dates, the newest complete one; else the folder.

    ``ValueError`` where they lie deeper, which would be beside the rows that they repeat.
    """
    newest = max((path.parent for path in folder.glob(f"*/{_SHUFFLED}")), default=None)
    if newest is not None:
        return _Source(newest, newest, _rows_chosen_from(newest))
    for shuffle in (folder, folder.parent) if folder.name in (_TRAIN, _VALIDATION) else (folder,):
        if (shuffle / _SHUFFLED).is_file():
            return _Source(folder, shuffle, _rows_chosen_from(shuffle))
    deeper = next(folder.glob(f"*/*/{_SHUFFLED}"), None)
    if deeper is not None:
        outputs = deeper.parent.parent
        raise ValueError(f"{folder} holds a shuffler's outputs ({outputs}), which repeat rows; give that folder itself")
    return _Source(folder)


def _rows_chosen_from(shuffle: Path) -> int:
    """Rows of the run when it was shuffled; 0 where its file does not say."""
    try:
        return int(json_text.loads((shuffle / _SHUFFLED).read_text())["range"][1])
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return 0


def _is_for_validation(path: Path, share: float, *, shuffled: bool) -> bool:
    """Whether a shuffler kept the file for validation; of what none has sorted, its name decides."""
    kind, beside = path.parent.name, path.parent.parent
    sorted_by = {_TRAIN: _VALIDATION, _VALIDATION: _TRAIN}
    if shuffled or (kind in sorted_by and (beside / sorted_by[kind]).is_dir()):
        return kind == _VALIDATION
    digits = hashlib.md5(path.name.encode(), usedforsecurity=False).hexdigest()[:_NAME_DIGITS]
    return int(digits, 16) / 16**_NAME_DIGITS >= 1.0 - share


_SHOWN_DAMAGES: Final = 3


def no_rows(folder: DataFolder) -> str:
    """Why there are no rows in a folder that was looked at."""
    text = f"there are no rows in {', '.join(map(str, folder.folders))}"
    if folder.validation:
        text += f" to train on: {len(folder.validation)} files are for validation"
    elif not folder.refused:
        text += "; give folders with .npz files of rows"
    if not folder.refused:
        return text
    damages = [f"{path}: {reason}" for path, reason in sorted(folder.refused.items())]
    more = [f"and {len(damages) - _SHOWN_DAMAGES} more"] if len(damages) > _SHOWN_DAMAGES else []
    return f"{text}; of its files, these cannot be read: {'; '.join(damages[:_SHOWN_DAMAGES] + more)}"


def any_rows(folder: DataFolder) -> Rows:
    """The rows of the oldest file that can be read. ``LookupError`` says why there are none."""
    for file in folder.scan():
        try:
            return read_file(file)
        except UnusableFile as error:
            folder.leave_out(error)
    raise LookupError(no_rows(folder))


def newest_rows(folder: DataFolder, count: int, length: int | None = None) -> Rows:
    """At most ``count`` rows of the newest files, newest file first, all for one edge: ``length``, or the newest's.

    Files that cannot be read are left out, and those for validation, unless there are no others. ``LookupError`` says
    why there are no rows.
    """
    parts = _newest_files(folder, folder.scan() or folder.validation, count, length)
    if not parts:
        raise LookupError(no_rows(folder))
    return Rows.concatenate(parts).take(slice(0, count))


def validation_rows(folder: DataFolder, count: int, length: int) -> Rows | None:
    """At most ``count`` rows of the newest files for validation, evenly spread over them; None if there are none."""
    trained_on = folder.scan()
    parts = _newest_files(folder, folder.validation, count, length)
    if not parts:
        if folder.validation_share:
            _log.warning(
                "nothing to validate on: of %d files, none is in a shuffler's val or has a name in a share of %g",
                len(trained_on),
                folder.validation_share,
            )
        return None
    rows = Rows.concatenate(parts)
    return rows.take(np.linspace(0, rows.count - 1, min(count, rows.count)).astype(np.intp))


def _newest_files(folder: DataFolder, files: Sequence[DataFile], count: int, length: int | None) -> list[Rows]:
    """The rows of as many of the newest ``files`` as hold ``count``, or of all."""
    parts: list[Rows] = []
    for file in reversed(files):
        if sum(rows.count for rows in parts) >= count:
            break
        try:
            parts.append(read_file(file, length))
            length = parts[-1].length
        except UnusableFile as error:
            folder.leave_out(error)
    return parts


def read_file(file: DataFile, length: int | None = None) -> Rows:
    """All rows of ``file``, for a tensor of edge ``length`` if given. Raises ``UnusableFile``, ``OSError``."""
    try:
        rows = read_npz(file.path, length=length)
    except FileNotFoundError as error:
        raise UnusableFile(_GONE, file.path, "the file is gone") from error
    except RowsError as error:
        raise UnusableFile(error.reason, file.path, str(error)) from error
    if rows.count != file.rows:
        raise UnusableFile(_CHANGED, file.path, f"the file has {rows.count} rows; it had {file.rows} when first seen")
    return rows
