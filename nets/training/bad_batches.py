"""Batches that cannot be trained on, since their loss is no finite number or absurd: recognised, named, counted.

Knows losses and rows; sets nothing aside itself (``nets/training/trainer.py``). A stranger's row that got through every
check costs the batch that it is in, not the training.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

from nets.architecture.model import Net
from nets.data.targets import RowBatch, Targets
from nets.training.losses import Losses, LossResult

MOST_LOSS: Final = 1e6
"""Loss per row beyond which a batch is not trained on; those of untrained nets on real rows are below a hundred."""
_SHOWN_ROWS: Final = 3


class BadBatchesError(RuntimeError):
    """Nearly no batch can be trained on; the text names rows and says what to do."""


class RecentBatches:
    """Which of the last batches were bad, and how many of all."""

    BATCHES: Final = 50
    NEARLY_ALL: Final = 45

    def __init__(self) -> None:
        self.total = 0
        self._recent: deque[bool] = deque(maxlen=self.BATCHES)

    def see(self, *, bad: bool) -> bool:
        """One batch more; whether nearly all of the last ones were bad."""
        self._recent.append(bad)
        self.total += bad
        return bad and sum(self._recent) >= self.NEARLY_ALL

    def numbers(self) -> dict[str, Any]:
        """What it remembers, as JSON."""
        return {"recent": list(self._recent), "total": self.total}

    def restore(self, numbers: dict[str, Any]) -> None:
        """Inverse of `numbers`."""
        self._recent = deque(map(bool, numbers["recent"]), maxlen=self.BATCHES)
        self.total = int(numbers["total"])


def is_sound(result: LossResult, total: Tensor, running: Tensor, rows: int) -> bool:
    """Whether a batch of ``rows`` can be trained on.

    ``total`` [] is what is differentiated, ``running`` [] what the batch would leave in the seki term's running pair.
    """
    finite = torch.isfinite(torch.cat([result.sums, result.weights, running.reshape(1)])).all()
    return bool(finite & (total.detach().abs() <= MOST_LOSS * rows))


def unsound_rows(net: Net, losses: Losses, batch: RowBatch) -> list[int]:
    """The rows of ``batch`` whose own losses are unsound, by a copy of ``net`` in evaluation mode, which mixes none."""
    with torch.no_grad():
        planes, net = batch.planes.float(), copy.deepcopy(net).eval()
        heads = net(planes, batch.global_inputs, full=batch.full, places=batch.places)
        own = losses.of_rows(heads[0], Targets(batch)).abs()
    return torch.nonzero(~(own <= MOST_LOSS)).flatten().tolist()


def named_rows(rows: Sequence[str], count: int) -> str:
    """``rows`` of a batch of ``count``, for people; they may be none, or all."""
    if not rows:
        return "no row alone is the reason"
    shown = ", ".join(rows[:_SHOWN_ROWS])
    more = f" and {len(rows) - _SHOWN_ROWS} more" if len(rows) > _SHOWN_ROWS else ""
    return f"{len(rows)} of its {count} rows: {shown}{more}"
