"""Training: samples per second by net, recipe and precision, and the share of time spent waiting for data.

The rate beside each is the processor's own, by a large matrix product in the same precision; the fraction is what the
multiplications of forward and backward pass (three times the forward ones) need of it. Then what boards smaller than
the tensors of their rows cost, beside the same boards in tensors of their own.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from common.rows import Rows, write_npz
from nets.architecture.config import named
from nets.architecture.model import Net
from nets.data.files import DataFolder
from nets.data.window import BucketConfig, WindowConfig
from nets.training.checkpoint import CheckpointFolder
from nets.training.config import Arithmetic, TrainConfig, recipe_config
from nets.training.trainer import SliceReport, Trainer
from tests.nets.made_rows import in_larger_tensors, made_rows

CASES = [
    ("b2c32-bn", "paper", 7, 256, Arithmetic.FLOAT32),
    ("b2c32-fson-mish-rvgl-bnh", "today", 7, 256, Arithmetic.FLOAT32),
    ("b6c96-bn", "paper", 19, 64, Arithmetic.FLOAT32),
    ("b6c96-bn", "paper", 19, 64, Arithmetic.BFLOAT16),
    ("b10c128-bn", "paper", 19, 64, Arithmetic.FLOAT32),
    ("b10c128-bn", "paper", 19, 64, Arithmetic.BFLOAT16),
]
STEPS = 6


def matrix_rate(dtype: torch.dtype) -> float:
    """Floating point operations per second of a 2048 × 2048 matrix product."""
    a = torch.randn(2048, 2048).to(dtype)
    a @ a
    begin = time.perf_counter()
    for _ in range(3):
        a @ a
    return 3 * 2 * 2048**3 / (time.perf_counter() - begin)


def forward_flops(net: Net, length: int) -> float:
    """Operations of the trunk's convolutions for one position; heads and pooling are not counted."""
    convolutions = [p for name, p in net.named_parameters() if p.ndim == 4 and "head" not in name]
    return float(sum(2 * p.numel() for p in convolutions) * length * length)


def measured(config: TrainConfig, files: Sequence[Rows]) -> SliceReport:
    """Some steps of a new training on rows of these files."""
    config = dataclasses.replace(config, optimizer=dataclasses.replace(config.optimizer, rate_scale=0.01))
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data")
        data.mkdir()
        for index, rows in enumerate(files):
            write_npz(rows, data / f"{index}.npz")
        trainer = Trainer(config, DataFolder([data]), CheckpointFolder(Path(folder, "state")))
        trainer.run(max_steps=2)
        report = trainer.run(max_steps=STEPS)
        trainer.close()
    return report


def config_for(name: str, recipe: str, length: int, batch: int, precision: Arithmetic) -> TrainConfig:
    """A training that never waits for rows."""
    return recipe_config(
        recipe,
        named(name),
        length=length,
        batch=batch,
        precision=precision,
        limit_reuse=False,
        window=WindowConfig(min_rows=batch),
        bucket=BucketConfig(samples_per_epoch=10**9),
    )


def cases() -> None:
    """Print one line per case."""
    for name, recipe, length, batch, precision in CASES:
        files = [made_rows(batch * 4, length, seed=index) for index in range(4)]
        report = measured(config_for(name, recipe, length, batch, precision), files)
        rate = matrix_rate(torch.bfloat16 if precision is Arithmetic.BFLOAT16 else torch.float32)
        used = 3 * forward_flops(Net(named(name)), length) * report.samples_per_second
        print(
            f"{name:26} {recipe:6} {length:2}×{length:<2} batch {batch:3} {precision:9} "
            f"{report.samples_per_second:8,.0f} samples/s  waiting {report.waiting_share:5.1%}  "
            f"{used / 1e9:6.1f} of {rate / 1e9:6.0f} GFLOP/s ({used / rate:.0%})",
            flush=True,
        )


def smaller_boards() -> None:
    """Print the rate of 9×9 boards in larger tensors, alone and beside one board that needs them."""
    batch, name = 64, "b6c96-bn"
    own = [made_rows(batch * 4, 9, seed=index) for index in range(2)]
    larger = [in_larger_tensors(rows, 19) for rows in own]
    mixed = [Rows.concatenate([rows, made_rows(1, 19)]) for rows in larger]
    rates = [
        measured(config_for(name, "paper", length, batch, Arithmetic.FLOAT32), files).samples_per_second
        for length, files in ((9, own), (19, larger), (19, mixed))
    ]
    print(
        f"{name}: 9×9 boards {rates[0]:,.0f} samples/s; in tensors of 19×19 {rates[1] / rates[0]:.2f} × that, "
        f"{rates[2] / rates[0]:.2f} × with a 19×19 board in each file"
    )


def main() -> None:
    """Print all of it."""
    cases()
    smaller_boards()


if __name__ == "__main__":
    main()
