"""Names in the output of a training, and how a command that failed says so; loads no torch."""

from __future__ import annotations

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
    except BrokenPipeError:  # whoever reads has enough: no fault to be told (`common.pipes`)
        raise
    except (ValueError, OSError, LookupError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
