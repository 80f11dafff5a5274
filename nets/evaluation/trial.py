"""Work that may end its process, done in a child process first: what became of the child, and no child left over.

Bounded in time, and where the system allows it in memory. The child sees neither our stdin nor our stdout, which may
carry a protocol, nor the signals of our terminal. It ends with us. Knows nothing of nets.
"""

from __future__ import annotations

import contextlib
import enum
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from nets.evaluation.trial import child_main; child_main()"
)
_GRACE_S: Final = 10.0
"""A child ends itself so long after its time, should nobody be there any more to end it."""
_EXIT_ALONE: Final = 3
_SIZE_BYTES: Final = 8
_MAX_REPORT: Final = 4096
_NO_CORE: Final = 1
"""Bytes of a dump: with 0 Linux still hands the dump to a program that collects them, with 1 it makes none."""


class End(enum.StrEnum):
    """What became of the child."""

    RETURNED = "returned"
    RAISED = "raised"
    """A Python exception, which the caller would have got as well."""
    OUT_OF_MEMORY = "out of memory"
    OUT_OF_TIME = "out of time"
    SIGNAL = "signal"
    EXIT = "exit"
    NOT_STARTED = "not started"


@dataclass(frozen=True)
class Ending:
    """How a trial ended."""

    end: End
    detail: str
    """For people: the exception, the signal's name, the exit code, the bound."""


@dataclass(frozen=True)
class Bounds:
    """What a child may use."""

    seconds: float
    memory: int
    """Bytes beside what it has when the work begins."""


def try_in_child(work: Callable[[], None], bounds: Bounds) -> Ending:
    """Do ``work``, which can be pickled, in a process of its own, and say how that ended. `MemoryError` is no `RAISED`.

    Raises what pickling raises, and KeyboardInterrupt; the child is gone then, too.
    """
    messages = [pickle.dumps(bounds), pickle.dumps(work)]
    command = [sys.executable, "-c", _START, json.dumps([path for path in sys.path if isinstance(path, str)])]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C at our terminal is for us alone
        )
    except OSError as error:
        return Ending(End.NOT_STARTED, str(error))
    assert process.stdin is not None
    assert process.stdout is not None
    report: list[bytes] = []
    writer = threading.Thread(target=_send, args=(process.stdin, messages), daemon=True)
    reader = threading.Thread(target=_receive, args=(process.stdout, report), daemon=True)
    try:
        writer.start()
        reader.start()
        reader.join(bounds.seconds)
        in_time = not reader.is_alive()
    finally:
        _end(process)
        _close(process.stdin, writer)
        _close(process.stdout, reader)
    return _ending(report[0] if report else b"", process.returncode, bounds, in_time=in_time)


def _send(pipe: IO[bytes], messages: list[bytes]) -> None:
    """Write and leave open: the child takes the pipe's end for ours."""
    with contextlib.suppress(OSError):
        for message in messages:
            pipe.write(len(message).to_bytes(_SIZE_BYTES, "little"))
            pipe.write(message)
        pipe.flush()


def _receive(pipe: IO[bytes], report: list[bytes]) -> None:
    """All that the child says, which is over when the child is."""
    with contextlib.suppress(OSError, ValueError):
        report.append(pipe.read(_MAX_REPORT))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of the child and of its own children; they are no zombies afterwards."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)  # not waited for yet, so its number is still its own
        else:
            process.kill()
    process.wait()


def _close(pipe: IO[bytes], user: threading.Thread) -> None:
    """Close our end, once the thread that uses it is done; it is when the child is."""
    if user.ident is not None:
        user.join(_GRACE_S)
    if not user.is_alive():  # else a child of the child that left its group holds the other end
        with contextlib.suppress(OSError):
            pipe.close()


def _ending(report: bytes, code: int, bounds: Bounds, *, in_time: bool) -> Ending:
    """Of a child that said ``report`` and ended with ``code``; only a report of its own is believed."""
    try:
        said = json.loads(report)
        return Ending(End(said["end"]), str(said["detail"]))
    except (ValueError, KeyError, TypeError):
        pass
    if not in_time:
        return Ending(End.OUT_OF_TIME, f"no end within {bounds.seconds:.0f} s")
    if code >= 0:
        return Ending(End.EXIT, f"exit code {code}")
    with contextlib.suppress(ValueError):
        return Ending(End.SIGNAL, signal.Signals(-code).name)
    return Ending(End.SIGNAL, f"signal {-code}")


# -- in the child ---------------------------------------------------------------------------------------------------


def child_main() -> None:
    """Entry point of the child: do the work that comes on stdin, and say on what was stdout how it went."""
    requests, reports = _private(0, os.O_RDONLY), _private(1, os.O_WRONLY)
    bounds: Bounds = pickle.loads(_message(requests))
    _limit_time(bounds)
    packed = _message(requests)
    threading.Thread(target=_end_with_the_parent, args=(requests,), daemon=True).start()
    end, detail = End.RETURNED, ""
    try:
        work = pickle.loads(packed)
        _limit_memory(bounds)
        work()
    except MemoryError as error:
        end, detail = End.OUT_OF_MEMORY, str(error) or f"more than {bounds.memory >> 20} MiB"
    except Exception as error:
        end, detail = End.RAISED, f"{type(error).__name__}: {error}"
    os.write(reports, json.dumps({"end": end, "detail": detail[: _MAX_REPORT // 8]}).encode())
    os._exit(0)  # what libraries do at the end is not on trial


def _private(descriptor: int, flags: int) -> int:
    """Another number for ``descriptor``; whoever uses the old one finds nothing, or writes to nowhere."""
    ours = os.dup(descriptor)
    nowhere = os.open(os.devnull, flags)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return ours


def _message(descriptor: int) -> bytes:
    return _read(descriptor, int.from_bytes(_read(descriptor, _SIZE_BYTES), "little"))


def _read(descriptor: int, count: int) -> bytes:
    parts = []
    while count > 0:
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            os._exit(_EXIT_ALONE)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _end_with_the_parent(requests: int) -> None:
    os.read(requests, 1)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)  # this process, and those that it started
    os._exit(_EXIT_ALONE)


def _limit_time(bounds: Bounds) -> None:
    """For a library that hangs with Python's lock, so that no thread sees the parent's end."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, bounds.seconds + _GRACE_S)


def _limit_memory(bounds: Bounds) -> None:
    """Bounds that hold whatever the libraries do, as far as the system has them."""
    try:
        import resource
    except ImportError:
        return
    with contextlib.suppress(OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        dump = _NO_CORE if hard == resource.RLIM_INFINITY else min(hard, _NO_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (dump, dump))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # if memory runs out nonetheless, it costs the child
    used = _private_memory()
    if used is not None:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (used + bounds.memory,) * 2)


def _private_memory() -> int | None:
    """Bytes that Linux counts for RLIMIT_DATA; None elsewhere, where no limit of memory is kept."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmData:")), None)
