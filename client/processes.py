"""Processes of one's own that play: how they begin, and why signals do not end them.

Ctrl-C and a service manager's SIGTERM reach a whole group of processes; the parent alone decides what they mean, and
tells its children by their pipes. Knows nothing of what they do.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.resource_tracker
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

from common.interrupts import STOP_SIGNALS

_CONTEXT: Final = multiprocessing.get_context("spawn")


def start_child(main: Callable[..., None], arguments: tuple[Any, ...], name: str) -> tuple[BaseProcess, Connection]:
    """Start ``main(pipe, *arguments)`` in a new process, which calls `begin_child` first.

    Returns:
        The process and our end of its pipe.

    Raises:
        OSError: the system has no room for one.
    """
    ours, theirs = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=main, args=(theirs, *arguments), name=f"tengen {name}", daemon=True)
    try:
        with _stop_signals_held_back():
            process.start()
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return process, ours


def begin_child(core: int | None) -> None:
    """In the new process: no signal to stop is heard any more, and it stays on ``core`` if one is named."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # held back since before the process began
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    if core is not None and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {core})


@contextlib.contextmanager
def _stop_signals_held_back() -> Iterator[None]:
    """A process started meanwhile gets no SIGINT or SIGTERM until it is ready to ignore them; ours come afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Started by the first process otherwise, and then it lets the signals through again.
    multiprocessing.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
