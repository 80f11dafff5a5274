"""In which arithmetic a net's trunk is trained: as named, or as this device trains this net faster.

Knows devices, forward passes and the scale of float16's losses; knows no steps (``nets/training/trainer.py``). Weights,
heads, losses and the update are in float32 whatever the trunk computes in. Specification: training.md 5.

A choice is made on a copy of the net, from rows that are trained on afterwards all the same, so the training that
follows is the one that would have followed had the precision been named.
"""

from __future__ import annotations

import copy
import logging
import math
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from nets.architecture.model import Net
from nets.data.targets import RowBatch, Targets
from nets.training.bad_batches import RecentBatches
from nets.training.config import Arithmetic
from nets.training.losses import Losses
from nets.training.processes import Processes

_log = logging.getLogger(__name__)

_TRUNK_TYPES: Final = {Arithmetic.BFLOAT16: torch.bfloat16, Arithmetic.FLOAT16: torch.float16}
TRIAL_ROWS: Final = 32
"""Rows of the batch that a processor's choice is made on, so that it takes no longer than a step or two."""
_ROUNDS: Final = 3
_TRIAL_SECONDS: Final = 10.0
_LEAST_GAIN: Final = 1.1
"""How many times as fast 16 bits must be: less is not worth their rounding, and may be chance."""
MOST_DEVIATION: Final = 0.05
"""Relative difference of the losses in 16 bits and in float32, on the same rows by the same weights, that is allowed.

Small nets stay below 0.02 in bfloat16 (tests/nets/training/test_precision.py).
"""
_BFLOAT16_CAPABILITY: Final = 8
_FLOAT16_CAPABILITY: Final = 7
"""Compute capabilities from which CUDA devices have units for these types."""


@dataclass(frozen=True)
class Choice:
    """A precision, and in one line why."""

    precision: Arithmetic
    reason: str


class LossScale:
    """Keeps gradients of float16 within its range: the loss is multiplied before, the gradients divided after."""

    GROWTH_STEPS: Final = 2000
    START: Final = 256.0
    MOST: Final = 65536.0

    def __init__(self, *, used: bool) -> None:
        self.used = used
        self.value = self.START if used else 1.0
        self.good_steps = 0

    def adapt(self, *, finite: bool) -> None:
        """After a step: halve when the gradient overflowed, double after many that did not."""
        if not self.used:
            return
        self.good_steps = self.good_steps + 1 if finite else 0
        if not finite:
            self.value /= 2
        elif self.good_steps % self.GROWTH_STEPS == 0:
            self.value = min(self.MOST, self.value * 2)


def is_16_bit(precision: Arithmetic) -> bool:
    """Whether the trunk computes in 16 bits."""
    return precision in _TRUNK_TYPES


def forward(net: Net, batch: RowBatch, precision: Arithmetic) -> tuple[dict[str, Tensor], ...]:
    """The raw outputs of each head set; ``AUTO`` stands for float32."""
    planes = batch.planes.to(torch.float32, memory_format=torch.channels_last)
    with torch.autocast(planes.device.type, _TRUNK_TYPES.get(precision), enabled=is_16_bit(precision)):
        outputs: tuple[dict[str, Tensor], ...] = net(planes, batch.global_inputs, full=batch.full, places=batch.places)
        return outputs


def choose(net: Net, losses: Losses, batch: RowBatch) -> Choice | None:
    """The precision in which this device trains ``net`` faster; None where the batch's own loss is not finite.

    A CUDA device takes what it has units for (docs/benchmarks.md). A processor is measured: steps on some of the rows.
    """
    sixteen, reason = type_with_units(batch.planes.device)
    if sixteen is None:
        return Choice(Arithmetic.FLOAT32, reason)
    if batch.planes.device.type == "cuda":
        return Choice(sixteen, reason)
    trial = Trial(net, losses, batch)
    exact = trial.loss(Arithmetic.FLOAT32)
    if not math.isfinite(exact):
        return None
    try:
        deviation = abs(trial.loss(sixteen) / exact - 1)
        if not deviation <= MOST_DEVIATION:
            return Choice(Arithmetic.FLOAT32, f"the loss in {sixteen} is {deviation:.1%} from float32's")
        gain = trial.gain(sixteen)
    except RuntimeError as error:  # of a library, such as an operation that it does not have in 16 bits
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        return Choice(Arithmetic.FLOAT32, f"{sixteen} fails here: {text}")
    chosen = sixteen if gain >= _LEAST_GAIN else Arithmetic.FLOAT32
    return Choice(
        chosen, f"steps in {sixteen} are {gain:.2f} times as fast, with a loss {deviation:.2%} from float32's"
    )


def type_with_units(device: torch.device) -> tuple[Arithmetic | None, str]:
    """The 16-bit type that a training on ``device`` may gain by, None if it has none; and why."""
    if device.type == "cuda":
        major, _ = torch.cuda.get_device_capability(device)
        if major >= _BFLOAT16_CAPABILITY:
            return Arithmetic.BFLOAT16, "the device has units for bfloat16"
        if major >= _FLOAT16_CAPABILITY:
            return Arithmetic.FLOAT16, "the device has units for float16, and none for bfloat16"
        return None, "the device has no units for 16 bits"
    if device.type != "cpu":
        return None, f"16 bits are not tried on {device.type}"
    capability = torch.backends.cpu.get_cpu_capability()
    if platform.machine().lower() in ("x86_64", "amd64") and not capability.startswith(("AVX512", "AMX")):
        return None, f"this processor ({capability}) has no units for bfloat16"
    return Arithmetic.BFLOAT16, f"this processor ({capability}) may have units for bfloat16"


class Trial:
    """Losses and times of ``net`` on the first rows of ``batch``; the net itself is left as it is."""

    def __init__(self, net: Net, losses: Losses, batch: RowBatch) -> None:
        self._net, self._losses, self._batch = copy.deepcopy(net), losses, batch.first(TRIAL_ROWS)

    def loss(self, precision: Arithmetic) -> float:
        """The loss of the exported heads and the others together."""
        with torch.no_grad():
            return float(self._total(precision))

    def deviation(self, precision: Arithmetic) -> float:
        """The relative difference of the loss from float32's; not finite where one of them is not."""
        exact = self.loss(Arithmetic.FLOAT32)
        return abs(self.loss(precision) / exact - 1) if math.isfinite(exact) else math.nan

    def gain(self, precision: Arithmetic) -> float:
        """How many times as fast as in float32 forward and backward passes are; the update is the same in both.

        The two take turns, after one step of each that is not counted.
        """
        begin = time.perf_counter()
        found: dict[Arithmetic, list[float]] = {Arithmetic.FLOAT32: [], precision: []}
        for _ in range(1 + _ROUNDS):
            for each, seconds in found.items():
                seconds.append(self.seconds(each))
            if len(found[precision]) > 1 and time.perf_counter() - begin > _TRIAL_SECONDS:
                break
        exact, sixteen = (min(seconds[1:]) for seconds in found.values())
        return exact / sixteen

    def seconds(self, precision: Arithmetic) -> float:
        """The time of a forward and a backward pass."""
        begin = time.perf_counter()
        torch.autograd.backward(self._total(precision))
        elapsed = time.perf_counter() - begin
        self._net.zero_grad()
        return elapsed

    def _total(self, precision: Arithmetic) -> Tensor:
        targets = Targets(self._batch)
        heads = forward(self._net, self._batch, precision)
        return torch.stack([self._losses(outputs, targets).total for outputs in heads]).sum()


class TrunkPrecision:
    """The precision of one training: named or chosen, told, watched, and kept in checkpoints.

    The first process of several decides for all, which make the same calls.
    """

    def __init__(self, named: Arithmetic, processes: Processes, say: Callable[[str], object]) -> None:
        self.now = named
        """``AUTO`` until it is chosen."""
        self.reason = ""
        """Why it is what it is, if it was chosen."""
        self.deviation: float | None = None
        """Relative difference of the loss from float32's when last measured."""
        self.scale = LossScale(used=named is Arithmetic.FLOAT16)
        self.overflows = RecentBatches()
        """Batches whose loss was finite in float32 only."""
        self._chooses = named is Arithmetic.AUTO
        self._processes, self._say = processes, say

    def settle(self, net: Net, losses: Losses, batch: RowBatch, *, new_epoch: bool, samples: int) -> None:
        """Before a step: choose if that is still to be done; compare the loss in 16 bits once an epoch."""
        first = self._processes.is_first
        if self.now is Arithmetic.AUTO:
            choice = self._processes.from_first(choose(net, losses, batch) if first else None)
            if choice is not None:
                self._use(choice)
        elif is_16_bit(self.now) and new_epoch:
            found = self._processes.from_first(Trial(net, losses, batch).deviation(self.now) if first else None)
            if not math.isnan(found):
                self.deviation = found
                if found > MOST_DEVIATION:
                    self._doubt(f"the loss in {self.now} is {found:.1%} from float32's", samples)

    def note(self, *, overflow: bool, samples: int) -> None:
        """After a step in 16 bits: whether it was made in float32 instead, since its loss was not finite otherwise."""
        nearly_all = self.overflows.see(bad=overflow)
        if overflow and self._processes.is_first:
            _log.warning("a batch at %d samples is trained in float32: its loss overflows %s", samples, self.now)
        if nearly_all:
            self._doubt(f"nearly all losses overflow {self.now}", samples)

    def _doubt(self, reason: str, samples: int) -> None:
        """Leave a precision that was chosen for float32; of one that was named, warn."""
        if self._chooses:
            self._use(Choice(Arithmetic.FLOAT32, f"after {samples:,} samples {reason}"))
        elif self._processes.is_first:
            _log.warning("at %d samples %s; float32 would be sound", samples, reason)

    def _use(self, choice: Choice) -> None:
        self.now, self.reason = choice.precision, choice.reason
        self.scale = LossScale(used=self.now is Arithmetic.FLOAT16)
        if self._processes.is_first:
            self._say(f"trains in {choice.precision}: {choice.reason}")

    def numbers(self) -> dict[str, Any]:
        """All of it that a checkpoint keeps beside the training's settings, as JSON."""
        return {
            "loss_scale": [self.scale.value, self.scale.good_steps],
            "precision_reason": self.reason,
            "overflows": self.overflows.numbers(),
        }

    def restore(self, numbers: Mapping[str, Any], saved: Arithmetic, device: torch.device) -> None:
        """Go on as a checkpoint of a training in ``saved`` did, unless another precision was named since."""
        if self._chooses:
            self.now = saved
        self.scale, self.reason, self.deviation = LossScale(used=self.now is Arithmetic.FLOAT16), "", None
        if self.now is not saved:
            return
        self.scale.value, self.scale.good_steps = numbers["loss_scale"]
        if "overflows" in numbers:  # not in those of older versions
            self.reason = numbers["precision_reason"]
            self.overflows.restore(numbers["overflows"])
        units, reason = type_with_units(device)
        if self._chooses and is_16_bit(saved) and units is None and self._processes.is_first:
            self._say(f"goes on in {saved}, as before, though {reason}: naming float32 may be faster")
