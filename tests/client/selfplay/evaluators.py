"""Evaluators for games without a net: cheap, deterministic, and each row's answer its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.client.search.scripted import ScriptedBatch, ScriptedEvaluator, hashed_answer


class OpinionatedEvaluator(ScriptedEvaluator):
    """Opinions that look random but depend on the position alone; counts how often it was closed."""

    def __init__(self, length: int) -> None:
        super().__init__(length, hashed_answer)
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


class UniformEvaluator:
    """Every move alike, every position even."""

    has_short_term_errors = False

    def __init__(self, length: int) -> None:
        self.length = length
        self.closed = 0

    def new_batch(self, capacity: int) -> ScriptedBatch:
        return OpinionatedEvaluator(self.length).new_batch(capacity)

    def run(self, batch: Any, count: int) -> None:
        batch.policy[:count] = 0
        batch.score_stdev[:count] = np.float32(5)

    def close(self) -> None:
        self.closed += 1
