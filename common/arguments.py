"""Checks of values on a command line, for argparse; every command refuses the same things in the same words."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final

MAX_COUNT: Final = 10**12
"""More games, rows, samples or steps than anybody counts to."""
MAX_GAMES_AT_ONCE: Final = 16_000
"""In one process; each takes the memory of a search."""
MAX_THREADS: Final = 1024
"""What the libraries of numbers survive."""
MAX_SEED: Final = 2**63 - 1
"""The largest that every random generator takes."""


def whole(least: int, most: int) -> Callable[[str], int]:
    """The type of an option whose values are the whole numbers from ``least`` to ``most``."""

    def number(text: str) -> int:
        # The length first: Python refuses to read numbers of thousands of digits, in words of its own.
        if not (text.isascii() and text.isdecimal() and len(text) <= 40 and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most:,}, not {text[:40]!r}")
        return int(text)

    return number


positive: Final = whole(1, MAX_COUNT)
"""The value of an option that counts something."""
games_at_once: Final = whole(1, MAX_GAMES_AT_ONCE)
threads: Final = whole(1, MAX_THREADS)
seed: Final = whole(0, MAX_SEED)
