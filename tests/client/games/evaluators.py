"""An evaluator for games without a net: deterministic, and each row's answer its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nets.evaluation.batch import Batch
from tests.client.search.scripted import ScriptedEvaluator, hashed_answer, sided_answer


class OpinionatedEvaluator(ScriptedEvaluator):
    """Opinions that look random but depend on the position alone; counts how often it was closed."""

    def __init__(self, length: int, *, pass_alive_suicide: bool = False) -> None:
        super().__init__(length, hashed_answer, pass_alive_suicide=pass_alive_suicide)
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class SidedEvaluator(OpinionatedEvaluator):
    """Another opinion in every symmetry."""

    def __init__(self, length: int) -> None:
        super().__init__(length)
        self.answer = sided_answer


class FailingEvaluator(OpinionatedEvaluator):
    """Answers one row with NaN in the evaluation ``after`` so many, in one output, as a net that overflows."""

    def __init__(self, length: int, output: str, after: int) -> None:
        super().__init__(length)
        self.output, self.after = output, after

    def run(self, batch: Batch, count: int) -> None:
        before = sum(self.batch_sizes)
        super().run(batch, count)
        if before <= self.after < before + count:
            getattr(batch, self.output)[self.after - before] = np.nan


class LateEvaluator(OpinionatedEvaluator):
    """Reads a batch and answers when it is waited for, as a device may; notes what else was under way then."""

    def __init__(self, length: int, lanes: int) -> None:
        super().__init__(length)
        self.lanes = lanes
        self.under_way: list[Batch] = []
        self.others: list[int] = []

    def submit(self, batch: Batch, count: int) -> Callable[[], None]:
        if count == 0:
            return lambda: None
        assert not any(batch is other for other in self.under_way)
        self.under_way.append(batch)

        def wait() -> None:
            assert self.under_way.pop(0) is batch  # as a device finishes one after the other
            self.others.append(len(self.under_way))
            self.run(batch, count)

        return wait
