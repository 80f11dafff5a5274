"""Evaluations per second on one core, beside the arithmetic floor: what a large matrix product reaches there.

Also how long a new net takes until its first evaluation, what boards smaller than the tensor cost, and the same on CUDA
where a GPU is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from common.precision import Precision
from nets.architecture.config import named
from nets.architecture.model import Net
from nets.evaluation.backends import Backend, OpenVinoBackend, TorchBackend
from nets.evaluation.batch import Evaluator, new_batch
from nets.evaluation.evaluator import NetEvaluator, load_evaluator, make_evaluator
from tests.benchmarks import PRECISION

CASES = [
    ("b2c32", 7),
    ("b6c96", 9),
    ("b6c96", 19),
    ("b5c192nbt-fson-mish-rvgl-bnh", 19),
    ("b10c128", 19),
]
SECONDS = 2.0
MATRIX = 2048


def per_second(work: Callable[[], object], rows: int, clock: Callable[[], float]) -> float:
    """Rows per second of ``clock``; the processor's clock leaves out what other programs take."""
    work()
    begun, done = clock(), 0
    while clock() - begun < SECONDS:
        work()
        done += rows
    return done / (clock() - begun)


def matrix_rate(dtype: torch.dtype, device: str, clock: Callable[[], float]) -> float:
    """Floating-point operations per second of a large matrix product."""
    a = torch.randn(MATRIX, MATRIX, device=device).to(dtype)

    def product() -> None:
        torch.mm(a, a)
        if device != "cpu":
            torch.cuda.synchronize()

    return per_second(product, 1, clock) * 2 * MATRIX**3


def operations(net: Net, length: int) -> int:
    """Floating-point operations of one evaluation, counted in the module."""
    planes, inputs = torch.ones(1, 22, length, length), torch.zeros(1, 19)
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        net.infer(planes, inputs, full=True)
    return int(counter.get_total_flops())


def rate(evaluator: Evaluator, rows: int, clock: Callable[[], float], edges: Sequence[int] = ()) -> float:
    """Evaluations per second of full batches of scattered stones, symmetries and decoding included, as in a search.

    The boards have these ``edges`` in turn, or fill the tensor.
    """
    batch = new_batch(rows, evaluator.length, ownership=False)
    edges = edges or (evaluator.length,)
    for first, edge in enumerate(edges):
        board = batch.planes[first :: len(edges), :, :edge, :edge]
        board[:, 0] = 1.0
        board[:, 1] = np.random.default_rng(0).random(board[:, 1].shape) < 0.3
    batch.symmetry[:] = np.arange(rows) % 8
    return per_second(lambda: evaluator.run(batch, rows), rows, clock)


def cpu() -> None:
    """One thread; rates are per second of processor time, so that other load on the machine matters less."""
    torch.set_num_threads(1)
    clock = time.process_time
    print(f"one core; rates per second of CPU time, beside that of a {MATRIX}³ matrix product just before")
    asked = PRECISION is Precision.SIXTEEN_BIT and OpenVinoBackend.takes_bfloat16()
    precisions = [False, True] if asked or OpenVinoBackend.has_bfloat16() else [False]
    load_evaluator(None, length=7).close()
    for name, length in CASES:
        net = Net(named(name)).eval()
        flops = operations(net, length)
        begun = clock()
        make_evaluator(net, length=length, precision=PRECISION).close()
        print(f"{name} {length}×{length}: {flops / 1e6:.1f} MFLOP an evaluation; up in {clock() - begun:.2f} s")
        makers: list[Backend] = [OpenVinoBackend(net, length, 1, sixteen_bit=sixteen) for sixteen in precisions]
        baseline = 0.0
        for backend in [TorchBackend(net, length, 1), *makers]:
            for rows in (1, 16, 64):
                floor = matrix_rate(torch.bfloat16 if backend.sixteen_bit else torch.float32, "cpu", clock)
                speed = rate(NetEvaluator(net, backend, length), rows, clock)
                baseline = baseline or speed
                share = (
                    f"{speed * flops / floor:.0%} of {floor / 1e9:.0f} GFLOP/s, {speed / baseline:.1f} × torch, batch 1"
                )
                print(f"  {backend.description}, batch {rows}: {speed:,.0f}/s, {share}")


def smaller_boards() -> None:
    """9×9 boards in a tensor of 19×19: alone, and beside boards that fill it."""
    net, rows, clock = Net(named("b6c96")).eval(), 64, time.process_time
    own, larger = (make_evaluator(net, length=length, precision=PRECISION) for length in (9, 19))
    alone = rate(own, rows, clock)
    print(f"b6c96, 9×9 boards, batch {rows}: {alone:,.0f}/s")
    for title, edges in (("in a tensor of 19×19", (9,)), ("with every 64th board of 19×19", (9,) * 63 + (19,))):
        print(f"  {title}: {rate(larger, rows, clock, edges) / alone:.2f} × that")


def cuda() -> None:
    """The first GPU, in wall time."""
    clock = time.perf_counter
    floor = matrix_rate(torch.float16, "cuda", clock)
    print(f"{torch.cuda.get_device_name()}: {floor / 1e12:.0f} TFLOP/s in a {MATRIX}³ float16 matrix product")
    for name, length in [*CASES, ("b18c384nbt-fson-mish-rvgl-bnh", 19)]:
        net = Net(named(name)).eval()
        flops = operations(net, length)
        begun = clock()
        evaluator = make_evaluator(net, length=length, device="cuda")
        print(f"{name} {length}×{length}: {evaluator.description}, up in {clock() - begun:.1f} s")
        for rows in (16, 128, 1024):
            speed = rate(evaluator, rows, clock)
            print(f"  batch {rows}: {speed:,.0f}/s, {speed * flops / floor:.0%} of the matrix product")
        evaluator.close()


def main() -> None:
    """Measure what this machine has."""
    cpu()
    smaller_boards()
    if torch.cuda.is_available():
        cuda()
