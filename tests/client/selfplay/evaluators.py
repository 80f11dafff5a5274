"""An evaluator for games without a net: deterministic, and each row's answer its own."""

from __future__ import annotations

from tests.client.search.scripted import ScriptedEvaluator, hashed_answer


class OpinionatedEvaluator(ScriptedEvaluator):
    """Opinions that look random but depend on the position alone; counts how often it was closed."""

    def __init__(self, length: int, *, pass_alive_suicide: bool = False) -> None:
        super().__init__(length, hashed_answer)
        self.pass_alive_suicide = pass_alive_suicide
        self.closed = 0

    def close(self) -> None:
        self.closed += 1
