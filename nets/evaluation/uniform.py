"""The evaluator that there is before the first net. Needs no torch."""

from __future__ import annotations

from common.inputs import V7, Inputs
from nets.evaluation.batch import Batch, Wait, new_batch, nothing_to_wait_for
from nets.evaluation.outputs import UNKNOWN, VARIANCE_TIME


class UniformEvaluator:
    """Knows nothing: every move alike, an even game. Plays until there is a first net."""

    description = "uniform"
    has_short_term_errors = False
    pass_alive_suicide = False
    lanes = 1

    def __init__(self, length: int, inputs: Inputs = V7) -> None:
        self.length, self.inputs = length, inputs

    def new_batch(self, capacity: int, *, ownership: bool = True) -> Batch:
        return new_batch(capacity, self.length, inputs=self.inputs, ownership=ownership)

    def submit(self, batch: Batch, count: int) -> Wait:
        self.run(batch, count)
        return nothing_to_wait_for

    def run(self, batch: Batch, count: int) -> None:
        for output in (batch.policy, batch.win_loss, batch.no_result, batch.ownership):
            output[:count] = 0.0
        batch.scalars[:count, :VARIANCE_TIME] = 0.0
        batch.scalars[:count, VARIANCE_TIME:] = UNKNOWN

    def close(self) -> None:
        """Nothing to free."""
