"""Rates, decay, clipping, lookahead and Muon against the tables and formulas of training.md 2 to 5."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from nets.architecture.config import NormKind, named
from nets.architecture.layers import Norm
from nets.architecture.model import Net
from nets.training.averaging import Averager, AveragingConfig
from nets.training.muon import Muon, orthogonalised
from nets.training.optimizer import (
    PAPER,
    SCHEDULES,
    TODAY,
    WARMUP,
    Decay,
    DivergedError,
    DivergenceGuard,
    Kind,
    Optimizer,
    OptimizerConfig,
    gradient_cap,
    rate_factor,
    scheduled,
    steering,
    weight_decay,
)

PLAIN = OptimizerConfig(warmup=False, lookahead_alpha=1.0, clip_factor=0.0, decay=Decay.TODAY)


def test_schedules_at_their_bounds() -> None:
    assert [scheduled(WARMUP, s) for s in (0, 249_999, 250_000, 1.9e6, 2e6)] == [1 / 20, 1 / 20, 1 / 14, 1 / 1.4, 1]
    assert [scheduled(SCHEDULES["auto"], s) for s in (0, 549e6, 550e6, 6.39e9, 9e9)] == [8, 8, 6, 0.7, 0.5]
    assert [scheduled(SCHEDULES["auto2"], s) for s in (0, 20e6, 259e6, 599e6, 600e6)] == [12, 9, 1, 0.08, 0.05]
    paper = [PAPER.base_rate * PAPER.scale(s) for s in (0, 5_000_000, 447_000_000)]
    assert paper == pytest.approx([2e-5, 6e-5, 6e-6])


def test_rates_of_the_groups() -> None:
    net = Net(named("b2c16-fson-mish"))
    optimizer = Optimizer(net, OptimizerConfig(rate_scale=2.0), batch=256)
    optimizer.update_rates(600_000)
    full = 3e-5 * 2 * (1 / 10) / 0.5
    assert optimizer.rates() == pytest.approx(
        {
            "input": full,
            "normal": full,
            "normal_gamma": full,
            "noreg": full,
            "output": full / 2,
            "output_noreg": full / 2,
        }
    )
    adam = Optimizer(net, OptimizerConfig(Kind.ADAMW), batch=1024)
    assert adam.rates()["normal"] == pytest.approx(1.33 * 3e-5 / 20 / 0.5 * 2)
    assert rate_factor("normal_attn", OptimizerConfig(Kind.MUON)) == 2
    assert rate_factor("normal_gamma", OptimizerConfig(Kind.MUON)) == 1


@pytest.mark.parametrize(
    ("group", "norm", "kind", "expected"),
    [
        ("normal", NormKind.FIXUP, Kind.SGD, 1e-6 * 2),
        ("normal_attn", NormKind.FIXED_SCALE, Kind.SGD, 0.5e-6 * 2),
        ("noreg", NormKind.FIXUP, Kind.SGD, 1e-8 * 2),
        ("output", NormKind.FIXUP, Kind.ADAMW, 5e-3 * math.sqrt(2)),
        ("normal", NormKind.ONE_NORM, Kind.SGD, 1.25e-3 * 2 * 0.5**0.75 * 3),
        ("normal_gamma", NormKind.BATCH_NORM, Kind.SGD, 1.25e-3 * 2 * 0.5**0.75 * 3 * 0.125),
        ("normal_attn", NormKind.ONE_NORM, Kind.MUON, 2e-2 * math.sqrt(2) * 0.5**0.70 * 3 * 0.5),
        ("input", NormKind.ONE_NORM, Kind.MUON, 9e-3 * math.sqrt(2) * 0.5**0.75 * 3 * 2 / 3),
        ("output", NormKind.ONE_NORM, Kind.SGD, 1e-6 * 2),
        ("output", NormKind.ONE_NORM, Kind.ADAMW, 4e-3 * math.sqrt(2)),
        ("output_noreg", NormKind.BATCH_NORM, Kind.SGD, 1e-8 * 2),
        ("input_noreg", NormKind.BATCH_NORM, Kind.SGD, 1e-6 * 2 * 0.5**0.75),
    ],
)
def test_weight_decay_of_the_tables(group: str, norm: NormKind, kind: Kind, expected: float) -> None:
    config = OptimizerConfig(kind)
    assert weight_decay(group, norm, config, batch=512, effective=0.5, steering=3.0) == pytest.approx(expected)


def test_the_papers_decay_is_its_l2_term() -> None:
    """c‖θ‖² in every sample's loss: 2c·θ per sample in the gradient."""
    decay = partial(weight_decay, norm=NormKind.BATCH_NORM, config=PAPER, batch=256, effective=1.0, steering=1.0)
    assert decay("normal") == pytest.approx(2 * 3e-5 * 256)
    assert decay("noreg") == 0


def test_steering_holds_the_norm() -> None:
    assert steering(7.0, 7.0) == 1
    assert steering(1e9, 1.0) == pytest.approx(4)
    assert steering(1e-9, 1.0) == pytest.approx(1 / 4)
    assert steering(1.1, 1.0) == pytest.approx(2 ** (2 * math.tanh(3 * math.log(1.1))))


def test_the_cap_on_gradients_follows_from_norm_batch_and_scale() -> None:
    assert gradient_cap(NormKind.FIXUP, TODAY, batch=1024, scale=4.0) == pytest.approx(2500 * 2 / 2)
    assert gradient_cap(NormKind.BATCH_NORM, TODAY, batch=256, scale=1.0) == 5500
    assert gradient_cap(NormKind.FIXUP, OptimizerConfig(Kind.MUON), batch=256, scale=1.0) == 11000
    assert gradient_cap(NormKind.FIXUP, PAPER, batch=256, scale=1.0) == math.inf


def give_gradients(net: Net, scale: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for parameter in net.parameters():
        parameter.grad = scale * torch.randn(parameter.shape, generator=generator)


def test_sgd_with_lookahead_is_the_recurrence_of_the_specification() -> None:
    net = Net(named("b2c16"))
    optimizer = Optimizer(net, OptimizerConfig(warmup=False, lookahead_steps=3), batch=256)
    parameter = net.conv_planes.weight
    fast = parameter.detach().double().numpy().copy()
    slow, velocity = fast.copy(), np.zeros_like(fast)
    for step in range(1, 7):
        give_gradients(net, 1.0, step)
        assert parameter.grad is not None
        gradient = parameter.grad.double().numpy().copy()
        _, in_step = optimizer.step(0)
        velocity = 0.9 * velocity + gradient + 1e-6 * fast
        fast = fast - 2 * 3e-5 * velocity
        if step % 3 == 0:
            slow += 0.5 * (fast - slow)
            fast = slow.copy()
        assert in_step == (step % 3 == 0)
        np.testing.assert_allclose(parameter.detach(), fast, rtol=1e-5, atol=1e-7)
    give_gradients(net, 1.0, 9)
    optimizer.step(0)
    optimizer.reset_to_slow()
    np.testing.assert_allclose(parameter.detach(), slow, rtol=1e-5, atol=1e-7)


def test_gradients_are_clipped_to_the_cap_and_bad_ones_are_skipped() -> None:
    net = Net(named("b2c16"))
    optimizer = Optimizer(net, OptimizerConfig(warmup=False, lookahead_alpha=1.0), batch=256)
    give_gradients(net, 1e3, 1)
    norm, _ = optimizer.step(0)
    clipped = math.sqrt(sum(float((p.grad**2).sum()) for p in net.parameters() if p.grad is not None))
    assert norm > optimizer.cap == pytest.approx(2500)
    assert clipped == pytest.approx(2500, rel=1e-4)
    before = [parameter.detach().clone() for parameter in net.parameters()]
    give_gradients(net, math.nan, 1)
    optimizer.step(0)
    assert all(torch.equal(old, new) for old, new in zip(before, net.parameters(), strict=True))


@pytest.mark.parametrize(
    ("norms", "raised_at"),
    [
        ([math.nan] * 9, 8),
        ([1.0] * 5 + [5001.0] * 8, 13),
        (([1.0] * 3 + [math.inf]) * 30, 100),
        ([4999.0] * 300, None),
        (([1.0] * 4 + [math.inf]) * 60, None),
    ],
)
def test_the_guard_stops_a_diverging_run(norms: list[float], raised_at: int | None) -> None:
    guard = DivergenceGuard()
    for number, norm in enumerate(norms, 1):
        if number == raised_at:
            with pytest.raises(DivergedError, match="lower learning rate"):
                guard.see(norm, 100.0)
            return
        guard.see(norm, 100.0)
    assert raised_at is None


@pytest.mark.parametrize("shape", [(12, 40), (40, 12), (16, 16)])
def test_muon_orthogonalises(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    singular = torch.linalg.svdvals(orthogonalised(matrix).float())
    assert 0.5 < singular.min() < singular.max() < 1.4
    u, _, v = torch.linalg.svd(matrix, full_matrices=False)
    assert (
        torch.nn.functional.cosine_similarity((u @ v).flatten(), orthogonalised(matrix).float().flatten(), dim=0) > 0.95
    )


def test_muon_step_has_the_stated_size_and_decay() -> None:
    weight = torch.nn.Parameter(torch.ones(8, 4, 3, 3))
    weight.grad = torch.randn(weight.shape, generator=torch.Generator().manual_seed(2))
    expected = orthogonalised((0.05 * weight.grad + 0.95 * 0.05 * weight.grad).flatten(1)).float()
    Muon([{"params": [weight]}], lr=0.1, weight_decay=0.5).step()
    scaled = 0.2 * math.sqrt(36) * expected.view_as(weight)
    torch.testing.assert_close(weight.detach(), torch.ones_like(weight) * (1 - 0.05) - 0.1 * scaled)


def muon_by_the_formula(weight: torch.Tensor, gradients: list[torch.Tensor], rate: float, decay: float) -> torch.Tensor:
    """training.md 2, step by step in float64 but for the five bfloat16 products."""
    momentum = torch.zeros_like(weight)
    for gradient in gradients:
        momentum = 0.95 * momentum + 0.05 * gradient
        update = (0.05 * gradient + 0.95 * momentum).reshape(len(weight), -1)
        x = update if update.shape[0] <= update.shape[1] else update.T
        x = (x / (x.norm() + 1e-7)).bfloat16()
        for _ in range(5):
            a = x @ x.T
            x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
        direction = (x if update.shape[0] <= update.shape[1] else x.T).double() * 0.2 * max(update.shape) ** 0.5
        weight = weight * (1 - rate * decay) - rate * direction.reshape(weight.shape)
    return weight


@pytest.mark.parametrize("shape", [(8, 4, 3, 3), (40, 3, 1, 1), (16, 16)])
def test_muon_follows_the_formula_over_several_steps(shape: tuple[int, ...]) -> None:
    random = torch.Generator().manual_seed(3)
    # small parts of one direction that stays: only a momentum of the right length finds it in the noise
    steady = torch.randn(shape, generator=random)
    gradients = [0.3 * steady + torch.randn(shape, generator=random) for _ in range(12)]
    weight = torch.nn.Parameter(torch.randn(shape, generator=random))
    expected = muon_by_the_formula(weight.detach().double(), [each.double() for each in gradients], 0.1, 0.5)
    muon = Muon([{"params": [weight]}], lr=0.1, weight_decay=0.5)
    for gradient in gradients:
        weight.grad = gradient.clone()
        muon.step()
    distance = (weight.detach().double() - expected).norm() / expected.norm()
    assert distance < 0.01


@pytest.mark.parametrize(
    ("kind", "group", "betas", "epsilon"),
    [(Kind.ADAMW, "normal", (0.9, 0.999), 1e-8), (Kind.MUON, "output", (0.95, 0.995), 1e-6)],
)
def test_adam_follows_the_formula_over_several_steps(
    kind: Kind, group: str, betas: tuple[float, float], epsilon: float
) -> None:
    """training.md 2: decoupled decay, corrected moments; gradients so small that epsilon counts."""
    config = OptimizerConfig(kind, warmup=False, lookahead_alpha=1.0, clip_factor=0.0)
    optimizer = Optimizer(Net(named("b2c16-fs")), config, batch=256)
    parameter = optimizer.groups[group][0]
    expected = parameter.detach().double().clone()
    first, second = torch.zeros_like(expected), torch.zeros_like(expected)
    # base 1.33·3e-5; decay of fixed-scale nets 5e-3; output's rate is halved
    rate = 1.33 * 3e-5 * (0.5 if group == "output" else 1.0)
    random = torch.Generator().manual_seed(4)
    for step in range(1, 5):
        for each in optimizer.parameters:
            each.grad = torch.randn(each.shape, generator=random) * 3 * epsilon
        assert parameter.grad is not None
        gradient = parameter.grad.double()
        optimizer.step(0)
        first = betas[0] * first + (1 - betas[0]) * gradient
        second = betas[1] * second + (1 - betas[1]) * gradient**2
        expected *= 1 - rate * 5e-3
        corrected = (second / (1 - betas[1] ** step)).sqrt() + epsilon
        expected -= rate * (first / (1 - betas[0] ** step)) / corrected
    moved = parameter.detach().double()
    torch.testing.assert_close(moved, expected, rtol=0, atol=2e-7)


@pytest.mark.parametrize("name", ["base_rate", "rate_scale"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_rates_that_cannot_be_are_refused(name: str, value: float) -> None:
    changes: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=f"{name} must be a finite number above 0"):
        OptimizerConfig(**changes)
    with pytest.raises(ValueError, match="scales must be"):
        OptimizerConfig(schedule=((math.inf, value),))


def test_muon_takes_the_matrices_and_adam_the_rest() -> None:
    net = Net(named("b2c16-fson-mish"))
    optimizer = Optimizer(net, OptimizerConfig(Kind.MUON), batch=256)
    give_gradients(net, 1.0, 1)
    optimizer.step(0)
    keys = {name.split(".")[2] for name in optimizer.tensors() if name.startswith("state")}
    assert keys == {"momentum", "exp_avg", "exp_avg_sq", "step"}
    assert sum(name.endswith(".momentum") for name in optimizer.tensors()) == len(optimizer.groups["normal"])


def test_averaging_copies_first_then_moves_an_eighth() -> None:
    net = Net(named("b2c16-bn"))
    averager = Averager(net, AveragingConfig(), epoch=200)
    assert not averager.due(99)
    assert averager.due(100)
    averager.take(100)
    first = net.conv_planes.weight.detach().clone()
    assert isinstance(net.tip, Norm)
    with torch.no_grad():
        net.conv_planes.weight.add_(8.0)
        net.tip.running_mean.fill_(3.0)
    averager.take(200)
    averaged = averager.averaged_net()
    torch.testing.assert_close(averaged.conv_planes.weight.detach(), first + 1.0)
    assert isinstance(averaged.tip, Norm)
    assert (averaged.tip.running_mean == 3).all()
    assert not averager.due(299)


def test_bad_descriptions_are_refused() -> None:
    with pytest.raises(ValueError, match="no schedule"):
        OptimizerConfig(schedule="fast")
    with pytest.raises(ValueError, match="ascend"):
        OptimizerConfig(schedule=((5.0, 1.0), (3.0, 1.0)))
    with pytest.raises(ValueError, match="lookahead"):
        OptimizerConfig(lookahead_alpha=0.0)
    with pytest.raises(ValueError, match="belongs to SGD"):
        OptimizerConfig(Kind.ADAMW, decay=Decay.PAPER)
