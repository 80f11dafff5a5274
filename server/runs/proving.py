"""A configuration text is proved by playing a short game by it before any volunteer gets it.

A text that parses may still end every client: the last of its settings are read when a game begins. So the client's own
code plays one and audits it, without a network (`client/contribute/proof.py`). It is run as a command and not imported:
the server must not depend on the client, what crashes or hangs takes no worker with it, and it is what volunteers run.
What comes with the project is proved by the project's tests.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from common.parameters import TextKind, default_text
from server.runs.client_process import client_run

PROOF_SECONDS: Final = 600.0
"""The first game of an installation compiles the client's kernels, which takes some minutes."""
PROVED_MOVES: Final = 12
"""Moves that are played."""
_SAID: Final = 1000
"""Characters of what it said that are kept."""
_SHIPPED_SIZES: Final[tuple[Literal["7x7", "9-19"], ...]] = ("7x7", "9-19")

Prover = Callable[[TextKind, str, int], str]
"""Plays by a text of that kind for tensors of that edge; returns what is wrong, empty if nothing is."""


@functools.cache
def is_shipped(kind: TextKind, text: str) -> bool:
    """Whether a text comes with the project as it is."""
    return any(text == default_text(kind, size) for size in _SHIPPED_SIZES)


def play_by(kind: TextKind, text: str, length: int) -> str:
    """Play one short game by ``text``; returns what is wrong, empty if nothing is."""
    with tempfile.TemporaryDirectory(prefix="tengen-proof-") as folder:
        asked = Path(folder) / "text.cfg"
        asked.write_text(text, encoding="utf-8")
        words = ["client.contribute.proof", kind, str(length), str(PROVED_MOVES)]
        with asked.open("rb") as source:
            code, told = client_run(words, PROOF_SECONDS, source)
        if code is None:
            return f"a game of {PROVED_MOVES} moves by it was not over after {PROOF_SECONDS:g} s"
        if code != 0:
            return f"no game could be played by it (exit code {code}): {told[-_SAID:]}"
        return ""
