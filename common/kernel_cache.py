"""Where compiled kernels are kept: a folder named after the sources that they were compiled from.

numba looks at the file of a function, not at those of the functions that it calls, so after an update a cached kernel
could go on with the old code of another module. A folder per state of the sources cannot. Called by `common` before
any kernel is declared; imports no numba. What is done where a kernel cannot be kept is in `common.kernels`.

The folder is one of `common.cache_folder`'s; ``NUMBA_CACHE_DIR`` that is set already and can be written is left alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from common.cache_folder import BASE_VARIABLE, failures, folder, is_usable, state_of
from common.cache_folder import ROOT as _ROOT

_SOURCES: Final = ("common", "client", "nets")
_KERNELS: Final = ("common/go/", "client/search/")
"""Below these every file counts; elsewhere those that declare kernels."""
_MARKS: Final = (b"numba", b"njit")
"""A source with one of these words may declare a kernel."""
_KEPT: Final = 3
"""Folders of earlier states that stay, for whoever goes back and forth."""
_VARIABLE: Final = "NUMBA_CACHE_DIR"
_SAID: Final = "TENGEN_CACHE_TOLD"
"""Set once somebody was told, for the children too."""


def use() -> None:
    """Point numba to the folder of the present sources, in this process and its children."""
    given = os.environ.get(_VARIABLE)
    if given and is_usable(Path(given)):
        return
    base = folder("kernels")
    chosen = base / _state() if base is not None else None
    if base is None or chosen is None or not is_usable(chosen):
        os.environ.pop(_VARIABLE, None)  # `common.kernels` compiles each time
        return
    with contextlib.suppress(OSError):
        os.utime(chosen)
    _forget_old(base)
    os.environ[_VARIABLE] = str(chosen)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(chosen)


def tell_where_kernels_are() -> None:
    """One line on stderr, once, if kernels are kept elsewhere than wished, or nowhere."""
    place = os.environ.get(_VARIABLE)
    if not place:
        tell_not_kept("; ".join(failures) or "nothing can be written")
    elif failures:
        _tell(f"compiled code is kept in {place} ({'; '.join(failures)})")


def tell_not_kept(reason: str) -> None:
    """One line on stderr, once: compiled kernels are lost at the end of the program."""
    _tell(
        f"compiled code cannot be kept ({reason}), so each start compiles anew, for some minutes;"
        f" name a folder that can be written, with room for 200 MB, by {BASE_VARIABLE}"
    )


def _tell(text: str) -> None:
    if not os.environ.get(_SAID) and sys.stderr is not None:
        os.environ[_SAID] = "1"
        sys.stderr.write(f"{text}\n")


def _state() -> str:
    """A short name for the content of every source that a kernel may use."""
    return state_of(_kernel_sources(), _ROOT)


def _kernel_sources() -> Iterator[Path]:
    for source in _SOURCES:
        for path in sorted((_ROOT / source).rglob("*.py")):
            declared = path.relative_to(_ROOT).as_posix().startswith(_KERNELS)
            if declared or any(mark in path.read_bytes() for mark in _MARKS):
                yield path


def _forget_old(base: Path) -> None:
    with contextlib.suppress(OSError):
        folders = sorted(base.iterdir(), key=lambda place: place.stat().st_mtime, reverse=True)
        for old in folders[_KEPT + 1 :]:
            shutil.rmtree(old, ignore_errors=True)
