"""Several processes that train one net (``torchrun``): who this one is, and the few things they do together.

Knows nothing of nets. With one process every function does nothing. Gradients are summed, as losses are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass(frozen=True)
class Processes:
    """``world`` processes, of which this is number ``rank``."""

    rank: int = 0
    world: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes files."""
        return self.rank == 0

    def sum_(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over the processes; all of one type."""
        if self.world == 1 or not tensors:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        dist.all_reduce(flat)
        parts = torch.split(flat, [tensor.numel() for tensor in tensors])
        torch._foreach_copy_(list(tensors), [part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True)])

    def copy_from_first(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by that of the first process."""
        if self.world > 1:
            for tensor in tensors:
                dist.broadcast(tensor, src=0)

    def mean(self, value: Tensor) -> Tensor:
        """Mean of ``value`` over the processes."""
        if self.world == 1:
            return value
        total = value.clone()
        dist.all_reduce(total)
        return total / self.world

    def any(self, flag: bool, device: torch.device) -> bool:
        """Whether ``flag`` is set in any process, so that all of them end a loop together."""
        if self.world == 1:
            return flag
        flags = torch.tensor(int(flag), device=device)
        dist.all_reduce(flags, dist.ReduceOp.MAX)
        return bool(flags)

    def from_all(self, value: Any) -> list[Any]:
        """What each process passed as ``value``, in every process; any plain data."""
        if self.world == 1:
            return [value]
        values: list[Any] = [None] * self.world
        dist.all_gather_object(values, value)
        return values

    def from_first(self, value: Any) -> Any:
        """What the first process passed as ``value``, in every process; any plain data."""
        if self.world == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]


def join_processes(device: torch.device) -> Processes:
    """Join the processes that ``torchrun`` started; one process where it did not. NCCL on GPUs, else gloo."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return Processes()
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Processes(dist.get_rank(), world)


def leave_processes() -> None:
    """Undo ``join_processes``."""
    if dist.is_initialized():
        dist.destroy_process_group()
