"""Running the client's own code from the server: as a command in a process of its own, never imported.

The server must not depend on the client, what crashes or hangs takes no worker with it, and it is what volunteers run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

_ROOT: Final = Path(__file__).resolve().parent.parent.parent
_PASSED_ON: Final = (
    *("PATH", "HOME", "LANG", "TMPDIR", "TENGEN_CACHE_DIR", "NUMBA_CACHE_DIR", "SYSTEMROOT"),
    *("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "OMP_NUM_THREADS"),
)
"""Of the environment: the client needs no secrets."""


def client_run(words: Sequence[str], seconds: float, source: IO[bytes] | None = None) -> tuple[int | None, str]:
    """Run ``python -m`` with these words, with ``source`` as its input; its exit status, and what it said.

    The status is None where it took more than ``seconds``, after which nothing of it runs any more.
    """
    with tempfile.TemporaryFile() as said:
        code = _run([sys.executable, "-m", *words], seconds, source, said)
        said.seek(0)
        return code, said.read().decode("utf-8", "replace").strip()


def _run(command: list[str], seconds: float, source: IO[bytes] | None, output: IO[bytes]) -> int | None:
    """The exit status of a command; None where it took too long, after which nothing of it runs any more."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    # A group of its own, so that whatever it started ends with it.
    child = subprocess.Popen(
        command,
        cwd=_ROOT,
        env=environment,
        stdin=subprocess.DEVNULL if source is None else source,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # it was not waited for, so the number is still its group's
        child.wait()
        return None
