"""What the parts measure on: nets in which every layer works, positions, evaluators without a self-test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from nets.architecture.config import named
from nets.architecture.layers import Conv, Norm
from nets.architecture.model import Net
from nets.evaluation.backends import Backend, BatchShape, CudaBackend, Planes
from nets.evaluation.batch import Batch, new_batch
from nets.evaluation.comparison import Comparison
from nets.evaluation.evaluator import NetEvaluator
from nets.evaluation.orientation import common_edge

Record = dict[str, Any]
CUDA = torch.device("cuda", 0)
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
NBT, TRANSFORMER = "b5c192nbt-fson-mish-rvgl-bnh", "b7c96h3tfrs-fson-silu-rnh"
LARGE = "b18c384nbt-fson-mish-rvgl-bnh"
NETS = [("b2c32", 7), ("b6c96", 9), ("b6c96", 19), ("b10c128", 19), (NBT, 19), (LARGE, 19), (TRANSFORMER, 19)]


def lively(name: str) -> Net:
    """A net of random weights in which every layer does something; fresh ones have many zeros."""
    torch.manual_seed(len(name))
    net = Net(named(name)).eval()
    with torch.no_grad():
        for module in net.modules():
            if isinstance(module, Conv) and not module.weight.any():
                nn.init.normal_(module.weight, std=(2.0 * len(net.blocks) * module.weight[0].numel()) ** -0.5)
            if isinstance(module, Norm):
                module.beta.normal_(0.0, 0.2)
                if module.gamma is not None:
                    module.gamma.normal_(0.0, 0.2)
                if module.statistics:
                    module.running_mean.normal_(0.0, 0.2)
                    module.running_std.uniform_(0.7, 1.4)
    return net


def positions(rows: int, length: int, *, edges: Sequence[int] = (), ownership: bool = True) -> Batch:
    """Scattered stones and marks on boards of ``edges`` in turn (none: the tensor's) under all symmetries."""
    edges = edges or (length,)
    random = np.random.default_rng(edges)
    batch = new_batch(rows, length, ownership=ownership)
    for first, edge in enumerate(edges):
        board = batch.planes[first :: len(edges), :, :edge, :edge]
        board[:] = random.random(board.shape) < 0.15
        board[:, 0] = 1.0
    batch.global_inputs[:, 5] = random.normal(0.0, 0.5, rows)
    batch.global_inputs[:, 6] = np.arange(rows) % 2
    batch.symmetry[:] = np.arange(rows) % 8
    return batch


class Unjudged(Comparison):
    """Runs the known positions, and finds nothing wrong."""

    def judge(self, found: Batch, shape: BatchShape, backend: Backend) -> None:
        """Pass."""


class Unchecked(NetEvaluator):
    """Uses what would fail the self-test as well, and cuts boards out at once."""

    def __init__(self, net: Net, backend: Backend, length: int) -> None:
        super().__init__(net, backend, length)
        self._comparison = Unjudged(net)

    def _edge_for(self, on_board: Planes) -> int:
        return common_edge(on_board)


def on_cuda(net: Net, length: int, dtype: str) -> NetEvaluator:
    """An evaluator that has no test to pass before it is measured."""
    return Unchecked(net, CudaBackend(net, length, CUDA, DTYPES[dtype]), length)


def differences(mine: Batch, other: Batch, where: Any = np.s_[:]) -> Record:
    """Largest differences by quantity; scores relative above 1 point."""

    def shares(batch: Batch) -> np.ndarray:
        logits = batch.policy[where]
        powers = np.exp(logits - logits.max(1, keepdims=True))
        chances: np.ndarray = powers / powers.sum(1, keepdims=True)
        return chances

    relative = np.abs(mine.scalars - other.scalars)[where] / np.maximum(1.0, np.abs(other.scalars[where]))
    parts = {
        "policy": np.abs(shares(mine) - shares(other)),
        "win": np.abs(mine.win_loss - other.win_loss)[where] / 2,
        "no_result": np.abs(mine.no_result - other.no_result)[where],
        "ownership": np.abs(mine.ownership - other.ownership)[where],
        "scores": relative,
    }
    return {name: float(f"{part.max():.2g}") for name, part in parts.items()}
