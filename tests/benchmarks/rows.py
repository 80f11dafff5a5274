"""Rows per second that a trainer is given, on 19×19: files read, batches made of them, and both together.

The baseline is one thread that reads a chunk, makes its batches, and then reads the next. Made-up rows, which compress
less than played ones. Wall time; what inflates runs beside what makes batches if there are cores for both.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from common.go.symmetry import NUM_SYMMETRIES
from common.rows import Rows, row_bytes, write_npz
from nets.data.files import DataFolder, read_file
from nets.data.passes import Batches, load_chunk, make_plan, usable_batches
from nets.data.targets import draw_history, make_batch
from tests.nets.made_rows import made_rows

LENGTH, FILES, ROWS, BATCH = 19, 24, 1024, 256
CHUNK_FILES = 6
TURNS = 3


def _rate(work: Callable[[], object]) -> float:
    """Rows of all files per second, the best of some turns."""
    seconds = []
    for _ in range(TURNS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return FILES * ROWS / min(seconds)


def main() -> None:
    """Print the rates and the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        for index in range(FILES):
            write_npz(made_rows(ROWS, LENGTH, seed=index), Path(folder, f"{index}.npz"))
        files = DataFolder([folder]).scan()
        chunk_bytes = CHUNK_FILES * ROWS * row_bytes(LENGTH)
        plan = make_plan(files, number=1, seed=1, length=LENGTH, max_rows=10**9, chunk_bytes=chunk_bytes)
        chunk = load_chunk(plan.chunks[0], LENGTH)

        def made(rows: Rows) -> None:
            order = np.random.default_rng(0).permutation(rows.count)
            for number in range(rows.count // BATCH):
                kept = draw_history(np.random.default_rng(number), BATCH)
                part = rows.take(order[number * BATCH : (number + 1) * BATCH])
                make_batch(part, symmetry=number % NUM_SYMMETRIES, kept=kept)

        def one_after_the_other() -> None:
            for chunk in plan.chunks:
                made(Rows.concatenate([read_file(file, LENGTH) for file in chunk]))

        def together() -> None:
            batches = Batches(plan, batch=BATCH, seed=1)
            assert sum(1 for _ in batches) == usable_batches(plan, BATCH)
            batches.close()

        baseline = _rate(one_after_the_other)
        print(f"read, one thread: {_rate(lambda: [read_file(file) for file in files]):,.0f} rows per second")
        print(f"read, by chunks: {_rate(lambda: [load_chunk(files, LENGTH) for files in plan.chunks]):,.0f}")
        print(f"batches made: {_rate(lambda: made(chunk)) / len(plan.chunks):,.0f}")
        rate = _rate(together)
        print(f"both: {rate:,.0f}, {rate / baseline:.2f} times one after the other ({baseline:,.0f})")
