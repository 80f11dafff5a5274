"""Muon: momentum whose matrices are orthogonalised before each step. Specification: training.md 2.

Convolution kernels count as matrices [out, in · height · width]. Decay is decoupled. Only for weight matrices; biases
and heads go to AdamW (``nets/training/optimizer.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

import torch
from torch import Tensor

_MOMENTUM: Final = 0.95
_NEWTON_SCHULZ_STEPS: Final = 5
_COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)
_UPDATE_SCALE: Final = 0.2
_EPSILON: Final = 1e-7


def orthogonalised(matrix: Tensor) -> Tensor:
    """Nearly the nearest matrix with singular values 1 (in practice 0.7 to 1.2), of the same shape, in bfloat16."""
    a, b, c = _COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x: Tensor = matrix.T if tall else matrix
    x = (x / (x.norm() + _EPSILON)).bfloat16()
    for _ in range(_NEWTON_SCHULZ_STEPS):
        square = x @ x.T
        x = a * x + (b * square + c * square @ square) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """``m ← 0.95m + 0.05g``, u = 0.05g + 0.95m orthogonalised and scaled; ``p ← p(1 - lr·wd) - lr·u``."""

    def __init__(self, groups: Iterable[dict[str, Any]], lr: float = 0.0, weight_decay: float = 0.0) -> None:
        super().__init__(groups, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update of every parameter that has a gradient; ``closure`` is not supported."""
        if closure is not None:
            raise ValueError("Muon does not evaluate closures")
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(parameter)
                gradient, momentum = parameter.grad, state["momentum"]
                momentum.lerp_(gradient, 1 - _MOMENTUM)
                update = gradient.lerp(momentum, _MOMENTUM)
                matrix = update.flatten(1)
                scale = _UPDATE_SCALE * math.sqrt(max(matrix.shape))
                direction = orthogonalised(matrix).to(parameter.dtype).view_as(parameter) * scale
                parameter.mul_(1 - group["lr"] * group["weight_decay"]).sub_(direction, alpha=group["lr"])
