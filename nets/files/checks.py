"""Do the layers of a net fit together? What the tokens of a file alone cannot show. Spec: model-format.md 5 and 8."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from common.rows import NUM_GLOBAL_INPUTS, NUM_PLANES
from nets.architecture.config import DEFAULT_MULTIPLIERS
from nets.files.grammar import MODEL_NAME, Blocks, Floats, NetFileError, Part, capabilities_of
from nets.files.records import (
    AttentionRecord,
    BlockRecord,
    FeedForwardRecord,
    NestedRecord,
    NetRecord,
    NormRecord,
    PolicyHeadRecord,
    PoolingRecord,
    RmsTipRecord,
    TokenNormRecord,
    TrunkRecord,
    ValueHeadRecord,
)


def check_net(net: NetRecord) -> None:
    """NetFileError, naming the layer, unless the net is sound: sizes agree, values are finite and in range."""
    try:
        MODEL_NAME.parse(net.name)
    except ValueError as error:
        raise NetFileError(f"model name {net.name!r} {error}") from error
    capabilities = capabilities_of(net.version)
    for name in DEFAULT_MULTIPLIERS._fields:
        value = getattr(net, name)
        _require(math.isfinite(value) and value > 0.0, net, f"the multiplier {name} is {value}; it must be above 0")
    _check_arrays(net)
    _check_trunk(net.trunk)
    _check_policy(net.policy_head, net.trunk.channels)
    _check_value(net.value_head, net.trunk.channels, capabilities.misc_outputs)


def _require(holds: bool, layer: Any, reason: str) -> None:
    if not holds:
        raise NetFileError(f"in {layer.name!r}: {reason}")


def _match(layer: Any, **expected: int) -> None:
    """The layer's sizes are the expected ones."""
    for name, size in expected.items():
        found = getattr(layer, name)
        what = name.replace("_", " ")
        _require(found == size, layer, f"{what} is {found}, but the layers around it need {size}")


def _check_arrays(record: Any) -> None:
    """Shapes are what the sizes say, all numbers finite, epsilons above 0; for the record and everything in it."""
    for part in record.GRAMMAR:
        value = getattr(record, part.name, None) if isinstance(part, Part | Floats | Blocks) else None
        if value is None:
            continue
        if isinstance(part, Floats):
            shape = tuple(getattr(record, size) if isinstance(size, str) else size for size in part.shape)
            _require(value.shape == shape, record, f"{part.name} has shape {value.shape} instead of {shape}")
            _require(bool(np.isfinite(value).all()), record, f"{part.name} contains a number that is not finite")
        elif isinstance(part, Blocks):
            count = getattr(record, part.count)
            _require(len(value) == count, record, f"there are {len(value)} blocks instead of {count}")
            for block in value:
                _check_arrays(block)
        else:
            _check_arrays(value)
    if isinstance(record, NormRecord):
        _require(bool((record.variance >= 0).all()), record, "a variance is negative")
    if isinstance(record, NormRecord | RmsTipRecord | TokenNormRecord):
        sound = math.isfinite(record.epsilon) and record.epsilon > 0.0
        _require(sound, record, f"epsilon is {record.epsilon}; it must be above 0")


def _check_trunk(trunk: TrunkRecord) -> None:
    c = trunk.channels
    _match(trunk.conv_planes, inputs=NUM_PLANES, outputs=c)
    _match(trunk.linear_globals, inputs=NUM_GLOBAL_INPUTS, outputs=c)
    _check_blocks(trunk.blocks, c)
    tip = trunk.tip if trunk.tip is not None else trunk.rms_tip
    _require(tip is not None, trunk, "there is no norm at the end")
    _match(tip, channels=c)


def _check_blocks(blocks: Iterable[BlockRecord], c: int) -> None:
    for block in blocks:
        if isinstance(block, AttentionRecord):
            _check_attention(block, c)
        elif isinstance(block, FeedForwardRecord):
            _match(block, channels=c)
            _match(block.norm, channels=c)
            for layer in (block.linear1, block.gate):
                if layer is not None:
                    _match(layer, inputs=c, outputs=block.hidden)
            _match(block.linear2, inputs=block.hidden, outputs=c)
        elif isinstance(block, NestedRecord):
            _match(block.norm1, channels=c)
            _match(block.conv_in, inputs=c)
            mid = block.conv_in.outputs
            _check_blocks(block.blocks, mid)
            _match(block.norm2, channels=mid)
            _match(block.conv_out, inputs=mid, outputs=c)
        elif isinstance(block, PoolingRecord):
            _check_pooling(block, c)
        else:
            _match(block.norm1, channels=c)
            _match(block.conv1, inputs=c)
            _match(block.norm2, channels=block.conv1.outputs)
            _match(block.conv2, inputs=block.conv1.outputs, outputs=c)


def _check_pooling(block: PoolingRecord, c: int) -> None:
    regular, pooled = block.conv_regular.outputs, block.conv_pool.outputs
    _match(block.norm1, channels=c)
    _match(block.conv_regular, inputs=c)
    _match(block.conv_pool, inputs=c)
    _match(block.norm_pool, channels=pooled)
    _match(block.linear_pool, inputs=3 * pooled, outputs=regular)
    _match(block.norm2, channels=regular)
    _match(block.conv2, inputs=regular, outputs=c)


def _check_attention(block: AttentionRecord, c: int) -> None:
    heads, kv, query, value = block.heads, block.kv_heads, block.query_dim, block.value_dim
    _require(heads % kv == 0, block, f"{heads} heads cannot share {kv} key heads evenly")
    _match(block.norm, channels=c)
    _match(block.query, inputs=c, outputs=heads * query)
    _match(block.key, inputs=c, outputs=kv * query)
    _match(block.value, inputs=c, outputs=kv * value)
    _match(block.out, inputs=heads * value, outputs=c)
    if block.frequencies is not None:
        _require(query % 2 == 0, block, f"rotary embedding needs an even query dimension, not {query}")
        _match(block.frequencies, kv_heads=kv, pairs=query // 2)
    if block.theta is not None:
        _require(query % 4 == 0, block, f"fixed rotary embedding needs a query dimension divisible by 4, not {query}")


def _check_policy(head: PolicyHeadRecord, c: int) -> None:
    p1, g1, channels = head.conv_policy.outputs, head.conv_pool.outputs, head.channels
    _require(channels in (1, 2, 4), head, f"there are {channels} policy channels; known are nets with 1, 2 and 4")
    _match(head.conv_policy, inputs=c)
    _match(head.conv_pool, inputs=c)
    _match(head.norm_pool, channels=g1)
    _match(head.linear_pool, inputs=3 * g1, outputs=p1)
    _match(head.norm, channels=p1)
    _match(head.conv_out, inputs=p1, outputs=channels)
    if head.linear_pass2 is None:
        _match(head.linear_pass, inputs=3 * g1, outputs=channels)
    else:
        _match(head.linear_pass, inputs=3 * g1, outputs=p1)
        _match(head.bias_pass, channels=p1)
        _match(head.linear_pass2, inputs=p1, outputs=channels)


def _check_value(head: ValueHeadRecord, c: int, misc: int) -> None:
    v1, v2 = head.conv.outputs, head.linear_hidden.outputs
    _match(head.conv, inputs=c)
    _match(head.norm, channels=v1)
    _match(head.linear_hidden, inputs=3 * v1)
    _match(head.bias_hidden, channels=v2)
    _match(head.linear_value, inputs=v2, outputs=3)
    _match(head.bias_value, channels=3)
    _match(head.linear_misc, inputs=v2, outputs=misc)
    _match(head.bias_misc, channels=misc)
    _match(head.conv_ownership, inputs=v1, outputs=1)
