"""Window and train bucket against the tables of training.md 7."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nets.data.window import (
    PAPER,
    TODAY,
    BucketConfig,
    TrainBucket,
    WindowConfig,
    countable_rows,
    newest,
    window_rows,
)

TABLE = {
    500_000: (338e3, 341e3),
    1_000_000: (475e3, 494e3),
    2_000_000: (691e3, 751e3),
    5_000_000: (1.17e6, 1.38e6),
    10_000_000: (1.79e6, 2.24e6),
    30_000_000: (3.55e6, 4.95e6),
    100_000_000: (7.65e6, 12.0e6),
    241_000_000: (13.5e6, 23.2e6),
    1_000_000_000: (33.9e6, 67.2e6),
}


@pytest.mark.parametrize("total", TABLE)
def test_table_of_the_specification(total: int) -> None:
    for config, expected in zip((TODAY, PAPER), TABLE[total], strict=True):
        assert float(f"{window_rows(total, config):.3g}") == expected


def test_the_paper_ends_with_22_million_rows() -> None:
    assert window_rows(241_000_000, PAPER) == pytest.approx(22e6, rel=0.06)  # Accelerating Self-Play Learning, app. C


SYNCHRONOUS = WindowConfig(min_rows=100_000, taper_window_scale=50_000, keep_target_rows=600_000)
"""A loop on one machine (training.md 7)."""


@given(st.integers(0, 10**10), st.integers(1, 10**8), st.sampled_from([TODAY, PAPER, SYNCHRONOUS]))
def test_the_window_grows_ever_more_slowly(total: int, more: int, config: WindowConfig) -> None:
    assert config.min_rows <= window_rows(total, config) <= window_rows(total + more, config)
    assert window_rows(total + more, config) - window_rows(total, config) <= config.expand_window_per_row * more + 1


def test_slope_at_the_start_is_expand_window_per_row() -> None:
    for config in (TODAY, SYNCHRONOUS, replace(TODAY, expand_window_per_row=0.3)):
        gained = window_rows(config.min_rows + 1000, config) - config.min_rows
        assert gained == pytest.approx(1000 * config.expand_window_per_row, rel=0.01)


def test_random_rows_count_up_to_min_rows() -> None:
    assert countable_rows(1000, 300_000) == 251_000
    assert countable_rows(1000, 30) == 1030


def test_newest_files_until_the_window_is_reached() -> None:
    assert newest([5, 5, 5], 0) == 0
    assert newest([5, 5, 5], 5) == 1
    assert newest([5, 5, 5], 6) == 2
    assert newest([5, 5, 5], 99) == 3
    assert newest([], 3) == 0


def test_bucket_follows_the_specification() -> None:
    config = BucketConfig(max_train_bucket_per_new_data=4, max_train_bucket_size=500, samples_per_epoch=100)
    bucket = TrainBucket.new(1000, config)
    assert bucket.may_train(config)
    bucket = bucket.take(config)
    assert not bucket.may_train(config)
    bucket = bucket.fill(1025, config)
    assert bucket == TrainBucket(100.0, 1025)
    assert bucket.fill(1024, config) == TrainBucket(100.0, 1024)
    assert bucket.fill(10**6, config).level == 500
    small = replace(config, max_train_bucket_size=10)
    assert bucket.fill(10**6, small).level == 100  # never below one epoch
    assert TrainBucket(99.1, 0).may_train(config)
    assert not TrainBucket(99.0, 0).may_train(config)


def test_bad_constants_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        WindowConfig(min_rows=0)
    with pytest.raises(ValueError, match="exponent"):
        WindowConfig(taper_window_exponent=0)
    with pytest.raises(ValueError, match="scale"):
        WindowConfig(taper_window_scale=-1)
    with pytest.raises(ValueError, match="bucket"):
        BucketConfig(max_train_bucket_per_new_data=0)
