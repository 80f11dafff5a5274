"""The records of a net file, each with its tokens, float blocks and parts in file order.

`nets.files.katago_file` walks these declarations to read and, the same way, to write. Numpy only.
Spec: model-format.md 3 to 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from common.rows import NUM_GLOBAL_INPUTS, NUM_PLANES
from nets.architecture.config import DEFAULT_MULTIPLIERS
from nets.files.grammar import (
    ACTIVATION,
    COUNT,
    COUNT_OR_NONE,
    EPSILON,
    FLAG,
    KERNEL,
    METADATA,
    MULTIPLIER,
    NAME,
    OLD_SCORE_ERROR,
    POLICY_CHANNELS,
    REAL,
    RELU,
    RMS_EPSILON,
    TIP_KIND,
    Blocks,
    Capabilities,
    Fixed,
    Floats,
    Grammar,
    Part,
    Token,
    capabilities_of,
    has,
    since,
)

Array = npt.NDArray[np.float32]

_NAME: Final = Token("name", NAME)

# -- layers ---------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class ConvRecord:
    """Convolution without bias; ``weights`` [y, x, in, out]."""

    name: str
    kernel_y: int
    kernel_x: int
    inputs: int
    outputs: int
    weights: Array = field(repr=False)

    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Token("kernel_y", KERNEL),
        Token("kernel_x", KERNEL),
        Token("inputs", COUNT),
        Token("outputs", COUNT),
        Fixed(1, "vertical dilation"),
        Fixed(1, "horizontal dilation"),
        Floats("weights", ("kernel_y", "kernel_x", "inputs", "outputs")),
    )


@dataclass(kw_only=True)
class NormRecord:
    """``(x - mean) / √(variance + epsilon) · scale + bias`` per channel; scale and bias may be absent."""

    name: str
    channels: int
    epsilon: float
    has_scale: bool
    has_bias: bool
    mean: Array = field(repr=False)
    variance: Array = field(repr=False)
    scale: Array | None = field(repr=False)
    bias: Array | None = field(repr=False)

    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Token("channels", COUNT),
        Token("epsilon", EPSILON),
        Token("has_scale", FLAG),
        Token("has_bias", FLAG),
        Floats("mean", ("channels",)),
        Floats("variance", ("channels",)),
        Floats("scale", ("channels",), has("has_scale")),
        Floats("bias", ("channels",), has("has_bias")),
    )


@dataclass(kw_only=True)
class ActivationRecord:
    """Kind of non-linearity; always ReLU in versions without the keyword."""

    name: str
    kind: str

    GRAMMAR: ClassVar[Grammar] = (_NAME, Token("kind", ACTIVATION, since("activation_kinds"), lambda _: RELU))


@dataclass(kw_only=True)
class MatrixRecord:
    """Linear layer without bias; ``weights`` [in, out]."""

    name: str
    inputs: int
    outputs: int
    weights: Array = field(repr=False)

    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Token("inputs", COUNT),
        Token("outputs", COUNT),
        Floats("weights", ("inputs", "outputs")),
    )


@dataclass(kw_only=True)
class BiasRecord:
    """Vector added per channel."""

    name: str
    channels: int
    weights: Array = field(repr=False)

    GRAMMAR: ClassVar[Grammar] = (_NAME, Token("channels", COUNT), Floats("weights", ("channels",)))


@dataclass(kw_only=True)
class RmsTipRecord:
    """Root-mean-square norm at the trunk's end."""

    name: str
    channels: int
    epsilon: float
    spatial: bool
    gamma: Array = field(repr=False)
    beta: Array = field(repr=False)

    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Token("channels", COUNT),
        Token("epsilon", RMS_EPSILON),
        Token("spatial", FLAG),
        Fixed(0, "channel group"),
        Floats("gamma", ("channels",)),
        Floats("beta", ("channels",)),
    )


@dataclass(kw_only=True)
class TokenNormRecord:
    """Root-mean-square norm inside transformer blocks."""

    name: str
    channels: int
    epsilon: float
    weight: Array = field(repr=False)

    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Token("channels", COUNT),
        Token("epsilon", RMS_EPSILON),
        Floats("weight", ("channels",)),
    )


@dataclass(kw_only=True)
class FrequenciesRecord:
    """Learned rotary frequencies [KV head, pair, (x, y)]."""

    name: str
    kv_heads: int
    pairs: int
    values: Array = field(repr=False)

    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Token("kv_heads", COUNT),
        Token("pairs", COUNT),
        Fixed(2, "directions"),
        Floats("values", ("kv_heads", "pairs", 2)),
    )


@dataclass(kw_only=True)
class ThetaRecord:
    """Base of fixed rotary frequencies."""

    name: str
    theta: float

    GRAMMAR: ClassVar[Grammar] = (_NAME, Token("theta", REAL))


# -- blocks ---------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class ResidualRecord:
    """Two convolutions."""

    name: str
    norm1: NormRecord
    act1: ActivationRecord
    conv1: ConvRecord
    norm2: NormRecord
    act2: ActivationRecord
    conv2: ConvRecord

    KEYWORD: ClassVar[str] = "ordinary_block"
    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Part("norm1", NormRecord, "normactconv1.norm"),
        Part("act1", ActivationRecord, "normactconv1.act"),
        Part("conv1", ConvRecord, "normactconv1.conv"),
        Part("norm2", NormRecord, "normactconv2.norm"),
        Part("act2", ActivationRecord, "normactconv2.act"),
        Part("conv2", ConvRecord, "normactconv2.conv"),
    )


@dataclass(kw_only=True)
class PoolingRecord:
    """Two convolutions, the first with globally pooled channels beside."""

    name: str
    norm1: NormRecord
    act1: ActivationRecord
    conv_regular: ConvRecord
    conv_pool: ConvRecord
    norm_pool: NormRecord
    act_pool: ActivationRecord
    linear_pool: MatrixRecord
    norm2: NormRecord
    act2: ActivationRecord
    conv2: ConvRecord

    KEYWORD: ClassVar[str] = "gpool_block"
    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Part("norm1", NormRecord, "normactconv1.norm"),
        Part("act1", ActivationRecord, "normactconv1.act"),
        Part("conv_regular", ConvRecord, "normactconv1.convpool.conv1r"),
        Part("conv_pool", ConvRecord, "normactconv1.convpool.conv1g"),
        Part("norm_pool", NormRecord, "normactconv1.convpool.normg"),
        Part("act_pool", ActivationRecord, "normactconv1.convpool.actg"),
        Part("linear_pool", MatrixRecord, "normactconv1.convpool.linear_g"),
        Part("norm2", NormRecord, "normactconv2.norm"),
        Part("act2", ActivationRecord, "normactconv2.act"),
        Part("conv2", ConvRecord, "normactconv2.conv"),
    )


@dataclass(kw_only=True)
class NestedRecord:
    """Bottleneck with blocks inside."""

    name: str
    num_blocks: int
    norm1: NormRecord
    act1: ActivationRecord
    conv_in: ConvRecord
    blocks: list[BlockRecord]
    norm2: NormRecord
    act2: ActivationRecord
    conv_out: ConvRecord

    KEYWORD: ClassVar[str] = "nested_bottleneck_block"
    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Token("num_blocks", COUNT),
        Part("norm1", NormRecord, "normactconvp.norm"),
        Part("act1", ActivationRecord, "normactconvp.act"),
        Part("conv_in", ConvRecord, "normactconvp.conv"),
        Blocks("blocks", "num_blocks", "blockstack"),
        Part("norm2", NormRecord, "normactconvq.norm"),
        Part("act2", ActivationRecord, "normactconvq.act"),
        Part("conv_out", ConvRecord, "normactconvq.conv"),
    )


@dataclass(kw_only=True)
class AttentionRecord:
    """Self-attention; exactly one of ``frequencies`` and ``theta`` is there if ``rope``."""

    name: str
    heads: int
    kv_heads: int
    query_dim: int
    value_dim: int
    rope: bool
    learnable_rope: bool
    norm: TokenNormRecord
    query: MatrixRecord
    key: MatrixRecord
    value: MatrixRecord
    out: MatrixRecord
    frequencies: FrequenciesRecord | None
    theta: ThetaRecord | None

    KEYWORD: ClassVar[str] = "transformer_attention_block"
    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Token("heads", COUNT),
        Token("kv_heads", COUNT),
        Token("query_dim", COUNT),
        Token("value_dim", COUNT),
        Token("rope", FLAG),
        Token("learnable_rope", FLAG),
        Part("norm", TokenNormRecord, "norm1"),
        Part("query", MatrixRecord, "q_proj"),
        Part("key", MatrixRecord, "k_proj"),
        Part("value", MatrixRecord, "v_proj"),
        Part("out", MatrixRecord, "out_proj"),
        Part("frequencies", FrequenciesRecord, "rope_freqs", lambda _, v: bool(v["rope"] and v["learnable_rope"])),
        Part("theta", ThetaRecord, "rope_theta", lambda _, v: bool(v["rope"] and not v["learnable_rope"])),
    )


@dataclass(kw_only=True)
class FeedForwardRecord:
    """Point-wise layers; ``gate`` is there if ``gated``."""

    name: str
    channels: int
    hidden: int
    gated: bool
    norm: TokenNormRecord
    linear1: MatrixRecord
    gate: MatrixRecord | None
    linear2: MatrixRecord

    KEYWORD: ClassVar[str] = "transformer_ffn_block"
    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Token("channels", COUNT),
        Token("hidden", COUNT),
        Token("gated", FLAG),
        Part("norm", TokenNormRecord, "norm"),
        Part("linear1", MatrixRecord, "ffn_linear1"),
        Part("gate", MatrixRecord, "ffn_linear_gate", has("gated")),
        Part("linear2", MatrixRecord, "ffn_linear2"),
    )


BlockRecord = ResidualRecord | PoolingRecord | NestedRecord | AttentionRecord | FeedForwardRecord
BLOCK_RECORDS: Final[Mapping[str, type[BlockRecord]]] = {
    record.KEYWORD: record
    for record in (ResidualRecord, PoolingRecord, NestedRecord, AttentionRecord, FeedForwardRecord)
}

# -- the whole ------------------------------------------------------------------------------------------------------

_RESERVED: Final = "reserved option"


@dataclass(kw_only=True)
class TrunkRecord:
    """Stem, blocks and the norm and activation at the trunk's end (one of ``tip`` and ``rms_tip``)."""

    name: str
    num_blocks: int
    channels: int
    mid_channels: int
    regular_channels: int
    dilated_channels: int
    pool_channels: int
    tip_kind: int
    conv_planes: ConvRecord
    linear_globals: MatrixRecord
    blocks: list[BlockRecord]
    tip: NormRecord | None
    rms_tip: RmsTipRecord | None
    act_tip: ActivationRecord

    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Token("num_blocks", COUNT),
        Token("channels", COUNT),
        Token("mid_channels", COUNT),
        Token("regular_channels", COUNT),
        Token("dilated_channels", COUNT_OR_NONE),
        Token("pool_channels", COUNT),
        Token("tip_kind", TIP_KIND, since("options"), lambda _: 0),
        *(Fixed(0, _RESERVED, since("options")),) * 5,
        Part("conv_planes", ConvRecord, "conv_spatial"),
        Part("linear_globals", MatrixRecord, "linear_global"),
        Blocks("blocks", "num_blocks", "blocks"),
        Part("tip", NormRecord, "norm_trunkfinal", lambda _, values: values["tip_kind"] == 0),
        Part("rms_tip", RmsTipRecord, "norm_trunkfinal", lambda _, values: values["tip_kind"] == 1),
        Part("act_tip", ActivationRecord, "act_trunkfinal"),
    )


@dataclass(kw_only=True)
class PolicyHeadRecord:
    """Policy head; the three last parts only where the pass logit has a hidden layer."""

    name: str
    channels: int
    conv_policy: ConvRecord
    conv_pool: ConvRecord
    norm_pool: NormRecord
    act_pool: ActivationRecord
    linear_pool: MatrixRecord
    norm: NormRecord
    act: ActivationRecord
    conv_out: ConvRecord
    linear_pass: MatrixRecord
    bias_pass: BiasRecord | None
    act_pass: ActivationRecord | None
    linear_pass2: MatrixRecord | None

    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        Token("channels", POLICY_CHANNELS, since("head_options"), lambda capabilities: capabilities.policy_channels),
        *(Fixed(0, _RESERVED, since("head_options")),) * 3,
        Part("conv_policy", ConvRecord, "conv1p"),
        Part("conv_pool", ConvRecord, "conv1g"),
        Part("norm_pool", NormRecord, "biasg"),
        Part("act_pool", ActivationRecord, "actg"),
        Part("linear_pool", MatrixRecord, "linear_g"),
        Part("norm", NormRecord, "bias2"),
        Part("act", ActivationRecord, "act2"),
        Part("conv_out", ConvRecord, "conv2p"),
        Part("linear_pass", MatrixRecord, "linear_pass"),
        Part("bias_pass", BiasRecord, "linear_pass_bias", since("options")),
        Part("act_pass", ActivationRecord, "act_pass", since("options")),
        Part("linear_pass2", MatrixRecord, "linear_pass2", since("options")),
    )


@dataclass(kw_only=True)
class ValueHeadRecord:
    """Value head: outcome, misc outputs, ownership."""

    name: str
    conv: ConvRecord
    norm: NormRecord
    act: ActivationRecord
    linear_hidden: MatrixRecord
    bias_hidden: BiasRecord
    act_hidden: ActivationRecord
    linear_value: MatrixRecord
    bias_value: BiasRecord
    linear_misc: MatrixRecord
    bias_misc: BiasRecord
    conv_ownership: ConvRecord

    GRAMMAR: ClassVar[Grammar] = (
        _NAME,
        *(Fixed(0, _RESERVED, since("head_options")),) * 3,
        Part("conv", ConvRecord, "conv1"),
        Part("norm", NormRecord, "bias1"),
        Part("act", ActivationRecord, "act1"),
        Part("linear_hidden", MatrixRecord, "linear2"),
        Part("bias_hidden", BiasRecord, "bias2"),
        Part("act_hidden", ActivationRecord, "act2"),
        Part("linear_value", MatrixRecord, "linear_valuehead"),
        Part("bias_value", BiasRecord, "bias_valuehead"),
        Part("linear_misc", MatrixRecord, "linear_miscvaluehead"),
        Part("bias_misc", BiasRecord, "bias_miscvaluehead"),
        Part("conv_ownership", ConvRecord, "conv_ownership"),
    )


@dataclass(kw_only=True)
class NetRecord:
    """A whole net file. ``name`` and ``version`` come before the grammar's tokens."""

    name: str
    version: int
    td_score: float
    score_mean: float
    score_stdev: float
    lead: float
    variance_time: float
    value_error: float
    score_error: float
    pass_alive_suicide: bool
    trunk: TrunkRecord
    policy_head: PolicyHeadRecord
    value_head: ValueHeadRecord

    GRAMMAR: ClassVar[Grammar] = (
        Fixed(NUM_PLANES, "number of spatial planes"),
        Fixed(NUM_GLOBAL_INPUTS, "number of global inputs"),
        *(
            Token(
                name,
                MULTIPLIER,
                since("multipliers"),
                lambda _, value=OLD_SCORE_ERROR if name == "score_error" else default: value,  # type: ignore[misc]
            )
            for name, default in DEFAULT_MULTIPLIERS._asdict().items()
        ),
        Token("metadata_encoder", METADATA, since("options"), lambda _: 0),
        Token("pass_alive_suicide", FLAG, since("options"), lambda _: False),
        *(Fixed(0, _RESERVED, since("options")),) * 6,
        Part("trunk", TrunkRecord, "trunk"),
        Part("policy_head", PolicyHeadRecord, "model.policy_head"),
        Part("value_head", ValueHeadRecord, "model.value_head"),
    )
    metadata_encoder: int = 0

    @property
    def capabilities(self) -> Capabilities:
        """What files of this version hold."""
        return capabilities_of(self.version)
