"""Nets and boards that the tests of architectures and of their files share."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from nets.architecture.config import named
from nets.architecture.model import Net

FAMILIES = [
    "b2c16",
    "b2c16-fs-rvgl-mish",
    "b2c16-bng",
    "b1c6nbt-fson-mish-rvgl-bnh",
    "b1c6nbt-fson-mish-q",
    "b5c48h3tfr-fson-silu-rsnh",
]


def boards(sizes: list[tuple[int, int]], length: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Random planes on boards of the given (width, height), and random globals."""
    random = np.random.default_rng(seed)
    planes = np.zeros((len(sizes), 22, length, length), np.float32)
    for row, (width, height) in enumerate(sizes):
        planes[row, :, :height, :width] = random.random((22, height, width)) < 0.3
        planes[row, 0, :height, :width] = 1.0
    return torch.from_numpy(planes), torch.from_numpy(random.normal(size=(len(sizes), 19)).astype(np.float32))


def lively(name: str) -> Net:
    """A net of that name whose zero-initialised layers, norms and statistics are not trivial."""
    torch.manual_seed(1)
    net = Net(named(name))
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.2 * torch.randn(parameter.shape))
            elif not parameter.any():
                torch.nn.init.normal_(parameter, std=parameter[0].numel() ** -0.5)
        for buffer_name, buffer in net.named_buffers():
            if buffer_name.endswith("running_mean"):
                buffer += 0.2 * torch.randn(buffer.shape)
    return net


_NETS: dict[str, Net] = {}


def cached(name: str) -> Net:
    if name not in _NETS:
        _NETS[name] = lively(name).eval()
    return _NETS[name]
