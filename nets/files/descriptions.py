"""What a net file's records describe: the net's shape as a `NetConfig`, and which of its outputs mean something.

Loads no torch, so that a file can be looked at quickly. Weights are `nets.files.exchange`. Spec: model-format.md 4 to
7.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from nets.architecture.config import (
    Activation,
    Attention,
    BlockSpec,
    FeedForward,
    HeadSizes,
    Multipliers,
    Nested,
    NetConfig,
    NormKind,
    Residual,
    Rope,
    TipKind,
)
from nets.architecture.heads import heads_of
from nets.files.grammar import ErrorFormula, NetFileError, capabilities_of
from nets.files.records import (
    AttentionRecord,
    BlockRecord,
    ConvRecord,
    FeedForwardRecord,
    NestedRecord,
    NetRecord,
    NormRecord,
    PolicyHeadRecord,
    PoolingRecord,
    ResidualRecord,
    TrunkRecord,
)

TRAINABLE_VERSION: Final = 14
"""From this model version on all outputs have today's meaning; older nets are raised to it to be trained."""
DEFAULT_BELIEF: Final = (64, 4)
"""Width and mixtures of the score belief, which files do not hold, in nets that were read from one."""

KEYWORDS: Final = {kind: f"ACTIVATION_{kind.name}" for kind in Activation}
KINDS: Final = {keyword: kind for kind, keyword in KEYWORDS.items()}
"""Activations by their words in files."""


def config_of(record: NetRecord) -> NetConfig:
    """Describe the net in a file. NetFileError if it is sound but cannot be described (even kernels that differ)."""
    trunk, policy, value = record.trunk, record.policy_head, record.value_head
    tip = TipKind.STANDARD
    if trunk.rms_tip is not None:
        tip = TipKind.RMS_SPATIAL if trunk.rms_tip.spatial else TipKind.RMS
    norm, gamma, second_heads = _norm_kind(trunk)
    heads = HeadSizes(
        policy.conv_policy.outputs,
        policy.conv_pool.outputs,
        value.conv.outputs,
        value.linear_hidden.outputs,
        *DEFAULT_BELIEF,
    )
    return NetConfig(
        record.name,
        trunk.channels,
        trunk.mid_channels,
        trunk.pool_channels,
        tuple(_block_spec(block) for block in trunk.blocks),
        heads,
        norm=norm,
        gamma=gamma,
        activation=KINDS[trunk.act_tip.kind],
        tip=tip,
        second_heads=second_heads,
        input_kernel=_kernel(trunk.conv_planes),
        pass_hidden=policy.linear_pass2 is not None and not _is_linear_pass(policy),
        q_values=policy.channels == 4,
        pass_alive_suicide=record.pass_alive_suicide,
        version=record.version,
        multipliers=Multipliers(*(getattr(record, name) for name in Multipliers._fields)),
    )


def _kernel(*convs: ConvRecord) -> int:
    sizes = {size for conv in convs for size in (conv.kernel_y, conv.kernel_x)}
    if len(sizes) > 1:
        raise NetFileError(f"in {convs[0].name!r}: kernels of sizes {sorted(sizes)} in one block are not supported")
    return sizes.pop()


def _block_spec(block: BlockRecord) -> BlockSpec:
    if isinstance(block, ResidualRecord):
        return Residual(block.conv1.outputs, 0, _kernel(block.conv1, block.conv2))
    if isinstance(block, PoolingRecord):
        kernel = _kernel(block.conv_regular, block.conv_pool, block.conv2)
        return Residual(block.conv_regular.outputs + block.conv_pool.outputs, block.conv_pool.outputs, kernel)
    if isinstance(block, NestedRecord):
        if _kernel(block.conv_in, block.conv_out) != 1:
            raise NetFileError(f"in {block.name!r}: a bottleneck's own convolutions must be 1×1")
        return Nested(block.conv_in.outputs, tuple(_block_spec(inner) for inner in block.blocks))
    if isinstance(block, AttentionRecord):
        sizes = (block.heads, block.kv_heads, block.query_dim, block.value_dim)
        if block.theta is not None:
            return Attention(*sizes, Rope.FIXED, block.theta.theta)
        return Attention(*sizes, Rope.NONE if block.frequencies is None else Rope.LEARNABLE)
    return FeedForward(block.hidden, block.gated)


def _norm_kind(trunk: TrunkRecord) -> tuple[NormKind, bool, bool]:
    """Kind of norm, whether batch norms have a scale, and whether training had a second head set.

    Files hold no second head set. That there was one is concluded from a fixed scale at the trunk's end where the
    blocks have scales that were learned.
    """
    first, last, pooling = _norms_of(trunk.blocks)
    if not first and trunk.rms_tip is not None:
        return NormKind.ONE_NORM, False, False  # nothing tells; it is what transformers are trained as
    tip_has_statistics = trunk.tip is not None and _has_statistics(trunk.tip)
    if any(_has_statistics(norm) for norm in first + last + pooling):
        return NormKind.BATCH_NORM, any(norm.has_scale for norm in first), False
    if tip_has_statistics:
        return NormKind.ONE_NORM, False, False
    if not any(norm.has_scale for norm in first + pooling):
        return NormKind.FIXUP, False, False
    constant = all(norm.scale is None or np.ptp(norm.scale) == 0.0 for norm in first)
    if constant and not any(norm.has_scale for norm in pooling):
        return NormKind.FIXED_SCALE, False, False
    return NormKind.ONE_NORM, False, trunk.tip is not None


def _norms_of(blocks: list[BlockRecord]) -> tuple[list[NormRecord], list[NormRecord], list[NormRecord]]:
    """First, last and pooling norms of all blocks, inner ones included."""
    first: list[NormRecord] = []
    last: list[NormRecord] = []
    pooling: list[NormRecord] = []
    for block in blocks:
        if isinstance(block, AttentionRecord | FeedForwardRecord):
            continue
        first.append(block.norm1)
        last.append(block.norm2)
        if isinstance(block, PoolingRecord):
            pooling.append(block.norm_pool)
        if isinstance(block, NestedRecord):
            for found, inner in zip((first, last, pooling), _norms_of(block.blocks), strict=True):
                found += inner
    return first, last, pooling


def _has_statistics(norm: NormRecord) -> bool:
    return bool((norm.mean != 0.0).any() or (norm.variance != 1.0).any())


def _is_linear_pass(head: PolicyHeadRecord) -> bool:
    """Whether the pass logit's hidden layer only hands a linear pass logit on (model-format.md 6.3)."""
    if head.act_pass is None or head.linear_pass2 is None or head.bias_pass is None:
        return True
    n = head.channels
    identity = np.zeros_like(head.linear_pass2.weights)
    identity[:n, :n] = np.eye(n)
    return (
        head.act_pass.kind == KEYWORDS[Activation.IDENTITY]
        and not head.bias_pass.weights.any()
        and not head.linear_pass.weights[:, n:].any()
        and np.array_equal(head.linear_pass2.weights, identity)
    )


def outputs_in(record: NetRecord) -> frozenset[str]:
    """Names of the outputs that weights can be taken over from; the others are new."""
    known = {head.name for head in heads_of(config_of(record), training=False)}
    if record.version < TRAINABLE_VERSION:
        known -= _REDEFINED
    if capabilities_of(record.version).error_formula is ErrorFormula.NONE:
        known.discard("variance_time")  # never shown by the engines of its time (model-format.md 6.3)
    return frozenset(known)


_REDEFINED: Final = {"short_term_value_error", "short_term_score_error"}
