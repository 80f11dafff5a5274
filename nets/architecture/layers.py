"""Layers that the blocks and heads of a net are made of: norms, convolutions, pooling, and how they are initialised.

Tensors are [N, C, H, W] with H = W = the tensor's edge. Everything is aware of boards smaller than the tensor through
a `Board`; where all boards fill it, its mask is None and costs nothing. Spec: architectures.md 2 and 3,
model-format.md 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import torch
import torch.distributed
from torch import Tensor, nn
from torch.nn import functional

from nets.architecture.config import Activation

BATCH_NORM_EPSILON: Final = 1e-4
RUNNING_RATE: Final = 0.001
"""Share of a batch in the running statistics, once there have been 1 / rate batches; before, they are plain means."""
RMS_EPSILON: Final = 1e-6

_TRUNCATED_STD: Final = 0.87962566
"""Standard deviation of a standard normal distribution cut at ±2."""
_GAIN: Final = {
    Activation.IDENTITY: 1.0,
    Activation.RELU: math.sqrt(2.0),
    Activation.SILU: math.sqrt(2.0),
    Activation.MISH: math.sqrt(2.210277),
}
_MIDDLE_EDGE: Final = 14.0
"""Midpoint of 9 and 19, about which the scaled means of the pooling layers are centred."""


class Board(NamedTuple):
    """Where the boards of a batch lie in the tensor."""

    mask: Tensor | None
    """[N, 1, H, W], 1 on board, 0 off; None if every board fills the tensor."""
    area: Tensor | float
    """[N, 1] points on each board; one number if every board fills the tensor."""
    places: Tensor | None = None
    """[K] where the points on board are among all N·H·W, if known; see `pack`."""

    @staticmethod
    def of(on_board: Tensor, *, full: bool, places: Tensor | None = None) -> Board:
        """From ``on_board`` [N, 1, H, W], which is 1 on the boards and 0 elsewhere.

        Unchecked, since a look would make a GPU wait: ``full`` says that it is 1 everywhere (then only its height and
        width are read); ``places``, if given, are the points where it is 1.
        """
        if full:
            return Board(None, float(on_board.shape[2] * on_board.shape[3]))
        mask = wide(on_board)
        return Board(mask, mask.sum((2, 3)), places)

    def cut(self, x: Tensor) -> Tensor:
        """``x`` with everything off board set to 0."""
        return x if self.mask is None else x * self.mask.to(x.dtype)

    def pack(self, x: Tensor) -> Tensor:
        """The points on board of ``x``, [K, C]; only with ``places``."""
        assert self.places is not None
        packed: Tensor = _Pack.apply(x, self.places)  # type: ignore[no-untyped-call]
        return packed

    def unpack(self, points: Tensor, shape: torch.Size) -> Tensor:
        """The inverse of `pack`, [N, C, H, W] as ``shape`` says, 0 off board."""
        unpacked: Tensor = _Unpack.apply(points, self.places, shape)  # type: ignore[no-untyped-call]
        return unpacked

    @property
    def edge(self) -> Tensor | float:
        """(√area - 14) / 10, [N, 1] or one number."""
        root = math.sqrt(self.area) if isinstance(self.area, float) else self.area.sqrt()
        return (root - _MIDDLE_EDGE) / 10.0


def _gather(x: Tensor, places: Tensor) -> Tensor:
    """[N, C, H, W] -> [K, C]; rows are copied as they are where ``x`` is in channels-last order."""
    return x.permute(0, 2, 3, 1).reshape(-1, x.shape[1]).index_select(0, places)


def _scatter(points: Tensor, places: Tensor, shape: torch.Size) -> Tensor:
    """[K, C] -> [N, C, H, W] in channels-last order, 0 elsewhere."""
    n, c, height, width = shape
    rows = points.new_zeros(n * height * width, c)
    return rows.index_copy_(0, places, points).view(n, height, width, c).permute(0, 3, 1, 2)


class _Pack(torch.autograd.Function):
    """`_gather`, whose gradient is `_scatter`: torch's own adds up, though no place occurs twice."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        ctx.shape = x.shape
        return _gather(x, places)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (places,) = ctx.saved_tensors
        return _scatter(gradient, places, ctx.shape), None


class _Unpack(torch.autograd.Function):
    """`_scatter`, whose gradient is `_gather`."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, places: Tensor, shape: torch.Size) -> Tensor:
        ctx.save_for_backward(places)
        return _scatter(points, places, shape)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (places,) = ctx.saved_tensors
        return _gather(gradient, places), None, None


def wide(x: Tensor) -> Tensor:
    """``x`` in at least 32 bits: sums over a board lose too much in 16."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def initialise(weight: Tensor, activation: Activation, scale: float, fan_in: int | None = None) -> None:
    """Fill ``weight`` [out, in, ...] so that a layer followed by ``activation`` multiplies the variance by ``scale``².

    A normal distribution cut at two standard deviations; ``fan_in`` defaults to the weight's own.
    """
    if scale == 0.0:
        nn.init.zeros_(weight)
        return
    fan = fan_in if fan_in is not None else weight[0].numel()
    std = scale * _GAIN[activation] / math.sqrt(fan) / _TRUNCATED_STD
    nn.init.trunc_normal_(weight, std=std, a=-2.0 * std, b=2.0 * std)


class Act(nn.Module):
    """An activation as a layer, so that a module's layers and a file's records correspond one to one."""

    def __init__(self, kind: Activation) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, x: Tensor) -> Tensor:
        if self.kind is Activation.RELU:
            return functional.relu(x)
        if self.kind is Activation.MISH:
            return functional.mish(x)
        if self.kind is Activation.SILU:
            return functional.silu(x)
        return x


class Conv(nn.Module):
    """Convolution without bias, "same" padding; ``branch`` adds a parallel 1×1 convolution with weights of its own.

    The two are added before the convolution is run, so the branch costs nothing per point.
    """

    def __init__(
        self, inputs: int, outputs: int, kernel: int, activation: Activation, scale: float, *, branch: bool = False
    ) -> None:
        super().__init__()
        self.kernel = kernel
        self.weight = nn.Parameter(torch.empty(outputs, inputs, kernel, kernel))
        self.branch = nn.Parameter(torch.empty(outputs, inputs, 1, 1)) if branch else None
        initialise(self.weight, activation, scale * (0.8 if branch else 1.0))
        if self.branch is not None:
            initialise(self.branch, activation, scale * 0.6)

    def merged(self) -> Tensor:
        """The one kernel [out, in, k, k] that does what weight and branch do together."""
        if self.branch is None:
            return self.weight
        return self.weight + functional.pad(self.branch, (self.kernel // 2,) * 4)

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv2d(x, self.merged(), padding=self.kernel // 2)


def linear(
    inputs: int, outputs: int, activation: Activation, scale: float, *, bias_scale: float | None = None
) -> nn.Linear:
    """A linear layer, with a bias if ``bias_scale`` is given; both initialised for ``activation``."""
    layer = nn.Linear(inputs, outputs, bias=bias_scale is not None)
    initialise(layer.weight, activation, scale)
    if bias_scale is not None:
        initialise(layer.bias, activation, bias_scale, fan_in=inputs)
    return layer


def transformer_linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear layer without bias, uniform in ±1/√inputs as torch has it."""
    return nn.Linear(inputs, outputs, bias=False)


class Norm(nn.Module):
    """``x · K · γ + β`` per channel, after subtracting a running mean and dividing by a running deviation if asked.

    ``fixed_scale`` is K; the stored ``gamma`` is γ - 1, so that weight decay pulls γ to 1. Statistics count on-board
    points only, all equally, over all processes of a distributed run.
    """

    def __init__(
        self, channels: int, *, fixed_scale: float = 1.0, gamma: bool = False, statistics: bool = False
    ) -> None:
        super().__init__()
        self.fixed_scale: Tensor
        self.register_buffer("fixed_scale", torch.full((channels,), fixed_scale))
        self.gamma = nn.Parameter(torch.zeros(channels)) if gamma else None
        self.beta = nn.Parameter(torch.zeros(channels))
        self.statistics = statistics
        self.fused: Callable[[Tensor, Tensor | None, Board], Tensor] | None = None
        """What does `preactivate` in one step, where a device has something for it."""
        if statistics:
            self.running_mean: Tensor
            self.running_std: Tensor
            self.batches: Tensor
            self.register_buffer("running_mean", torch.zeros(channels))
            self.register_buffer("running_std", torch.ones(channels))
            self.register_buffer("batches", torch.zeros((), dtype=torch.int64))

    def scale(self) -> Tensor:
        """K · γ, [C]."""
        return self.fixed_scale if self.gamma is None else self.fixed_scale * (1.0 + self.gamma)

    def affine(self) -> tuple[Tensor, Tensor]:
        """Factor and summand per channel, [C] each, that the norm is in inference."""
        scale: Tensor = self.scale()
        shift: Tensor = self.beta
        if self.statistics:
            scale = scale / self.running_std
            shift = shift - self.running_mean * scale
        return scale, shift

    def packs(self, board: Board) -> bool:
        """Whether `forward` handles the points on board alone, and leaves 0 elsewhere."""
        return board.places is not None and self.statistics and self.training and not _distributed()

    def forward(self, x: Tensor, board: Board) -> Tensor:
        if not (self.statistics and self.training):
            return _scaled(x, *self.affine())
        if self.packs(board):
            return board.unpack(self._by_torch(board.pack(x)), x.shape)
        if board.mask is None and not _distributed():
            return self._by_torch(x)
        mean, std = self._batch_statistics(x, board)
        scale = self.scale() / std
        return _scaled(x, scale, self.beta - mean * scale)

    def _by_torch(self, x: Tensor) -> Tensor:
        """What `forward` does in training by torch's own kernel, which reads ``x`` fewer times than separate steps.

        ``x`` [N, C, ...] holds nothing that is off board.
        """
        y, mean, inverse = torch.native_batch_norm(
            x, self.scale(), self.beta, None, None, True, 0.0, BATCH_NORM_EPSILON
        )
        self._move_statistics(mean, 1.0 / inverse)
        return y

    def _batch_statistics(self, x: Tensor, board: Board) -> tuple[Tensor, Tensor]:
        """Mean and deviation [C] of this batch; moves the running ones towards them."""
        values = wide(x)
        if board.mask is None:
            # filled on the device: a copy from the host would make it wait
            count = values.new_full((), values.shape[0] * values.shape[2] * values.shape[3])
        else:
            count = board.mask.sum()
        count = _sum_over_processes(count)
        mean = _sum_over_processes(board.cut(values).sum((0, 2, 3))) / count
        centred = board.cut(values - mean.view(1, -1, 1, 1))
        variance = _sum_over_processes((centred * centred).sum((0, 2, 3))) / count
        std = (variance + BATCH_NORM_EPSILON).sqrt()
        self._move_statistics(mean, std)
        return mean, std

    @torch.no_grad()
    def _move_statistics(self, mean: Tensor, std: Tensor) -> None:
        self.batches += 1
        rate = torch.clamp(1.0 / self.batches.float(), min=RUNNING_RATE)
        self.running_mean += rate * (mean - self.running_mean)
        self.running_std += rate * (std - self.running_std)


def _scaled(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """``x · scale + shift`` per channel, in one pass over ``x``."""
    return torch.addcmul(shift.to(x.dtype).view(1, -1, 1, 1), x, scale.to(x.dtype).view(1, -1, 1, 1))


def preactivate(norm: Norm, act: Act, x: Tensor, board: Board, bias: Tensor | None = None) -> Tensor:
    """``act(norm(x + bias))``, 0 off board: what a convolution of a block is fed; ``bias`` [N, C]."""
    if norm.fused is not None:
        return norm.fused(x, bias, board)
    if bias is not None:
        x = x + bias[:, :, None, None]
    y: Tensor = act(norm(x, board))
    return y if norm.packs(board) else board.cut(y)  # every activation leaves 0 at 0


def _distributed() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


class _SumOverProcesses(torch.autograd.Function):
    """The sum over the processes, whose gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        total = value.clone()
        torch.distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _SumOverProcesses.forward(ctx, gradient)


def _sum_over_processes(value: Tensor) -> Tensor:
    """Sum over the processes of a distributed run, differentiable; ``value`` itself where there is one process."""
    if not _distributed():
        return value
    total: Tensor = _SumOverProcesses.apply(value)  # type: ignore[no-untyped-call]
    return total


class RmsTip(nn.Module):
    """Root-mean-square norm at the trunk's end, per point or (``spatial``) over a board's points and channels."""

    def __init__(self, channels: int, *, spatial: bool, epsilon: float = RMS_EPSILON) -> None:
        super().__init__()
        self.spatial = spatial
        self.epsilon = epsilon
        self.gamma = nn.Parameter(torch.zeros(channels))
        self.beta = nn.Parameter(torch.zeros(channels))

    def scale(self) -> Tensor:
        """γ, [C]; the stored parameter is γ - 1."""
        return 1.0 + self.gamma

    def forward(self, x: Tensor, board: Board) -> Tensor:
        x = wide(x)
        if self.spatial:
            total = board.cut(x * x).sum((1, 2, 3))
            area = board.area if isinstance(board.area, float) else board.area[:, 0]
            mean = (total / (area * x.shape[1])).view(-1, 1, 1, 1)
        else:
            mean = (x * x).mean(1, keepdim=True)
        normed = x * torch.rsqrt(mean + self.epsilon)
        return normed * self.scale().view(1, -1, 1, 1) + self.beta.view(1, -1, 1, 1)


class TokenNorm(nn.Module):
    """Root-mean-square norm of each point inside transformer blocks; input [..., C]."""

    def __init__(self, channels: int, epsilon: float = RMS_EPSILON) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.weight = nn.Parameter(torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        values = wide(x)
        normed = values * torch.rsqrt((values * values).mean(-1, keepdim=True) + self.epsilon)
        return (normed * self.weight).to(x.dtype)


def pool(x: Tensor, board: Board) -> Tensor:
    """Global pooling [N, C, H, W] -> [N, 3C]: means, means scaled by the board's size, maxima. ``x`` is 0 off board."""
    mean = wide(x).sum((2, 3)) / board.area
    shifted = x if board.mask is None else x + (board.mask - 1.0).to(x.dtype)
    maximum = wide(shifted.amax((2, 3)))
    return torch.cat((mean, mean * board.edge, maximum), 1)


def value_pool(x: Tensor, board: Board) -> Tensor:
    """The value head's pooling [N, C, H, W] -> [N, 3C]: means, and means times two functions of the board's size."""
    mean = wide(x).sum((2, 3)) / board.area
    edge = board.edge
    return torch.cat((mean, mean * edge, mean * (edge * edge - 0.1)), 1)
