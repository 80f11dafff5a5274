"""What the person at the terminal of a run of self-play reads now and then: one line that sums up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from client.games.orders import FinishedGame
from client.selfplay.messages import Progress
from common.progress import LOADING, READY, Announcement

REPORT_EVERY_S: Final = 20.0
_NOTHING: Final = Progress(0, 0, 0)


@dataclass
class Status:
    """Counts since the start of this process, and the line about them. ``clock`` gives monotonic seconds."""

    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    games: int = 0
    moves: int = 0
    rows: int = 0
    _evaluations: int = 0
    _found: int = 0
    _streams: dict[str, Progress] = field(default_factory=dict)
    _began: float = 0.0
    _report_at: float = 0.0
    _loading: Announcement | None = None

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._report_at = self._began + REPORT_EVERY_S

    @property
    def running(self) -> int:
        """Games that run, as far as was told."""
        return sum(progress.games_running for progress in self._streams.values())

    @property
    def is_loading(self) -> bool:
        """Whether no game has had a move yet: networks are loaded, kernels compiled."""
        return not (self.games or self._evaluations or self._found)

    def add(self, game: FinishedGame) -> None:
        """Count a finished game."""
        self.games += 1
        self.moves += game.facts.game_length
        self.rows += game.facts.num_training_rows
        self._end_loading()

    def hear(self, stream: str, progress: Progress) -> None:
        """Take what a stream says of itself."""
        before = self._streams.get(stream, _NOTHING)
        self._streams[stream] = progress
        self._evaluations += progress.evaluations - before.evaluations
        self._found += progress.found - before.found
        self._end_loading()

    def load(self) -> None:
        """Everything begins to be loaded, which is told if it takes long."""
        self._loading = self._loading or Announcement(LOADING, READY)

    def close(self) -> None:
        """Nothing is played any more: all there is to say."""
        if self._loading is not None:
            self._loading.over(well=False)
        self.report()

    def _end_loading(self) -> None:
        if self._loading is not None and not self.is_loading:
            self._loading.over()

    def lose(self, stream: str) -> None:
        """A stream's process has ended, and counts from 0 when it is started again."""
        self._streams.pop(stream, None)

    def report_now_and_then(self) -> None:
        """The line, unless there was one just before or everything is still being loaded."""
        now = self.clock()
        if now >= self._report_at and not self.is_loading:
            self._report_at = now + REPORT_EVERY_S
            self.report()

    def report(self) -> None:
        """The line."""
        seconds = max(self.clock() - self._began, 1e-9)
        running = f", {self.running} running" if self.running else ""
        asked = max(self._evaluations + self._found, 1)
        self.say(
            f"{self.games} games, {self.moves} moves, {self.rows} rows in {seconds:.0f} s{running}"
            f" ({self.rows * 3600 / seconds:,.0f} rows per hour, {self._evaluations / seconds:,.0f} evaluations per"
            f" second, {self._found / asked:.0%} of what was asked found in the cache)"
        )
