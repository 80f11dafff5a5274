"""The contract between search and nets: a batch of positions that the caller owns, and what evaluates it.

Arrays and a protocol, no torch; implementations are `nets.evaluation.evaluator` and `nets.evaluation.uniform`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from common.inputs import V7, Inputs
from nets.evaluation.outputs import LEAD, SCALARS, SCORE_ERROR, SCORE_MEAN, SCORE_STDEV, VALUE_ERROR, VARIANCE_TIME

Float32s = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Batch:
    """N rows for a tensor of edge L. The caller writes the first five arrays, the evaluator fills the others.

    Everything is seen from the player to move and in the board's own orientation.
    """

    planes: Float32s
    """[N, P, L, L] as the net's inputs are declared (`common.inputs`)."""
    global_inputs: Float32s
    """[N, G]"""
    symmetry: npt.NDArray[np.int8]
    """[N] symmetry under which the net sees the row (features.md 6)."""
    optimism: Float32s
    """[N] weight of the optimistic policy, 0 to 1; new batches have 0."""
    wants_ownership: npt.NDArray[np.bool_]
    """[N] whether the row's ownership is decoded; new batches have True."""
    policy: Float32s
    """[N, L·L + 1] logits, optimism applied; the pass last. Off board or illegal entries mean nothing."""
    win_loss: Float32s
    """[N] probability of a win minus that of a loss."""
    no_result: Float32s
    """[N] probability; 0 where the rules exclude it."""
    scalars: Float32s
    """[N, S] in the order of `nets.evaluation.outputs.SCALARS`, whose columns have names below."""
    ownership: Float32s
    """[N, L·L] -1 (opponent's) to 1 (own), meaningless in rows that do not want it; [N, 0] in a batch without it."""

    @property
    def score_mean(self) -> Float32s:
        """[N] expected final score in points, times 1 - no_result."""
        return self.scalars[:, SCORE_MEAN]

    @property
    def score_stdev(self) -> Float32s:
        """[N] its standard deviation if there is a result."""
        return self.scalars[:, SCORE_STDEV]

    @property
    def lead(self) -> Float32s:
        """[N] points that would make the game even, times 1 - no_result."""
        return self.scalars[:, LEAD]

    @property
    def variance_time(self) -> Float32s:
        """[N] turns until the outcome is clear, or -1 if the net does not tell."""
        return self.scalars[:, VARIANCE_TIME]

    @property
    def short_term_win_loss_error(self) -> Float32s:
        """[N] expected error of win_loss in the next turns, or -1."""
        return self.scalars[:, VALUE_ERROR]

    @property
    def short_term_score_error(self) -> Float32s:
        """[N] expected error of score_mean in the next turns, or -1."""
        return self.scalars[:, SCORE_ERROR]


def new_batch(capacity: int, length: int, *, inputs: Inputs = V7, ownership: bool = True) -> Batch:
    """A batch of ``capacity`` rows of zeros for a tensor of edge ``length`` and a net with these inputs.

    Without ``ownership`` that is decoded for no row: its hyperbolic tangents are most of the work.
    """
    area = length * length
    return Batch(
        planes=np.zeros((capacity, inputs.planes, length, length), np.float32),
        global_inputs=np.zeros((capacity, inputs.globals), np.float32),
        symmetry=np.zeros(capacity, np.int8),
        optimism=np.zeros(capacity, np.float32),
        wants_ownership=np.ones(capacity, np.bool_),
        policy=np.zeros((capacity, area + 1), np.float32),
        win_loss=np.zeros(capacity, np.float32),
        no_result=np.zeros(capacity, np.float32),
        scalars=np.zeros((capacity, len(SCALARS)), np.float32),
        ownership=np.zeros((capacity, area if ownership else 0), np.float32),
    )


class EvaluatorError(RuntimeError):
    """The net cannot be evaluated on this device; the text says what to do."""


Wait = Callable[[], None]
"""Waits until the outputs of what was submitted are in their batch. EvaluatorError if the net fails."""


def nothing_to_wait_for() -> None:
    """The `Wait` of what was evaluated at once."""


class Evaluator(Protocol):
    """A net on a device. One thread at a time may use it."""

    length: int
    inputs: Inputs
    """What the net sees, and the caller encodes."""
    has_short_term_errors: bool
    pass_alive_suicide: bool
    """Rows must be encoded as if multi-stone suicide were legal where pass-alive areas are concerned."""

    @property
    def description(self) -> str:
        """Device, library and precision, for people."""
        ...

    @property
    def lanes(self) -> int:
        """How many batches are worth having under way at once: 1 where `submit` does the work itself."""
        ...

    def new_batch(self, capacity: int, *, ownership: bool = True) -> Batch:
        """A batch whose arrays stay where they are for its life; see `new_batch`."""
        ...

    def submit(self, batch: Batch, count: int) -> Wait:
        """Begin to evaluate rows 0 to count - 1; the batch is not to be touched before what is returned has waited.

        EvaluatorError if the net fails.
        """
        ...

    def run(self, batch: Batch, count: int) -> None:
        """`submit`, and wait."""
        ...

    def close(self) -> None:
        """Free the device; the evaluator must not be used after."""
        ...
