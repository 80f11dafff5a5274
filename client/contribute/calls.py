"""Calls that may never return, made so that whoever waits for them can stop waiting.

A name server that is silent, a host that takes a connection and says nothing, a byte a minute: no time-out of a socket
bounds these, and nothing ends a thread that waits for them. So such a call runs in a thread of its own, which ends with
the program if it does not end before.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

LOOK_EVERY_S: Final = 0.1
MAX_ABANDONED: Final = 16
"""Calls without an end that are left alone; more are not begun."""


class CallCutError(Exception):
    """The call was given up; what it would have given is lost. The text says why."""


class _Result(Generic[T]):
    """What a call gave or raised."""

    def __init__(self, value: T | None, error: BaseException | None) -> None:
        self.value = value
        self.error = error


class Caller:
    """Makes calls of at most ``seconds``, all of which ``cut`` ends."""

    def __init__(self, seconds: float, cut: threading.Event) -> None:
        self.cut = cut
        self._seconds = seconds
        self._places = threading.BoundedSemaphore(MAX_ABANDONED)

    def call(self, function: Callable[[], T]) -> T:
        """What ``function`` gives or raises.

        Raises:
            CallCutError: it did not come to an end in time, ``cut`` is set, or too many calls never ended.
        """
        if not self._places.acquire(blocking=False):
            raise CallCutError(f"{MAX_ABANDONED} earlier requests have come to no end yet")
        results: queue.SimpleQueue[_Result[T]] = queue.SimpleQueue()

        def run() -> None:
            try:
                results.put(_Result(function(), None))
            except BaseException as error:
                results.put(_Result(None, error))
            finally:
                self._places.release()

        threading.Thread(target=run, daemon=True).start()
        result = self._wait(results)
        if result.error is not None:
            raise result.error
        return result.value  # type: ignore[return-value]  # None only if the function gives it

    def _wait(self, results: queue.SimpleQueue[_Result[T]]) -> _Result[T]:
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                return results.get(timeout=LOOK_EVERY_S)
            except queue.Empty:
                pass
            if self.cut.is_set():
                raise CallCutError("the program is being stopped")
            if time.monotonic() > deadline:
                raise CallCutError(f"it has not come to an end in {self._seconds:.0f} s")
