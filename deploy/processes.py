"""Child processes that are kept running, and stopped in order. Knows nothing of what they do.

Each child leads a process group of its own, so the terminal's Ctrl-C reaches the supervisor alone, and what a child
started goes with it, also where the child was killed and can no longer end it. Its output goes to a file in the log
folder. All of them carry that folder's name in their environment, by which the next supervisor finds and ends what a
killed one left (`end_leftovers`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]

MAX_RESTARTS: Final = 5
RESTART_WINDOW_S: Final = 300.0
KILL_AFTER_S: Final = 20.0
LEFTOVER_S: Final = 10.0
POLL_S: Final = 0.1
MARK: Final = "TENGEN_LOG_FOLDER"
"""Variable that children carry; its value is the log folder."""


class ProcessFailedError(RuntimeError):
    """A child ended too often; the text shows the end of its log."""


@dataclass(frozen=True)
class Program:
    """How one child is started and asked to stop."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: int = signal.SIGTERM
    stop_within_s: float = KILL_AFTER_S
    niceness: int = 0


class Child:
    """A running `Program`."""

    def __init__(self, program: Program, log_folder: Path, environment: Mapping[str, str]) -> None:
        self.program = program
        self.log_path = log_folder / f"{program.name}.log"
        self._environment = dict(environment) | dict(program.environment) | {MARK: _mark(log_folder)}
        self._starts: list[float] = []
        self._process = self._start()

    @property
    def pid(self) -> int:
        """Process id, which is also the id of the group."""
        return self._process.pid

    def running(self) -> bool:
        """Whether the process is alive."""
        return self._process.poll() is None

    def keep_alive(self) -> bool:
        """Start the process again if it has ended; True if it had.

        Raises:
            ProcessFailedError: it ended more than `MAX_RESTARTS` times within `RESTART_WINDOW_S`.
        """
        if self.running():
            return False
        self._kill_group()  # a worker whose master was killed would keep the port
        now = time.monotonic()
        self._starts = [start for start in self._starts if now - start < RESTART_WINDOW_S]
        if len(self._starts) > MAX_RESTARTS:
            raise ProcessFailedError(
                f"{self.program.name} ended {len(self._starts)} times (exit code {self._process.returncode});"
                f" the end of {self.log_path}:\n{tail(self.log_path)}"
            )
        self._process = self._start()
        return True

    def signal(self, number: int) -> None:
        """Send a signal to the process (not to its group)."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def wait(self, seconds: float, meanwhile: Callable[[], None] = lambda: None) -> bool:
        """Wait for the end; True if it came."""
        deadline = time.monotonic() + seconds
        while self.running():
            if time.monotonic() > deadline:
                return False
            meanwhile()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(POLL_S)
        return True

    def kill(self) -> None:
        """End the process and whatever is left of its group, at once."""
        self._kill_group()
        self._process.wait()

    def stop(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Ask it to stop, wait as long as the program may take, then end what is left of the group."""
        self.signal(self.program.stop_signal)
        self.wait(self.program.stop_within_s, meanwhile)
        self.kill()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _start(self) -> subprocess.Popen[bytes]:
        self._starts.append(time.monotonic())
        command = list(self.program.command)
        if self.program.niceness:
            command = ["nice", "-n", str(self.program.niceness), *command]
        with self.log_path.open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
            )


def end_leftovers(log_folder: Path, patience_s: float = LEFTOVER_S) -> list[str]:
    """End what an earlier supervisor of the same log folder left behind because it was killed itself.

    Call it only while no other supervisor can be at work there. They are asked to stop, and killed after
    ``patience_s``; returns the names of the ended programs.
    """
    own = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    left = [process for process in psutil.process_iter() if process.pid not in own and _marked(process, log_folder)]
    names = []
    for process in left:
        with contextlib.suppress(psutil.Error):
            names.append(process.name())
            process.terminate()
    _, alive = psutil.wait_procs(left, patience_s)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, patience_s)
    return names


def _marked(process: psutil.Process, log_folder: Path) -> bool:
    try:
        return bool(process.environ().get(MARK) == _mark(log_folder))
    except (psutil.Error, OSError):  # somebody else's, or gone
        return False


def _mark(log_folder: Path) -> str:
    return str(log_folder.resolve())


def tail(path: Path, lines: int = 15) -> str:
    """The last lines of a log file."""
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError as error:
        return f"(cannot be read: {error.strerror})"
