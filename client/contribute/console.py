"""What the volunteer sees: lines with the time, and now and then one line that sums up. Knows no server and no game."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console
from rich.markup import escape

SUMMARY_EVERY_S: Final = 60.0


@dataclass
class Totals:
    """What this process has done so far."""

    selfplay_games: int = 0
    match_games: int = 0
    rows: int = 0
    evaluations: int = 0
    sent: int = 0
    refused: int = 0
    waiting: int = 0
    running: int = 0


@dataclass
class VolunteerConsole:
    """Prints from any thread. ``clock`` gives monotonic seconds."""

    console: Console
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _began: float = 0.0
    _last: float = 0.0
    _before: Totals = field(default_factory=Totals)

    def __post_init__(self) -> None:
        self._began = self._last = self.clock()

    def line(self, text: str) -> None:
        """Print one line."""
        with self._lock:
            self.console.print(
                f"[dim]{time.strftime('%H:%M:%S')}[/dim] {escape(text)}", highlight=False, soft_wrap=True
            )

    def summary(self, totals: Totals, *, now: bool = False) -> None:
        """Print the summary line if a minute has passed since the last one, or ``now``."""
        moment = self.clock()
        elapsed = moment - self._last
        if not now and elapsed < SUMMARY_EVERY_S:
            return
        speed = (totals.evaluations - self._before.evaluations) / max(elapsed, 1e-9)
        hours = (moment - self._began) / 3600
        games = totals.selfplay_games + totals.match_games
        self.line(
            f"{games} games finished in {hours:.2f} h ({totals.selfplay_games} self-play with {totals.rows} rows,"
            f" {totals.match_games} matches); {totals.running} running, {totals.waiting} to send, {totals.sent} sent,"
            f" {totals.refused} refused; {speed:,.0f} evaluations/s"
        )
        self._last = moment
        self._before = Totals(**vars(totals))
