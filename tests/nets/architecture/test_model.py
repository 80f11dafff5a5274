"""Whole nets: sizes, outputs, masks, beginnings, and the groups of their parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nets.architecture.blocks import PoolingBlock, ResidualBlock
from nets.architecture.config import TipKind, named
from nets.architecture.heads import Shape, heads_of, output_shape
from nets.architecture.layers import Board, Norm
from nets.architecture.model import Net, parameter_groups
from tests.nets.architecture.nets import FAMILIES, boards, cached, lively

MAPS = (Shape.MAP, Shape.TWO_MAPS, Shape.FOUR_MAPS)
# Parameters of the inference net in millions, from the spec's tables.
SIZES = {
    "b4c32": 0.08,
    "b6c96": 1.00,
    "b10c128": 2.95,
    "b5c192nbt": 1.88,
    "b8c192nbt": 2.99,
    "b15c192": 9.87,
    "b10c256nbt": 6.48,
    "b20c256": 23.40,
    "b10c384nbt": 14.68,
    "b18c384nbt": 26.36,
    "b28c512nbt": 72.80,
    "b14c192h6tfrs": 6.28,
    "b16c256h8tfrs": 13.8,
    "b4c256h4nbttflrs": 2.07,
    "b5c384h6nbttflrs": 5.31,
    "b10c384h6nbttflrs": 10.5,
    "b15c512h8nbttflrs": 29.8,
    "b10c512h8nbt3tflrs": 28.5,
    "b2b10c96h3tfrs": 1.48,
    "b7c96h6kv3qk32v16tflrs": 0.85,
}


@pytest.mark.parametrize(("name", "millions"), SIZES.items())
def test_parameters_of_the_spec(name: str, millions: float) -> None:
    with torch.device("meta"):
        net = Net(named(name))
    training_only = ("training", "belief", "conv_trunk")
    total = sum(p.numel() for key, p in net.named_parameters() if not any(part in key for part in training_only))
    assert total / 1e6 == pytest.approx(millions, rel=0.01 if millions > 1 else 0.05)


@pytest.mark.parametrize("name", FAMILIES)
def test_outputs_are_those_of_the_table(name: str) -> None:
    net = lively(name)
    planes, inputs = boards([(7, 7), (5, 6)], 7)
    for outputs in net(planes, inputs):
        expected = {head.name: (2, *output_shape(head, 7)) for head in heads_of(net.config, training=True)}
        assert {key: tuple(value.shape) for key, value in outputs.items()} == expected
    exported = net.eval().infer(planes, inputs)
    assert set(exported) == {head.name for head in heads_of(net.config, training=False)}
    trained = net(planes, inputs)[0]
    for key, value in exported.items():
        torch.testing.assert_close(value, trained[key])
    torch.testing.assert_close(trained["score_belief"].exp().sum(1), torch.ones(2))


def assert_same_on_board(found: Tensor, wanted: Tensor, shape: Shape, board: tuple[slice, slice]) -> None:
    """One row's output of two tensors, whose edges may differ, is the same on the points of ``board``."""

    def on_board(value: Tensor) -> Tensor:
        if shape is Shape.MOVES:
            edge = math.isqrt(value.numel())
            return torch.cat((value[:-1].view(edge, edge)[board].flatten(), value[-1:]))
        return value[..., *board] if shape in MAPS else value

    torch.testing.assert_close(on_board(found), on_board(wanted), atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("name", FAMILIES)
@settings(max_examples=4, deadline=None)
@given(width=st.integers(2, 9), height=st.integers(2, 9), seed=st.integers(0, 99))
def test_padding_changes_nothing(name: str, width: int, height: int, seed: int) -> None:
    """A position gives the same outputs alone in its tensor, alone in a larger one, and there in a mixed batch.

    That holds of every output of every head set, with one exception: the bins of a score belief are those of the
    tensor's edge, so beliefs are compared in tensors of one edge only.
    """
    net = cached(name)
    edge, board = max(width, height), np.s_[:height, :width]
    planes, inputs = boards([(width, height)], edge, seed)
    wide = torch.zeros(3, 22, 11, 11)
    wide[0, :, :edge, :edge] = planes[0]
    wide[1:], others = boards([(11, 11), (4, 9)], 11, seed)
    mixed_inputs = torch.cat((inputs, others))
    with torch.no_grad():
        own = net(planes, inputs, full=width == height)
        alone = net(wide[:1], inputs)
        mixed = net(wide, mixed_inputs)
        own_exported = net.infer(planes, inputs, full=width == height)
        mixed_exported = net.infer(wide, mixed_inputs)
    heads = {head.name: head.shape for head in heads_of(net.config, training=True)}
    assert len(own) == len(net.head_set_weights)
    for own_set, alone_set, mixed_set in zip(own, alone, mixed, strict=True):
        assert own_set.keys() == heads.keys()
        for key, shape in heads.items():
            assert_same_on_board(alone_set[key][0], mixed_set[key][0], shape, board)
            if shape is not Shape.SCORE_BINS:
                assert_same_on_board(own_set[key][0], mixed_set[key][0], shape, board)
    assert own_exported.keys() == mixed_exported.keys()
    for key, value in own_exported.items():
        assert_same_on_board(value[0], mixed_exported[key][0], heads[key], board)


@pytest.mark.parametrize("name", FAMILIES)
def test_nothing_is_said_of_points_off_board(name: str) -> None:
    """Architectures.md 2: maps are 0 there, moves have no probability."""
    net = cached(name)
    planes, inputs = boards([(7, 7), (3, 5), (6, 2)], 7)
    off = planes[:, 0] == 0.0
    heads = {head.name: head.shape for head in heads_of(net.config, training=True)}
    assert sum(shape in MAPS for shape in heads.values()) == 4
    with torch.no_grad():
        for outputs in net(planes, inputs):
            for key, shape in heads.items():
                if shape in MAPS:
                    value = outputs[key].view(3, -1, 7, 7)
                    assert bool(value[0].all()), key
                    assert not value.transpose(0, 1)[:, off].any(), key
                elif shape is Shape.MOVES:
                    assert float(outputs[key][:, :-1].view(3, 7, 7)[off].max()) < -4000.0, key


def test_no_mask_where_boards_fill_the_tensor() -> None:
    net = cached("b2c16-bng")
    planes, inputs = boards([(6, 6), (6, 6)], 6)
    masked, full = net.infer(planes, inputs), net.infer(planes, inputs, full=True)
    for key, value in full.items():
        torch.testing.assert_close(value, masked[key])
    assert Board.of(planes[:, :1], full=True).mask is None


def residual_blocks(net: Net) -> Iterator[ResidualBlock | PoolingBlock]:
    for block in net.blocks:
        assert isinstance(block, ResidualBlock | PoolingBlock)
        yield block


def test_fixup_starts_as_the_identity_and_fixed_scales_count_blocks() -> None:
    fixup = Net(named("b4c32"))
    x = torch.randn(1, 32, 5, 5)
    for block in fixup.blocks:
        assert torch.equal(block(x, Board(None, 25.0)), x)
    scaled = Net(named("b4c32-fs"))
    scales = [float(block.norm1.fixed_scale[0]) for block in residual_blocks(scaled)]
    assert scales == pytest.approx([1.0, 2**-0.5, 3**-0.5, 0.5])
    assert isinstance(scaled.tip, Norm)
    assert float(scaled.tip.fixed_scale[0]) == pytest.approx(5**-0.5)
    gammas = [(block.norm1.gamma is not None, block.norm2.gamma is not None) for block in residual_blocks(scaled)]
    assert gammas == [(False, True)] * 4
    assert isinstance(scaled.blocks[0], ResidualBlock)
    assert isinstance(scaled.blocks[2], PoolingBlock)
    assert all(block.norm1.gamma is not None for block in residual_blocks(Net(named("b4c32-fson"))))


@pytest.mark.parametrize("name", FAMILIES)
def test_every_parameter_has_one_group(name: str) -> None:
    net = Net(named(name))
    grouped = [key for members in parameter_groups(net).values() for key, _ in members]
    assert sorted(grouped) == sorted(key for key, _ in net.named_parameters())
    groups = {key: group for group, members in parameter_groups(net).items() for key, _ in members}
    assert groups["conv_planes.weight"] == "input"
    assert groups["heads.policy.norm.beta"] == "output_noreg"
    assert groups["tip.beta"] == ("output" if net.config.tip is not TipKind.STANDARD else "output_noreg")


GROUPS = {
    "input": {"conv_planes.weight", "linear_globals.weight"},
    "normal": {
        "conv1.weight",
        "conv1.branch",
        "conv2.weight",
        "conv2.branch",
        "conv_in.weight",
        "conv_out.weight",
        "conv_regular.weight",
        "conv_pool.weight",
        "linear_pool.weight",
        "linear1.weight",
        "gate.weight",
        "linear2.weight",
    },
    "normal_attn": {"query.weight", "key.weight", "value.weight", "out.weight"},
    "normal_gamma": {"norm1.gamma", "norm2.gamma", "norm_pool.gamma"},
    "noreg": {"norm1.beta", "norm2.beta", "norm_pool.beta", "norm.weight", "frequencies"},
}
"""Architectures.md 7 by the last names of parameters, for what is not in a head."""


def wanted_group(name: str, *, rms_tip: bool) -> str:
    """The group of the spec's table."""
    first, last = name.split(".")[0], name.split(".")[-1]
    if first in ("heads", "second_heads"):
        return "output_noreg" if last in ("bias", "beta") else "output"
    if first in ("tip", "second_norm"):
        return "output" if last == "gamma" or rms_tip else "output_noreg"
    (group,) = (group for group, ends in GROUPS.items() if any(f".{name}".endswith(f".{end}") for end in ends))
    return group


@pytest.mark.parametrize(
    ("name", "absent"),
    [
        ("b2c16", {"normal_attn"}),
        ("b2c16-bng", {"normal_attn"}),
        ("b1c6nbt-fson-mish-rvgl-bnh", {"normal_attn"}),
        ("b5c48h3tfr-fson-silu-rnh", {"normal_gamma"}),
        ("b7c96h6kv3qk32v16tflrs-fson-mish-bnh", {"normal_gamma"}),
        ("b4c256h4nbttflrs-fson-silu-rsnh", set()),
    ],
)
def test_groups_are_those_of_the_spec(name: str, absent: set[str]) -> None:
    with torch.device("meta"):
        net = Net(named(name))
    groups = parameter_groups(net)
    assert {group for group, members in groups.items() if not members} == absent
    rms_tip = net.config.tip is not TipKind.STANDARD
    for group, members in groups.items():
        for key, _ in members:
            assert group == wanted_group(key, rms_tip=rms_tip), key
