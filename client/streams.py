"""The children that play, seen from the parent: started, listened to, restarted, stopped.

A child is a process of its own, so that one core's or one GPU's trouble (out of memory, a driver that crashes) takes
no other stream with it, and so that Python's lock never comes between two streams.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing.connection
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final, Generic, TypeVar

from client.devices import Stream
from client.processes import start_child

MAX_FAILURES: Final = 3
FAILURE_WINDOW_S: Final = 600.0
RETRY_START_S: Final = 30.0
KILL_WAIT_S: Final = 5.0


@dataclass(frozen=True)
class Stop:
    """Parent to child: finish the running games, and begin no others."""


@dataclass(frozen=True)
class Want:
    """Child to parent: there is room for ``games`` more games."""

    games: int


@dataclass(frozen=True)
class Failed:
    """Child to parent, its last word: this stream cannot go on. ``permanent`` if a restart would not help."""

    text: str
    permanent: bool


Entry = Callable[..., None]
"""The entry point of a child, called with its pipe, its stream and its settings; a function of a module."""
_Heard = TypeVar("_Heard")


@dataclass
class StreamProcess:
    """One stream and the process that plays for it now."""

    stream: Stream
    main: Entry
    settings: object
    process: BaseProcess
    pipe: Connection
    failures: list[float] = field(default_factory=list)
    given_up: bool = False
    start_at: float = math.inf
    """When to start a child that could not be started, on the group's clock."""
    _sending: threading.Lock = field(default_factory=threading.Lock)

    def send(self, message: object) -> None:
        """Say something to the child, from any thread; a child that is gone hears nothing."""
        with self._sending, contextlib.suppress(OSError):
            self.pipe.send(message)


class StreamGroup(Generic[_Heard]):
    """All streams of this client.

    Args:
        streams: one child process each.
        main: what they run.
        settings: what every child needs to know.
        hear: called with (process, message) for every message of a child.
        report: called with a line for the volunteer.
        stopping: whether the client is being stopped, so that no child is started again.
        lost: called with a process that ended, whatever it was asked to do, before another takes its place.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        streams: Sequence[Stream],
        main: Entry,
        settings: object,
        hear: Callable[[StreamProcess, _Heard], None],
        report: Callable[[str], None],
        stopping: Callable[[], bool],
        lost: Callable[[StreamProcess], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hear = hear
        self._report = report
        self._clock = clock
        self._stopping = stopping
        self._lost = lost
        self.processes: list[StreamProcess] = []
        try:
            for stream in streams:
                self.processes.append(StreamProcess(stream, main, settings, *_start(main, stream, settings)))
        except BaseException:
            self.kill()
            raise

    def alive(self) -> int:
        """How many children run or will be started."""
        return sum(process.process.is_alive() or process.start_at < math.inf for process in self.processes)

    def usable(self) -> bool:
        """Whether any stream may still play."""
        return any(not process.given_up for process in self.processes)

    def listen(self, timeout: float) -> None:
        """Hear what the children say within ``timeout`` seconds; notice those that ended."""
        for process in self.processes:
            if process.start_at <= self._clock():
                self._start_again(process)
        open_pipes = {process.pipe: process for process in self.processes if not process.pipe.closed}
        if not open_pipes:
            time.sleep(timeout)
            return
        for pipe in multiprocessing.connection.wait(list(open_pipes), timeout):
            assert isinstance(pipe, Connection)
            self._read(open_pipes[pipe])

    def stop(self) -> None:
        """Ask every child to finish its running games, and start none again."""
        for process in self.processes:
            process.start_at = math.inf
            process.send(Stop())

    def kill(self) -> None:
        """End what is left, and hear the last words of all."""
        self.kill_now()
        for process in self.processes:
            process.process.join(KILL_WAIT_S)
            if not process.pipe.closed:
                self._read(process, last=True)

    def kill_now(self) -> None:
        """End what is left and wait for nothing."""
        for process in self.processes:
            if process.process.is_alive():
                process.process.kill()

    def _read(self, process: StreamProcess, *, last: bool = False) -> None:
        """Hear all that a child has said by now; ``last``: it is not started again."""
        try:
            while process.pipe.poll():
                message: Any = process.pipe.recv()
                if isinstance(message, Failed):
                    self._report(f"{process.stream.name}: {message.text}")
                    process.given_up |= message.permanent
                self._hear(process, message)
        except (EOFError, OSError, pickle.UnpicklingError):  # it ended, perhaps in the middle of a message
            process.pipe.close()
            process.process.join(KILL_WAIT_S)
            self._lost(process)
            if not last and not self._stopping():
                self._replace(process)

    def _replace(self, process: StreamProcess) -> None:
        """Start a new child for a stream whose process ended, unless that happens too often."""
        now = self._clock()
        process.failures = [moment for moment in process.failures if now - moment < FAILURE_WINDOW_S] + [now]
        code = process.process.exitcode
        if process.given_up or len(process.failures) > MAX_FAILURES:
            process.given_up = True
            self._report(
                f"{process.stream.name}: stopped (exit code {code}); its unfinished games are played by others"
            )
            return
        self._report(f"{process.stream.name}: ended unexpectedly (exit code {code}), started again")
        self._start_again(process)

    def _start_again(self, process: StreamProcess) -> None:
        """Start a child; where the system has no room for one now, another try follows."""
        try:
            process.process, process.pipe = _start(process.main, process.stream, process.settings)
            process.start_at = math.inf
        except OSError as error:
            process.start_at = self._clock() + RETRY_START_S
            self._report(f"{process.stream.name}: cannot be started ({error}), tried again in {RETRY_START_S:.0f} s")


def _start(main: Entry, stream: Stream, settings: object) -> tuple[BaseProcess, Connection]:
    return start_child(main, (stream, settings), stream.name)
