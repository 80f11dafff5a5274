"""What the search asks of an evaluator: arrays that it fills, and arrays that it gets back.

`nets.evaluator` satisfies these protocols; a scripted evaluator of the tests does too.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

Float32s = npt.NDArray[np.float32]


class Batch(Protocol):
    """One batch of N rows for a tensor of edge L, owned by the search; outputs as the player to move sees them."""

    planes: Float32s  # [N, 22, L, L] input, written by the search
    global_inputs: Float32s  # [N, 19] input
    symmetry: npt.NDArray[np.int8]  # [N] input, code of spec features.md 6
    policy: Float32s  # [N, L * L + 1] logits
    win_loss: Float32s  # [N]
    no_result: Float32s  # [N]
    score_mean: Float32s  # [N] points, already times 1 - no_result
    score_stdev: Float32s  # [N] points
    lead: Float32s  # [N] points, already times 1 - no_result
    short_term_win_loss_error: Float32s  # [N]
    short_term_score_error: Float32s  # [N]
    ownership: Float32s  # [N, L * L]


class Evaluator(Protocol):
    """Turns positions into evaluations, many at once."""

    length: int  # edge L of the tensor
    has_short_term_errors: bool  # whether the net gives short_term_…_error

    def new_batch(self, capacity: int) -> Batch:
        """A batch of ``capacity`` rows whose arrays stay where they are for its life."""
        ...

    def run(self, batch: Batch, count: int) -> None:
        """Evaluate rows 0 … count - 1 of ``batch``."""
        ...
