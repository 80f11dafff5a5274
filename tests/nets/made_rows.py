"""Made-up rows that obey training-data.md, for tests that need no real game."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from common.rows import (
    LONG_TD_COLUMNS,
    MID_TD_COLUMNS,
    SHORT_TD_COLUMNS,
    TD_SCORE_COLUMNS,
    VALUE_COLUMNS,
    GlobalTarget,
    InputPlane,
    QTarget,
    Rows,
    ValueTarget,
)
from tests.packing import pack_planes


def made_rows(count: int, length: int, seed: int = 0, *, smallest: int | None = None) -> Rows:
    """Rows of boards from ``smallest`` (default: ``length``) to ``length`` points wide, weights not all 1."""
    rng = np.random.default_rng(seed)
    rows = Rows.zeros(count, length)
    sizes = rng.integers(smallest or length, length + 1, (count, 2))
    mask = np.zeros((count, length, length), np.int8)
    for index, (width, height) in enumerate(sizes):
        mask[index, :height, :width] = 1
    planes = rng.integers(0, 2, (count, 22, length, length)) * mask[:, None]
    planes[:, InputPlane.ON_BOARD] = mask
    rows.packed_planes[:] = pack_planes(planes)
    rows.global_inputs[:] = rng.uniform(-0.5, 0.5, rows.global_inputs.shape)
    moves = rng.integers(0, 9, (count, 2, length * length)) * mask.reshape(count, 1, -1)
    rows.policy_targets[:, :, :-1] = moves
    rows.policy_targets[:, :, -1] = rng.integers(1, 9, (count, 2))
    _fill_columns(rows.global_targets, rng)
    half = rng.multinomial(100, [1 / rows.score_distribution.shape[1]] * rows.score_distribution.shape[1], count)
    rows.score_distribution[:] = half
    rows.value_targets[:] = rng.integers(-1, 2, rows.value_targets.shape) * mask[:, None]
    rows.value_targets[:, ValueTarget.SCORING] = rng.integers(-120, 121, mask.shape) * mask
    searched = rng.integers(0, 2, rows.policy_targets[:, 0].shape) * np.pad(mask.reshape(count, -1), ((0, 0), (0, 1)))
    rows.q_values[:, QTarget.WIN_LOSS] = rng.integers(-32000, 32001, searched.shape) * searched
    rows.q_values[:, QTarget.SCORE] = rng.integers(-600, 601, searched.shape) * searched
    rows.q_values[:, QTarget.VISITS] = rng.integers(1, 50, searched.shape) * searched
    rows.check()
    return rows


def in_larger_tensors(rows: Rows, length: int) -> Rows:
    """The same boards in tensors of edge ``length``; scores must lie well within the bins."""
    edge, count = rows.length, rows.count
    larger = replace(Rows.zeros(count, length), global_inputs=rows.global_inputs, global_targets=rows.global_targets)
    planes = np.zeros((count, 22, length, length), np.uint8)
    planes[..., :edge, :edge] = rows.planes()
    larger.packed_planes[:] = pack_planes(planes)
    larger.value_targets[..., :edge, :edge] = rows.value_targets
    for new, old in ((larger.policy_targets, rows.policy_targets), (larger.q_values, rows.q_values)):
        board = new[..., :-1].reshape(*new.shape[:-1], length, length)
        board[..., :edge, :edge] = old[..., :-1].reshape(*old.shape[:-1], edge, edge)
        new[..., :-1], new[..., -1] = board.reshape(*new.shape[:-1], -1), old[..., -1]
    beyond = length**2 - edge**2
    larger.score_distribution[:, beyond:-beyond] = rows.score_distribution
    larger.check()
    return larger


def _fill_columns(columns: np.ndarray, rng: np.random.Generator) -> None:
    count = len(columns)
    for three in (VALUE_COLUMNS, LONG_TD_COLUMNS, MID_TD_COLUMNS, SHORT_TD_COLUMNS):
        columns[:, three[0] : three[0] + 3] = rng.dirichlet((1, 1, 0.2), count)
    for column in (*TD_SCORE_COLUMNS, GlobalTarget.SCORE, GlobalTarget.LEAD):
        columns[:, column] = rng.normal(0, 20, count)
    columns[:, GlobalTarget.VARIANCE_TIME] = rng.uniform(0, 90, count)
    columns[:, GlobalTarget.ROW_WEIGHT] = rng.uniform(0.5, 2, count)
    for weight in ("POLICY", "OUTCOME", "REPLY", "LEAD", "FUTURE", "SCORING"):
        columns[:, GlobalTarget[f"{weight}_WEIGHT"]] = rng.integers(0, 2, count)
    columns[:, GlobalTarget.VALUE_WEIGHT_MISSING] = rng.integers(0, 2, count)
    columns[:, GlobalTarget.TD_VALUE_WEIGHT_MISSING] = rng.integers(0, 2, count)
