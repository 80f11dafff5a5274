"""From files of rows to batches: chosen by the window, shuffled, cut, augmented.

Knows how a pass over files is planned so that it can be resumed at any batch. Knows nothing of losses or of the server.
Files: ``nets/data/files.py``; window: ``nets/data/window.py``; augmentation:
``nets/data/targets.py``. Specification: training.md 6 and 7.

A *pass* goes once over a random choice of the window's files. Its *chunks* are groups of whole files that fit into
memory together; the rows of a chunk are shuffled as one, and the next chunk is read meanwhile. What a batch holds
depends on nothing but the plan, the seed and the batch's place in the pass, so a position is three numbers and no
generator's state.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from heapq import heappop, heappush
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from common.go.symmetry import NUM_SYMMETRIES
from common.rows import Rows, row_bytes
from nets.data.files import DataFile, read_file
from nets.data.targets import RowBatch, draw_history, make_batch
from nets.data.window import WindowConfig, countable_rows, newest, window_rows

_READERS: Final = min(4, os.cpu_count() or 1)
"""Threads that read the files of a chunk; nearly all of it is inflating, which does not hold Python's lock."""


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

    def origin(self, rows: Sequence[int]) -> list[str]:
        """Where those ``rows`` of the batch that `next` gave last came from: file, and row in it from 0."""
        chunk, number = self.position.chunk, self.position.batch - 1
        files = self.plan.chunks[chunk]
        ends = np.cumsum([file.rows for file in files])
        places = self._order(chunk, int(ends[-1]))[number * self.batch : (number + 1) * self.batch][self._share]
        found = []
        for place in places[list(rows)]:
            index = int(np.searchsorted(ends, place, side="right"))
            found.append(f"{files[index].path} row {int(place - ends[index]) + files[index].rows}")
        return found

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
                order = self._order(chunk, rows.count)
                for number in range(first, rows.count // self.batch):
                    joint = order[number * self.batch : (number + 1) * self.batch]
                    batch = self._augmented(rows.take(joint[self._share]), edge, chunk, number)
                    yield Position(chunk, number + 1), batch.pin_memory() if self._pin else batch

    def _order(self, chunk: int, rows: int) -> npt.NDArray[np.intp]:
        """The order in which the ``rows`` of a chunk are used."""
        return np.random.default_rng([self.seed, self.plan.number, _SHUFFLING, chunk]).permutation(rows)

    def _augmented(self, rows: Rows, edge: int, chunk: int, number: int) -> RowBatch:
        rng = np.random.default_rng([self.seed, self.plan.number, _AUGMENTING, chunk, number])
        symmetry = int(rng.integers(NUM_SYMMETRIES)) if self._augmentation.symmetries else 0
        kept = draw_history(rng, self.batch)[self._share] if self._augmentation.history_dropout else None
        return make_batch(rows, edge=edge, symmetry=symmetry, kept=kept)


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
