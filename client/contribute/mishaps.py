"""Exceptions that nobody foresaw: a line for the volunteer, the traceback into a file, and the work goes on."""

from __future__ import annotations

import contextlib
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

MAX_FILE_BYTES: Final = 1 << 20


class Mishaps:
    """Tells of exceptions from any thread, and never raises one.

    Args:
        path: file of tracebacks; beyond `MAX_FILE_BYTES` it becomes ``….old`` and a new one begins.
        report: called with a line for the volunteer.
    """

    def __init__(self, path: Path, report: Callable[[str], None]) -> None:
        self._path = path
        self._report = report
        self._lock = threading.Lock()

    def tell(self, what: str, error: BaseException, then: str = "goes on") -> None:
        """``what`` met ``error``, and what it does ``then``; all become one line."""
        with contextlib.suppress(Exception):
            text = f"{what} met an unforeseen error and {then}: {type(error).__name__}: {error}"
            kept = self._keep(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}", error)
            self._report(text + (f" (details: {self._path})" if kept else ""))

    def _keep(self, headline: str, error: BaseException) -> bool:
        trace = "".join(traceback.format_exception(error))
        try:
            with self._lock:
                if self._path.exists() and self._path.stat().st_size > MAX_FILE_BYTES:
                    self._path.replace(self._path.with_name(self._path.name + ".old"))
                with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                    file.write(f"{headline}\n{trace}\n")
        except OSError:
            return False  # a full disk, perhaps the very error that is told
        return True
