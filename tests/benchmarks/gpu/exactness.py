"""What is computed on CUDA against float32 on the CPU, KataGo's own outputs, and what must be refused."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator

import numpy as np
import torch

from nets.architecture.blocks import ResidualBlock
from nets.architecture.model import Net
from nets.evaluation.backends import TorchBackend
from nets.evaluation.batch import EvaluatorError, new_batch
from nets.evaluation.evaluator import NetEvaluator, make_evaluator
from nets.files.exchange import module_of
from nets.files.katago_file import read_net
from tests.benchmarks.gpu.nets import CUDA, DTYPES, LARGE, NETS, Record, differences, lively, on_cuda, positions
from tests.nets.rawnet import compare
from tests.oracles import oracle_root, records

RECORDED_NET = "g170-b6c96-s175395328-d26788732.bin.gz"


def exactness() -> Iterator[Record]:
    """Outputs on CUDA against float32 on the CPU: full boards, smaller ones in the same tensor, and both mixed."""
    for (name, length), boards in itertools.product(NETS, ("full", "smaller", "mixed")):
        edges = {"full": (length,), "smaller": (length - 2,), "mixed": (length, length - 2, 2)}[boards]
        net, rows = lively(name), 16
        expected, mine = positions(rows, length, edges=edges), positions(rows, length, edges=edges)
        NetEvaluator(net, TorchBackend(net, length, os.cpu_count() or 1), length).run(expected, rows)
        for dtype in DTYPES:
            evaluator = on_cuda(net, length, dtype)
            evaluator.run(mine, rows)
            evaluator.close()
            yield {"net": name, "boards": edges, "length": length, "dtype": dtype} | differences(mine, expected)
    yield {"two_batches_under_way": "largest difference"} | _under_way_and_alone()


def _under_way_and_alone() -> Record:
    """Batches of several sizes, submitted while others are under way, against the same one after the other."""
    evaluator = on_cuda(lively("b6c96"), 19, "float16")
    shapes = [(256, (19,)), (40, (13,)), (1500, (19,)), (16, (19, 9)), (256, (13, 7))] * 4
    alone, together = ([positions(rows, 19, edges=edges) for rows, edges in shapes] for _ in range(2))
    for batch in alone:
        evaluator.run(batch, len(batch.symmetry))
    for wait in [evaluator.submit(batch, len(batch.symmetry)) for batch in together]:
        wait()
    evaluator.close()
    found = [differences(mine, other) for mine, other in zip(together, alone, strict=True)]
    return {name: max(record[name] for record in found) for name in found[0]}


def recorded() -> Iterator[Record]:
    """Trained and random nets on positions of real games in a 19×19 tensor, against what KataGo said of them."""
    if not have_records():
        yield {"left_out": "no folder of recorded outputs; set TENGEN_ORACLES"}
        return
    for dtype in DTYPES:
        for name, set_of in ((RECORDED_NET, "rawnet"), ("", "rawnet_nets")):

            def evaluator(net: str, length: int, dtype: str = dtype) -> NetEvaluator:
                return on_cuda(recorded_net(net), length, dtype)

            compared, found = compare(records(set_of), evaluator, name, length=19)
            yield {"records": set_of, "compared": compared, "dtype": dtype} | {
                quantity: float(f"{value:.2g}") for quantity, value in found.items()
            }


def have_records() -> bool:
    """Whether the folder of recorded outputs is there."""
    return oracle_root().is_dir()


def recorded_net(name: str) -> Net:
    """A net of the folder of recorded outputs."""
    return module_of(read_net(next((oracle_root() / "nets").rglob(name))))


def padding() -> Iterator[Record]:
    """A 9×9 position alone in its tensor, in a 19×19 one, and beside 19×19 boards in a batch of another size."""
    net = lively("b6c96-bn")
    for dtype in DTYPES:
        alone, padded, mixed = positions(4, 9), new_batch(4, 19), positions(40, 19)
        for batch in (padded, mixed):
            batch.planes[:4] = 0.0
            batch.planes[:4, :, :9, :9] = alone.planes
            batch.global_inputs[:4], batch.symmetry[:4] = alone.global_inputs, alone.symmetry
        small, large = on_cuda(net, 9, dtype), on_cuda(net, 19, dtype)
        small.run(alone, 4)
        large.run(padded, 4)
        large.run(mixed, 40)
        cut = new_batch(4, 9)
        for whole, part in ((padded.policy[:, :-1], cut.policy[:, :-1]), (padded.ownership, cut.ownership)):
            part[:] = whole.reshape(4, 19, 19)[:, :9, :9].reshape(4, 81)
        cut.policy[:, -1] = padded.policy[:, -1]
        cut.win_loss[:], cut.no_result[:], cut.scalars[:] = padded.win_loss, padded.no_result, padded.scalars
        yield {"dtype": dtype, "beside": "9×9 tensor"} | differences(cut, alone)
        first = new_batch(4, 19)
        for name in ("policy", "win_loss", "no_result", "scalars", "ownership"):
            getattr(first, name)[:] = getattr(mixed, name)[:4]
        yield {"dtype": dtype, "beside": "19×19 boards"} | differences(first, padded)


def failures() -> Iterator[Record]:
    """Too little memory, numbers that are none, and a net that overflows in float16."""
    net = lively(LARGE)
    whole, pieces = positions(1024, 19), positions(1024, 19)
    free = on_cuda(net, 19, "float16")
    free.run(whole, 1024)
    yield {"memory_gb_of_graphs": round(torch.cuda.memory_reserved() / 1e9, 2)}
    free.close()
    del free
    torch.cuda.empty_cache()
    budget = 1.5e9
    torch.cuda.set_per_process_memory_fraction(budget / torch.cuda.get_device_properties(CUDA).total_memory)
    tight = on_cuda(net, 19, "float16")
    tight.run(pieces, 1024)
    yield {"budget_gb": budget / 1e9, "sizes_left": list(tight._sizes)} | differences(pieces, whole)
    tight.close()
    torch.cuda.set_per_process_memory_fraction(1.0)

    evaluator = make_evaluator(lively("b6c96-bn"), length=9, device="cuda")
    batch = positions(16, 9)
    evaluator.run(batch, 16)
    batch.global_inputs[3, 5] = np.nan
    yield {"nan_input": refusal(lambda: evaluator.run(batch, 16))}
    damaged = lively("b6c96-bn")
    with torch.no_grad():
        damaged.conv_planes.weight[0, 0, 0, 0] = np.nan
    yield {"nan_weight": refusal(lambda: make_evaluator(damaged, length=9, device="cuda"))}
    overflowing = lively("b6c96")
    with torch.no_grad():
        block = overflowing.blocks[0]
        assert isinstance(block, ResidualBlock)
        block.conv1.weight.mul_(1e6)
        block.norm2.beta.mul_(1e6)
        block.conv2.weight.mul_(1e-6)
    yield {"overflows_in_float16": make_evaluator(overflowing, length=9, device="cuda").description}


def refusal(work: Callable[[], object]) -> str:
    """The text of the error that ``work`` must end with."""
    try:
        work()
    except EvaluatorError as error:
        return str(error)
    raise AssertionError("there was no EvaluatorError")
