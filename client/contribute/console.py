"""What the volunteer sees: lines with the time, and now and then one line that sums up. Knows no server and no game."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from rich.console import Console
from rich.markup import escape

SUMMARY_EVERY_S: Final = 60.0
MAX_LINE: Final = 1000
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


@dataclass
class Totals:
    """What this process has done so far."""

    games: dict[str, int] = field(default_factory=dict)
    """How many are finished of each kind, by what it is called."""
    rows: int = 0
    evaluations: int = 0
    """By the networks."""
    found: int = 0
    """Evaluations that were in a cache."""
    sent: int = 0
    refused: int = 0
    waiting: int = 0
    running: int = 0
    activities: dict[str, str] = field(default_factory=dict)
    """What each stream is doing, by its name."""


class LastingConsole(Console):
    """A console that is silent once nobody reads it; rich's own would end the thread that prints, or the program."""

    def on_broken_pipe(self) -> None:
        """Called in an ``except`` when the reader of a pipe has gone."""
        self.quiet = True


@dataclass
class VolunteerConsole:
    """Prints from any thread. ``clock`` gives monotonic seconds."""

    console: Console
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False
    _began: float = 0.0
    _last: float = 0.0
    _before: Totals = field(default_factory=Totals)

    def __post_init__(self) -> None:
        self._began = self._last = self.clock()

    def line(self, text: str) -> None:
        """Print one line. Never raises: a console that is gone or full must not end what works."""
        shown = _CONTROLS.sub(" ", text)
        if len(shown) > MAX_LINE:
            shown = shown[:MAX_LINE] + " …"
        encoding = self.console.encoding
        shown = shown.encode(encoding, "backslashreplace").decode(encoding)
        # ValueError: the console is closed
        with self._lock, contextlib.suppress(OSError, ValueError):
            if not self._closed:
                self.console.print(
                    f"[dim]{time.strftime('%H:%M:%S')}[/dim] {escape(shown)}", highlight=False, soft_wrap=True
                )

    def close(self) -> None:
        """Print nothing more, whoever still wants to."""
        with self._lock:
            self._closed = True

    def summary(self, totals: Totals, *, now: bool = False) -> None:
        """Print the summary line if a minute has passed since the last one, or ``now``.

        Where nothing was evaluated since, it tells what the streams are busy with.
        """
        moment = self.clock()
        elapsed = moment - self._last
        if not now and elapsed < SUMMARY_EVERY_S:
            return
        evaluated = totals.evaluations - self._before.evaluations
        games = sum(totals.games.values())
        if evaluated > 0 or now:
            doing = f"{max(0, evaluated) / max(elapsed, 1e-9):,.0f} evaluations/s"
            if (found := totals.found - self._before.found) > 0:
                doing += f" and {found / max(elapsed, 1e-9):,.0f}/s found in the cache"
        else:
            doing = _by_activity(totals.activities)
        if not (games or evaluated or now):
            self.line(f"no game is finished yet after {_minutes(moment - self._began)}: {doing}")
        else:
            kinds = ", ".join(f"{count} {kind}" for kind, count in totals.games.items())
            self.line(
                f"{games} games finished in {(moment - self._began) / 3600:.2f} h"
                f" ({kinds}, {totals.rows} rows);"
                f" {totals.running} running, {totals.waiting} to send, {totals.sent} sent, {totals.refused} refused;"
                f" {doing}"
            )
        self._last = moment
        self._before = replace(totals)


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02} min"


def _by_activity(activities: dict[str, str]) -> str:
    """Streams that do the same are named together."""
    streams: dict[str, list[str]] = {}
    for stream, activity in activities.items():
        streams.setdefault(activity, []).append(stream)
    return "; ".join(f"{', '.join(names)} {activity}" for activity, names in streams.items())
