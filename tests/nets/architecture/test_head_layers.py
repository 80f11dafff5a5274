"""The score belief against its formula (architectures.md 5) in float64, bin by bin, on boards of every size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
import torch

from common.rows import GlobalInput
from nets.architecture.config import Activation, HeadSizes, NetConfig, named
from nets.architecture.head_layers import ValueHead
from nets.architecture.layers import Board
from tests.nets.architecture.nets import boards, cached

LENGTH = 7
BOARDS = [(7, 7), (7, 7), (5, 7), (4, 3), (2, 2)]
"""Width and height of the boards of a batch, in the upper left of a tensor of edge 7."""
PARITIES = [-1.0, 1.0, 0.0, -0.5, 0.75]
"""Global input 18 of each."""

Array = npt.NDArray[np.float64]


def head_of(activation: Activation) -> ValueHead:
    """A value head whose biases are far from 0 too."""
    config: NetConfig = replace(named("b2c16"), activation=activation, heads=HeadSizes(8, 8, 6, 10, 9, 3))
    torch.manual_seed(11)
    head = ValueHead(config).eval()
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape))
    return head


def array(tensor: torch.Tensor) -> Array:
    return tensor.detach().numpy().astype(np.float64)


def activated(x: Array, activation: Activation) -> Array:
    if activation is Activation.RELU:
        return np.maximum(x, 0.0)
    if activation is Activation.SILU:
        return x / (1.0 + np.exp(-x))
    assert activation is Activation.MISH
    return x * np.tanh(np.log1p(np.exp(x)))


def log_sum_exp(x: Array, axis: int) -> Array:
    top = x.max(axis, keepdims=True)
    total: Array = np.log(np.exp(x - top).sum(axis)) + top.squeeze(axis)
    return total


def pooled_of(head: ValueHead, trunk: Array, width: int, height: int, activation: Activation) -> Array:
    """q = vpool(act(conv1(t) + β)) of one board, from its own points alone."""
    points = trunk[:, :height, :width].reshape(trunk.shape[0], -1)
    v = activated(array(head.conv.weight)[:, :, 0, 0] @ points + array(head.norm.beta)[:, None], activation)
    mean, edge = v.mean(1), (width * height) ** 0.5 - 14.0
    return np.concatenate((mean, mean * edge / 10.0, mean * (edge**2 / 100.0 - 0.1)))


def belief_of(head: ValueHead, q: Array, komi_parity: float, length: int, activation: Activation) -> Array:
    """Log-probabilities of all bins; bin i is the score i - M + 0.5."""
    layers = head.belief
    assert layers.parity is not None
    middle = length * length + 60
    steps = np.arange(2 * middle) - middle  # i - M
    off = 0.05 * (steps + 0.5)
    parity = np.where(steps % 2 == 0, 0.5, -0.5)
    s = array(layers.linear_in.weight) @ q + array(layers.linear_in.bias)
    s = s + np.outer(off, array(layers.offset)) + np.outer(parity * komi_parity, array(layers.parity))
    z = activated(s, activation) @ array(layers.linear_out.weight).T + array(layers.linear_out.bias)
    mix = array(layers.linear_mix.weight) @ q + array(layers.linear_mix.bias)
    log_weights = mix - log_sum_exp(mix, 0)
    return log_sum_exp(z - log_sum_exp(z, 0) + log_weights, 1)


@pytest.mark.parametrize("activation", [Activation.RELU, Activation.MISH, Activation.SILU])
def test_score_belief_is_the_formula_of_the_spec(activation: Activation) -> None:
    head = head_of(activation)
    planes = torch.zeros(len(BOARDS), 22, LENGTH, LENGTH)
    for row, (width, height) in enumerate(BOARDS):
        planes[row, 0, :height, :width] = 1.0
    board = Board.of(planes[:, :1], full=False)
    trunk = board.cut(torch.randn(len(BOARDS), 16, LENGTH, LENGTH))
    inputs = torch.randn(len(BOARDS), 19)
    inputs[:, GlobalInput.KOMI_PARITY] = torch.tensor(PARITIES)
    with torch.no_grad():
        found = array(head(head.conv(trunk), board, training=(trunk, inputs))["score_belief"])
        whole, some = Board.of(planes[:2, :1], full=True), trunk[:2]
        full = array(head(head.conv(some), whole, training=(some, inputs[:2]))["score_belief"])
    assert found.shape == (len(BOARDS), 2 * (49 + 60))
    np.testing.assert_allclose(full, found[:2], atol=1e-5)
    for row, (width, height) in enumerate(BOARDS):
        q = pooled_of(head, array(trunk[row]), width, height, activation)
        wanted = belief_of(head, q, PARITIES[row], LENGTH, activation)
        assert np.exp(wanted).sum() == pytest.approx(1.0)
        np.testing.assert_allclose(found[row], wanted, rtol=1e-5, atol=1e-4)


def test_score_belief_tells_bins_and_parities_apart() -> None:
    """What the formula's comparison rests on: half a bin, the sign of the parity and its global input all show."""
    head = head_of(Activation.MISH)
    q = np.random.default_rng(5).normal(size=18)
    wanted = belief_of(head, q, 1.0, LENGTH, Activation.MISH)
    assert np.abs(wanted - belief_of(head, q, -1.0, LENGTH, Activation.MISH)).max() > 0.1
    assert np.abs(wanted[1:] - wanted[:-1]).max() > 0.1


def test_a_value_head_cuts_its_maps_itself() -> None:
    """Whatever the trunk's end holds off board: maps of the trunk are 0 there, all else does not see it."""
    head = cached("b2c16").heads.value
    planes, inputs = boards([(7, 7), (3, 5)], 7)
    board = Board.of(planes[:, :1], full=False)
    trunk = torch.randn(2, 16, 7, 7)
    with torch.no_grad():
        found = head(head.conv(trunk), board, training=(trunk, inputs))
        cut = board.cut(trunk)
        wanted = head(head.conv(cut), board, training=(cut, inputs))
    assert {"future_position", "seki", "scoring", "ownership"} <= found.keys()
    for key, value in found.items():
        torch.testing.assert_close(value, wanted[key])
