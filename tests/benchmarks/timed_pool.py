"""Where the time of a search goes: an evaluator and a pool that add up the seconds spent in each part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from client.search.pool import SearchPool
from nets.evaluation.batch import Evaluator

Clock = Callable[[], float]
T = TypeVar("T")
TREE, NET = "tree and features", "net"


def new_parts() -> dict[str, float]:
    """No seconds spent yet."""
    return {TREE: 0.0, NET: 0.0}


class TimedEvaluator:
    """Another evaluator; adds the seconds of its submissions and of the waiting to ``parts``."""

    def __init__(self, evaluator: Evaluator, clock: Clock, parts: dict[str, float]) -> None:
        self._evaluator, self._clock, self._parts = evaluator, clock, parts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evaluator, name)

    def submit(self, batch: Any, count: int) -> Callable[[], None]:
        wait = self._timed(lambda: self._evaluator.submit(batch, count))
        return lambda: self._timed(wait)

    def _timed(self, work: Callable[[], T]) -> T:
        start = self._clock()
        try:
            return work()
        finally:
            self._parts[NET] += self._clock() - start


def timed_pool(clock: Clock, parts: dict[str, float]) -> type[SearchPool]:
    """A `SearchPool` that adds its rounds to ``parts``."""

    class TimedPool(SearchPool):
        def __init__(self, evaluator: Evaluator, **options: Any) -> None:
            super().__init__(TimedEvaluator(evaluator, clock, parts), **options)

        def descend(self) -> int:
            return _apart(super().descend)

        def expand(self) -> list[int]:
            return _apart(super().expand)

    def _apart(work: Callable[[], T]) -> T:
        start, net = clock(), parts[NET]
        try:
            return work()
        finally:
            parts[TREE] += clock() - start - (parts[NET] - net)

    return TimedPool
