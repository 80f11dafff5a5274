"""What other apps demand of a run's settings: they read them, the run only keeps them.

An app declares its checks when Django is ready, so that runs need not know who reads what.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from server.runs.models import Run


@dataclass(frozen=True)
class SettingsCheck:
    """One demand."""

    field: str
    """Beside which its faults are told."""
    reads: frozenset[str]
    """Fields on which the answer depends."""
    faults: Callable[[Run], list[str]]
    """What is wrong, one sentence each."""
    is_slow: bool = False
    """Takes seconds: asked where a page is sent that changes what it reads, and not with every saving."""


CHECKS: Final[list[SettingsCheck]] = []
