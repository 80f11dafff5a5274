"""Work for child processes that goes wrong in every way, without any net; light, so that a child starts quickly."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def nothing() -> None:
    """Goes well."""


def kill_self(number: int) -> None:
    os.kill(os.getpid(), number)
    hang()


def exit_at_once(code: int) -> None:
    os._exit(code)


def leave(code: int) -> None:
    sys.exit(code)


def hang() -> None:
    while True:
        time.sleep(3600)


def hang_with_a_child(file: str) -> None:
    """Leaves the numbers of both processes in ``file``."""
    child = subprocess.Popen(["sleep", "3600"])
    beside = Path(f"{file}.new")
    beside.write_text(f"{os.getpid()} {child.pid}")
    beside.replace(file)
    hang()


def allocate_without_bound() -> None:
    kept = []
    while True:
        kept.append(bytearray(16 << 20))


def raise_error(text: str) -> Any:
    raise RuntimeError(text)


def talk() -> None:
    """Writes to stdout and stderr what looks like a report, and reads stdin, where a protocol may be."""
    for descriptor in (1, 2):
        os.write(descriptor, b'{"end": "raised", "detail": ""}= garbage\n\n')
    sys.stdout.write("= garbage\n\n")
    sys.stdout.flush()
    assert os.read(0, 100) == b""


class FailsToLoad:
    """Can be pickled, but not be read again."""

    def __reduce__(self) -> tuple[Any, ...]:
        return raise_error, ("cannot be loaded",)

    def __call__(self) -> None:
        raise AssertionError
