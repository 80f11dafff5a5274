"""Fresh nets against the numbers of architectures.md 3: scales of the norms, deviations of the weights.

The table of a net says scale · gain² by layer as the spec does; the deviation is scale · gain / √fan_in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import pytest
import torch
from torch import Tensor

from nets.architecture.config import (
    Activation,
    Attention,
    BlockSpec,
    FeedForward,
    HeadSizes,
    Nested,
    NetConfig,
    NormKind,
    Residual,
    Rope,
    TipKind,
)
from nets.architecture.layers import Norm, initialise
from nets.architecture.model import Net

BUILDS = 50
"""Nets that are made to see a layer's deviation: a layer of n weights shows n · 50 draws."""
SIGMAS = 5.0
"""How many standard errors a measured deviation may be off."""
TRUNCATED = 0.87962566

SQUARED_GAIN = {Activation.RELU: 2.0, Activation.SILU: 2.0, Activation.MISH: 2.210277}

_HEADS = HeadSizes(8, 8, 8, 12, 12, 3)
_BLOCKS: Final[tuple[BlockSpec, ...]] = (
    Nested(8, (Residual(8, 4), Residual(8))),
    Residual(16),
    Residual(16, 6),
    Nested(8, (Residual(8), Residual(8), Residual(8))),
)
_LAYER: Final[tuple[BlockSpec, ...]] = (Attention(4, 2, 4, 4, Rope.LEARNABLE), FeedForward(24))


def _config(blocks: tuple[BlockSpec, ...] = _BLOCKS, **options: Any) -> NetConfig:
    return NetConfig("net", 16, 16, 6, blocks, _HEADS, **options)


FIXUP = _config(norm=NormKind.FIXUP, activation=Activation.RELU)
SCALED = _config(norm=NormKind.FIXED_SCALE, activation=Activation.RELU)
MAIN_RUN = _config(norm=NormKind.ONE_NORM, activation=Activation.MISH, linear_branches=True, second_heads=True)
NORMED = _config(norm=NormKind.BATCH_NORM, gamma=True, activation=Activation.SILU)
TRANSFORMER = _config(
    (*_LAYER, Nested(8, _LAYER * 2), Nested(8, _LAYER * 3)),
    norm=NormKind.ONE_NORM,
    activation=Activation.SILU,
    tip=TipKind.RMS_SPATIAL,
    version=17,
)

# -- K of the norms (3.2) -------------------------------------------------------------------------------------------

_CONVOLUTIONAL_SCALES = {
    "blocks.0.norm1": 1.0,  # the first of its net
    "blocks.0.blocks.0.norm1": 1.0,
    "blocks.0.blocks.0.norm_pool": 1.0,
    "blocks.0.blocks.0.norm2": 1.0,
    "blocks.0.blocks.1.norm1": 2**-0.5,
    "blocks.0.blocks.1.norm2": 1.0,
    "blocks.0.norm2": 3**-0.5,  # two inner blocks were added to the bottleneck's start
    "blocks.1.norm1": 2**-0.5,
    "blocks.1.norm2": 1.0,
    "blocks.2.norm1": 3**-0.5,
    "blocks.2.norm_pool": 1.0,
    "blocks.2.norm2": 1.0,
    "blocks.3.norm1": 4**-0.5,
    "blocks.3.blocks.0.norm1": 1.0,
    "blocks.3.blocks.0.norm2": 1.0,
    "blocks.3.blocks.1.norm1": 2**-0.5,
    "blocks.3.blocks.1.norm2": 1.0,
    "blocks.3.blocks.2.norm1": 3**-0.5,
    "blocks.3.blocks.2.norm2": 1.0,
    "blocks.3.norm2": 4**-0.5,
    "tip": 5**-0.5,
}
_TRANSFORMER_SCALES = {
    "blocks.2.norm1": 3**-0.5,  # an attention and a feed-forward block count as two
    "blocks.2.norm2": 3**-0.5,  # but inside a bottleneck as one layer
    "blocks.3.norm1": 4**-0.5,
    "blocks.3.norm2": 4**-0.5,
}
_ALL_ONE = dict.fromkeys(_CONVOLUTIONAL_SCALES, 1.0)
NORM_SCALES = {
    "fixup": (FIXUP, _ALL_ONE),
    "fs": (SCALED, _CONVOLUTIONAL_SCALES),
    "fson-bnh": (MAIN_RUN, _CONVOLUTIONAL_SCALES | {"second_norm": 1.0}),
    "bng": (NORMED, _ALL_ONE),
    "transformer": (TRANSFORMER, _TRANSFORMER_SCALES),
}


@pytest.mark.parametrize("name", NORM_SCALES)
def test_fixed_scales_of_norms(name: str) -> None:
    config, wanted = NORM_SCALES[name]
    net = Net(config)
    norms = {key: norm for key, norm in net.named_modules() if isinstance(norm, Norm)}
    heads = {key: norm for key, norm in norms.items() if "heads." in key}
    assert norms.keys() - heads.keys() == wanted.keys()
    for key, norm in norms.items():
        assert norm.fixed_scale.tolist() == pytest.approx([wanted.get(key, 1.0)] * norm.fixed_scale.numel()), key
        assert torch.equal(norm.scale(), norm.fixed_scale), key  # gamma, where there is one, starts at 1
        assert not norm.beta.any(), key
    assert all(norm.gamma is None and not norm.statistics for norm in heads.values())


def test_the_one_batch_norm_of_a_net_without_second_heads_is_scaled_too() -> None:
    net = Net(_config(norm=NormKind.ONE_NORM))
    assert isinstance(net.tip, Norm)
    assert net.tip.statistics
    assert net.tip.scale().tolist() == pytest.approx([5**-0.5] * 16)


# -- deviations of the weights (3.1) --------------------------------------------------------------------------------

Scales = Mapping[str, tuple[float, bool]]
"""By a layer's name: scale, and whether the net's activation follows."""


def _act(scale: float) -> tuple[float, bool]:
    return scale, True


def _identity(scale: float) -> tuple[float, bool]:
    return scale, False


HEAD_SCALES: Scales = {
    "policy.conv_policy.weight": _act(0.8),
    "policy.conv_pool.weight": _act(1.0),
    "policy.linear_pool.weight": _act(0.6),
    "policy.linear_pass.weight": _act(1.0),
    "policy.linear_pass.bias": _act(0.2),
    "policy.outputs.conv.weight": _identity(0.3),
    "policy.outputs.linear_pass.weight": _identity(0.3),
    "policy.training_outputs.conv.weight": _identity(0.3),
    "policy.training_outputs.linear_pass.weight": _identity(0.3),
    "value.conv.weight": _act(1.0),
    "value.linear_hidden.weight": _act(1.0),
    "value.linear_hidden.bias": _act(0.2),
    "value.linear_value.weight": _identity(1.0),
    "value.linear_value.bias": _identity(0.2),
    "value.linear_misc.weight": _identity(1.0),
    "value.linear_misc.bias": _identity(0.2),
    "value.linear_training.weight": _identity(1.0),
    "value.linear_training.bias": _identity(0.2),
    "value.conv_ownership.weight": _identity(0.2),
    "value.conv_training.weight": _identity(0.2),
    "value.conv_trunk.weight": _identity(0.2),
    "value.belief.linear_in.weight": _act(1.0),
    "value.belief.linear_in.bias": _act(1.0),
    "value.belief.offset": _act(1.0),
    "value.belief.parity": _act(1.0),
    "value.belief.linear_out.weight": _identity(0.5),
    "value.belief.linear_out.bias": _identity(0.1),
    "value.belief.linear_mix.weight": _identity(1.0),
    "value.belief.linear_mix.bias": _identity(0.2),
}
STEM_SCALES: Scales = {"conv_planes.weight": _act(0.8), "linear_globals.weight": _act(0.6)}


def _regular(prefix: str, first: float, last: float) -> Scales:
    return {f"{prefix}.conv1.weight": _act(first), f"{prefix}.conv2.weight": _act(last)}


def _pooling(prefix: str, regular: float, pool: float, linear: float, last: float) -> Scales:
    return {
        f"{prefix}.conv_regular.weight": _act(regular),
        f"{prefix}.conv_pool.weight": _act(pool),
        f"{prefix}.linear_pool.weight": _act(linear),
        f"{prefix}.conv2.weight": _act(last),
    }


def _bottleneck(prefix: str, first: float, last: float) -> Scales:
    return {f"{prefix}.conv_in.weight": _act(first), f"{prefix}.conv_out.weight": _act(last)}


def _branches(*convs: str) -> Scales:
    """Convolutions with a 1×1 branch beside."""
    return {f"{conv}.weight": _act(0.8) for conv in convs} | {f"{conv}.branch": _act(0.6) for conv in convs}


_TWO, _THREE = 4 ** (-1 / 6), 4 ** (-1 / 8)
"""Fixup's first scales in bottlenecks with two and three inner blocks, of a net of four blocks."""
_FIXUP_SCALES: Scales = {
    **_bottleneck("blocks.0", _TWO, 0.0),
    **_pooling("blocks.0.blocks.0", 0.8 * _TWO, (0.6 * _TWO) ** 0.5, (0.6 * _TWO) ** 0.5, 0.0),
    **_regular("blocks.0.blocks.1", _TWO, 0.0),
    **_regular("blocks.1", 0.5, 0.0),
    **_pooling("blocks.2", 0.4, 0.3**0.5, 0.3**0.5, 0.0),
    **_bottleneck("blocks.3", _THREE, 0.0),
    **_regular("blocks.3.blocks.0", _THREE, 0.0),
    **_regular("blocks.3.blocks.1", _THREE, 0.0),
    **_regular("blocks.3.blocks.2", _THREE, 0.0),
}


def _unscaled(regular: float, pool: float, linear: float) -> Scales:
    """All blocks at scale 1; the numbers are of the pooling convolutions and the matrix behind them."""
    return {
        **_bottleneck("blocks.0", 1.0, 1.0),
        **_pooling("blocks.0.blocks.0", regular, pool, linear, 1.0),
        **_regular("blocks.0.blocks.1", 1.0, 1.0),
        **_regular("blocks.1", 1.0, 1.0),
        **_pooling("blocks.2", regular, pool, linear, 1.0),
        **_bottleneck("blocks.3", 1.0, 1.0),
        **_regular("blocks.3.blocks.0", 1.0, 1.0),
        **_regular("blocks.3.blocks.1", 1.0, 1.0),
        **_regular("blocks.3.blocks.2", 1.0, 1.0),
    }


_MAIN_RUN_SCALES: Scales = {
    **_unscaled(0.8, 0.6**0.5, 0.6**0.5),
    **_branches(
        "blocks.0.blocks.0.conv2",  # the convolutions that pool have no branch
        "blocks.0.blocks.1.conv1",
        "blocks.0.blocks.1.conv2",
        "blocks.1.conv1",
        "blocks.1.conv2",
        "blocks.2.conv2",
        *(f"blocks.3.blocks.{inner}.{conv}" for inner in range(3) for conv in ("conv1", "conv2")),
    ),
}
_TRANSFORMER_BLOCKS: Scales = {**_bottleneck("blocks.2", 1.0, 1.0), **_bottleneck("blocks.3", 1.0, 1.0)}
WEIGHT_SCALES: dict[str, tuple[NetConfig, Scales]] = {
    "fixup": (FIXUP, _FIXUP_SCALES),
    "fs": (SCALED, _unscaled(0.8, 0.6**0.5, 0.6**0.5)),
    "fson-mish-rvgl-bnh": (MAIN_RUN, _MAIN_RUN_SCALES),
    "bng": (NORMED, _unscaled(0.8, 1.0, 0.6)),
    "transformer": (TRANSFORMER, _TRANSFORMER_BLOCKS),
}


def drawn(config: NetConfig) -> dict[str, Tensor]:
    """Every parameter of `BUILDS` fresh nets, [builds, ...]."""
    torch.manual_seed(2024)
    nets = [dict(Net(config).named_parameters()) for _ in range(BUILDS)]
    return {name: torch.stack([net[name].detach().double() for net in nets]) for name in nets[0]}


def fan_in(name: str, parameters: Mapping[str, Tensor]) -> int:
    """Inputs of the layer that a parameter is of."""
    layer, _, last = name.rpartition(".")
    if last in ("offset", "parity"):
        layer += ".linear_in"
    weight = parameters[name if last == "branch" else f"{layer}.weight"]
    return weight[0, 0].numel()


def _is_constant(name: str) -> bool:
    """Norms start at fixed values."""
    return name.endswith((".gamma", ".beta", ".norm.weight"))


def _is_torchs(name: str) -> bool:
    """Layers of transformer blocks are drawn as torch draws them."""
    return name.split(".")[-2] in ("query", "key", "value", "out", "linear1", "gate", "linear2") and "blocks." in name


@pytest.mark.parametrize("family", WEIGHT_SCALES)
def test_deviations_of_fresh_weights(family: str) -> None:
    config, blocks = WEIGHT_SCALES[family]
    heads = {f"heads.{name}": scale for name, scale in HEAD_SCALES.items()}
    if config.second_heads:
        heads |= {f"second_heads.{name}": scale for name, scale in HEAD_SCALES.items()}
    wanted = {**STEM_SCALES, **blocks, **heads}
    parameters = drawn(config)
    assert wanted.keys() == {
        name for name in parameters if not (_is_constant(name) or _is_torchs(name) or name.endswith("frequencies"))
    }
    for name, (scale, activated) in wanted.items():
        values = parameters[name]
        gain = SQUARED_GAIN[config.activation] ** 0.5 if activated else 1.0
        deviation = scale * gain / fan_in(name, parameters) ** 0.5
        assert float(values.abs().max()) <= 2.0 * deviation / TRUNCATED * (1.0 + 1e-6), name
        tolerance = SIGMAS / (2.0 * values.numel()) ** 0.5
        assert float(values.square().mean()) ** 0.5 == pytest.approx(deviation, rel=tolerance), name
        assert abs(float(values.mean())) <= SIGMAS * deviation / values.numel() ** 0.5, name


def test_linear_layers_of_transformers_are_torchs() -> None:
    parameters = drawn(TRANSFORMER)
    names = [name for name in parameters if _is_torchs(name)]
    assert len(names) == (4 + 3) * (1 + 2 + 3)
    for name in names:
        values, bound = parameters[name], fan_in(name, parameters) ** -0.5
        assert 0.99 * bound < float(values.abs().max()) <= bound * (1.0 + 1e-6), name
        assert float(values.square().mean()) ** 0.5 == pytest.approx(bound / 3**0.5, rel=0.02), name
    assert all(bool((values == 1.0).all()) for name, values in parameters.items() if name.endswith(".norm.weight"))


def test_learnable_frequencies_are_log_uniform_with_random_signs() -> None:
    parameters = drawn(TRANSFORMER)
    frequencies = torch.cat([values.flatten(0, -2) for name, values in parameters.items() if "frequencies" in name])
    assert len(frequencies) >= 1000
    octaves = frequencies.abs().log() / math.log(50.0)  # -1 for 1/50, 0 for 1 radian per point
    assert -1.0 <= float(octaves.min()) < -0.98
    assert -0.02 < float(octaves.max()) <= 0.0
    assert octaves.mean(0).tolist() == pytest.approx([-0.5, -0.5], abs=0.04)
    assert octaves.std(0).tolist() == pytest.approx([12**-0.5] * 2, rel=0.1)
    assert frequencies.sign().mean(0).tolist() == pytest.approx([0.0, 0.0], abs=0.12)
    assert abs(float(torch.corrcoef(octaves.T)[0, 1])) < 0.12
    assert abs(float(torch.corrcoef(frequencies.sign().T)[0, 1])) < 0.12


def test_initialisation_has_the_stated_deviation() -> None:
    torch.manual_seed(0)
    weight = torch.empty(200, 50, 3, 3)
    initialise(weight, Activation.RELU, 0.8)
    wanted = 0.8 * (2 / 450) ** 0.5
    assert float(weight.std()) == pytest.approx(wanted, rel=0.02)
    assert float(weight.abs().max()) <= 2 * wanted / 0.87962566 * 1.0001
