"""Nets by name: sizes, heads, masks, norms, parameter groups, and the way into and out of files."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nets.architecture.blocks import PoolingBlock, ResidualBlock
from nets.architecture.config import Activation, NetConfig, Residual, TipKind, base_names, named, written_version
from nets.architecture.heads import HEADS, Shape, Source, heads_of, output_shape
from nets.architecture.layers import BATCH_NORM_EPSILON, Act, Board, Norm, initialise, preactivate
from nets.architecture.model import Net, parameter_groups
from nets.files.descriptions import config_of
from nets.files.exchange import module_of, record_of, trainable_module_of
from nets.files.katago_file import NetFileError, read_net, write_net
from nets.files.records import ResidualRecord
from tests import FIXTURES
from tests.oracles import oracle_path

NET_FILES = FIXTURES / "nets"
FAMILIES = [
    "b2c16",
    "b2c16-fs-rvgl-mish",
    "b2c16-bng",
    "b1c6nbt-fson-mish-rvgl-bnh",
    "b1c6nbt-fson-mish-q",
    "b5c48h3tfr-fson-silu-rsnh",
]
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


def boards(sizes: list[tuple[int, int]], length: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Random planes on boards of the given (width, height), and random globals."""
    random = np.random.default_rng(seed)
    planes = np.zeros((len(sizes), 22, length, length), np.float32)
    for row, (width, height) in enumerate(sizes):
        planes[row, :, :height, :width] = random.random((22, height, width)) < 0.3
        planes[row, 0, :height, :width] = 1.0
    return torch.from_numpy(planes), torch.from_numpy(random.normal(size=(len(sizes), 19)).astype(np.float32))


def lively(name: str) -> Net:
    """A net of that name whose zero-initialised layers, norms and statistics are not trivial."""
    torch.manual_seed(1)
    net = Net(named(name))
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.2 * torch.randn(parameter.shape))
            elif not parameter.any():
                torch.nn.init.normal_(parameter, std=parameter[0].numel() ** -0.5)
        for buffer_name, buffer in net.named_buffers():
            if buffer_name.endswith("running_mean"):
                buffer += 0.2 * torch.randn(buffer.shape)
    return net


@pytest.mark.parametrize(("name", "millions"), SIZES.items())
def test_parameters_of_the_spec(name: str, millions: float) -> None:
    with torch.device("meta"):
        net = Net(named(name))
    training_only = ("training", "belief", "conv_trunk")
    total = sum(p.numel() for key, p in net.named_parameters() if not any(part in key for part in training_only))
    assert total / 1e6 == pytest.approx(millions, rel=0.01 if millions > 1 else 0.05)


@pytest.mark.parametrize("base", base_names())
def test_descriptions_survive_json(base: str) -> None:
    config = named(base + "-fson-mish")
    assert NetConfig.from_json(json.loads(config.dumps())) == config
    assert written_version(config) == (17 if "tf" in base else 15)


def test_b2c32_as_asked() -> None:
    config = named("b2c32")
    assert (config.channels, config.mid_channels, config.pool_channels) == (32, 32, 16)
    assert config.blocks == (Residual(32), Residual(32, 16), Residual(32))
    assert dataclasses.astuple(config.heads)[:5] == (12, 12, 12, 24, 24)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("b2c17", "no net size"),
        ("b2c16-elu", "unknown suffix"),
        ("b2c16-bn-fson", "contradicts"),
        ("b2c16-bnh", "needs -fson"),
        ("b2c16-fson-bnh-rsnh", "exclude"),
    ],
)
def test_bad_names(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        named(name)


def test_bad_descriptions() -> None:
    good = named("b2c16").to_json()
    with pytest.raises(ValueError, match="unknown field 'colour'"):
        NetConfig.from_json(good | {"colour": 1})
    with pytest.raises(ValueError, match="heads"):
        NetConfig.from_json({key: value for key, value in good.items() if key != "heads"})
    with pytest.raises(ValueError, match="block kind"):
        NetConfig.from_json(good | {"blocks": [{"kind": "dilated"}]})


def test_the_table_of_heads_is_whole() -> None:
    assert all(name == head.name and head.terms for name, head in HEADS.items())
    for source in Source:
        columns = [head.column for head in HEADS.values() if head.source is source and head.exported]
        assert set(columns) == set(range(len(columns)))
    terms = {term.name: term for head in HEADS.values() for term in head.terms}
    paper = {name: term.paper for name, term in terms.items() if term.paper}
    assert paper == {
        "policy": 1.0,
        "opponent_policy": 0.15,
        "value": 1.5,
        "ownership": 1.5,
        "score_belief_cdf": 0.02,
        "score_belief_pdf": 0.02,
        "score_mean_belief": 0.004,
        "score_stdev": 0.004,
    }


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
    net = _cached(name)
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
    net = _cached(name)
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


def test_a_value_head_cuts_its_maps_itself() -> None:
    """Whatever the trunk's end holds off board: maps of the trunk are 0 there, all else does not see it."""
    head = _cached("b2c16").heads.value
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


_NETS: dict[str, Net] = {}


def _cached(name: str) -> Net:
    if name not in _NETS:
        _NETS[name] = lively(name).eval()
    return _NETS[name]


def test_no_mask_where_boards_fill_the_tensor() -> None:
    net = _cached("b2c16-bng")
    planes, inputs = boards([(6, 6), (6, 6)], 6)
    masked, full = net.infer(planes, inputs), net.infer(planes, inputs, full=True)
    for key, value in full.items():
        torch.testing.assert_close(value, masked[key])
    assert Board.of(planes[:, :1], full=True).mask is None


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
    net = _cached(name)
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


def test_initialisation_has_the_stated_deviation() -> None:
    torch.manual_seed(0)
    weight = torch.empty(200, 50, 3, 3)
    initialise(weight, named("b2c16").activation, 0.8)
    wanted = 0.8 * (2 / 450) ** 0.5
    assert float(weight.std()) == pytest.approx(wanted, rel=0.02)
    assert float(weight.abs().max()) <= 2 * wanted / 0.87962566 * 1.0001


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


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_written_is_what_was_trained(name: str, tmp_path: Path) -> None:
    """Training form, file, and the module read back agree; the description is found again from the file."""
    net = lively(name).eval()
    write_net(record_of(net, name), tmp_path / "net.bin.gz")
    record = read_net(tmp_path / "net.bin.gz")
    again = module_of(record)
    planes, inputs = boards([(9, 9), (5, 7)], 9)
    with torch.no_grad():
        before, after = net.infer(planes, inputs), again.infer(planes, inputs)
    for key, value in before.items():
        torch.testing.assert_close(value, after[key], atol=1e-4, rtol=1e-4)
    config = config_of(record)
    for field in ("blocks", "channels", "norm", "activation", "tip", "second_heads", "pass_hidden", "q_values"):
        assert getattr(config, field) == getattr(net.config, field), field


def test_a_g170_net_can_be_trained_on_and_written_for_today(tmp_path: Path) -> None:
    old = read_net(oracle_path("nets/g170-b6c96-s175395328-d26788732.bin.gz"))
    net = trainable_module_of(old)
    assert net.config.version == 15
    assert not net.config.pass_hidden
    write_net(record_of(net, "continued"), tmp_path / "new.bin.gz")
    record = read_net(tmp_path / "new.bin.gz")
    assert (record.version, record.score_error) == (15, 150.0)
    planes, inputs = boards([(9, 9), (7, 5)], 9)
    with torch.no_grad():
        before, after = module_of(old).infer(planes, inputs), module_of(record).infer(planes, inputs)
    for key, value in before.items():
        torch.testing.assert_close(value, after[key], atol=2e-4, rtol=2e-4)
    torch.testing.assert_close(after["short_optimistic_policy"], after["policy"])
    assert not config_of(record).pass_hidden


@pytest.mark.parametrize("path", sorted(NET_FILES.glob("*.bin.gz")), ids=lambda path: path.stem)
def test_files_of_every_family_can_be_trained_on(path: Path) -> None:
    record = read_net(path)
    net = trainable_module_of(record)
    planes, inputs = boards([(6, 6), (5, 4)], 6)
    loss = sum(value.float().square().mean() for outputs in net(planes, inputs) for value in outputs.values())
    assert isinstance(loss, Tensor)
    torch.autograd.backward(loss)
    assert all(parameter.grad is not None for parameter in net.parameters())
    twin = Net(NetConfig.from_json(net.config.to_json())).eval()
    twin.load_state_dict(net.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(twin.infer(planes, inputs), net.eval().infer(planes, inputs))


def test_kernels_that_differ_within_a_block_are_refused() -> None:
    record = read_net(NET_FILES / "mini-fixup.bin.gz")
    block = record.trunk.blocks[0]
    assert isinstance(block, ResidualRecord)
    conv = block.conv2
    conv.kernel_y = conv.kernel_x = 1
    conv.weights = conv.weights[1:2, 1:2]
    with pytest.raises(NetFileError, match=r"kernels of sizes \[1, 3\]"):
        module_of(record)
