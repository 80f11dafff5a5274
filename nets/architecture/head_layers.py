"""The layers behind the table of heads: the policy head, the value head, the score belief.

Each source of the table has one layer for the exported outputs and one for those that only training needs, so that
inference never computes the latter. Outputs are raw, named by the table. Spec: architectures.md 4 and 5,
model-format.md 6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import torch
from torch import Tensor, nn

from common.rows import SCORE_MARGIN
from nets.architecture.config import Activation, NetConfig
from nets.architecture.heads import Head, Source, heads_of
from nets.architecture.layers import Act, Board, Conv, Norm, initialise, linear, pool, value_pool, wide

OFF_BOARD_LOGIT: Final = -5000.0
"""Added to the policy logits of points that are not on the board."""

Outputs = dict[str, Tensor]
"""Raw outputs by head name, shapes as `nets.architecture.heads.output_shape` says, batch axis first."""


class Projected(NamedTuple):
    """What the heads' first layers make of the trunk's end: all that they know of the board, [N, channels, H, W] each.

    Up to here 16 bits do no harm; what follows sums over the board and puts out points and probabilities.
    """

    policy: Tensor
    pool: Tensor
    value: Tensor


def _of_source(heads: Iterable[Head], source: Source, *, exported: bool) -> tuple[Head, ...]:
    """The heads that one layer computes; exported ones in file order."""
    chosen = [head for head in heads if head.source is source and head.exported == exported]
    return tuple(sorted(chosen, key=lambda head: head.column or 0))


def _channels(heads: tuple[Head, ...]) -> int:
    return sum(head.channels for head in heads)


def _split(raw: Tensor, heads: tuple[Head, ...]) -> Outputs:
    """Cut [N, channels, ...] into one tensor per head; heads of one channel lose that axis."""
    parts = (raw,) if len(heads) == 1 else torch.split(raw, [head.channels for head in heads], 1)
    return {head.name: part if head.channels > 1 else part[:, 0] for head, part in zip(heads, parts, strict=True)}


class PolicyOutputs(nn.Module):
    """Last layer of one group of policies: a 1×1 convolution for the points and a matrix for the pass."""

    def __init__(self, heads: tuple[Head, ...], channels: int, pass_inputs: int) -> None:
        super().__init__()
        self.heads = heads
        self.conv = Conv(channels, _channels(heads), 1, Activation.IDENTITY, 0.3)
        self.linear_pass = linear(pass_inputs, _channels(heads), Activation.IDENTITY, 0.3)

    def forward(self, points: Tensor, passes: Tensor, board: Board) -> Outputs:
        maps = self.conv(points)
        if board.mask is not None:
            maps = maps + OFF_BOARD_LOGIT * (1.0 - board.mask.to(maps.dtype))
        return _split(torch.cat((maps.flatten(2), self.linear_pass(passes)[:, :, None]), 2), self.heads)


class PolicyHead(nn.Module):
    """All policies of one head set, from the two projections of the trunk's end that are its own."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        c, sizes, act = config.channels, config.heads, config.activation
        table = heads_of(config, training=True)
        self.conv_policy = Conv(c, sizes.policy, 1, act, 0.8)
        self.conv_pool = Conv(c, sizes.pool, 1, act, 1.0)
        self.norm_pool = Norm(sizes.pool)
        self.act_pool = Act(act)
        self.linear_pool = linear(3 * sizes.pool, sizes.policy, act, 0.6)
        self.norm = Norm(sizes.policy)
        self.act = Act(act)
        self.linear_pass: nn.Linear | None = None
        self.act_pass = Act(act)
        pass_inputs = 3 * sizes.pool
        if config.pass_hidden:
            self.linear_pass = linear(3 * sizes.pool, sizes.policy, act, 1.0, bias_scale=0.2)
            pass_inputs = sizes.policy
        self.outputs = PolicyOutputs(_of_source(table, Source.POLICY, exported=True), sizes.policy, pass_inputs)
        self.training_outputs = PolicyOutputs(
            _of_source(table, Source.POLICY, exported=False), sizes.policy, pass_inputs
        )

    def forward(self, points: Tensor, maps: Tensor, board: Board, *, training_heads: bool) -> Outputs:
        """``points`` and ``maps`` are what `conv_policy` and `conv_pool` make of the trunk's end."""
        pooled = pool(board.cut(self.act_pool(self.norm_pool(maps, board))), board)
        points = points + self.linear_pool(pooled)[:, :, None, None]
        points = board.cut(self.act(self.norm(points, board)))
        passes = pooled if self.linear_pass is None else self.act_pass(self.linear_pass(pooled))
        outputs: Outputs = self.outputs(points, passes, board)
        if training_heads:
            outputs |= self.training_outputs(points, passes, board)
        return outputs


class ScoreBelief(nn.Module):
    """Distribution of the final score as a mixture; log-probabilities [N, 2·(H·W + 60)]."""

    def __init__(self, inputs: int, config: NetConfig) -> None:
        super().__init__()
        width, mixtures, act = config.heads.belief, config.heads.mixtures, config.activation
        self.act = Act(act)
        self.linear_in = linear(inputs, width, act, 1.0, bias_scale=1.0)
        self.komi_parity = config.inputs.komi_parity
        self.offset = nn.Parameter(torch.empty(width))
        self.parity = None if self.komi_parity is None else nn.Parameter(torch.empty(width))
        for parameter in (self.offset, self.parity):
            if parameter is not None:
                initialise(parameter[:, None], act, 1.0, fan_in=inputs)
        self.linear_out = linear(width, mixtures, Activation.IDENTITY, 0.5, bias_scale=0.1)
        self.linear_mix = linear(inputs, mixtures, Activation.IDENTITY, 1.0, bias_scale=0.2)

    def forward(self, pooled: Tensor, global_inputs: Tensor, area: int) -> Tensor:
        middle = area + SCORE_MARGIN
        bins = torch.arange(-middle, middle, device=pooled.device)
        offset = 0.05 * (bins.to(pooled.dtype) + 0.5)
        hidden = self.linear_in(pooled)[:, None, :] + offset[:, None] * self.offset
        if self.parity is not None:
            komi_parity = global_inputs[:, self.komi_parity, None]
            parity = (0.5 - torch.remainder(bins, 2)).to(pooled.dtype) * komi_parity
            hidden = hidden + parity[:, :, None] * self.parity
        components = torch.log_softmax(self.linear_out(self.act(hidden)), 1)
        weights = torch.log_softmax(self.linear_mix(pooled), 1)
        return torch.logsumexp(components + weights[:, None, :], 2)


class ValueHead(nn.Module):
    """Outcome, scores and maps of one head set, from its projection of the trunk's end.

    What only training needs is made of the trunk's end [N, C, H, W] itself and the global inputs [N, G] besides.
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        sizes, act, identity = config.heads, config.activation, Activation.IDENTITY
        table = heads_of(config, training=True)
        groups = {
            (source, exported): _of_source(table, source, exported=exported)
            for source in (Source.VALUE, Source.MISC, Source.MAP, Source.TRUNK)
            for exported in (True, False)
        }
        if nowhere := [head.name for key in _NO_LAYER for head in groups[key]]:
            raise ValueError(f"{config.name}: the value head has no layer for {nowhere[0]!r}")
        self.outcome = groups[Source.VALUE, True]
        self.maps = groups[Source.MAP, True]
        self.misc = groups[Source.MISC, True]
        self.training_misc = groups[Source.MISC, False]
        self.training_maps = groups[Source.MAP, False]
        self.trunk_maps = groups[Source.TRUNK, False]
        self.conv = Conv(config.channels, sizes.value, 1, act, 1.0)
        self.norm = Norm(sizes.value)
        self.act = Act(act)
        self.linear_hidden = linear(3 * sizes.value, sizes.hidden, act, 1.0, bias_scale=0.2)
        self.act_hidden = Act(act)
        self.linear_value = linear(sizes.hidden, _channels(self.outcome), identity, 1.0, bias_scale=0.2)
        self.linear_misc = linear(sizes.hidden, _channels(self.misc), identity, 1.0, bias_scale=0.2)
        self.linear_training = linear(sizes.hidden, _channels(self.training_misc), identity, 1.0, bias_scale=0.2)
        self.conv_ownership = Conv(sizes.value, _channels(self.maps), 1, identity, 0.2)
        self.conv_training = Conv(sizes.value, _channels(self.training_maps), 1, identity, 0.2)
        self.conv_trunk = Conv(config.channels, _channels(self.trunk_maps), 1, identity, 0.2)
        self.belief = ScoreBelief(3 * sizes.value, config)

    def forward(self, maps: Tensor, board: Board, *, training: tuple[Tensor, Tensor] | None = None) -> Outputs:
        """``maps`` is what `conv` makes of the trunk's end.

        ``training`` are the trunk's end and the global inputs, where the heads of training are asked for.
        """
        maps = board.cut(self.act(self.norm(maps, board)))
        pooled = value_pool(maps, board)
        hidden = self.act_hidden(self.linear_hidden(pooled))
        outputs = _split(self.linear_value(hidden), self.outcome)
        outputs |= _split(self.linear_misc(hidden), self.misc)
        outputs |= _split(board.cut(self.conv_ownership(maps)), self.maps)
        if training is not None:
            trunk, global_inputs = training
            outputs |= _split(self.linear_training(hidden), self.training_misc)
            outputs |= _split(board.cut(self.conv_training(maps)), self.training_maps)
            outputs |= _split(board.cut(self.conv_trunk(trunk)), self.trunk_maps)
            outputs["score_belief"] = self.belief(pooled, wide(global_inputs), trunk.shape[2] * trunk.shape[3])
        return outputs


_NO_LAYER: Final = ((Source.VALUE, False), (Source.TRUNK, True))
"""Outcomes for training only, and maps of the trunk's end in inference: no net has had any."""


class HeadSet(nn.Module):
    """One complete set of heads on one end of the trunk."""

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.policy = PolicyHead(config)
        self.value = ValueHead(config)

    def project(self, trunk: Tensor) -> Projected:
        """The heads' first layers on the trunk's end [N, C, H, W]."""
        return Projected(self.policy.conv_policy(trunk), self.policy.conv_pool(trunk), self.value.conv(trunk))

    def conclude(self, projected: Projected, board: Board) -> Outputs:
        """The exported outputs."""
        policies: Outputs = self.policy(projected.policy, projected.pool, board, training_heads=False)
        values: Outputs = self.value(projected.value, board)
        return policies | values

    def forward(self, trunk: Tensor, global_inputs: Tensor, board: Board) -> Outputs:
        """All outputs, those for training included."""
        projected = self.project(trunk)
        policies: Outputs = self.policy(projected.policy, projected.pool, board, training_heads=True)
        values: Outputs = self.value(projected.value, board, training=(trunk, global_inputs))
        return policies | values
