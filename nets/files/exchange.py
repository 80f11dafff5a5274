"""Between a net file's records and the torch module: weights in both directions.

Attributes of modules and records have the same names, so one walk over a record's grammar finds both sides; what a
layer's numbers become is in the pair of functions of its leaf. Spec: model-format.md 4 to 7.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

from common.inputs import V7
from nets.architecture.config import (
    Activation,
    Attention,
    Multipliers,
    NetConfig,
    Rope,
    TipKind,
    written_version,
)
from nets.architecture.head_layers import PolicyHead, ValueHead
from nets.architecture.heads import Presence, heads_of
from nets.architecture.layers import RMS_EPSILON, RUNNING_RATE, Conv, Norm
from nets.architecture.model import Net
from nets.files.descriptions import KEYWORDS, KINDS, TRAINABLE_VERSION, config_of
from nets.files.grammar import Blocks, Capabilities, NetFileError, Part, capabilities_of
from nets.files.records import (
    BLOCK_RECORDS,
    ActivationRecord,
    Array,
    AttentionRecord,
    BiasRecord,
    BlockRecord,
    ConvRecord,
    FeedForwardRecord,
    FrequenciesRecord,
    MatrixRecord,
    NestedRecord,
    NetRecord,
    NormRecord,
    PolicyHeadRecord,
    RmsTipRecord,
    ThetaRecord,
    TokenNormRecord,
    TrunkRecord,
    ValueHeadRecord,
)

FOLDED_EPSILON: Final = 1e-20
"""Epsilon of written norms, whose variance already holds the net's own."""
SAME_MISC: Final = 4
"""As many misc outputs have meant the same since the oldest version."""


# -- leaves ---------------------------------------------------------------------------------------------------------


def _put(parameter: Tensor, values: np.ndarray[Any, Any]) -> None:
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)))


def _get(parameter: Tensor) -> Array:
    array: Array = parameter.detach().cpu().float().numpy()
    return array


def _load_norm(norm: Norm, record: NormRecord) -> None:
    """Statistics go where the module has some, and are folded into scale and shift where it has none."""
    std = np.sqrt(record.variance.astype(np.float64) + record.epsilon)
    mean = record.mean.astype(np.float64)
    scale = np.ones_like(std) if record.scale is None else record.scale.astype(np.float64)
    bias = np.zeros_like(std) if record.bias is None else record.bias.astype(np.float64)
    if norm.statistics:
        _put(norm.running_mean, mean)
        _put(norm.running_std, std)
        norm.batches.fill_(round(1.0 / RUNNING_RATE))
    else:
        scale = scale / std
        bias = bias - mean * scale
    if norm.gamma is None:
        _put(norm.fixed_scale, scale)
    else:
        _put(norm.gamma, scale / _get(norm.fixed_scale) - 1.0)
    _put(norm.beta, bias)


def _save_norm(norm: Norm, name: str) -> NormRecord:
    channels = norm.beta.numel()
    scale = _get(norm.scale())
    has_scale = norm.gamma is not None or bool((scale != 1.0).any())
    mean, variance = np.zeros(channels, np.float32), np.ones(channels, np.float32)
    if norm.statistics:
        mean = _get(norm.running_mean)
        square = _get(norm.running_std).astype(np.float64) ** 2
        variance = np.maximum(FOLDED_EPSILON, square - FOLDED_EPSILON).astype(np.float32)
    return NormRecord(
        name=name,
        channels=channels,
        epsilon=FOLDED_EPSILON,
        has_scale=has_scale,
        has_bias=True,
        mean=mean,
        variance=variance,
        scale=scale if has_scale else None,
        bias=_get(norm.beta),
    )


def _load_conv(conv: Conv, record: ConvRecord) -> None:
    _put(conv.weight, record.weights.transpose(3, 2, 0, 1))
    if conv.branch is not None:
        nn.init.zeros_(conv.branch)


def _save_conv(conv: Conv, name: str) -> ConvRecord:
    weights = np.ascontiguousarray(_get(conv.merged()).transpose(2, 3, 1, 0))
    y, x, inputs, outputs = weights.shape
    return ConvRecord(name=name, kernel_y=y, kernel_x=x, inputs=inputs, outputs=outputs, weights=weights)


def _matrix(weights: Array, name: str) -> MatrixRecord:
    """Record of ``weights`` [in, out]."""
    inputs, outputs = weights.shape
    return MatrixRecord(name=name, inputs=inputs, outputs=outputs, weights=np.ascontiguousarray(weights))


def _save_linear(layer: nn.Linear, name: str) -> MatrixRecord:
    return _matrix(_get(layer.weight).T, name)


def _bias(weights: Array, name: str) -> BiasRecord:
    return BiasRecord(name=name, channels=weights.size, weights=weights)


def _load_leaf(module: Any, record: Any) -> bool:
    """Fill ``module`` from a layer record; False if the record is not a layer but has parts."""
    if isinstance(record, ConvRecord):
        _load_conv(module, record)
    elif isinstance(record, NormRecord):
        _load_norm(module, record)
    elif isinstance(record, MatrixRecord):
        _put(module.weight, record.weights.T)
    elif isinstance(record, BiasRecord | TokenNormRecord):
        parameter = module if isinstance(module, Tensor) else module.weight
        _put(parameter, record.weights if isinstance(record, BiasRecord) else record.weight)
        if isinstance(record, TokenNormRecord):
            module.epsilon = record.epsilon
    elif isinstance(record, ActivationRecord):
        module.kind = KINDS[record.kind]
    elif isinstance(record, RmsTipRecord):
        module.epsilon = record.epsilon
        _put(module.gamma, record.gamma - 1.0)
        _put(module.beta, record.beta)
    elif isinstance(record, FrequenciesRecord):
        _put(module, record.values)
    else:
        return isinstance(record, ThetaRecord)
    return True


def _save_leaf(module: Any, record: type, name: str) -> Any:
    """The layer record of ``module``; None if that class of record has parts."""
    if record is ConvRecord:
        return _save_conv(module, name)
    if record is NormRecord:
        return _save_norm(module, name)
    if record is MatrixRecord:
        return _save_linear(module, name)
    if record is BiasRecord:
        return _bias(_get(module), name)
    if record is ActivationRecord:
        return ActivationRecord(name=name, kind=KEYWORDS[module.kind])
    if record is TokenNormRecord:
        weight = _get(module.weight)
        return TokenNormRecord(name=name, channels=weight.size, epsilon=module.epsilon, weight=weight)
    if record is RmsTipRecord:
        gamma, beta = _get(module.scale()), _get(module.beta)
        return RmsTipRecord(
            name=name, channels=gamma.size, epsilon=module.epsilon, spatial=module.spatial, gamma=gamma, beta=beta
        )
    if record is FrequenciesRecord:
        values = _get(module)
        return FrequenciesRecord(name=name, kv_heads=values.shape[0], pairs=values.shape[1], values=values)
    if record is ThetaRecord:
        return ThetaRecord(name=name, theta=module)
    return None


# -- the walk -------------------------------------------------------------------------------------------------------


def _side(module: Any, part: str) -> Any:
    """What in ``module`` corresponds to a record's part of that name."""
    if part.startswith("bias_"):
        return getattr(module, part.replace("bias_", "linear_", 1)).bias
    if part == "theta":
        return module.spec.theta
    if part == "rms_tip":
        return module.tip
    if isinstance(module, PolicyHead):
        return _policy_side(module, part)
    return getattr(module, part)


def _policy_side(head: PolicyHead, part: str) -> Any:
    """As `_side`: the last layers belong to the head's outputs; of one or two for the pass, the last does."""
    if part == "conv_out":
        return head.outputs.conv
    if part == "linear_pass2" or (part == "linear_pass" and head.linear_pass is None):
        return head.outputs.linear_pass
    return getattr(head, part)


def _load(module: Any, record: Any) -> None:
    """Fill ``module`` from ``record``, part by part."""
    for part in record.GRAMMAR:
        if isinstance(part, Blocks):
            for block, inner in zip(module.blocks, getattr(record, part.name), strict=True):
                _load(block, inner)
        elif isinstance(part, Part) and getattr(record, part.name) is not None:
            side, value = _side(module, part.name), getattr(record, part.name)
            if not _load_leaf(side, value):
                _load(side, value)


def _save(module: Any, record: type[Any], name: str, capabilities: Capabilities, prefix: str | None = None) -> Any:
    """The record of ``module``; layers are called ``prefix`` (the record's own name unless given) and their suffix."""
    values: dict[str, Any] = {"name": name} | _tokens(module, record)
    start = name if prefix is None else prefix
    for part in record.GRAMMAR:
        if not isinstance(part, Part | Blocks):
            continue
        if part.when is not None and not part.when(capabilities, values):
            values[part.name] = None
        elif isinstance(part, Blocks):
            values[part.name] = [
                _save(block, _record_of(block), f"{start}.{part.suffix}.{index}", capabilities)
                for index, block in enumerate(module.blocks)
            ]
        else:
            values[part.name] = _save_leaf(_side(module, part.name), part.record, f"{start}.{part.suffix}")
    return record(**values)


def _record_of(block: nn.Module) -> type[BlockRecord]:
    """The class of record whose name the block's class shares."""
    name = type(block).__name__.removesuffix("Block")
    return next(record for record in BLOCK_RECORDS.values() if record.__name__ == f"{name}Record")


def _tokens(module: Any, record: type) -> dict[str, Any]:
    """Sizes that stand in a record beside its parts."""
    if record is AttentionRecord:
        spec: Attention = module.spec
        return {
            "heads": spec.heads,
            "kv_heads": spec.kv_heads,
            "query_dim": spec.query_dim,
            "value_dim": spec.value_dim,
            "rope": spec.rope is not Rope.NONE,
            "learnable_rope": spec.rope is Rope.LEARNABLE,
        }
    if record is FeedForwardRecord:
        hidden, channels = module.linear1.weight.shape
        return {"channels": channels, "hidden": hidden, "gated": module.gate is not None}
    if record is NestedRecord:
        return {"num_blocks": len(module.blocks)}
    if record is PolicyHeadRecord:
        return {"channels": module.outputs.conv.weight.shape[0]}
    if record is TrunkRecord:
        config: NetConfig = module.config
        pool = config.pool_channels
        return {
            "num_blocks": len(config.blocks),
            "channels": config.channels,
            "mid_channels": config.mid_channels,
            "regular_channels": max(1, config.mid_channels - pool),
            "dilated_channels": pool,
            "pool_channels": pool,
            "tip_kind": int(config.tip is not TipKind.STANDARD),
        }
    return {}


# -- whole nets -----------------------------------------------------------------------------------------------------


def module_of(record: NetRecord) -> Net:
    """The net in a file as a module in evaluation mode that puts out exactly what the file says."""
    net = Net(config_of(record))
    _fill(net, record, record.value_head.linear_misc.outputs)
    return net.eval()


def trainable_module_of(record: NetRecord) -> Net:
    """The net in a file as a module to be trained on: all heads are there, what the file lacks is new or a copy.

    A missing optimistic policy starts as the policy; short-term errors of older definitions start anew; a second head
    set starts as the first. NetFileError if the net mixes activations or epsilons that a description cannot hold.
    """
    config = config_of(record)
    _require_uniform(record, config)
    if config.version < TRAINABLE_VERSION:
        config = dataclasses.replace(config, multipliers=Multipliers())
    net = Net(dataclasses.replace(config, version=written_version(config)))
    _fill(net, record, SAME_MISC if record.version < TRAINABLE_VERSION else record.value_head.linear_misc.outputs)
    if net.second_heads is not None:
        net.second_heads.load_state_dict(net.heads.state_dict())
    return net


def _require_uniform(record: NetRecord, config: NetConfig) -> None:
    """Everything that is not a weight must follow from the description, or a checkpoint would lose it."""

    def check(part_of: Any) -> None:
        for part in part_of.GRAMMAR:
            value = getattr(part_of, part.name, None) if isinstance(part, Part | Blocks) else None
            for layer in value if isinstance(value, list) else [value]:
                if isinstance(layer, ActivationRecord) and KINDS[layer.kind] is not config.activation:
                    if not (part.name == "act_pass" and not config.pass_hidden):
                        raise NetFileError(f"in {layer.name!r}: a net with mixed activations cannot be trained")
                elif isinstance(layer, TokenNormRecord | RmsTipRecord) and layer.epsilon != RMS_EPSILON:
                    raise NetFileError(f"in {layer.name!r}: only nets with epsilon {RMS_EPSILON} can be trained")
                elif layer is not None:
                    check(layer)

    check(record)


def _fill(net: Net, record: NetRecord, kept_misc: int) -> None:
    _load(net, record.trunk)
    _load_policy(net.heads.policy, record.policy_head)
    _load_value(net.heads.value, record.value_head, kept_misc)


def _load_policy(head: PolicyHead, record: PolicyHeadRecord) -> None:
    for name in ("conv_policy", "conv_pool", "norm_pool", "act_pool", "linear_pool", "norm", "act"):
        _load_leaf(getattr(head, name), getattr(record, name))
    wanted = head.outputs.conv.weight.shape[0]
    columns = [min(column, record.channels - 1) if column < 2 else column for column in range(wanted)]
    _put(head.outputs.conv.weight, record.conv_out.weights[..., columns].transpose(3, 2, 0, 1))
    if head.linear_pass is None:
        _put(head.outputs.linear_pass.weight, record.linear_pass.weights[:, columns].T)
        return
    if record.linear_pass2 is None or record.bias_pass is None or record.act_pass is None:
        raise NetFileError(f"in {record.name!r}: the pass logit's hidden layer is missing")
    _put(head.linear_pass.weight, record.linear_pass.weights.T)
    _put(head.linear_pass.bias, record.bias_pass.weights)
    _load_leaf(head.act_pass, record.act_pass)
    _put(head.outputs.linear_pass.weight, record.linear_pass2.weights[:, columns].T)


def _load_value(head: ValueHead, record: ValueHeadRecord, kept: int) -> None:
    """``kept`` misc outputs are taken over, the others stay new."""
    names = ("conv", "norm", "act", "linear_hidden", "act_hidden", "linear_value", "conv_ownership")
    for name in names:
        _load_leaf(getattr(head, name), getattr(record, name))
    _put(head.linear_hidden.bias, record.bias_hidden.weights)
    _put(head.linear_value.bias, record.bias_value.weights)
    _put(head.linear_misc.weight[:kept], record.linear_misc.weights[:, :kept].T)
    _put(head.linear_misc.bias[:kept], record.bias_misc.weights[:kept])


def record_of(net: Net, name: str) -> NetRecord:
    """Fold a module into the records of a file called ``name``: exported heads only, branches and norms merged.

    The model version is the one that suits the net (`nets.architecture.config.written_version`); a net that was read
    from an older file and keeps its outputs' older meaning keeps that version. NetFileError if no file can hold it.
    """
    config = net.config
    if config.inputs != V7:
        raise NetFileError(
            f"{name}: a net file of KataGo's kind holds nets of inputs {V7.name!r} only, and this one has "
            f"{config.inputs.name!r}; write it as .safetensors"
        )
    for head in heads_of(config, training=False):
        if head.presence is Presence.IF_NAMED:
            raise NetFileError(f"{name}: KataGo's kind of net file cannot hold {head.name!r}; write it as .safetensors")
    version = config.version if config.version <= TRAINABLE_VERSION else written_version(config)
    capabilities = capabilities_of(version)
    policy = _save_policy(net.heads.policy, capabilities)
    return NetRecord(
        name=name,
        version=version,
        **config.multipliers._asdict(),
        pass_alive_suicide=config.pass_alive_suicide,
        trunk=_save(net, TrunkRecord, "trunk", capabilities, prefix="model"),
        policy_head=policy,
        value_head=_save(net.heads.value, ValueHeadRecord, "model.value_head", capabilities),
    )


def _save_policy(head: PolicyHead, capabilities: Capabilities) -> PolicyHeadRecord:
    name = "model.policy_head"
    if head.linear_pass is not None or not capabilities.options:
        return _save(head, PolicyHeadRecord, name, capabilities)  # type: ignore[no-any-return]
    bare = _save(head, PolicyHeadRecord, name, dataclasses.replace(capabilities, options=False))
    hidden, channels = head.conv_policy.weight.shape[0], bare.channels
    if hidden < channels:
        raise NetFileError(f"in {name!r}: {hidden} channels cannot hand on {channels} pass logits")
    weights = np.zeros((bare.linear_pass.inputs, hidden), np.float32)
    weights[:, :channels] = bare.linear_pass.weights
    identity = np.eye(hidden, channels, dtype=np.float32)
    return dataclasses.replace(  # type: ignore[no-any-return]
        bare,
        linear_pass=_matrix(weights, f"{name}.linear_pass"),
        bias_pass=_bias(np.zeros(hidden, np.float32), f"{name}.linear_pass_bias"),
        act_pass=ActivationRecord(name=f"{name}.act_pass", kind=KEYWORDS[Activation.IDENTITY]),
        linear_pass2=_matrix(identity, f"{name}.linear_pass2"),
    )
