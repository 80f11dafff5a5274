"""How fast: the card's ceilings, and evaluations per second."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

import torch

from nets.evaluation.backends import BatchShape, Lane, Raw
from nets.evaluation.batch import Batch
from nets.evaluation.evaluator import NetEvaluator
from tests.benchmarks.evaluator import operations
from tests.benchmarks.gpu.nets import CUDA, DTYPES, NETS, Record, lively, on_cuda, positions


def seconds_of(work: Callable[[], object], times: int) -> float:
    """Seconds of device time per call: the best of three rounds."""
    work()
    rounds: list[float] = []
    for _ in range(3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        begin.record()
        for _ in range(times):
            work()
        end.record()
        end.synchronize()
        rounds.append(begin.elapsed_time(end) / 1000 / times)
    return min(rounds)


def matrix_rates() -> dict[str, float]:
    """Operations per second of an 8192³ matrix product on random data, by precision."""
    rates, size = {}, 8192
    for name, dtype in DTYPES.items():
        a, b = (torch.randn(size, size, device=CUDA).to(dtype) for _ in range(2))
        rates[name] = 2 * size**3 / seconds_of(partial(torch.matmul, a, b), 3 if name == "float32" else 10)
    return rates


def card() -> Iterator[Record]:
    """What the device is, and its ceilings."""
    facts = torch.cuda.get_device_properties(CUDA)
    yield {
        "card": facts.name,
        "memory_gb": round(facts.total_memory / 1e9),
        "torch": torch.__version__,
        "cpus": os.cpu_count(),
    }
    yield {"matrix_tflops": {name: round(rate / 1e12, 1) for name, rate in matrix_rates().items()}}
    source = torch.empty(1 << 30, dtype=torch.float32, device=CUDA)
    target = torch.empty_like(source)
    yield {"copy_tb_per_s": round(2 * source.nbytes / seconds_of(lambda: target.copy_(source), 5) / 1e12, 2)}
    host = torch.empty(1 << 26, dtype=torch.float32, pin_memory=True)
    upload = seconds_of(lambda: source[: 1 << 26].copy_(host, non_blocking=True), 3)
    yield {"host_to_device_gb_per_s": round(host.nbytes / upload / 1e9, 1)}


def launched(lane: Lane, shape: BatchShape) -> Raw:
    """What a batch gives on the device alone."""
    lane.launch(shape)
    return lane.outputs()


def evaluation() -> Iterator[Record]:
    """Evaluations per second by net, batch, precision: whole calls, two batches in turn, the device's part alone.

    The device's part are copies and graph. As in a search, ownership is not asked for.
    """
    rates = matrix_rates()
    for name, length in NETS:
        net = lively(name)
        flops = operations(net, length)
        for dtype, sizes in (("float16", (16, 64, 256, 1024)), ("bfloat16", (256,)), ("float32", (256,))):
            begun = time.perf_counter()
            evaluator = on_cuda(net, length, dtype)
            lane = evaluator._backend.lanes[0]
            for rows in sizes:
                batch, other = positions(rows, length, ownership=False), positions(rows, length, ownership=False)
                evaluator.run(batch, rows)
                ready = time.perf_counter() - begun
                whole = rate_of(partial(evaluator.run, batch, rows)) * rows
                turns = InTurn(evaluator, batch, other)
                in_turn = rate_of(turns) * rows
                turns.end()
                shape = BatchShape(rows, length, full=True)
                device = rate_of(partial(launched, lane, shape)) * rows
                yield {
                    "net": name,
                    "length": length,
                    "mflop": round(flops / 1e6, 1),
                    "dtype": dtype,
                    "rows": rows,
                    "per_second": round(whole),
                    "in_turn_per_second": round(in_turn),
                    "device_per_second": round(device),
                    "of_matrix_rate": round(device * flops / rates[dtype], 4),
                    "ready_s": round(ready, 2),
                }
            evaluator.close()


class InTurn:
    """Full batches under way in turn, as of a stream's two tables; a call ends the oldest and begins it anew."""

    def __init__(self, evaluator: NetEvaluator, *batches: Batch) -> None:
        self._evaluator = evaluator
        self._waiting = deque((batch, evaluator.submit(batch, len(batch.symmetry))) for batch in batches)

    def __call__(self) -> None:
        batch, wait = self._waiting.popleft()
        wait()
        self._waiting.append((batch, self._evaluator.submit(batch, len(batch.symmetry))))

    def end(self) -> None:
        """Wait for all."""
        while self._waiting:
            self._waiting.popleft()[1]()


def rate_of(work: Callable[[], object], seconds: float = 0.5) -> float:
    """Calls per second."""
    work()
    begun, done = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        work()
        done += 1
    return done / (time.perf_counter() - begun)
