"""Names in the output of a training, and how a command that failed says so; loads no torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Final

CHECKPOINTS: Final = "checkpoints"
"""Folder of the checkpoints in a training's output."""
CURRENT: Final = "checkpoint.safetensors"
"""The checkpoint that a training goes on from."""


def exit_code(run: Callable[[], int]) -> int:
    """What ``run`` returns, or 1 with a message on standard error."""
    try:
        return run()
    except BrokenPipeError:  # whoever reads, such as head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter complains at its end
        return 1
    except (ValueError, OSError, LookupError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
