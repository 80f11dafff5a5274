"""Training: samples per second by net, recipe and precision, and the share of time spent waiting for data.

The rate beside each is the processor's own, by a large matrix product in the same precision; the fraction is what the
multiplications of forward and backward pass (three times the forward ones) need of it.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from pathlib import Path

import torch

from common.rows import write_npz
from nets.checkpoint import CheckpointFolder
from nets.config import named
from nets.data import DataFolder
from nets.model import Net
from nets.trainer import Trainer
from nets.training_config import Precision, recipe_config
from nets.window import BucketConfig, WindowConfig
from tests.nets.made_rows import made_rows

CASES = [
    ("b2c32-bn", "paper", 7, 256, Precision.FLOAT32),
    ("b2c32-fson-mish-rvgl-bnh", "today", 7, 256, Precision.FLOAT32),
    ("b6c96-bn", "paper", 19, 64, Precision.FLOAT32),
    ("b6c96-bn", "paper", 19, 64, Precision.BFLOAT16),
    ("b10c128-bn", "paper", 19, 64, Precision.FLOAT32),
    ("b10c128-bn", "paper", 19, 64, Precision.BFLOAT16),
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


def main() -> None:
    """Print one line per case."""
    for name, recipe, length, batch, precision in CASES:
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder, "data")
            data.mkdir()
            for index in range(4):
                write_npz(made_rows(batch * 4, length, seed=index), data / f"{index}.npz")
            config = recipe_config(
                recipe,
                named(name),
                length=length,
                batch=batch,
                precision=precision,
                limit_reuse=False,
                window=WindowConfig(min_rows=batch),
                bucket=BucketConfig(samples_per_epoch=10**9),
            )
            config = dataclasses.replace(config, optimizer=dataclasses.replace(config.optimizer, rate_scale=0.01))
            trainer = Trainer(config, DataFolder([data]), CheckpointFolder(Path(folder, "state")))
            trainer.run(max_steps=2)
            report = trainer.run(max_steps=STEPS)
            rate = matrix_rate(torch.bfloat16 if precision is Precision.BFLOAT16 else torch.float32)
            used = 3 * forward_flops(trainer.net, length) * report.samples_per_second
            trainer.close()
        print(
            f"{name:26} {recipe:6} {length:2}×{length:<2} batch {batch:3} {precision:9} "
            f"{report.samples_per_second:8,.0f} samples/s  waiting {report.waiting_share:5.1%}  "
            f"{used / 1e9:6.1f} of {rate / 1e9:6.0f} GFLOP/s ({used / rate:.0%})",
            flush=True,
        )


if __name__ == "__main__":
    main()
