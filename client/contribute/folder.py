"""One client per data folder: two would send each game twice and remove each other's half-written ones.

The folder also names its machine to the server, so that what one machine holds can be told from what another does.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from common.files import LockedError, lock

LOCK_FILE: Final = "client.lock"
MACHINE_FILE: Final = "machine.txt"


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


def machine_of(directory: Path) -> str:
    """16 hexadecimal digits that were drawn when the folder was used first.

    Raises:
        OSError: they cannot be kept.
    """
    path = directory / MACHINE_FILE
    try:
        kept = path.read_text("ascii", "replace").strip()
    except FileNotFoundError:
        kept = ""
    if not re.fullmatch(r"[0-9A-F]{16}", kept):
        kept = secrets.token_hex(8).upper()
        path.write_text(kept + "\n", "ascii")
    return kept
