"""One client per data folder: two would send each game twice and remove each other's half-written ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from common.files import LockedError, lock

LOCK_FILE: Final = "client.lock"


class FolderInUseError(Exception):
    """Another client uses the folder; the text says what to do."""


@contextmanager
def sole_use(directory: Path, report: Callable[[str], None]) -> Iterator[None]:
    """Hold the folder; the system gives it back when the process ends, however it ends.

    Raises:
        FolderInUseError: another client holds it.
        OSError: the lock's file cannot be made.
    """
    with ExitStack() as held:
        try:
            is_held = held.enter_context(lock(directory / LOCK_FILE))
        except LockedError:
            raise FolderInUseError(
                f"another client is running with the folder {directory}: stop it,"
                " or give this one a folder of its own by --data-dir or TENGEN_DATA_DIR"
            ) from None
        if not is_held:
            report(f"{directory} lies on a file system without locks: see that no second client uses it")
        yield
