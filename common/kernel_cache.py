"""Where compiled kernels are kept: a folder named after the sources that they were compiled from.

numba looks at the file of a function, not at those of the functions that it calls, so after an update a cached kernel
could go on with the old code of another module. A folder per state of the sources cannot. Called by `common.go` before
any kernel is declared; imports no numba.

The folder is in the user's (`common.cache_folder`); ``NUMBA_CACHE_DIR`` that is set already is left alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from common.cache_folder import ROOT as _ROOT
from common.cache_folder import cache_folder, state_of

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
    parent = cache_folder()
    if parent is None:
        return  # nowhere to write, as below
    base = parent / "kernels"
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


def _state() -> str:
    """A short name for the content of every source that a kernel may use."""
    return state_of(_kernel_sources(), _ROOT)


def _kernel_sources() -> Iterator[Path]:
    for folder in _SOURCES:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            if path.relative_to(_ROOT).as_posix().startswith(_KERNELS) or b"numba" in path.read_bytes():
                yield path


def _forget_old(base: Path) -> None:
    with contextlib.suppress(OSError):
        folders = sorted(base.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
        for folder in folders[_KEPT + 1 :]:
            shutil.rmtree(folder, ignore_errors=True)
