"""Tests of Tengen; they mirror the packages."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
"""The project's folder."""
FIXTURES: Final = ROOT / "tests" / "fixtures"
