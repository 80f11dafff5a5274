"""Augmentation against hand-made boards and the formulas of features.md 6 and training.md 6."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch

from common.derive import score_distributions
from common.rows import GlobalInput, InputPlane, Rows
from nets.architecture.heads import RowWeight, Target
from nets.data.targets import Targets, apply_symmetry, draw_history, drop_history, make_batch
from tests.nets.made_rows import in_larger_tensors, made_rows
from tests.packing import pack_planes


@pytest.mark.parametrize("symmetry", range(8))
def test_points_move_as_the_specification_says(symmetry: int) -> None:
    length = 4
    board = np.arange(length * length).reshape(length, length)
    moved = apply_symmetry(board, symmetry)
    for y in range(length):
        for x in range(length):
            new_y = length - 1 - y if symmetry & 1 else y
            new_x = length - 1 - x if symmetry & 2 else x
            if symmetry & 4:
                new_x, new_y = new_y, new_x
            assert moved[new_y, new_x] == board[y, x]


@pytest.mark.parametrize("symmetry", range(8))
def test_everything_spatial_moves_together(symmetry: int) -> None:
    """A row whose every map marks one point marks the image of that point afterwards, and keeps its pass."""
    length, x, y = 5, 1, 3
    rows = Rows.zeros(2, length)
    board = np.zeros((2, 22, length, length), np.uint8)
    board[:, :, y, x] = 1
    rows.packed_planes[:] = pack_planes(board)
    rows.value_targets[:, :, y, x] = 1
    rows.policy_targets[:, :, y * length + x] = 3
    rows.policy_targets[:, :, -1] = 1
    rows.q_values[:, :, y * length + x] = 2
    batch = make_batch(rows, symmetry=symmetry)
    image = apply_symmetry(board[0, 0], symmetry)
    place = int(np.flatnonzero(image)[0])
    assert (batch.planes.numpy() == image).all()
    assert (batch.value_targets.numpy() == image).all()
    assert (batch.policy_targets[:, :, place] == 3).all()
    assert (batch.policy_targets[:, :, -1] == 1).all()
    assert (batch.q_values[:, :, place] == 2).all()
    assert batch.policy_targets.sum() == 4 * 4
    assert np.array_equal(batch.global_targets.numpy(), rows.global_targets)


def test_history_is_drawn_with_the_stated_probability() -> None:
    kept = draw_history(np.random.default_rng(0), 200_000)
    assert kept.shape == (200_000, 5)
    assert kept[:, 4].mean() == pytest.approx(0.904, abs=0.003)
    assert (kept[:, 1:] <= kept[:, :-1]).all()


def test_dropped_moves_vanish_and_ladders_follow() -> None:
    planes = np.zeros((4, 22, 3, 3), np.uint8)
    moves = slice(InputPlane.MOVE_1_AGO, InputPlane.MOVE_5_AGO + 1)
    planes[:, moves] = 1
    for plane, point in ((InputPlane.LADDERED, 0), (InputPlane.LADDERED_1_AGO, 1), (InputPlane.LADDERED_2_AGO, 2)):
        planes[:, plane, 0, point] = 1
    planes[:, InputPlane.KO_BANNED] = 1
    inputs = np.ones((4, 19), np.float32)
    kept = np.array([[1, 1, 1, 1, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 0, 0]], bool)
    drop_history(planes, inputs, kept)
    assert np.array_equal(planes[:, moves, 1, 1], kept)
    assert np.array_equal(inputs[:, GlobalInput.PASS_1_AGO : GlobalInput.PASS_5_AGO + 1], kept)
    assert (inputs[:, 5:] == 1).all()
    where = planes[:, InputPlane.LADDERED : InputPlane.LADDERED_2_AGO + 1, 0].argmax(axis=2)
    assert where.tolist() == [[0, 1, 2], [0, 0, 0], [0, 1, 1], [0, 1, 2]]
    assert (planes[:, InputPlane.KO_BANNED] == 1).all()


def test_the_rows_themselves_are_not_changed() -> None:
    rows = made_rows(8, 5)
    arrays: list[np.ndarray] = [rows.packed_planes, rows.global_inputs, rows.policy_targets]
    before = [array.copy() for array in arrays]
    make_batch(rows, symmetry=5, kept=np.zeros((8, 5), bool))
    for old, new in zip(before, arrays, strict=True):
        assert np.array_equal(old, new)


def test_targets_have_names_shapes_and_sums() -> None:
    rows = made_rows(6, 5, smallest=3)
    targets = Targets(make_batch(rows))
    moves, length = 26, 5
    for name, shape in {
        Target.POLICY: (6, moves),
        Target.REPLY: (6, moves),
        Target.OUTCOME: (6, 3),
        Target.TD_SCORE_LONG: (6,),
        Target.OWNERSHIP: (6, length, length),
        Target.FUTURE: (6, 2, length, length),
        Target.SCORE_DISTRIBUTION: (6, 2 * (25 + 60)),
        Target.Q_VALUES: (6, 3, moves),
    }.items():
        assert targets[name].shape == shape, name
        assert targets[name].dtype == torch.float32
    for name in (Target.POLICY, Target.REPLY, Target.OUTCOME, Target.SCORE_DISTRIBUTION):
        torch.testing.assert_close(targets[name].sum(dim=1), torch.ones(6))
    assert targets.area.tolist() == rows.planes()[:, 0].sum(axis=(1, 2)).tolist()
    assert {int(value) for kind in RowWeight for value in targets.weight(kind)} <= {0, 1}


@pytest.mark.parametrize("symmetry", range(8))
@pytest.mark.parametrize("smallest", [5, 2])
def test_a_batch_is_cut_to_the_edge_that_its_boards_need(symmetry: int, smallest: int) -> None:
    """Boards recorded in larger tensors give the batch that they give in tensors of their own."""
    rows = made_rows(9, 5, smallest=smallest)
    kept = draw_history(np.random.default_rng(1), 9)
    expected = make_batch(rows, symmetry=symmetry, kept=kept)
    batch = make_batch(in_larger_tensors(rows, 8), edge=5, symmetry=symmetry, kept=kept)
    for field in fields(batch):
        one, other = getattr(batch, field.name), getattr(expected, field.name)
        assert one is other is None or torch.equal(one, other), field.name
        assert one is None or one.is_contiguous()
    assert batch.full is (smallest == 5)


def test_scores_beyond_the_bins_of_a_cut_batch_go_to_their_ends() -> None:
    """As they are recorded for tensors of that edge."""
    scores = np.concatenate([np.arange(-90, 91, 0.5), np.arange(-87, 88, 0.7)])
    exists = np.arange(len(scores)) % 17 > 0
    rows = Rows.zeros(len(scores), 9)
    rows.score_distribution[:] = score_distributions(scores, exists, 9)
    batch = make_batch(rows, edge=5)
    np.testing.assert_array_equal(batch.score_distribution.numpy(), score_distributions(scores, exists, 5))


def test_a_batch_knows_whether_its_boards_fill_the_tensor() -> None:
    assert make_batch(made_rows(4, 5)).full
    smaller = make_batch(made_rows(8, 5, smallest=3), symmetry=5)
    assert not smaller.full
    assert smaller.places is not None
    assert torch.equal(smaller.places, smaller.planes[:, InputPlane.ON_BOARD].flatten().nonzero()[:, 0])
