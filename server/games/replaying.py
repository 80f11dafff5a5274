"""Playing a stored game again by the client's own code, from its job's seed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from server.games.exporting import game_export
from server.games.models import Game
from server.runs.client_process import client_run

EQUAL: Final = 0
DIFFERENT: Final = 3
"""Exit codes of ``client replay``."""
REPLAY_SECONDS: Final = 1200.0
"""A game with many visits takes a processor some minutes; an installation's first one compiles kernels besides."""
_RECORD: Final = "again.sgf"


@dataclass(frozen=True)
class Replayed:
    """What became of a game that was played again."""

    code: int | None
    """`EQUAL`, `DIFFERENT`, or else it could not be played; None: it took too long."""
    text: str
    """What differs, or why it could not be, a line each."""
    sgf: bytes
    """The record of the game that was played again; empty if none was."""


def play_again(
    game: Game, folder: Path, *, device: str = "cpu", use_fp16: str = "auto", seed: int | None = None
) -> Replayed:
    """Write a game into an empty folder, play it again there, and hold the two against each other.

    With a ``seed`` of ours another one is played, by the same networks and text.

    Raises:
        NotReplayable, OSError: as `game_export`.
    """
    folder = folder.resolve()  # the client runs elsewhere
    game_export(game, folder, seed)
    record = folder / _RECORD
    words = ["client", "replay", str(folder), "--device", device, "--use-fp16", use_fp16, "--output", str(record)]
    code, text = client_run(words, REPLAY_SECONDS)
    if code is None:
        text = f"it was not over after {REPLAY_SECONDS:g} s"
    return Replayed(code, text, record.read_bytes() if record.exists() else b"")
