"""Where this user's programs of ours keep what they can make again: kernels, verdicts. Imports nothing heavy.

The folder is below ``TENGEN_CACHE_DIR``, else below the user's cache folder, else below one for this user among the
temporary files.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
"""Of the sources."""
BASE_VARIABLE: Final = "TENGEN_CACHE_DIR"

failures: list[str] = []
"""Folders that were to be used and cannot be, each with its reason."""


def folder(name: str) -> Path | None:
    """A folder of that name for what can be made anew at any time; it exists and can be written.

    None where nothing can be written, not even among the temporary files.
    """
    for base in _bases():
        if is_usable(base / name):
            return base / name
    own = _temporary()
    return own / name if own is not None and is_usable(own / name) else None


def _bases() -> Iterator[Path]:
    """Where a user's cache may be, the wished place first."""
    given = os.environ.get(BASE_VARIABLE)
    if given:
        yield Path(given)
    cache = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    if cache:
        yield Path(cache) / "tengen"
        return
    try:
        home = Path.home()
    except RuntimeError:  # a user without an entry and without HOME
        failures.append("this user has no home folder")
        return
    yield home / ".cache" / "tengen"


def _temporary() -> Path | None:
    """A folder for this user alone among the temporary files: whoever can write there can run code as this user."""
    try:
        place = Path(tempfile.gettempdir())
        if place == Path.cwd():  # the last resort of `tempfile`, and no place for anything of ours
            return None
        own = place / f"tengen-{os.getuid()}"
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()
    except OSError as error:
        failures.append(f"temporary files: {error.strerror or error}")
        return None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        failures.append(f"{own} belongs to somebody else, or others may write there")
        return None
    return own


def is_usable(place: Path) -> bool:
    """Whether ``place`` is a folder, made if need be, in which a file can be made; else the reason is remembered."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return True
    except OSError as error:
        failure = f"{place} cannot be used: {error.strerror or error}"
        if failure not in failures:
            failures.append(failure)
        return False


def state_of(paths: Iterable[Path], root: Path = ROOT) -> str:
    """A short name for the content of the sources at ``paths``, in that order, all below ``root``."""
    digest = hashlib.sha256()
    for path in paths:
        name, content = path.relative_to(root).as_posix(), path.read_bytes()
        digest.update(f"{name}:{len(content)}:".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
