"""Where this user's programs of ours keep what they can make again: kernels, verdicts. Imports nothing heavy.

The folder is ``TENGEN_CACHE_DIR``, else ``tengen`` below the system's folder for caches. It need not exist, and there
may be no right to make it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
"""Of the sources."""


def cache_folder() -> Path | None:
    """The user's folder for our caches; None for a user without a home."""
    given = os.environ.get("TENGEN_CACHE_DIR")
    if given:
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        return (Path(cache) if cache else Path.home() / ".cache") / "tengen"
    except RuntimeError:  # neither HOME nor an entry in the table of users
        return None


def state_of(paths: Iterable[Path], root: Path = ROOT) -> str:
    """A short name for the content of the sources at ``paths``, in that order, all below ``root``."""
    digest = hashlib.sha256()
    for path in paths:
        name, content = path.relative_to(root).as_posix(), path.read_bytes()
        digest.update(f"{name}:{len(content)}:".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
