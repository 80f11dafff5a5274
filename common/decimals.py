"""Real numbers as the world writes them: one reader for komi, results and amounts in records, commands and forms."""

from __future__ import annotations

import math
import re
from typing import Final

_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]++(?:[.,][0-9]*+)?|[.,][0-9]++)(?:[eE][+-]?[0-9]{1,3})?")
MAX_LENGTH: Final = 400
"""Characters of a number; more are no number that anybody wrote."""


def real_number(text: str) -> float:
    """The number that ``text`` writes: ``6.5``, ``+6.500000``, ``6,5``, ``.5``, ``7.``, ``1e1``, blanks around it.

    The decimal sign is a point or a comma, digits are ASCII, there are no signs between thousands, and -0 is 0.

    Raises:
        ValueError: nothing of that form (``nan`` and ``inf`` are none), or too large for a float.
    """
    stripped = text.strip()
    if len(stripped) > MAX_LENGTH or not _DECIMAL.fullmatch(stripped):
        raise ValueError("is not a number")
    value = float(stripped.replace(",", "."))
    if not math.isfinite(value):
        raise ValueError("is too large")
    return value + 0.0  # turns -0.0 into 0.0
