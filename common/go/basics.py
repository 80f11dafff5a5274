"""The few numbers of the game that also programs without kernels need: colours, phases and board sizes.

Imports nothing, so that a web process can use it; `common.go.points` passes them on to the kernels.
"""

from __future__ import annotations

from typing import Final

MAX_LENGTH: Final = 19
MIN_LENGTH: Final = 2

EMPTY: Final = 0
BLACK: Final = 1
WHITE: Final = 2

MAIN_PHASE: Final = 0
FIRST_CLEANUP: Final = 1
SECOND_CLEANUP: Final = 2
"""Phases of a game (rules.md 6); the cleanup phases are those of territory scoring, which counts in the last one."""

COLUMN_LETTERS: Final = "ABCDEFGHJKLMNOPQRST"
"""Columns of a GTP vertex from the left; I is skipped."""
