"""Child processes that are kept running, and stopped in order. Knows nothing of what they do.

Each child leads a process group of its own, so the terminal's Ctrl-C reaches the supervisor alone, and what a child
started goes with it. Its output goes to a file in the log folder.
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

MAX_RESTARTS: Final = 5
RESTART_WINDOW_S: Final = 300.0
KILL_AFTER_S: Final = 20.0
POLL_S: Final = 0.1


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
        self._environment = dict(environment) | dict(program.environment)
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
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Ask it to stop, wait as long as the program may take, then end what is left of the group."""
        self.signal(self.program.stop_signal)
        self.wait(self.program.stop_within_s, meanwhile)
        self.kill()

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


def tail(path: Path, lines: int = 15) -> str:
    """The last lines of a log file."""
    try:
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:])
    except OSError as error:
        return f"(cannot be read: {error.strerror})"
