"""The net as a torch module: stem, trunk, trunk end, heads; from a `NetConfig` with fresh weights.

``net(planes, global_inputs)`` serves training, ``net.infer`` is what evaluators run. Reading from and writing to net
files is `nets.files.exchange`. Spec: architectures.md 1 and 3.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor, nn

from nets.architecture.blocks import make_trunk
from nets.architecture.config import NetConfig, NormKind, TipKind
from nets.architecture.head_layers import HeadSet, Outputs, Projected
from nets.architecture.layers import Act, Board, Conv, Norm, RmsTip, linear, wide

ONE_SET: Final = (1.0,)
TWO_SETS: Final = (0.2, 0.8)
"""Loss weights of the exported and of the batch-normed head set (training.md 1)."""


class Net(nn.Module):
    """A policy and value net for boards of any size up to the tensor's.

    ``planes`` [N, P, L, L] and ``global_inputs`` [N, G] are as ``config.inputs`` says. Heads are computed in float32
    even under autocast.
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.config = config
        c, act, inputs = config.channels, config.activation, config.inputs
        self.conv_planes = Conv(inputs.planes, c, config.input_kernel, act, 0.8)
        self.linear_globals = linear(inputs.globals, c, act, 0.6) if inputs.globals else None
        self.blocks = make_trunk(config)
        self.tip = _make_tip(config)
        self.act_tip = Act(act)
        self.heads = HeadSet(config)
        self.second_norm = Norm(c, gamma=True, statistics=True) if config.second_heads else None
        self.second_heads = HeadSet(config) if config.second_heads else None

    @property
    def head_set_weights(self) -> tuple[float, ...]:
        """Weight in the loss of each head set that `forward` returns; the first is the one that is exported."""
        return ONE_SET if self.second_heads is None else TWO_SETS

    def forward(
        self, planes: Tensor, global_inputs: Tensor, *, full: bool = False, places: Tensor | None = None
    ) -> tuple[Outputs, ...]:
        """Raw outputs of every head, one dict per head set.

        ``full`` asserts that every board of the batch fills the tensor (unchecked); it saves all work on masks.
        ``places`` [K], where the points on board are among all N·L·L, makes norms with statistics faster in training.
        """
        board = Board.of(self.on_board(planes), full=full, places=places)
        trunk = self._trunk(planes, global_inputs, board)
        with torch.autocast(planes.device.type, enabled=False):
            trunk, global_inputs = wide(trunk), wide(global_inputs)
            ends = [(self.heads, board.cut(self.act_tip(self.tip(trunk, board))))]
            if self.second_heads is not None and self.second_norm is not None:
                ends.append((self.second_heads, board.cut(self.act_tip(self.second_norm(trunk, board)))))
            return tuple(heads(end, global_inputs, board) for heads, end in ends)

    def infer(self, planes: Tensor, global_inputs: Tensor, *, full: bool = False) -> Outputs:
        """Raw outputs of the exported heads only."""
        projected = self.project(planes, global_inputs, full=full)
        return self.conclude(projected, self.on_board(planes), full=full)

    def project(self, planes: Tensor, global_inputs: Tensor, *, full: bool = False) -> Projected:
        """The first part of `infer`, nearly all of its work: it may be computed in 16 bits."""
        board = Board.of(self.on_board(planes), full=full)
        trunk = wide(self._trunk(planes, global_inputs, board))
        return self.heads.project(board.cut(self.act_tip(self.tip(trunk, board))))

    def conclude(self, projected: Projected, on_board: Tensor, *, full: bool = False) -> Outputs:
        """The rest of `infer`, which belongs into 32 bits; ``on_board`` is what `Board.of` takes."""
        return self.heads.conclude(projected, Board.of(on_board, full=full))

    def on_board(self, planes: Tensor) -> Tensor:
        """[N, 1, L, L]: the plane that is 1 on the board and 0 elsewhere."""
        board = self.config.inputs.board
        return planes[:, board : board + 1]

    def _trunk(self, planes: Tensor, global_inputs: Tensor, board: Board) -> Tensor:
        x: Tensor = self.conv_planes(planes)
        if self.linear_globals is not None:
            x = x + self.linear_globals(global_inputs)[:, :, None, None]
        for block in self.blocks:
            x = block(x, board)
        return x


def _make_tip(config: NetConfig) -> Norm | RmsTip:
    """The norm between the trunk and the exported heads."""
    c = config.channels
    if config.tip is not TipKind.STANDARD:
        return RmsTip(c, spatial=config.tip is TipKind.RMS_SPATIAL)
    scaled = config.norm in (NormKind.FIXED_SCALE, NormKind.ONE_NORM)
    scale = (len(config.blocks) + 1) ** -0.5 if scaled else 1.0
    if config.norm is NormKind.BATCH_NORM:
        return Norm(c, gamma=config.gamma, statistics=True)
    if config.norm is NormKind.ONE_NORM and not config.second_heads:
        return Norm(c, fixed_scale=scale, gamma=True, statistics=True)
    return Norm(c, fixed_scale=scale)


def parameter_groups(net: Net) -> dict[str, list[tuple[str, nn.Parameter]]]:
    """Named parameters by the groups of architectures.md 7, which learning rates and weight decay go by.

    Groups: input, normal, normal_attn, normal_gamma, noreg, output, output_noreg. Every parameter is in exactly one.
    """
    groups: dict[str, list[tuple[str, nn.Parameter]]] = {
        name: [] for name in ("input", "normal", "normal_attn", "normal_gamma", "noreg", "output", "output_noreg")
    }
    for name, parameter in net.named_parameters():
        rms_tip = isinstance(net.tip, RmsTip) and name.startswith("tip.")
        groups["output" if rms_tip else _group(name, parameter)].append((name, parameter))
    return groups


def _group(name: str, parameter: nn.Parameter) -> str:
    top, last = name.split(".")[0], name.split(".")[-1]
    if top in ("conv_planes", "linear_globals"):
        return "input"
    if top == "blocks":
        if last == "gamma":
            return "normal_gamma"
        if parameter.ndim == 1 or last == "frequencies":
            return "noreg"
        return "normal_attn" if name.split(".")[-2] in ("query", "key", "value", "out") else "normal"
    return "output_noreg" if last in ("bias", "beta") else "output"
