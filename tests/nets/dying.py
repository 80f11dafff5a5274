"""Backends that end their process when they are first used, and other ways to go wrong; as OpenVINO's replacement.

What ends a process ends a trial alone where the trial is done `here`, without a child: that costs neither torch nor
OpenVINO loaded once more. Importable by name, since a child process has to find them. `install` puts one in the place
that the choice of a backend takes OpenVINO from; a program that is to have it is started by a line of Python that calls
it first.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nets.architecture.model import Net
from nets.evaluation.backends import Backend, BatchShape, OpenVinoBackend, Raw
from nets.evaluation.trial import Bounds, End, Ending

if TYPE_CHECKING:  # a trial's child needs neither
    from client.contribute.child import ChildSettings
    from client.devices import Stream

MARKS = "TENGEN_TEST_MARKS"
"""Names the folder in which every process that runs one of these backends leaves a file with its number."""
NO_PROCESS = 0
"""The number of a trial that is done `here`."""


class Ended(BaseException):
    """In the place of a process's end."""

    def __init__(self, ending: Ending) -> None:
        self.ending = ending


_is_trial = False


def here(work: Callable[[], None], bounds: Bounds) -> Ending:
    """`nets.evaluation.trial.try_in_child` without a child."""
    global _is_trial
    _is_trial = True
    try:
        work()
    except Ended as end:
        return end.ending
    except Exception as error:
        return Ending(End.RAISED, f"{type(error).__name__}: {error}")
    finally:
        _is_trial = False
    return Ending(End.RETURNED, "")


def end_by(number: signal.Signals) -> None:
    """End the process as a library's fault does."""
    if _is_trial:
        raise Ended(Ending(End.SIGNAL, number.name))
    os.kill(os.getpid(), number)


class Watched(OpenVinoBackend):
    """OpenVINO, in float32 whatever it is asked for; leaves a mark of each process that runs it in 16 bits."""

    def __init__(self, net: Net, length: int, threads: int, *, sixteen_bit: bool) -> None:
        super().__init__(net, length, threads, sixteen_bit=False)
        self.sizes = self.sizes[:2]  # enough for these nets, and sooner compiled
        self.sixteen_bit = sixteen_bit
        if sixteen_bit:
            self.description = self.description.replace("float32", "bfloat16")

    @staticmethod
    def has_bfloat16() -> bool:
        return True

    def run(self, shape: BatchShape) -> Raw:
        if self.sixteen_bit:
            folder = os.environ.get(MARKS)
            if folder:
                (Path(folder) / str(NO_PROCESS if _is_trial else os.getpid())).touch()
            self.go_wrong(shape)
        return super().run(shape)

    def go_wrong(self, shape: BatchShape) -> None:
        """Nothing here."""


class DivisionByZero(Watched):
    """As OpenVINO 2026.4.1 with a net with attention."""

    def go_wrong(self, shape: BatchShape) -> None:
        end_by(signal.SIGFPE)


class AlwaysDying(OpenVinoBackend):
    """In float32 as well."""

    @staticmethod
    def has_bfloat16() -> bool:
        return True

    def run(self, shape: BatchShape) -> Raw:
        end_by(signal.SIGSEGV)
        raise AssertionError


class KilledOnce(OpenVinoBackend):
    """Killed from outside at its first batch, in the first process only."""

    def run(self, shape: BatchShape) -> Raw:
        mark = Path(os.environ[MARKS]) / "killed"
        if not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run(shape)


class DyingInLargeBatches(Watched):
    """Only where boards do not fill the tensor, in the largest batches."""

    def go_wrong(self, shape: BatchShape) -> None:
        if shape.rows == self.sizes[-1] and not shape.full:
            end_by(signal.SIGILL)


class DyingOnSmallBoards(Watched):
    """Only on tensors smaller than 7."""

    def go_wrong(self, shape: BatchShape) -> None:
        if shape.edge < 7:
            end_by(signal.SIGBUS)


class Raising(Watched):
    """Says what is wrong, as a library should."""

    def go_wrong(self, shape: BatchShape) -> None:
        raise RuntimeError("cannot compile this")


class Leaving(Watched):
    """As if all had gone well."""

    def go_wrong(self, shape: BatchShape) -> None:
        if _is_trial:
            raise Ended(Ending(End.EXIT, "exit code 0"))
        os._exit(0)


class Talking(Watched):
    """Writes to stdout and reads stdin, where a protocol may be, in every process but that of the number ``ours``."""

    ours = 0

    def go_wrong(self, shape: BatchShape) -> None:
        if os.getpid() == self.ours:
            return
        os.write(1, b'{"end": "signal", "detail": "garbage"}\n\n')
        sys.stdout.write("= garbage\n\n")
        sys.stdout.flush()
        os.write(2, b"garbage\n")
        assert os.read(0, 100) == b""


def missing(*_: Any, **__: Any) -> Backend:
    """In the place of torch's backend."""
    raise RuntimeError("no torch")


def install(name: str) -> None:
    """The backend of that name is taken for OpenVINO, in this process."""
    from nets.evaluation import ways

    setattr(ways, "OpenVinoBackend", globals()[name])  # noqa: B010  # which types do not allow
    Talking.ours = os.getpid()


def dying_child_main(pipe: Connection, stream: Stream, settings: ChildSettings) -> None:
    """`client.contribute.child.child_main`, with a library that dies."""
    from client.contribute.child import child_main

    install("DivisionByZero")
    child_main(pipe, stream, settings)
