"""Where compiled kernels are kept: a folder named after the sources that they were compiled from.

numba looks at the file of a function, not at those of the functions that it calls, so after an update a cached kernel
could go on with the old code of another module. A folder per state of the sources cannot. Called by `common.go` before
any kernel is declared; imports no numba.

The folder is below ``TENGEN_CACHE_DIR``, else below the user's cache folder; ``NUMBA_CACHE_DIR`` that is set already
is left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).resolve().parent.parent
_SOURCES: Final = ("common", "client", "nets")
_KERNELS: Final = ("common/go/", "client/search/")
"""Below these every file counts; elsewhere those that declare kernels."""
_KEPT: Final = 3
"""Folders of earlier states that stay, for whoever goes back and forth."""
_VARIABLE: Final = "NUMBA_CACHE_DIR"


def use() -> None:
    """Point numba to the folder of the present sources, in this process and its children."""
    if os.environ.get(_VARIABLE):
        return
    base = _base()
    folder = base / _state()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return  # nowhere to write: numba finds a place of its own or compiles each time
    os.utime(folder)
    _forget_old(base)
    os.environ[_VARIABLE] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)


def _base() -> Path:
    given = os.environ.get("TENGEN_CACHE_DIR")
    if given:
        return Path(given) / "kernels"
    cache = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(cache) if cache else Path.home() / ".cache") / "tengen" / "kernels"


def _state() -> str:
    """A short name for the content of every source that a kernel may use."""
    digest = hashlib.sha256()
    for folder in _SOURCES:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            name, content = path.relative_to(_ROOT).as_posix(), path.read_bytes()
            if name.startswith(_KERNELS) or b"numba" in content:
                digest.update(f"{name}:{len(content)}:".encode())
                digest.update(content)
    return digest.hexdigest()[:16]


def _forget_old(base: Path) -> None:
    with contextlib.suppress(OSError):
        folders = sorted(base.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
        for folder in folders[_KEPT + 1 :]:
            shutil.rmtree(folder, ignore_errors=True)
