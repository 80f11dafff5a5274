"""Where training rows come from: folders of ``.npz`` files, chosen by the window, shuffled, cut into batches.

Knows files, their order and their row counts, and how a pass over them is planned so that it can be resumed at any
batch. Knows nothing of losses or of the server. Reads our own files and those of KataGo's self-play and shuffler
(training-data.md 1 and 6); window: ``nets/window.py``; augmentation: ``nets/targets.py``. Specification: training.md
6 and 7.

A *pass* goes once over a random choice of the window's files. Its *chunks* are groups of whole files that fit into
memory together; the rows of a chunk are shuffled as one, and the next chunk is read meanwhile. What a batch holds
depends on nothing but the plan, the seed and the batch's place in the pass, so a position is three numbers and no
generator's state.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import queue
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from common.npz import RowsError, rows_in_file
from common.rows import GLOBAL_TARGETS_MEMBER, SHARD_LIMITS, Rows, read_npz, row_bytes
from nets.targets import NUM_SYMMETRIES, RowBatch, draw_history, make_batch
from nets.window import WindowConfig, countable_rows, newest, window_rows

_log = logging.getLogger(__name__)

_RANDOM_PLAY: Final = ("random", "tdata")
"""Folders that, one in the other, mark rows of random play (training-data.md 6)."""
_TRAIN: Final = "train"
_VALIDATION: Final = "val"
_SHUFFLED: Final = "train.json"
"""Folders of a shuffler's output, and the file that it writes last (training-data.md 6)."""
_NAME_DIGITS: Final = 13
"""Digits of a name's hash that decide whether a file is for validation (training-data.md 6)."""
_READERS: Final = min(4, os.cpu_count() or 1)
"""Threads that read the files of a chunk; nearly all of it is inflating, which does not hold Python's lock."""


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
            found[str(path)] = known
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
        return int(json.loads((shuffle / _SHUFFLED).read_text())["range"][1])
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


def in_window(files: Sequence[DataFile], config: WindowConfig) -> list[DataFile]:
    """The newest ``files`` (given oldest first) that the window reaches; of random play at most ``min_rows`` count.

    Shuffled files are all in it.
    """
    raw = [file for file in files if not file.shuffled]
    played = sum(file.rows for file in raw if not file.is_random_play)
    randomly = sum(file.rows for file in raw if file.is_random_play)
    wanted = window_rows(countable_rows(played, randomly, config), config)
    reached = raw[len(raw) - newest([file.rows for file in raw], wanted) :]
    return [*(file for file in files if file.shuffled), *reached]


@dataclass(frozen=True)
class Plan:
    """One pass: its files in the order of use, grouped into chunks. Plain data, kept in checkpoints."""

    number: int
    length: int
    chunks: tuple[tuple[DataFile, ...], ...]

    @property
    def rows(self) -> int:
        """Rows of all its files."""
        return sum(file.rows for chunk in self.chunks for file in chunk)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "number": self.number,
            "length": self.length,
            "chunks": [[asdict(file) for file in chunk] for chunk in self.chunks],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """The inverse of ``to_json``."""
        chunks = tuple(tuple(DataFile(**file) for file in chunk) for chunk in data["chunks"])
        return cls(int(data["number"]), int(data["length"]), chunks)


def make_plan(
    files: Sequence[DataFile],
    *,
    number: int,
    seed: int,
    length: int,
    max_rows: int,
    chunk_bytes: int,
    least_rows: int = 1,
    recent: Sequence[str] = (),
) -> Plan:
    """A pass over randomly chosen ``files`` that hold about ``max_rows`` rows, or over all of them.

    The last file is taken with the probability that makes the expected number of rows right, unless the others hold
    less than ``least_rows``: then it is taken, and more if need be. A chunk takes at most ``chunk_bytes`` of memory,
    unless a single file is larger. ``recent`` are the paths of the last passes, newest last, as far as
    `uses_to_remember`: a third of the files is used before one comes again (training.md 7).
    """
    rng = np.random.default_rng([seed, number, _PLANNING])
    chosen: list[DataFile] = []
    held = 0
    for file in _spaced([files[index] for index in rng.permutation(len(files))], recent):
        if held >= least_rows and rng.random() >= (max_rows - held) / file.rows:
            break
        chosen.append(file)
        held += file.rows
    capacity = max(1, chunk_bytes // row_bytes(length))
    chunks: list[list[DataFile]] = []
    room = 0
    for file in chosen:
        if file.rows > room:
            chunks.append([])
            room = capacity
        chunks[-1].append(file)
        room -= file.rows
    return Plan(number, length, tuple(tuple(chunk) for chunk in chunks))


def uses_to_remember(files: Sequence[DataFile]) -> int:
    """How many other files are used before one comes again."""
    return len(files) // 3


def _spaced(order: Sequence[DataFile], recent: Sequence[str]) -> list[DataFile]:
    """``order`` with what was used lately put off as far as it must."""
    gap = uses_to_remember(order)
    earliest = {path: gap - age for age, path in enumerate(reversed(recent)) if age < gap}
    spaced: list[DataFile] = []
    put_off: list[tuple[int, int]] = []  # a heap of earliest place, and place in the order
    for place, file in enumerate(order):
        while put_off and put_off[0][0] <= len(spaced):
            spaced.append(order[heappop(put_off)[1]])
        if earliest.get(file.path, 0) <= len(spaced):
            spaced.append(file)
        else:
            heappush(put_off, (earliest[file.path], place))
    return spaced + [order[place] for _, place in sorted(put_off)]


_PLANNING: Final = 0
_SHUFFLING: Final = 1
_AUGMENTING: Final = 2
"""Purposes of random draws: each has a stream of its own."""


@dataclass(frozen=True)
class Position:
    """The next batch of a plan."""

    chunk: int = 0
    batch: int = 0


@dataclass(frozen=True)
class Augmentation:
    """What is varied from batch to batch."""

    symmetries: bool = True
    history_dropout: bool = True


class Batches:
    """The batches of one plan from a position on, made in a thread of their own, a few ahead.

    ``batch`` is the joint batch of ``world`` processes, of which this one, ``rank``, gets its share: rows
    ``rank · batch / world`` onwards of the joint batch, all under the same symmetry. What is left over at the end of a
    chunk is dropped.
    """

    AHEAD: Final = 4

    def __init__(
        self,
        plan: Plan,
        *,
        batch: int,
        seed: int,
        position: Position | None = None,
        augmentation: Augmentation | None = None,
        rank: int = 0,
        world: int = 1,
        pin_memory: bool = False,
    ) -> None:
        if batch % world:
            raise ValueError(f"a joint batch of {batch} rows cannot be divided among {world} processes")
        self.plan, self.batch, self.seed = plan, batch, seed
        self.position = position or Position()
        """Of the batch that `next` gives next."""
        self._augmentation = augmentation or Augmentation()
        self._share = slice(rank * batch // world, (rank + 1) * batch // world)
        self._pin = pin_memory
        self._queue: queue.Queue[tuple[Position, RowBatch] | BaseException | None] = queue.Queue(self.AHEAD)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._fill, args=(self.position,), name="batches", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[RowBatch]:
        return self

    def __next__(self) -> RowBatch:
        item = self._queue.get()
        if item is None:
            self._queue.put(None)
            raise StopIteration
        if isinstance(item, BaseException):
            self._queue.put(item)
            raise item
        self.position, batch = item
        return batch

    @property
    def waiting(self) -> bool:
        """Whether the next batch is not ready yet."""
        return self._queue.empty()

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        self._thread.join()

    def _fill(self, start: Position) -> None:
        try:
            with closing(self._make(start)) as made:
                for item in made:
                    if not self._put(item):
                        return
            self._put(None)
        except BaseException as error:  # handed to whoever asks for the next batch
            self._put(error)

    def _put(self, item: tuple[Position, RowBatch] | BaseException | None) -> bool:
        while not self._stop.is_set():
            with suppress(queue.Full):
                self._queue.put(item, timeout=0.1)
                return True
        return False

    def _make(self, start: Position) -> Generator[tuple[Position, RowBatch], None, None]:
        """Batches from ``start`` on, each with the position after it."""
        with closing(read_chunks(self.plan.chunks[start.chunk :], self.plan.length)) as chunks:
            for chunk, rows in enumerate(chunks, start.chunk):
                first = start.batch if chunk == start.chunk else 0
                edge = rows.largest_side()  # of the chunk, so that all processes agree
                order = np.random.default_rng([self.seed, self.plan.number, _SHUFFLING, chunk]).permutation(rows.count)
                for number in range(first, rows.count // self.batch):
                    joint = order[number * self.batch : (number + 1) * self.batch]
                    batch = self._augmented(rows.take(joint[self._share]), edge, chunk, number)
                    yield Position(chunk, number + 1), batch.pin_memory() if self._pin else batch

    def _augmented(self, rows: Rows, edge: int, chunk: int, number: int) -> RowBatch:
        rng = np.random.default_rng([self.seed, self.plan.number, _AUGMENTING, chunk, number])
        symmetry = int(rng.integers(NUM_SYMMETRIES)) if self._augmentation.symmetries else 0
        kept = draw_history(rng, self.batch)[self._share] if self._augmentation.history_dropout else None
        return make_batch(rows, edge=edge, symmetry=symmetry, kept=kept)


_CHANGED: Final = "changed"
_GONE: Final = "gone"
"""Reasons of `UnusableFile`, beside those of ``read_npz``."""


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


def load_chunk(files: Sequence[DataFile], length: int) -> Rows:
    """All rows of ``files``, in order. Raises ``UnusableFile``, ``OSError``."""
    with closing(read_chunks([files], length)) as chunks:
        return next(chunks)


def read_chunks(chunks: Sequence[Sequence[DataFile]], length: int) -> Generator[Rows, None, None]:
    """The rows of one chunk after the other; the next is read while the caller uses the last. Raises as `load_chunk`.

    Two chunks are in memory then, and the files that are being read.
    """
    readers = ThreadPoolExecutor(_READERS, thread_name_prefix="rows")
    try:
        coming = [_begin_reading(files, length, readers) for files in chunks[:1]]
        for following in range(1, len(chunks) + 1):
            rows, parts = coming.pop()
            for part in parts:
                part.result()
            coming = [_begin_reading(files, length, readers) for files in chunks[following : following + 1]]
            yield rows
    finally:
        readers.shutdown(cancel_futures=True)


def _begin_reading(
    files: Sequence[DataFile], length: int, readers: ThreadPoolExecutor
) -> tuple[Rows, list[Future[None]]]:
    """Room for the rows of ``files``, and what fills it."""
    rows = Rows.zeros(sum(file.rows for file in files), length)
    parts, first = [], 0
    for file in files:
        parts.append(readers.submit(_read_into, rows, slice(first, first + file.rows), file))
        first += file.rows
    return rows, parts


def _read_into(rows: Rows, place: slice, file: DataFile) -> None:
    rows.put(place, read_file(file, rows.length))


def usable_batches(plan: Plan, batch: int) -> int:
    """How many batches the plan gives."""
    return sum(sum(file.rows for file in chunk) // batch for chunk in plan.chunks)
