"""The residual blocks of a trunk: one small class per kind, made from its description by `make_block`.

Every block maps [N, C, H, W] to the same shape and adds its own residual. Attribute names are those of the records of
`nets.files.records`, which is how `nets.files.exchange` moves weights between the two. Spec: architectures.md 2 and
3, model-format.md 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from nets.architecture.config import (
    Activation,
    Attention,
    BlockSpec,
    FeedForward,
    Nested,
    NetConfig,
    NormKind,
    Residual,
    Rope,
    walk_blocks,
)
from nets.architecture.layers import (
    Act,
    Board,
    Conv,
    Norm,
    TokenNorm,
    linear,
    pool,
    preactivate,
    transformer_linear,
    wide,
)

_SLOWEST: Final = 1.0 / 50.0
"""Smallest initial frequency of learnable rotary embeddings, radians per point; the largest is 1."""


@dataclass(frozen=True)
class Surroundings:
    """What a block must know of the net around it, beside its own description."""

    channels: int
    activation: Activation
    norm: NormKind
    gamma: bool
    linear_branches: bool
    entry_scale: float
    """K of the block's first norm: undoes the growth of variance by the residuals before it."""
    first_scale: float
    """Initial scale of the first convolution."""
    last_scale: float
    """Initial scale of the last one; 0 makes the block start as the identity."""

    @staticmethod
    def of_trunk(config: NetConfig, index: int) -> Surroundings:
        """For top-level block ``index`` (from 0) of a net."""
        fixup = config.norm is NormKind.FIXUP
        block, total = config.blocks[index], len(config.blocks)
        first = total**-0.5
        if isinstance(block, Nested):
            first = total ** (-0.5 / (1 + num_layers(block)))
        return Surroundings(
            config.channels,
            config.activation,
            config.norm,
            config.gamma,
            config.linear_branches,
            entry_scale=_fixed_scale(config.norm, index + 1),
            first_scale=first if fixup else 1.0,
            last_scale=0.0 if fixup else 1.0,
        )

    def inside(self, nested: Nested, layer: int) -> Surroundings:
        """For a block in layer ``layer`` (from 0) of a nested bottleneck that has these surroundings."""
        return replace(self, channels=nested.mid, entry_scale=_fixed_scale(self.norm, layer + 1))

    def make_norm(self, channels: int, *, last: bool = False, scale: float = 1.0) -> Norm:
        """A norm of this net's kind; ``last`` is the block's last one, ``scale`` its K where the kind has one."""
        if self.norm is NormKind.BATCH_NORM:
            return Norm(channels, gamma=self.gamma, statistics=True)
        return Norm(channels, fixed_scale=scale, gamma=last or self.norm is NormKind.ONE_NORM)


def _fixed_scale(norm: NormKind, summands: int) -> float:
    """K after ``summands`` terms of variance 1 were added up; 1 for kinds without fixed scales."""
    return summands**-0.5 if norm in (NormKind.FIXED_SCALE, NormKind.ONE_NORM) else 1.0


def num_layers(nested: Nested) -> int:
    """Inner layers of a bottleneck; attention and the feed-forward block after it are one."""
    return sum(not isinstance(block, FeedForward) for block in nested.inner)


class ResidualBlock(nn.Module):
    """``x + conv2(NA2(conv1(NA1(x))))``"""

    def __init__(self, spec: Residual, around: Surroundings) -> None:
        super().__init__()
        c, act = around.channels, around.activation
        branch = around.linear_branches and spec.kernel > 1
        self.norm1 = around.make_norm(c, scale=around.entry_scale)
        self.act1 = Act(act)
        self.conv1 = Conv(c, spec.mid, spec.kernel, act, around.first_scale, branch=branch)
        self.norm2 = around.make_norm(spec.mid, last=True)
        self.act2 = Act(act)
        self.conv2 = Conv(spec.mid, c, spec.kernel, act, around.last_scale, branch=branch)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        y = self.conv1(preactivate(self.norm1, self.act1, x, board))
        residual: Tensor = self.conv2(preactivate(self.norm2, self.act2, y, board))
        return x + residual


class PoolingBlock(nn.Module):
    """Residual block whose first convolution also feeds globally pooled channels back to every point."""

    def __init__(self, spec: Residual, around: Surroundings) -> None:
        super().__init__()
        c, act, regular = around.channels, around.activation, spec.mid - spec.pool
        s = around.first_scale
        if around.norm is NormKind.BATCH_NORM:
            scales = (0.8 * s, math.sqrt(s), 0.6 * math.sqrt(s))
        else:
            scales = (0.8 * s, math.sqrt(0.6 * s), math.sqrt(0.6 * s))
        self.norm1 = around.make_norm(c, scale=around.entry_scale)
        self.act1 = Act(act)
        self.conv_regular = Conv(c, regular, spec.kernel, act, scales[0])
        self.conv_pool = Conv(c, spec.pool, spec.kernel, act, scales[1])
        self.norm_pool = around.make_norm(spec.pool)
        self.act_pool = Act(act)
        self.linear_pool = linear(3 * spec.pool, regular, act, scales[2])
        self.norm2 = around.make_norm(regular, last=True)
        self.act2 = Act(act)
        branch = around.linear_branches and spec.kernel > 1
        self.conv2 = Conv(regular, c, spec.kernel, act, around.last_scale, branch=branch)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        z = preactivate(self.norm1, self.act1, x, board)
        pooled = pool(preactivate(self.norm_pool, self.act_pool, self.conv_pool(z), board), board)
        added = self.linear_pool(pooled.to(z.dtype))
        residual: Tensor = self.conv2(preactivate(self.norm2, self.act2, self.conv_regular(z), board, added))
        return x + residual


class NestedBlock(nn.Module):
    """1×1 convolution to fewer channels, inner blocks there, 1×1 convolution back."""

    def __init__(self, spec: Nested, around: Surroundings) -> None:
        super().__init__()
        c, act = around.channels, around.activation
        self.norm1 = around.make_norm(c, scale=around.entry_scale)
        self.act1 = Act(act)
        self.conv_in = Conv(c, spec.mid, 1, act, around.first_scale)
        layer, inner = 0, []
        for block in spec.inner:
            inner.append(make_block(block, around.inside(spec, layer)))
            layer += not isinstance(block, Attention)
        self.blocks = nn.ModuleList(inner)
        exit_scale = _fixed_scale(around.norm, num_layers(spec) + 1)
        self.norm2 = around.make_norm(spec.mid, last=True, scale=exit_scale)
        self.act2 = Act(act)
        self.conv_out = Conv(spec.mid, c, 1, act, around.last_scale)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        y = self.conv_in(preactivate(self.norm1, self.act1, x, board))
        for block in self.blocks:
            y = block(y, board)
        residual: Tensor = self.conv_out(preactivate(self.norm2, self.act2, y, board))
        return x + residual


class AttentionBlock(nn.Module):
    """``x + mask · out(attention(norm(x)))`` over the points of the board as tokens."""

    def __init__(self, spec: Attention, around: Surroundings) -> None:
        super().__init__()
        if spec.heads % spec.kv_heads:
            raise ValueError(f"{spec.heads} query heads cannot share {spec.kv_heads} key heads evenly")
        if spec.query_dim % (4 if spec.rope is Rope.FIXED else 2) and spec.rope is not Rope.NONE:
            raise ValueError(f"rotary embedding ({spec.rope}) does not fit a query dimension of {spec.query_dim}")
        c = around.channels
        self.spec = spec
        self.norm = TokenNorm(c)
        self.query = transformer_linear(c, spec.heads * spec.query_dim)
        self.key = transformer_linear(c, spec.kv_heads * spec.query_dim)
        self.value = transformer_linear(c, spec.kv_heads * spec.value_dim)
        self.out = transformer_linear(spec.heads * spec.value_dim, c)
        self.frequencies: nn.Parameter | None = None
        if spec.rope is Rope.LEARNABLE:
            size = (spec.kv_heads, spec.query_dim // 2, 2)
            magnitude = torch.exp(torch.rand(size) * -math.log(_SLOWEST) + math.log(_SLOWEST))
            self.frequencies = nn.Parameter(magnitude * (torch.randint(0, 2, size) * 2 - 1))

    def forward(self, x: Tensor, board: Board) -> Tensor:
        n, c, height, width = x.shape
        spec = self.spec
        z = self.norm(x.flatten(2).transpose(1, 2))
        q = self.query(z).view(n, -1, spec.heads, spec.query_dim).transpose(1, 2)
        k = self.key(z).view(n, -1, spec.kv_heads, spec.query_dim).transpose(1, 2)
        v = self.value(z).view(n, -1, spec.kv_heads, spec.value_dim).transpose(1, 2)
        shared = spec.heads // spec.kv_heads
        if spec.rope is not Rope.NONE:
            angles = self._angles(height, width, x.device)
            q = _rotate(q, angles.repeat_interleave(shared, 0) if angles.shape[0] > 1 else angles)
            k = _rotate(k, angles)
        if shared > 1:
            k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        keys = None if board.mask is None else board.mask.view(n, 1, 1, -1) > 0
        attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=keys)
        y = self.out(attended.transpose(1, 2).reshape(n, height * width, -1))
        return x + board.cut(y.transpose(1, 2).reshape(n, c, height, width))

    def _angles(self, height: int, width: int, device: torch.device) -> Tensor:
        """Rotation angles [KV heads or 1, S, P] of the channel pairs at each point."""
        y = torch.arange(height, dtype=torch.float32, device=device).repeat_interleave(width)[:, None]
        x = torch.arange(width, dtype=torch.float32, device=device).repeat(height)[:, None]
        if self.frequencies is not None:
            f = self.frequencies
            return x * f[:, None, :, 0] + y * f[:, None, :, 1]
        pairs = self.spec.query_dim // 2
        steps = torch.arange(pairs // 2, dtype=torch.float32, device=device)
        frequency = self.spec.theta ** (-2.0 * steps / pairs)
        return torch.cat((y * frequency, x * frequency), 1)[None]


def _rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Rotate the channel pairs (2p, 2p + 1) of ``x`` [N, heads, S, D] by ``angles`` [heads or 1, S, D / 2]."""
    pairs = wide(x).view(*x.shape[:-1], -1, 2)
    a, b = pairs[..., 0], pairs[..., 1]
    cos, sin = angles.cos(), angles.sin()
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)


class FeedForwardBlock(nn.Module):
    """``x + mask · linear2(SiLU(linear1 z) ⊙ gate z)``, z = norm(x), at each point."""

    def __init__(self, spec: FeedForward, around: Surroundings) -> None:
        super().__init__()
        c = around.channels
        self.norm = TokenNorm(c)
        self.linear1 = transformer_linear(c, spec.hidden)
        self.gate = transformer_linear(c, spec.hidden) if spec.gated else None
        self.linear2 = transformer_linear(spec.hidden, c)

    def forward(self, x: Tensor, board: Board) -> Tensor:
        n, c, height, width = x.shape
        z = self.norm(x.flatten(2).transpose(1, 2))
        hidden = functional.silu(self.linear1(z))
        if self.gate is not None:
            hidden = hidden * self.gate(z)
        y = self.linear2(hidden)
        return x + board.cut(y.transpose(1, 2).reshape(n, c, height, width))


def make_block(spec: BlockSpec, around: Surroundings) -> nn.Module:
    """The module of a block's description."""
    if isinstance(spec, Residual):
        return PoolingBlock(spec, around) if spec.pool else ResidualBlock(spec, around)
    if isinstance(spec, Nested):
        return NestedBlock(spec, around)
    if isinstance(spec, Attention):
        return AttentionBlock(spec, around)
    return FeedForwardBlock(spec, around)


def make_trunk(config: NetConfig) -> nn.ModuleList:
    """All blocks of a net in order."""
    for spec in walk_blocks(config.blocks):
        if isinstance(spec, Residual) and not 0 <= spec.pool < spec.mid:
            raise ValueError(f"{config.name}: a block cannot pool {spec.pool} of its {spec.mid} channels")
    return nn.ModuleList(
        make_block(spec, Surroundings.of_trunk(config, index)) for index, spec in enumerate(config.blocks)
    )
