"""Training: rates, and whether a checkpoint repeats the same steps."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from nets.architecture.config import named
from nets.architecture.model import Net
from tests.benchmarks.evaluator import operations
from tests.benchmarks.gpu.nets import CUDA, LARGE, Record
from tests.benchmarks.gpu.rates import matrix_rates
from tests.nets.made_rows import made_rows


def trainer_of(
    folder: Path, name: str, batch: int, precision: str, rows: int = 2048, copies: int = 12, state: str = "state"
) -> Any:
    """A trainer on made-up 19×19 rows of its recipe, which are written if the folder does not have them."""
    from common.rows import write_npz
    from nets.data.files import DataFolder
    from nets.data.window import BucketConfig, WindowConfig
    from nets.training.checkpoint import CheckpointFolder
    from nets.training.config import Arithmetic, recipe_config
    from nets.training.trainer import Trainer

    data = folder / "data"
    if not data.exists():
        data.mkdir()
        write_npz(made_rows(rows, 19), data / "0.npz")
        for number in range(1, copies):
            (data / f"{number}.npz").write_bytes((data / "0.npz").read_bytes())
    config = recipe_config(
        "paper" if "-bn" in name and "bnh" not in name else "today",
        named(name),
        batch=batch,
        precision=Arithmetic(precision),
        limit_reuse=False,
        window=WindowConfig(min_rows=batch),
        bucket=BucketConfig(samples_per_epoch=10**9),
    )
    return Trainer(config, DataFolder([data]), CheckpointFolder(folder / state), device=CUDA)


def training() -> Iterator[Record]:
    """Samples per second of whole steps, the share of waiting for rows, and three forward passes' share of the rate."""
    rates = matrix_rates()
    cases = [("float32", 256), ("float16", 256), ("bfloat16", 256), ("bfloat16", 1024)]
    with tempfile.TemporaryDirectory() as folder:
        for name, (precision, batch) in itertools.product(("b6c96-bn", "b10c128-bn", LARGE), cases):
            torch.cuda.reset_peak_memory_stats()
            trainer = trainer_of(Path(folder), name, batch, precision)
            trainer.run(max_steps=4)
            torch.cuda.synchronize()
            report = trainer.run(max_steps=10**9, max_seconds=3.0)
            flops = 3 * operations(Net(named(name)), 19)
            yield {
                "net": name,
                "dtype": precision,
                "batch": batch,
                "samples_per_second": round(report.samples_per_second),
                "waiting": round(report.waiting_share, 3),
                "of_matrix_rate": round(flops * report.samples_per_second / rates[precision], 4),
                "peak_memory_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2),
                "total_loss": round(report.losses["total"], 3),
            }
            trainer.close()
            del trainer


def resuming() -> Iterator[Record]:
    """Losses of five steps after a checkpoint, and of the same steps by a trainer that took it up."""
    for deterministic, precision in itertools.product((False, True), ("float32", "bfloat16", "float16")):
        torch.use_deterministic_algorithms(deterministic)
        with tempfile.TemporaryDirectory() as folder:
            first = trainer_of(Path(folder), "b6c96-bn", 64, precision, rows=256, copies=3)
            for _ in range(5):
                first.step()
            first.save()
            wanted = [float(first.step().total.detach()) for _ in range(5)]
            second = trainer_of(Path(folder), "b6c96-bn", 64, precision)
            resumed = second.resume()
            found = [float(second.step().total.detach()) for _ in range(5)]
            first.close()
            second.close()
        apart = max(abs(a - b) / abs(a) for a, b in zip(wanted, found, strict=True))
        yield {
            "dtype": precision,
            "deterministic": deterministic,
            "resumed": resumed,
            "bit_equal": wanted == found,
            "relative_difference": apart,
            "losses": [round(value, 3) for value in wanted],
        }
