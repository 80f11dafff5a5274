"""Where compiled kernels are kept: a folder named after the sources that they were compiled from.

numba looks at the file of a function, not at those of the functions that it calls, so after an update a cached kernel
could go on with the old code of another module. A folder per state of the sources cannot. Called by `common` before
any kernel is declared; imports no numba. What is done where a kernel cannot be kept is in `common.kernels`.

The folder is below ``TENGEN_CACHE_DIR``, else below the user's cache folder, else below one for this user among the
temporary files; ``NUMBA_CACHE_DIR`` that is set already and can be written is left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parent.parent
_SOURCES: Final = ("common", "client", "nets")
_KERNELS: Final = ("common/go/", "client/search/")
"""Below these every file counts; elsewhere those that declare kernels."""
_MARKS: Final = (b"numba", b"njit")
"""A source with one of these words may declare a kernel."""
_KEPT: Final = 3
"""Folders of earlier states that stay, for whoever goes back and forth."""
_VARIABLE: Final = "NUMBA_CACHE_DIR"
_BASE_VARIABLE: Final = "TENGEN_CACHE_DIR"
_SAID: Final = "TENGEN_CACHE_TOLD"
"""Set once somebody was told, for the children too."""

_failures: list[str] = []
"""Folders that were to be used and cannot be, each with its reason."""


def use() -> None:
    """Point numba to the folder of the present sources, in this process and its children."""
    given = os.environ.get(_VARIABLE)
    if given and _is_usable(Path(given)):
        return
    base = folder("kernels")
    chosen = base / _state() if base is not None else None
    if base is None or chosen is None or not _is_usable(chosen):
        os.environ.pop(_VARIABLE, None)  # `common.kernels` compiles each time
        return
    with contextlib.suppress(OSError):
        os.utime(chosen)
    _forget_old(base)
    os.environ[_VARIABLE] = str(chosen)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(chosen)


def folder(name: str) -> Path | None:
    """A folder of that name for what can be made anew at any time; it exists and can be written.

    None where nothing can be written, not even among the temporary files.
    """
    for base in _bases():
        if _is_usable(base / name):
            return base / name
    own = _temporary()
    return own / name if own is not None and _is_usable(own / name) else None


def tell_where_kernels_are() -> None:
    """One line on stderr, once, if kernels are kept elsewhere than wished, or nowhere."""
    place = os.environ.get(_VARIABLE)
    if not place:
        tell_not_kept("; ".join(_failures) or "nothing can be written")
    elif _failures:
        _tell(f"compiled code is kept in {place} ({'; '.join(_failures)})")


def tell_not_kept(reason: str) -> None:
    """One line on stderr, once: compiled kernels are lost at the end of the program."""
    _tell(
        f"compiled code cannot be kept ({reason}), so each start compiles anew, for a minute or two;"
        f" name a folder that can be written, with room for 200 MB, by {_BASE_VARIABLE}"
    )


def _tell(text: str) -> None:
    if not os.environ.get(_SAID) and sys.stderr is not None:
        os.environ[_SAID] = "1"
        sys.stderr.write(f"{text}\n")


def _bases() -> Iterator[Path]:
    """Where a user's cache may be, the wished place first."""
    given = os.environ.get(_BASE_VARIABLE)
    if given:
        yield Path(given)
    cache = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    if cache:
        yield Path(cache) / "tengen"
        return
    try:
        home = Path.home()
    except RuntimeError:  # a user without an entry and without HOME
        _failures.append("this user has no home folder")
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
        _failures.append(f"temporary files: {error.strerror or error}")
        return None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        _failures.append(f"{own} belongs to somebody else, or others may write there")
        return None
    return own


def _is_usable(place: Path) -> bool:
    """Whether ``place`` is a folder, made if need be, in which a file can be made; else the reason is remembered."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return True
    except OSError as error:
        failure = f"{place} cannot be used: {error.strerror or error}"
        if failure not in _failures:
            _failures.append(failure)
        return False


def _state() -> str:
    """A short name for the content of every source that a kernel may use."""
    digest = hashlib.sha256()
    for source in _SOURCES:
        for path in sorted((_ROOT / source).rglob("*.py")):
            name, content = path.relative_to(_ROOT).as_posix(), path.read_bytes()
            if name.startswith(_KERNELS) or any(mark in content for mark in _MARKS):
                digest.update(f"{name}:{len(content)}:".encode())
                digest.update(content)
    return digest.hexdigest()[:16]


def _forget_old(base: Path) -> None:
    with contextlib.suppress(OSError):
        folders = sorted(base.iterdir(), key=lambda place: place.stat().st_mtime, reverse=True)
        for old in folders[_KEPT + 1 :]:
            shutil.rmtree(old, ignore_errors=True)
