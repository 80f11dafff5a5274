"""The output of a command: what becomes of lines that its encoding or its reader does not take. Knows no command."""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Callable
from typing import Final, TextIO

EXIT_UNREAD: Final = 1


def ends_with_its_reader(run: Callable[[], int]) -> int:
    """What ``run`` returns; without a word `EXIT_UNREAD` once whoever reads what it says has gone, as in ``… | head``.

    Letters that the output's encoding lacks are escaped, as Python does it on stderr. If the output cannot be written
    for another reason, such as a full disk, that is a line.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return run()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        stuck = [stream for stream in (sys.stdout, sys.stderr) if _is_stuck(stream)]
        if not stuck:
            raise
        for stream in stuck:  # else the interpreter complains at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"error: the output cannot be written: {error.strerror or error}\n")
        return EXIT_UNREAD


def _is_stuck(stream: TextIO | None) -> bool:
    """Whether what is written to the stream cannot leave it."""
    if stream is None:  # closed from the start
        return False
    try:
        stream.flush()  # what could not leave is still there
    except OSError:
        return True
    if not hasattr(select, "poll"):
        return False
    poller = select.poll()  # unbuffered, nothing is left to be flushed
    poller.register(stream.fileno(), 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poller.poll(0))
