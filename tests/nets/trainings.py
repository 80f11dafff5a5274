"""Trainings of a small net on made-up rows, for the tests of the trainer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from nets.architecture.config import named
from nets.data.files import DataFolder
from nets.data.window import BucketConfig, WindowConfig
from nets.training.averaging import AveragingConfig
from nets.training.checkpoint import CheckpointFolder
from nets.training.config import Arithmetic, TrainConfig
from nets.training.optimizer import OptimizerConfig
from nets.training.trainer import Trainer

QUICK = OptimizerConfig(warmup=False, rate_scale=4.0)
NET = named("b2c16-fson-mish-rvgl-bnh")


def config_for(**changes: Any) -> TrainConfig:
    base = TrainConfig(
        NET,
        length=5,
        batch=8,
        optimizer=QUICK,
        averaging=AveragingConfig(period_samples=40),
        window=WindowConfig(min_rows=10),
        bucket=BucketConfig(samples_per_epoch=48),
        limit_reuse=False,
        precision=Arithmetic.FLOAT32,
    )
    return replace(base, **changes)


def trainer_for(data: Path, state: Path, **options: Any) -> Trainer:
    config = options.pop("config", None) or config_for()
    return Trainer(config, DataFolder([data]), CheckpointFolder(state), **options)


def losses_of(trainer: Trainer, steps: int) -> list[float]:
    return [float(trainer.step().total.detach()) for _ in range(steps)]
