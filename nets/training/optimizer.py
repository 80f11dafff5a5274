"""How a step changes the weights: parameter groups, rates, schedules, decay, clipping, lookahead, SGD, AdamW, Muon.

Knows gradients and sample counts; knows nothing of losses, data or files. Learning rates of SGD are per sample, because
gradients are sums over the batch. Specification: training.md 2 to 5, architectures.md 7 (the groups).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import torch
from torch import Tensor, nn

from nets.architecture.config import NormKind
from nets.architecture.model import Net, parameter_groups
from nets.training.muon import Muon

_REFERENCE_BATCH: Final = 256
_RATE_UPDATE_BATCHES: Final = 5
_RATE_UPDATE_BATCHES_LATE: Final = 50
_LATE_SAMPLES: Final = 200_000_000
_NORM_AVERAGING: Final = 0.1
"""Share of a new measurement in the running mean of a group's norm (training.md 4 names none)."""


class Kind(StrEnum):
    """The optimisers."""

    SGD = "sgd"
    ADAMW = "adamw"
    MUON = "muon"


class Decay(StrEnum):
    """The schemes of weight decay: today's tables by the net's norm kind, or the paper's L2 term in the loss."""

    TODAY = "today"
    PAPER = "paper"


Schedule = tuple[tuple[float, float], ...]
"""(samples below which, scale), ascending; the last pair's bound is infinite."""

_INF: Final = math.inf
WARMUP: Final[Schedule] = (
    *((0.25e6, 1 / 20), (0.5e6, 1 / 14), (0.75e6, 1 / 10), (1e6, 1 / 7)),
    *((1.25e6, 1 / 5), (1.5e6, 1 / 3), (1.75e6, 1 / 2), (2e6, 1 / 1.4), (_INF, 1.0)),
)
SCHEDULES: Final[dict[str, Schedule]] = {
    "constant": ((_INF, 1.0),),
    "auto": (
        *((550e6, 8.0), (1.4e9, 6.0), (2.5e9, 4.0), (3.4e9, 3.0), (4.2e9, 2.0)),
        *((4.9e9, 1.5), (5.5e9, 1.0), (6.4e9, 0.7), (_INF, 0.5)),
    ),
    "auto2": (
        *((20e6, 12.0), (40e6, 9.0), (70e6, 6.0), (100e6, 4.0), (140e6, 3.0), (180e6, 2.0), (220e6, 1.5)),
        *((260e6, 1.0), (300e6, 0.7), (350e6, 0.5), (400e6, 0.35), (450e6, 0.25), (500e6, 0.18)),
        *((550e6, 0.12), (600e6, 0.08), (_INF, 0.05)),
    ),
    # 6e-5, a third of it for the first 5M samples, a tenth near the end of a run of 450M (training.md 10)
    "paper": ((5e6, 1 / 3), (400e6, 1.0), (_INF, 0.1)),
}


def scheduled(schedule: Schedule, samples: float) -> float:
    """Value of a piecewise constant schedule after ``samples``."""
    return next(scale for bound, scale in schedule if samples < bound)


@dataclass(frozen=True)
class OptimizerConfig:
    """Everything about the update of weights. Defaults are today's; ``PAPER`` and ``TODAY`` are the named ones."""

    kind: Kind = Kind.SGD
    base_rate: float = 3e-5
    """Per sample (SGD); AdamW and Muon use 1.33 times as much, per step."""
    schedule: str | Schedule = "constant"
    """A name of ``SCHEDULES``, or pairs (samples below which, scale)."""
    rate_scale: float = 1.0
    warmup: bool = True
    head_factor: float = 0.5
    noreg_factor: float = 1.0
    lookahead_steps: int = 6
    lookahead_alpha: float = 0.5
    """1 switches lookahead off."""
    decay: Decay = Decay.TODAY
    clip_factor: float = 1.0
    """Multiplies the cap on the gradient's norm; 0 switches clipping off."""
    momentum: float = 0.9

    def __post_init__(self) -> None:
        if isinstance(self.schedule, str) and self.schedule not in SCHEDULES:
            raise ValueError(f"no schedule is called {self.schedule!r}; there are: {', '.join(SCHEDULES)}")
        if not isinstance(self.schedule, str):
            bounds = [bound for bound, _ in self.schedule]
            if bounds != sorted(bounds) or not bounds or bounds[-1] != _INF:
                raise ValueError("a schedule's bounds must ascend and end with infinity")
            if not all(0 < scale < _INF for _, scale in self.schedule):
                raise ValueError("a schedule's scales must be finite numbers above 0")
        if self.lookahead_steps < 1 or not 0 < self.lookahead_alpha <= 1:
            raise ValueError("lookahead needs at least 1 step and an alpha in (0, 1]")
        for name in ("base_rate", "rate_scale"):
            if not 0 < getattr(self, name) < _INF:
                raise ValueError(f"{name} must be a finite number above 0, not {getattr(self, name)}")
        for name in ("head_factor", "noreg_factor", "clip_factor"):
            if not 0 <= getattr(self, name) < _INF:
                raise ValueError(f"{name} must be a finite number from 0, not {getattr(self, name)}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must be from 0 to below 1, not {self.momentum}")
        if self.kind is not Kind.SGD and self.decay is Decay.PAPER:
            raise ValueError(f"the paper's L2 term belongs to SGD: {self.kind} goes with the decay of the recipe today")

    def scale(self, samples: int) -> float:
        """lr_scale after ``samples``, without warm-up."""
        schedule = SCHEDULES[self.schedule] if isinstance(self.schedule, str) else self.schedule
        return self.rate_scale * scheduled(schedule, samples)

    def warm(self, samples: int) -> float:
        """Factor of the warm-up after ``samples``."""
        return scheduled(WARMUP, samples) if self.warmup else 1.0


TODAY: Final = OptimizerConfig()
PAPER: Final = OptimizerConfig(
    base_rate=6e-5,
    schedule="paper",
    warmup=False,
    head_factor=1.0,
    lookahead_alpha=1.0,
    decay=Decay.PAPER,
    clip_factor=0.0,
)

_ADAM_BASE_FACTOR: Final = 1.33
_MUON_RATE_FACTOR: Final = 2.0
_MUON_GROUPS: Final = ("normal", "normal_attn")
_PAPER_L2: Final = 3e-5
_CLIP: Final = {NormKind.BATCH_NORM: 5500.0}
_CLIP_SGD: Final = 2500.0
_CLIP_ADAPTIVE: Final = 11000.0
"""For AdamW and Muon, whatever the norm."""


def rate_factor(group: str, config: OptimizerConfig) -> float:
    """Learning rate of a group relative to the base (training.md 3)."""
    factor = config.head_factor if group.startswith("output") else 1.0
    if group.endswith("noreg"):
        factor *= config.noreg_factor
    if config.kind is Kind.MUON and group in _MUON_GROUPS:
        factor *= _MUON_RATE_FACTOR
    return factor


def weight_decay(
    group: str, norm: NormKind, config: OptimizerConfig, *, batch: int, effective: float, steering: float
) -> float:
    """Decay of a group (training.md 4), for a joint batch of ``batch`` rows.

    ``effective`` is lr_scale · warm-up, ``steering`` the factor a of nets whose weights' norm is held. For SGD it
    enters the batch-summed gradient, otherwise it is decoupled.
    """
    noreg = group.endswith("noreg")
    if config.decay is Decay.PAPER:
        return 0.0 if noreg or group == "normal_gamma" else 2 * _PAPER_L2 * batch
    sgd = config.kind is Kind.SGD
    size = batch / _REFERENCE_BATCH
    size = size if sgd else math.sqrt(size)
    if norm in (NormKind.FIXUP, NormKind.FIXED_SCALE):
        plain = 1e-8 if noreg else (1e-6 if sgd else 5e-3)
        return plain * size * (0.5 if group == "normal_attn" else 1.0)
    if group == "output":
        return (1e-6 if sgd else 4e-3) * size
    if group == "output_noreg":
        return (1e-8 if sgd else 1e-6) * size
    if noreg:
        return 1e-6 * size * math.pow(effective, 0.75)
    by_muon = config.kind is Kind.MUON and group in _MUON_GROUPS
    share = {"input": 1.0 if sgd else 2 / 3, "normal_attn": 0.5, "normal_gamma": 0.125 if sgd else 0.25}
    base = 1.25e-3 if sgd else 2e-2 if by_muon else 9e-3
    power = math.pow(effective, 0.70 if by_muon else 0.75)
    return base * size * power * steering * share.get(group, 1.0)


def steering(norm: float, baseline: float) -> float:
    """a of training.md 4, in [1/4, 4]: decay is raised when weights have grown beyond their initial norm."""
    return float(2.0 ** (2.0 * math.tanh(3.0 * math.log(norm / baseline))))


def gradient_cap(norm: NormKind, config: OptimizerConfig, *, batch: int, scale: float) -> float:
    """Cap on the norm of the batch-summed gradient; infinite where clipping is off."""
    if config.clip_factor == 0:
        return _INF
    base = _CLIP.get(norm, _CLIP_SGD) if config.kind is Kind.SGD else _CLIP_ADAPTIVE
    return config.clip_factor * base * math.sqrt(batch / _REFERENCE_BATCH) / math.sqrt(scale)


class DivergedError(RuntimeError):
    """Training has diverged: the gradient is not finite, or far beyond its cap, again and again."""


class DivergenceGuard:
    """Stops a run whose gradients explode (training.md 5). Counts batches; remembers the last hundred."""

    CONSECUTIVE: Final = 8
    RECENT: Final = 100
    RECENT_SHARE: Final = 0.25
    FIRST: Final = 30
    TIMES_CAP: Final = 50.0

    def __init__(self) -> None:
        self._recent: deque[bool] = deque(maxlen=self.RECENT)
        self._in_a_row = 0
        self._first: list[bool] = []

    def numbers(self) -> dict[str, Any]:
        """What it remembers, as JSON."""
        return {"recent": list(self._recent), "in_a_row": self._in_a_row, "first": self._first}

    def restore(self, numbers: dict[str, Any]) -> None:
        """Inverse of `numbers`."""
        self._recent = deque(map(bool, numbers["recent"]), maxlen=self.RECENT)
        self._in_a_row, self._first = int(numbers["in_a_row"]), list(map(bool, numbers["first"]))

    def see(self, norm: float, cap: float) -> None:
        """One batch's gradient norm; raises ``DivergedError`` when there were too many bad ones."""
        bad = not math.isfinite(norm) or norm > self.TIMES_CAP * cap
        self._recent.append(bad)
        self._in_a_row = self._in_a_row + 1 if bad else 0
        if len(self._first) < self.FIRST:
            self._first.append(bad)
        many = len(self._recent) == self.RECENT and sum(self._recent) >= self.RECENT_SHARE * self.RECENT
        start = len(self._first) == self.FIRST and all(self._first)
        if self._in_a_row >= self.CONSECUTIVE or many or start:
            raise DivergedError(
                f"the gradient's norm is {norm:g} against a cap of {cap:g}, and was bad in {sum(self._recent)} of the "
                f"last {len(self._recent)} batches; resume from an earlier checkpoint with a lower learning rate"
            )


class Optimizer:
    """Updates the weights of a net. ``batch`` is the joint batch of all processes."""

    def __init__(self, net: Net, config: OptimizerConfig, *, batch: int) -> None:
        self.config, self.batch = config, batch
        self.norm_kind = net.config.norm
        self.groups = {
            name: [parameter for _, parameter in members] for name, members in parameter_groups(net).items() if members
        }
        self.parameters = [parameter for members in self.groups.values() for parameter in members]
        self.guard = DivergenceGuard()
        self.steps = 0
        self._inner = _make(config, self.groups)
        self._slow = [p.detach().clone() for p in self.parameters] if config.lookahead_alpha < 1 else []
        self._baselines = {name: _norm(self.groups[name]) for name in ("input", "normal")}
        self._norms = dict(self._baselines)
        self._cap = _INF
        self.update_rates(0)

    @property
    def cap(self) -> float:
        """The present cap on the gradient's norm."""
        return self._cap

    def rates(self) -> dict[str, float]:
        """Learning rate of each group now."""
        return {name: float(group["lr"]) for name, group in self._torch_groups().items()}

    def _torch_groups(self) -> dict[str, dict[str, Any]]:
        """torch's description of each group by name, which holds its rate and decay."""
        return {str(group["name"]): group for optimizer in self._inner for group in optimizer.param_groups}

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    def step(self, samples: int) -> tuple[float, bool]:
        """Clip, update, look ahead. ``samples`` were trained before this batch.

        Returns the gradient's norm before clipping, and whether fast and slow weights agree now. A gradient that is
        not finite leaves the weights alone. Raises ``DivergedError``.
        """
        late = samples >= _LATE_SAMPLES
        if self.steps % (_RATE_UPDATE_BATCHES_LATE if late else _RATE_UPDATE_BATCHES) == 0:
            self.update_rates(samples)
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        norm = float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))
        self.guard.see(norm, self._cap)
        self.steps += 1
        if not math.isfinite(norm):
            return norm, False
        if norm > self._cap:
            torch._foreach_mul_(gradients, self._cap / norm)
        for optimizer in self._inner:
            optimizer.step()
        return norm, self._look_ahead()

    def _look_ahead(self) -> bool:
        if not self._slow:
            return True
        if self.steps % self.config.lookahead_steps:
            return False
        with torch.no_grad():
            fast = [parameter.detach() for parameter in self.parameters]
            torch._foreach_lerp_(self._slow, fast, self.config.lookahead_alpha)
            torch._foreach_copy_(fast, self._slow)
        return True

    def reset_to_slow(self) -> None:
        """At the end of an epoch: fast weights become the slow ones."""
        if self._slow:
            with torch.no_grad():
                torch._foreach_copy_([parameter.detach() for parameter in self.parameters], self._slow)

    def update_rates(self, samples: int) -> None:
        """Set every group's learning rate and decay, and the cap, for the run after ``samples``."""
        config = self.config
        scale, warm = config.scale(samples), config.warm(samples)
        base = config.base_rate
        if config.kind is not Kind.SGD:
            base *= _ADAM_BASE_FACTOR * math.sqrt(self.batch / _REFERENCE_BATCH)
        held = self._measure_norms() if self.norm_kind in (NormKind.BATCH_NORM, NormKind.ONE_NORM) else {}
        for name, group in self._torch_groups().items():
            steered = held.get("input" if name == "input" else "normal", 1.0)
            group["lr"] = base * scale * warm * rate_factor(name, config) / config.lookahead_alpha
            group["weight_decay"] = weight_decay(
                name, self.norm_kind, config, batch=self.batch, effective=scale * warm, steering=steered
            )
        self._cap = gradient_cap(self.norm_kind, config, batch=self.batch, scale=scale)

    def _measure_norms(self) -> dict[str, float]:
        """Steering factors of the groups whose norm is held, from the running means of their norms."""
        if self.config.decay is Decay.PAPER:
            return {}
        for name, running in self._norms.items():
            self._norms[name] = running + _NORM_AVERAGING * (_norm(self.groups[name]) - running)
        return {name: steering(norm, self._baselines[name]) for name, norm in self._norms.items()}

    def tensors(self) -> dict[str, Tensor]:
        """All state that is a tensor, by name, for a checkpoint; shared with the optimiser."""
        found = {f"slow.{index}": tensor for index, tensor in enumerate(self._slow)}
        numbers = {id(parameter): index for index, parameter in enumerate(self.parameters)}
        for optimizer in self._inner:
            for parameter, state in optimizer.state.items():
                for key, value in state.items():
                    if isinstance(value, Tensor):
                        found[f"state.{numbers[id(parameter)]}.{key}"] = value
        return found

    def numbers(self) -> dict[str, Any]:
        """All other state, as JSON; an infinite cap is null."""
        return {
            "steps": self.steps,
            "baselines": self._baselines,
            "norms": self._norms,
            "rates": {name: [group["lr"], group["weight_decay"]] for name, group in self._torch_groups().items()},
            "cap": None if self._cap == _INF else self._cap,
            "guard": self.guard.numbers(),
        }

    def restore(self, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
        """Take up the state of a checkpoint, made by an optimiser of the same kind for the net as it is now.

        Rates, decays and the cap go on as they were until they are next due, so that the same steps follow; a changed
        configuration counts from there on. Where the checkpoint has no slow weights, they begin with the net's.
        Raises ``KeyError`` for what the checkpoint lacks.
        """
        with torch.no_grad():
            for index, slow in enumerate(self._slow):
                slow.copy_(tensors.get(f"slow.{index}", self.parameters[index]))
        home = {id(p): optimizer for optimizer in self._inner for g in optimizer.param_groups for p in g["params"]}
        for name, tensor in tensors.items():
            kind, number, *key = name.split(".")
            if kind == "state":
                parameter = self.parameters[int(number)]
                device = torch.device("cpu") if key[0] == "step" else parameter.device
                home[id(parameter)].state[parameter][key[0]] = tensor.to(device).clone()
        self.steps = int(numbers["steps"])
        self._baselines = {name: float(value) for name, value in numbers["baselines"].items()}
        self._norms = {name: float(value) for name, value in numbers["norms"].items()}
        if "rates" not in numbers:  # of an older version, which kept neither these nor the guard
            return
        for name, group in self._torch_groups().items():
            group["lr"], group["weight_decay"] = map(float, numbers["rates"][name])
        self._cap = _INF if numbers["cap"] is None else float(numbers["cap"])
        self.guard.restore(numbers["guard"])


def _make(config: OptimizerConfig, groups: dict[str, list[nn.Parameter]]) -> list[torch.optim.Optimizer]:
    """torch's optimisers for the groups; rates and decays are set later."""
    if config.kind is Kind.SGD:
        return [torch.optim.SGD(_described(groups), lr=0.0, momentum=config.momentum, foreach=True)]
    if config.kind is Kind.ADAMW:
        return [torch.optim.AdamW(_described(groups), lr=0.0, betas=(0.9, 0.999), eps=1e-8, foreach=True)]
    by_muon = {name: members for name, members in groups.items() if name in _MUON_GROUPS}
    assert all(p.ndim >= 2 for members in by_muon.values() for p in members), "Muon's groups hold matrices alone"
    others = {name: members for name, members in groups.items() if name not in _MUON_GROUPS}
    return [
        Muon(_described(by_muon)),
        torch.optim.AdamW(_described(others), lr=0.0, betas=(0.95, 0.995), eps=1e-6, foreach=True),
    ]


def _described(groups: dict[str, list[nn.Parameter]]) -> list[dict[str, Any]]:
    return [{"params": members, "name": name} for name, members in groups.items() if members]


def _norm(parameters: Sequence[nn.Parameter]) -> float:
    """L2 norm of all ``parameters`` together."""
    norms = torch._foreach_norm([parameter.detach() for parameter in parameters])
    return float(torch.linalg.vector_norm(torch.stack(norms)))
