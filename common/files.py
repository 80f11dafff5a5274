"""Files that appear whole or not at all, their sums, and locks between processes. Knows no format.

What a writer that was killed leaves behind has a name of its own, which the next writer of the same file reuses.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import filelock

UNFINISHED: Final = ".tmp"
"""Ends the name of a file that is still being written."""


class LockedError(Exception):
    """Another process holds the lock."""


@contextmanager
def written_whole(path: Path, *, beside: Path | None = None, durable: bool = True) -> Iterator[Path]:
    """Within, write the file whose path is given; afterwards it is at ``path``, or nothing has changed there.

    Args:
        path: what is replaced, or made.
        beside: where it is written first, on the same disk; ``path`` with `UNFINISHED` if none is named.
        durable: on the disk before it appears, and its name on the disk before this ends.

    Raises:
        OSError: it cannot be written; what was written of it is gone.
    """
    temporary = beside or path.with_name(path.name + UNFINISHED)
    try:
        yield temporary
        if durable:
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(path.parent)


def write_whole(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write ``data`` to ``path``, whole or not at all; see `written_whole`."""
    with named(path), written_whole(path, durable=durable) as temporary:
        temporary.write_bytes(data)


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Errors of writing and syncing name the file, as those of opening do: which disk is full is what people need."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise


def write_synced(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``; on the disk when this returns, perhaps half of it if the process is killed before."""
    with named(path), path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` survive a power cut, where the system allows to open a folder."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def in_words(error: Exception) -> str:
    """What went wrong, for people; of an error of the system the file and the reason, without its number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def has_content(path: Path) -> bool:
    """Whether there is a file that is not empty."""
    return path.exists() and path.stat().st_size > 0


def sum_of(path: Path) -> tuple[str, int]:
    """sha256 in hexadecimal, and size in bytes, of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()


@contextmanager
def lock(path: Path, *, patience_s: float | None = 0.0) -> Iterator[bool]:
    """Hold the lock that the file ``path`` stands for; a process that ends, however it does, gives it back.

    Gives False on a file system that knows no locks, where nothing is held.

    Args:
        path: a file of its own; its folder exists.
        patience_s: how long to wait for who holds it; None is for ever.

    Raises:
        LockedError: somebody still holds it.
        OSError: the file cannot be made.
    """
    held = filelock.FileLock(path)
    try:
        held.acquire(timeout=-1 if patience_s is None else patience_s)
    except filelock.Timeout:
        raise LockedError(f"another process holds {path}") from None
    except NotImplementedError:
        yield False
        return
    try:
        yield True
    finally:
        held.release()
