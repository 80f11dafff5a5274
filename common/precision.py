"""How exactly nets are computed in play: a choice of whoever runs them, under KataGo's words."""

from __future__ import annotations

import enum


class Precision(enum.StrEnum):
    """How exactly to compute; the values are those of KataGo's key ``useFP16``."""

    FASTEST = "auto"
    """16 bits where the device gains by it and the net passes the self-test."""
    FLOAT32 = "false"
    SIXTEEN_BIT = "true"
    """16 bits also where that is slow: float16 or bfloat16 on a GPU, bfloat16 on a processor."""
