"""Work in child processes: every way to end is told from the others, and no process is left over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from nets.evaluation import trial
from nets.evaluation.trial import Bounds, End, Ending, try_in_child
from tests.nets import trial_works as works

WITHIN_S = 120.0
ENOUGH = Bounds(seconds=WITHIN_S, memory=1 << 30)


@pytest.mark.parametrize(
    ("work", "end", "detail"),
    [
        (works.nothing, End.RETURNED, ""),
        (partial(works.kill_self, signal.SIGFPE), End.SIGNAL, "SIGFPE"),
        (partial(works.kill_self, signal.SIGSEGV), End.SIGNAL, "SIGSEGV"),
        (partial(works.kill_self, signal.SIGKILL), End.SIGNAL, "SIGKILL"),
        (partial(works.exit_at_once, 0), End.EXIT, "exit code 0"),
        (partial(works.exit_at_once, 7), End.EXIT, "exit code 7"),
        (partial(works.leave, 5), End.EXIT, "exit code 5"),
        (partial(works.raise_error, "so it is"), End.RAISED, "RuntimeError: so it is"),
        (partial(works.raise_error, "long " * 10_000), End.RAISED, ("RuntimeError: " + "long " * 1000)[:512]),
        (works.FailsToLoad(), End.RAISED, "RuntimeError: cannot be loaded"),
        (works.talk, End.RETURNED, ""),
    ],
)
def test_how_it_ended(work: Callable[[], None], end: End, detail: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert try_in_child(work, ENOUGH) == Ending(end, detail)
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the memory as Linux does")
def test_memory_is_bounded() -> None:
    ended = try_in_child(works.allocate_without_bound, Bounds(WITHIN_S, memory=200 << 20))
    assert ended == Ending(End.OUT_OF_MEMORY, "more than 200 MiB")


def test_time_is_bounded_and_nothing_is_left_over(tmp_path: Path) -> None:
    file = tmp_path / "processes"
    seconds = 1.0
    while not file.exists():  # a busy machine needs longer until the work begins
        assert seconds < WITHIN_S
        seconds *= 2
        ended = try_in_child(partial(works.hang_with_a_child, str(file)), Bounds(seconds, 1 << 30))
        assert ended == Ending(End.OUT_OF_TIME, f"no end within {seconds:.0f} s")
    await_end(file)


PARENT = """
import sys
from functools import partial
from nets.evaluation.trial import Bounds, try_in_child
from tests.nets import trial_works as works
print("begun", flush=True)
try_in_child(partial(works.hang_with_a_child, sys.argv[1]), Bounds(600.0, 1 << 30))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_child_ends_with_its_parent(tmp_path: Path, number: signal.Signals) -> None:
    """Killed, interrupted, asked to end: the children's processes are gone, and have not said a word."""
    file = tmp_path / "processes"
    parent = subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)\n" + PARENT, file],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_until(file.exists)
    os.killpg(parent.pid, number)  # as a terminal does, to all that is in the foreground
    assert parent.communicate(timeout=WITHIN_S) == (b"begun\n", b"")
    assert parent.returncode == -number
    await_end(file)


def test_ctrl_c_as_an_exception_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "processes"

    class Interrupted(threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            if not file.exists():
                wait_until(file.exists)
                raise KeyboardInterrupt
            super().join(timeout)

    monkeypatch.setattr(trial, "threading", SimpleNamespace(Thread=Interrupted))
    with pytest.raises(KeyboardInterrupt):
        try_in_child(partial(works.hang_with_a_child, str(file)), ENOUGH)
    await_end(file)


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    ended = try_in_child(works.nothing, ENOUGH)
    assert ended.end is End.NOT_STARTED
    assert "No such file" in ended.detail


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def await_end(file: Path) -> None:
    """Until none of the processes in the file runs any more."""
    for number in map(int, file.read_text().split()):
        wait_until(lambda number=number: not runs(number))  # type: ignore[misc]


def runs(number: int) -> bool:
    """Whether the process is there, and not only its entry, which its new parent has yet to remove."""
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        try:
            os.kill(number, 0)
        except OSError:
            return False
        return not sys.platform.startswith("linux")
    return state != "Z"
