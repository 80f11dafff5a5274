"""How a game came out, as text: the winner of a form, the result of an SGF.

Knows scores only (White minus Black) and imports no compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from common.go.rules import komi_text

DRAW: Final = "0"
"""Winner and result of a drawn game."""
NO_WINNER: Final = "-"
"""Winner of a game without result."""
VOID: Final = "Void"
"""Result of a game without result."""


def winner_of(score: float) -> str:
    """``B``, ``W``, or ``0`` for a draw."""
    if score == 0:
        return DRAW
    return "W" if score > 0 else "B"


def result_text(score: float, margin_text: Callable[[float], str] = komi_text) -> str:
    """``W+3.5``, ``B+12`` or ``0`` for a draw; ``margin_text`` spells the points."""
    return DRAW if score == 0 else f"{winner_of(score)}+{margin_text(abs(score))}"


def resignation_text(winner: str) -> str:
    """``B+R`` or ``W+R``."""
    return f"{winner}+R"
