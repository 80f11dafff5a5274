"""Nets, evaluators and batches that the tests of evaluation share."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from common.precision import Precision
from nets.architecture.model import Net
from nets.evaluation.backends import TorchBackend
from nets.evaluation.batch import Batch, new_batch
from nets.evaluation.evaluator import (
    NetEvaluator,
)
from nets.files.exchange import module_of
from nets.files.katago_file import read_net
from tests import FIXTURES

NET_FILES = FIXTURES / "nets"
LENGTH = 7
FLOAT32 = Precision.FLOAT32
NETS = ["mini-nbt-fson-mish-rvgl-bnh", "mini-nbttflrs-fson-silu-rsnh"]
OUTPUTS = ("policy", "win_loss", "no_result", "scalars", "ownership")


def mini(name: str) -> Net:
    return module_of(read_net(NET_FILES / f"{name}.bin.gz"))


def torch_evaluator(name: str, length: int = LENGTH, dtype: torch.dtype = torch.float32) -> NetEvaluator:
    net = mini(name)
    return NetEvaluator(net, TorchBackend(net, length, threads=1, dtype=dtype), length)


def random_batch(rows: int, length: int, *, full: bool, seed: int = 0, ownership: bool = True) -> Batch:
    random = np.random.default_rng(seed)
    batch = new_batch(rows, length, ownership=ownership)
    for row in range(rows):
        height, width = (length, length) if full else random.integers(2, length + 1, 2)
        board = batch.planes[row, :, :height, :width]
        board[:] = random.random(board.shape) < 0.2
        board[0] = 1.0
    batch.global_inputs[:, :5] = random.random((rows, 5)) < 0.1
    batch.global_inputs[:, 5] = random.normal(size=rows)
    batch.global_inputs[:, 6] = np.arange(rows) % 2
    batch.symmetry[:] = np.arange(rows) % 8
    batch.optimism[:] = random.random(rows)
    return batch


def boards(rows: int, sizes: list[tuple[int, int]]) -> Batch:
    """Random rows on boards of these (height, width) in turn."""
    batch = random_batch(rows, LENGTH, full=True)
    for row in range(rows):
        height, width = sizes[row % len(sizes)]
        batch.planes[row, :, height:] = batch.planes[row, :, :, width:] = 0.0
    return batch


def outputs(batch: Batch, rows: slice) -> dict[str, np.ndarray[Any, Any]]:
    return {name: getattr(batch, name)[rows].copy() for name in OUTPUTS}
