"""Averaged weights: the net that is exported. Specification: training.md 5 and 10.

An exponential moving average of snapshots (KataGo calls it SWA), taken every so many samples; statistics of norms are
copied. Knows no optimiser; the caller says when a snapshot is due and allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from nets.architecture.model import Net


@dataclass(frozen=True)
class AveragingConfig:
    """How snapshots are taken."""

    snapshots_per_epoch: int = 2
    period_samples: int | None = None
    """Samples between snapshots, if the epoch is not to decide."""
    new_share: float = 1 / 8
    """Weight of a new snapshot in the average."""

    def __post_init__(self) -> None:
        if min(self.snapshots_per_epoch, self.period_samples or 1) < 1 or not 0 < self.new_share <= 1:
            raise ValueError("averaging needs at least 1 snapshot per epoch or sample, and a share in (0, 1]")

    def period(self, epoch: int) -> int:
        """Samples between snapshots where an epoch has ``epoch`` samples."""
        return self.period_samples or max(1, epoch // self.snapshots_per_epoch)


PAPER: Final = AveragingConfig(snapshots_per_epoch=4, new_share=0.25)


class Averager:
    """The running average of a net's weights; empty until the first snapshot."""

    def __init__(self, net: Net, config: AveragingConfig, *, epoch: int) -> None:
        self._share, self._period = config.new_share, config.period(epoch)
        self._net = net
        self._parameters = [name for name, _ in net.named_parameters()]
        self.average: dict[str, Tensor] = {}
        """State of the averaged net by name; empty before the first snapshot."""
        self.last_samples = 0
        self.snapshots = 0

    def due(self, samples: int) -> bool:
        """Whether a period has passed since the last snapshot."""
        return samples - self.last_samples >= self._period

    @torch.no_grad()
    def take(self, samples: int) -> None:
        """Take a snapshot of the net's present weights."""
        state = {name: tensor.detach() for name, tensor in self._net.state_dict().items()}
        if self.average:
            old = [self.average[name] for name in self._parameters]
            torch._foreach_lerp_(old, [state[name] for name in self._parameters], self._share)
            for name in state.keys() - set(self._parameters):
                self.average[name].copy_(state[name])
        else:
            self.average = {name: tensor.clone() for name, tensor in state.items()}
        self.last_samples = samples
        self.snapshots += 1

    def averaged_net(self) -> Net:
        """A copy of the net with the averaged weights, in evaluation mode (the present ones before any snapshot)."""
        net = Net(self._net.config)
        net.load_state_dict(self.average or self._net.state_dict())
        return net.eval()
