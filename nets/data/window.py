"""How much data a run trains on: the growing window over its rows, and the bucket that limits reuse. Pure functions.

Knows row counts only, no files (``nets/data/files.py``) and no steps (``nets/training/trainer.py``).
Specification: training.md 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True)
class WindowConfig:
    """Constants of the window's formula; names as KataGo's shuffler has them."""

    min_rows: int = 250_000
    """Window of a young run, and how many rows of random play count at most."""
    taper_window_exponent: float = 0.65
    expand_window_per_row: float = 0.4
    """Slope of the window at ``min_rows``."""
    taper_window_scale: float | None = None
    """Rows; None = ``min_rows``."""
    keep_target_rows: int = 20_000_000
    """At most this many rows of the window are drawn for one pass."""

    def __post_init__(self) -> None:
        if self.min_rows < 1 or self.keep_target_rows < 1:
            raise ValueError("min_rows and keep_target_rows must be at least 1")
        if not 0 < self.taper_window_exponent <= 1 or not 0 <= self.expand_window_per_row <= 1:
            raise ValueError("taper_window_exponent must be in (0, 1], expand_window_per_row in [0, 1]")
        if self.taper_window_scale is not None and self.taper_window_scale <= 0:
            raise ValueError("taper_window_scale must be positive")


PAPER: Final = WindowConfig(taper_window_exponent=0.75, keep_target_rows=2_000_000)
TODAY: Final = WindowConfig()


def window_rows(total_rows: int, config: WindowConfig = TODAY) -> int:
    """Rows of the window W(N) after ``total_rows`` (N, with random play counted up to ``min_rows``); may exceed N."""
    c, alpha = config.min_rows, config.taper_window_exponent
    scale = config.taper_window_scale or float(c)
    if total_rows <= c:
        return c
    slope = config.expand_window_per_row / (alpha * scale ** (alpha - 1))
    return max(c, int(c + slope * ((total_rows - c + scale) ** alpha - scale**alpha)))


def countable_rows(rows: int, random_rows: int, config: WindowConfig = TODAY) -> int:
    """N of the formula: ``rows`` by nets, and of ``random_rows`` at most ``min_rows``."""
    return rows + min(random_rows, config.min_rows)


def newest(counts: Sequence[int], wanted_rows: int) -> int:
    """How many files at the end of ``counts`` (rows per file, oldest first) hold at least ``wanted_rows``, or all."""
    held = 0
    for taken, rows in enumerate(reversed(counts)):
        if held >= wanted_rows:
            return taken
        held += rows
    return len(counts)


@dataclass(frozen=True)
class BucketConfig:
    """Limits of data reuse; names as KataGo's trainer has them."""

    max_train_bucket_per_new_data: float = 4.0
    """Samples that may be trained for each new row."""
    max_train_bucket_size: int = 5_000_000
    """Samples that may be saved up."""
    samples_per_epoch: int = 1_000_000

    def __post_init__(self) -> None:
        if self.max_train_bucket_per_new_data <= 0 or self.max_train_bucket_size < 0 or self.samples_per_epoch < 1:
            raise ValueError("the train bucket's rate, size and epoch must be positive")


@dataclass(frozen=True)
class TrainBucket:
    """How many samples may be trained now (``level``), and up to which row count of the run that was reckoned."""

    level: float
    rows_seen: int

    @classmethod
    def new(cls, total_rows: int, config: BucketConfig) -> TrainBucket:
        """The bucket of a run that starts now: one epoch."""
        return cls(float(config.samples_per_epoch), total_rows)

    def fill(self, total_rows: int, config: BucketConfig) -> TrainBucket:
        """After the run's rows have become ``total_rows``; a total that fell only resets the record."""
        if total_rows <= self.rows_seen:
            return replace(self, rows_seen=total_rows)
        gained = (total_rows - self.rows_seen) * config.max_train_bucket_per_new_data
        size = max(config.max_train_bucket_size, config.samples_per_epoch)
        return TrainBucket(min(self.level + gained, size), total_rows)

    def may_train(self, config: BucketConfig) -> bool:
        """Whether another epoch may run."""
        return self.level > _NEARLY * config.samples_per_epoch

    def take(self, config: BucketConfig) -> TrainBucket:
        """After the start of an epoch."""
        return replace(self, level=self.level - config.samples_per_epoch)


_NEARLY: Final = 0.99
