"""Stored files: names that contain the content's sha256, so that a stored file never changes.

Everything goes through Django's storage, a local folder or S3. The files of a row that is about to be written have a
name that no other attempt has (`NewFiles`), so that they can go again if the row is refused; what a killed process
leaves is found by `server.upkeep.orphans`.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import secrets
import shutil
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from common.files import written_whole
from server.errors import NoSpace, Unavailable

logger = logging.getLogger(__name__)

INCOMING: Final = ".incoming"
"""Folder of the files that are being written; what a killed process leaves there is removed by `sweep_incoming`."""
ABANDONED: Final = timedelta(hours=1)
"""Nobody takes so long to write a file."""


class AtomicFileSystemStorage(FileSystemStorage):
    """A local folder in which a file appears complete and on the disk, or not at all."""

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """The name itself: it stands for its content."""
        return name

    def _save(self, name: str, content: File[Any]) -> str:
        target = Path(self.path(name))
        target.parent.mkdir(parents=True, exist_ok=True)
        incoming = Path(self.path(INCOMING))
        incoming.mkdir(exist_ok=True)
        with written_whole(target, beside=incoming / secrets.token_hex(16)) as temporary:
            with temporary.open("wb") as file:
                for chunk in content.chunks():
                    file.write(chunk)
            temporary.chmod(0o644)
        return name


def free_bytes() -> int | None:
    """Room that is left on the disk of a local storage; None for another one."""
    if not isinstance(default_storage, FileSystemStorage):
        return None
    folder = Path(default_storage.location)
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def space_check(size: int) -> None:
    """See that files of ``size`` bytes may be stored.

    Raises:
        NoSpace: less than `settings.MIN_FREE_BYTES` would be left.
    """
    free = free_bytes()
    if free is not None and free - size < settings.MIN_FREE_BYTES:
        raise NoSpace(f"the server's disk is nearly full ({free >> 20} MiB are left); games are taken again with more")


def sweep_incoming() -> int:
    """Remove what killed processes left half-written in a local storage; returns how many files."""
    if not isinstance(default_storage, FileSystemStorage) or not default_storage.exists(INCOMING):
        return 0
    removed = 0
    for name in default_storage.listdir(INCOMING)[1]:
        path = f"{INCOMING}/{name}"
        with contextlib.suppress(FileNotFoundError):  # it was finished, or another process sweeps too
            if default_storage.get_modified_time(path) < timezone.now() - ABANDONED:
                default_storage.delete(path)
                removed += 1
    return removed


class NewFiles:
    """Files stored for a row that is written within the block; refused, they go again::

        with NewFiles() as files:
            name = files.store("sgfs/run", label, content, ".sgf")
            … write the row that names it …

    Where the database went away nobody knows whether the row was written: the files stay, and `server.upkeep.orphans`
    removes them if it was not.
    """

    def __init__(self) -> None:
        self._names: list[str] = []

    def __enter__(self) -> NewFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(error, Exception) and not isinstance(error, (OperationalError, InterfaceError)):
            for name in self._names:
                try:
                    default_storage.delete(name)
                except Exception as trouble:  # each storage has errors of its own; the sweep tries again
                    logger.warning("the unused file %s stays for now: %s", name, trouble)

    def store(self, folder: str, label: str, content: bytes, suffix: str) -> str:
        """Store ``content`` for the row that ``label`` tells of; its name.

        Raises:
            Unavailable: the storage failed, for instance because the disk is full; nothing half-written is left.
        """
        return self.store_file(folder, hashlib.sha256(content).hexdigest(), label, ContentFile(content), suffix)

    def store_file(self, folder: str, sha256: str, label: str, content: File[Any], suffix: str) -> str:
        """The same for an open file whose sum is known."""
        name = content_name(folder, sha256, f"-{label}-{secrets.token_hex(4)}{suffix}")
        self._names.append(name)
        return store_as(name, content)


def content_name(folder: str, sha256: str, suffix: str) -> str:
    """Name of a file by its content: ``folder/ab/ab12….suffix``."""
    return f"{folder}/{sha256[:2]}/{sha256}{suffix}"


def store_as(name: str, content: File[Any]) -> str:
    """Store ``content`` under a name that `content_name` made of it.

    Raises:
        Unavailable: the storage failed.
    """
    try:
        if default_storage.exists(name) and default_storage.size(name) == content.size and _is_young(name):
            return name
        return str(default_storage.save(name, content))
    except Exception as error:  # each storage has errors of its own, none of them the client's fault
        raise Unavailable(f"the server cannot store files at the moment ({type(error).__name__}); try again") from error


def _is_young(name: str) -> bool:
    """Whether a file is so new that no sweep can be about to remove it; an old one is written again."""
    return default_storage.get_modified_time(name) > timezone.now() - ABANDONED


def load(name: str) -> bytes:
    """Content of a stored file.

    Raises:
        FileNotFoundError: there is none of that name.
        OSError: the storage failed.
    """
    with default_storage.open(name, "rb") as file:
        return bytes(file.read())
