"""Compiles the kernels once, before several children would each do it: ``python -m client.contribute.warmup``.

Plays and audits one tiny game without a network; whatever is compiled for it lies in the cache that every process of
this installation reads (`common.kernel_cache`), and a mark beside it says that this was done.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

MARK: Final = "compiled"
TINY: Final = (
    "bSizes = 5\nbSizeRelProbs = 1\nmaxVisits = 4\ncheapSearchVisits = 2\nreducedVisitsMin = 2\nmaxMovesPerGame = 20\n"
)
LENGTH: Final = 5
TELL_EVERY_S: Final = 30.0


def ensure_compiled(report: Callable[[str], None]) -> None:
    """Compile in a process of its own unless that was done; a failure is left to the children, who will tell it."""
    mark = _mark()
    if mark is None or mark.exists():
        return
    began = time.monotonic()
    report("compiling for the first time after an installation or update; this takes a minute or two")
    try:
        process = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.DEVNULL)
    except OSError as error:
        report(f"cannot be compiled beforehand ({error}); every stream does it now")
        return
    try:
        while not _ended(process):
            report(f"still compiling after {time.monotonic() - began:.0f} s; games are played afterwards")
    finally:
        process.kill()
        process.wait()


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it ends within the next while."""
    try:
        process.wait(TELL_EVERY_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _mark() -> Path | None:
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return Path(folder) / MARK if folder else None


def main() -> None:
    """Play and audit one game of each kind."""
    from client.games.kinds import KINDS
    from client.games.orders import FinishedGame, GameOrder
    from client.games.stream import StreamControl, StreamStats, play_stream
    from client.networks import Network
    from common.config_text import overlay
    from common.parameters import default_text
    from nets.evaluation.evaluator import load_evaluator

    nobody, nobody_else = Network("none", None), Network("other", None)
    orders = iter(
        [
            GameOrder(
                seed=1,
                kind=kind,
                config=overlay(default_text(kind.text, "7x7"), TINY),
                black=nobody,
                white=nobody if kind.seats == 1 else nobody_else,
                length=LENGTH,
            )
            for kind in KINDS
        ]
    )

    def check(game: FinishedGame) -> None:
        if game.rows is not None or not game.order.kind.gives_rows:
            game.order.kind.audit(game)

    play_stream(
        lambda: next(orders, None),
        check,
        games=2,
        load=lambda network, length: load_evaluator(network.path, length=length),
        control=StreamControl(),
        stats=StreamStats(),
        until_empty=True,
    )
    mark = _mark()
    if mark is not None:
        mark.touch()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it quietly; the parent has the say
    main()
