"""How far a trunk in 16 bits is from float32, with the modules that run on a GPU but on the processor.

Random nets on scattered stones, and, where the folder of recorded outputs is, trained nets on positions of real games
against what KataGo said. The processor sums in an order of its own, so a GPU's last digits differ.
"""

from __future__ import annotations

import functools
import itertools

import torch

from nets.architecture.model import Net
from nets.evaluation.backends import TorchBackend
from nets.evaluation.evaluator import NetEvaluator
from tests.benchmarks.gpu.exactness import RECORDED_NET, have_records, recorded_net
from tests.benchmarks.gpu.nets import DTYPES, LARGE, NBT, TRANSFORMER, Unchecked, lively, positions
from tests.benchmarks.gpu.nets import differences as largest_differences
from tests.nets.rawnet import compare
from tests.oracles import records

CASES = [("b2c32", 7), ("b6c96", 9), ("b10c128", 9), (NBT, 9), (LARGE, 9), (TRANSFORMER, 9)]
HALVES = {name: DTYPES[name] for name in ("float16", "bfloat16")}
RECORDS = 24


def rounded(net: Net, length: int, dtype: torch.dtype) -> TorchBackend:
    """The trunk in 16 bits as on a GPU, on the processor."""
    return TorchBackend(net, length, 1, sizes=(4,), dtype=dtype)


def main() -> None:
    """Largest differences by quantity, scores relative above 1 point."""
    for (name, length), (title, dtype) in itertools.product(CASES, HALVES.items()):
        net = lively(name)
        wanted, found = positions(8, length), positions(8, length)
        Unchecked(net, TorchBackend(net, length, 1, sizes=(4,)), length).run(wanted, 8)
        Unchecked(net, rounded(net, length, dtype), length).run(found, 8)
        print(f"{name} {length}×{length} {title}: {largest_differences(found, wanted)}", flush=True)
    if not have_records():
        print("no folder of recorded outputs: trained nets are left out")
        return
    load = functools.cache(recorded_net)
    trained = [record for record in records("rawnet_nets") if record["net"].startswith("b7c96h3tfrs")]
    for title, dtype in HALVES.items():
        for name, chosen in ((RECORDED_NET, list(records("rawnet"))), (trained[0]["net"], trained)):

            def evaluator(net: str, length: int, dtype: torch.dtype = dtype) -> NetEvaluator:
                return Unchecked(load(net), rounded(load(net), length, dtype), length)

            compared, differences = compare(chosen[:RECORDS], evaluator, name, length=19)
            largest = {quantity: float(f"{value:.2g}") for quantity, value in differences.items()}
            print(f"{name} {title}, {compared} recorded positions: {largest}", flush=True)
