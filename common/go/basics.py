"""The few numbers of the game that also programs without kernels need: colours and board sizes.

Imports nothing, so that a web process can use it; `common.go.points` passes them on to the kernels.
"""

from __future__ import annotations

from typing import Final

MAX_LENGTH: Final = 19
MIN_LENGTH: Final = 2

EMPTY: Final = 0
BLACK: Final = 1
WHITE: Final = 2

COLUMN_LETTERS: Final = "ABCDEFGHJKLMNOPQRST"
"""Columns of a GTP vertex from the left; I is skipped."""
