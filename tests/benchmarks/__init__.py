"""Measurements; `python -m tests.benchmarks` runs them."""

from __future__ import annotations

import os
from typing import Final

from common.precision import Precision

PRECISION: Final = Precision(os.environ.get("TENGEN_USE_FP16", Precision.FASTEST))
"""How evaluators compute: ``TENGEN_USE_FP16=true`` asks for 16 bits also where the processor has no units for them."""
