"""Children in threads of this process, with an evaluator that needs no net, for tests of the loop."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as any_of
from typing import Any

import pytest

from client.devices import Stream
from client.networks import Network
from client.selfplay import child, loop
from client.streams import Stop
from nets.evaluation.batch import Evaluator
from nets.files.grammar import NetFileError
from tests.client.games.evaluators import OpinionatedEvaluator

WITHIN_S = 300.0


class ThreadProcess:
    """What the loop knows of a child."""

    def __init__(self, stream: Stream, settings: Any) -> None:
        self.stream = stream
        self.pipe, theirs = multiprocessing.Pipe()
        self.player = child.Player(theirs, stream, settings)
        self.thread = threading.Thread(target=self._play, args=(theirs,), daemon=True)
        self.thread.start()

    def _play(self, pipe: Connection) -> None:
        try:
            self.player.play()
        finally:
            pipe.close()

    def send(self, message: object) -> None:
        """Say something to the child."""
        if not self.pipe.closed:
            self.pipe.send(message)


class ThreadGroup:
    """`client.streams.StreamGroup` of threads; none is started again."""

    def __init__(
        self, streams: Sequence[Stream], main: object, settings: object, hear: Callable[..., None], report: object,
        stopping: object, lost: Callable[..., None],
    ) -> None:  # fmt: skip
        self._hear, self._lost = hear, lost
        self.processes = [ThreadProcess(stream, settings) for stream in streams]

    def alive(self) -> int:
        """How many are left."""
        return sum(not process.pipe.closed for process in self.processes)

    def usable(self) -> bool:
        """No thread is given up."""
        return True

    def listen(self, timeout: float) -> None:
        """Hear what was said."""
        pipes = {process.pipe: process for process in self.processes if not process.pipe.closed}
        for pipe in any_of(list(pipes), timeout):
            process = pipes[pipe]  # type: ignore[index]
            try:
                while process.pipe.poll():
                    self._hear(process, process.pipe.recv())
            except (EOFError, OSError):
                process.pipe.close()
                self._lost(process)

    def stop(self) -> None:
        """Ask all to finish their games."""
        for process in self.processes:
            process.send(Stop())

    def kill(self) -> None:
        """Drop what still runs."""
        for process in self.processes:
            process.player._control.stop_now.set()
            while not process.pipe.closed:
                self.listen(0.1)
            process.thread.join(WITHIN_S)

    kill_now = kill


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop's children are threads; networks whose name begins with ``bad`` cannot be used."""

    def loader(device: str, threads: int, precision: object) -> Callable[[Network, int], Evaluator]:
        assert (device, threads) == ("cpu", 1)

        def load(network: Network, length: int) -> Evaluator:
            if network.name.startswith("bad"):
                raise NetFileError("no net")
            return OpinionatedEvaluator(length)

        return load

    monkeypatch.setattr(child, "evaluator_loader", loader)
    monkeypatch.setattr(loop, "StreamGroup", ThreadGroup)
