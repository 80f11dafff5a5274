"""What the search asks of an evaluator: arrays that it fills, and arrays that it gets back.

`nets.evaluator` satisfies these protocols; a scripted evaluator of the tests does too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Float32s = npt.NDArray[np.float32]


class Batch(Protocol):
    """One batch of N rows for a tensor of edge L, owned by the search; outputs as the player to move sees them."""

    @property
    def planes(self) -> Float32s:
        """[N, 22, L, L], written by the search, as the next three."""
        ...

    @property
    def global_inputs(self) -> Float32s:
        """[N, 19]"""
        ...

    @property
    def symmetry(self) -> npt.NDArray[np.int8]:
        """[N] codes of spec features.md 6; outputs come back in the board's own orientation."""
        ...

    @property
    def optimism(self) -> Float32s:
        """[N] weight of the optimistic policy, 0 to 1."""
        ...

    @property
    def policy(self) -> Float32s:
        """[N, L·L + 1] logits, the pass last; illegal entries mean nothing."""
        ...

    @property
    def win_loss(self) -> Float32s:
        """[N] probability of a win minus that of a loss."""
        ...

    @property
    def no_result(self) -> Float32s:
        """[N] probability; 0 where the rules exclude it."""
        ...

    @property
    def score_mean(self) -> Float32s:
        """[N] points, times 1 - no_result."""
        ...

    @property
    def score_stdev(self) -> Float32s:
        """[N] points, if there is a result."""
        ...

    @property
    def lead(self) -> Float32s:
        """[N] points, times 1 - no_result."""
        ...

    @property
    def short_term_win_loss_error(self) -> Float32s:
        """[N]"""
        ...

    @property
    def short_term_score_error(self) -> Float32s:
        """[N] points."""
        ...


class Evaluator(Protocol):
    """Turns positions into evaluations, many at once."""

    @property
    def length(self) -> int:
        """Edge L of the tensor."""
        ...

    @property
    def has_short_term_errors(self) -> bool:
        """Whether the net gives short-term errors."""
        ...

    # the batch is whatever this evaluator makes and takes, so its type is not named here
    def new_batch(self, capacity: int, *, ownership: bool) -> Any:
        """A `Batch` of ``capacity`` rows whose arrays stay where they are for its life; ownership costs time."""
        ...

    def submit(self, batch: Any, count: int) -> Callable[[], None]:
        """Begin to evaluate rows 0 … count - 1 of ``batch``; calling the result waits until they are evaluated."""
        ...
