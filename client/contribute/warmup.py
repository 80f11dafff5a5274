"""Compiles the kernels once, before several children would each do it: ``python -m client.contribute.warmup``.

Plays and audits one tiny game without a network; whatever is compiled for it lies in the cache that every process of
this installation reads (`common.kernel_cache`), and a mark beside it says that this was done.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from common.interrupts import EXIT_INTERRUPTED

MARK: Final = "compiled"
TINY: Final = (
    "bSizes = 5\nbSizeRelProbs = 1\nmaxVisits = 4\ncheapSearchVisits = 2\nreducedVisitsMin = 2\nmaxMovesPerGame = 20\n"
)
LENGTH: Final = 5
TELL_EVERY_S: Final = 30.0
_FOLDER: Final = "NUMBA_CACHE_DIR"
_AS_CHILD: Final = "--as-child"


def ensure_compiled(report: Callable[[str], None]) -> None:
    """Compile in a process of its own unless that was done; a failure is left to the children, who will tell it."""
    if not os.environ.get(_FOLDER) or _is_done():
        return
    began = time.monotonic()
    try:
        process = subprocess.Popen([sys.executable, "-m", __name__, _AS_CHILD], stdin=subprocess.PIPE)
    except OSError as error:
        report(f"cannot be compiled beforehand ({error}); every stream does it now")
        return
    with process:
        try:
            report("compiling for the first time after an installation or update; this takes some minutes")
            while not _ended(process):
                report(f"still compiling after {time.monotonic() - began:.0f} s; games are played afterwards")
        finally:
            process.kill()


def _ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it ends within the next while."""
    try:
        process.wait(TELL_EVERY_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _mark() -> Path:
    return Path(os.environ[_FOLDER]) / MARK


def _is_done() -> bool:
    try:
        return _mark().exists()
    except OSError:  # of a folder that cannot be entered
        return False


def _note_done() -> None:
    """So that the next start does not look again; a full disk costs that, and a line."""
    try:
        _mark().touch()
    except OSError as error:
        sys.stderr.write(
            f"that everything is compiled cannot be noted in {_mark()} ({error.strerror or error});"
            " the next start looks again\n"
        )


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
    if os.environ.get(_FOLDER):
        _note_done()


def _end_with_the_parent() -> None:
    """Nothing ever comes on stdin: it ends when the parent does, whatever ended that.

    Not read through Python's buffer, of which the interpreter takes the lock at its end.
    """
    os.read(sys.stdin.fileno(), 1)
    os._exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    if sys.argv[1:] == [_AS_CHILD]:
        threading.Thread(target=_end_with_the_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it quietly; the parent has the say
    main()
