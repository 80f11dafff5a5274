"""Norms: what they count, how their statistics move, and that all their ways agree."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor

from nets.architecture.config import Activation
from nets.architecture.layers import BATCH_NORM_EPSILON, Act, Board, Norm, preactivate
from tests.nets.architecture.nets import FAMILIES, boards, cached


def test_batch_statistics_count_points_on_board() -> None:
    norm = Norm(3, gamma=True, statistics=True).train()
    x = torch.randn(2, 3, 5, 5, dtype=torch.float64)
    planes, _ = boards([(5, 5), (2, 3)], 5)
    board = Board.of(planes[:, :1].double(), full=False)
    y = norm(x, board)
    on = torch.cat((x[0].flatten(1), x[1, :, :3, :2].flatten(1)), 1)
    std = (on.var(1, unbiased=False) + BATCH_NORM_EPSILON).sqrt()
    expected = (x - on.mean(1).view(1, 3, 1, 1)) / std.view(1, 3, 1, 1)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(norm.running_mean.double(), on.mean(1), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(norm.running_std.double(), std, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("way", ["masked", "full", "packed"])
def test_running_statistics_move_by_a_thousandth(way: str) -> None:
    """Architectures.md 3.4; a new net's first thousand batches are plainly averaged, so that no start is left over."""
    planes, _ = boards([(5, 5), (5, 5) if way == "full" else (2, 3)], 5)
    places = planes[:, 0].flatten().nonzero()[:, 0] if way == "packed" else None
    board = Board.of(planes[:, :1], full=way == "full", places=places)
    x = 2.0 * torch.randn(2, 3, 5, 5) + 5.0
    points = x.transpose(0, 1)[:, planes[:, 0] > 0.0].double()
    mean, std = points.mean(1), (points.var(1, unbiased=False) + 1e-4).sqrt()
    for batches, rate in ((0, 1.0), (1, 0.5), (9, 0.1), (499, 0.002), (999, 0.001), (1000, 0.001), (10**6, 0.001)):
        norm = Norm(3, statistics=True).train()
        norm.batches.fill_(batches)
        norm.running_mean.fill_(-1.0)
        norm.running_std.fill_(0.5)
        norm(x, board)
        moved_mean, moved_std = norm.running_mean.double() + 1.0, norm.running_std.double() - 0.5
        torch.testing.assert_close(moved_mean, rate * (mean + 1.0), atol=1e-6, rtol=1e-3)
        torch.testing.assert_close(moved_std, rate * (std - 0.5), atol=1e-6, rtol=1e-3)


@pytest.mark.parametrize("channels", [1, 3])
def test_full_boards_are_normed_in_training_as_masked_ones_are(channels: int) -> None:
    torch.manual_seed(3)
    full, masked = (Norm(channels, gamma=True, statistics=True).train() for _ in range(2))
    assert full.gamma is not None
    with torch.no_grad():
        full.gamma.normal_()
        full.beta.normal_()
        masked.load_state_dict(full.state_dict())
    x = (3.0 * torch.randn(2, channels, 5, 5) + 1.0).contiguous(memory_format=torch.channels_last)
    weights = torch.randn_like(x)
    found = []
    for norm, board in ((full, Board(None, 25.0)), (masked, Board(torch.ones(2, 1, 5, 5), torch.full((2, 1), 25.0)))):
        values = x.clone().requires_grad_()
        y = norm(values, board)
        torch.autograd.backward((y * weights).sum())
        found.append([y, values.grad, *(p.grad for p in norm.parameters()), norm.running_mean, norm.running_std])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("activation", list(Activation))
@pytest.mark.parametrize("bias", [False, True])
def test_points_on_board_alone_are_normed_in_training_as_masked_boards_are(activation: Activation, bias: bool) -> None:
    torch.manual_seed(4)
    planes, _ = boards([(5, 5), (2, 3), (4, 5)], 5)
    packed, masked = (Norm(6, gamma=True, statistics=True).train() for _ in range(2))
    assert packed.gamma is not None
    with torch.no_grad():
        packed.gamma.normal_()
        packed.beta.normal_()
        masked.load_state_dict(packed.state_dict())
    x = (3.0 * torch.randn(3, 6, 5, 5) + 1.0).contiguous(memory_format=torch.channels_last)
    weights, added = torch.randn_like(x), torch.randn(3, 6)
    found = []
    for norm, places in ((packed, planes[:, 0].flatten().nonzero()[:, 0]), (masked, None)):
        board = Board.of(planes[:, :1], full=False, places=places)
        assert norm.packs(board) is (norm is packed)
        values, summand = x.clone().requires_grad_(), added.clone().requires_grad_()
        y = preactivate(norm, Act(activation), values, board, summand if bias else None)
        assert y.is_contiguous(memory_format=torch.channels_last)
        torch.autograd.backward((y * weights).sum())
        parameters = [p.grad for p in norm.parameters()]
        found.append([y, values.grad, summand.grad, *parameters, norm.running_mean, norm.running_std])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_a_step_that_replaces_norm_and_activation_sees_all_that_they_see(name: str, full: bool) -> None:
    net = cached(name)
    planes, inputs = boards([(6, 6), (6, 6) if full else (4, 5)], 6)
    expected = net.infer(planes, inputs, full=full)
    norms = [module for module in net.blocks.modules() if isinstance(module, Norm)]
    kind = Act(net.config.activation)

    def fused(norm: Norm, x: Tensor, bias: Tensor | None, board: Board) -> Tensor:
        scale, shift = (each.view(1, -1, 1, 1) for each in norm.affine())
        bias = torch.zeros(x.shape[:2]) if bias is None else bias
        return board.cut(kind((x + bias.view(*x.shape[:2], 1, 1)) * scale + shift))

    try:
        for norm in norms:
            norm.fused = partial(fused, norm)
        for key, value in net.infer(planes, inputs, full=full).items():
            torch.testing.assert_close(value, expected[key])
    finally:
        for norm in norms:
            norm.fused = None
