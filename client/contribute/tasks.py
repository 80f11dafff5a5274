"""One step of asking: a stream wants games, so a task and its networks are fetched and handed over."""

from __future__ import annotations

import queue
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from client.contribute.api import ServerApi
from client.contribute.downloads import DownloadError, DownloadStopped, NetworkCache, NetworkFile
from client.contribute.errors import GameRefusedError, LoginRefusedError, OutageError, UpdateNeededError
from client.contribute.loop import Backoff, Outcome
from client.contribute.messages import Job
from client.contribute.task_kinds import config_of, kind_of, networks_of
from common import wire
from common.config_text import ConfigError
from common.parameters import ignored
from common.position_checks import PositionError, check_position

PROGRESS_STEP_BYTES: Final = 32 << 20
MOST_WARNINGS: Final = 5
"""About settings of one task, that are told one by one."""


@dataclass(frozen=True)
class Wish:
    """A stream has room for ``games`` games; ``give`` hands it a job."""

    games: int
    give: Callable[[Job], None]


@dataclass
class TaskFetcher:
    """Turns the wishes of the streams into jobs.

    Attributes:
        wishes: filled by whoever talks to the streams; one wish is served per step.
        rep_factor: games asked for at a time; our server may say how many by speed and room.
        machine: names this machine to the server.
        games_per_hour: the machine's speed of late; None until it is known.
        report: called with a line for the volunteer.
        give_up: called once, with the reason, when this client will get no more tasks.
        stop: set when the client is being stopped.
    """

    api: ServerApi
    cache: NetworkCache
    wishes: queue.SimpleQueue[Wish]
    instance_id: str
    rep_factor: int
    machine: str
    games_per_hour: Callable[[], float | None]
    only_rating: bool
    backoff: Backoff
    report: Callable[[str], None]
    give_up: Callable[[str], None]
    stop: threading.Event
    run: wire.RunInfo | None = None
    trouble: str = ""
    notice: str = ""
    told: set[str] = field(default_factory=set)
    _wish: Wish | None = None

    def step(self) -> Outcome:
        """Serve one wish."""
        if self._wish is None:
            try:
                self._wish = self.wishes.get(timeout=self.backoff.idle_s)
            except queue.Empty:
                return Outcome.WORKED  # it waited already
        try:
            job = self._fetch(self._wish.games)
        except (OutageError, DownloadError, GameRefusedError) as error:
            self.backoff.at_least = getattr(error, "retry_after", None) or 0.0
            self._trouble(f"no task yet: {error}; the next try follows by itself")
            return Outcome.FAILED
        except DownloadStopped:
            return Outcome.FAILED
        except (LoginRefusedError, UpdateNeededError) as error:
            self.give_up(str(error))
            return Outcome.FAILED
        self._trouble("")
        wish, self._wish = self._wish, None
        wish.give(job)
        if wish.games > job.games:
            self._wish = Wish(wish.games - job.games, wish.give)
        return Outcome.WORKED

    def _fetch(self, room: int) -> Job:
        asked = min(room, self.rep_factor)
        task = self.api.request_task(
            wire.TaskRequest(
                git_revision=wire.CLIENT_REVISION,
                client_instance_id=self.instance_id,
                task_rep_factor=asked,
                allow_selfplay_task=not self.only_rating,
                allow_rating_task=True,
                machine=self.machine,
                room=min(room, wire.MAX_ROOM),
                games_per_hour=self.games_per_hour(),
            )
        )
        run = self.run_of(task)
        self._notice(task.notice or "")
        games = asked if task.games is None else task.games
        _check_positions(task, run.data_board_len)
        _check_texts(task, games, run.data_board_len)
        self._tell_ignored(task, games)
        files = {name: self._file(network) for name, network in networks_of(task).items()}
        seed = secrets.randbits(63) if task.seed is None else task.seed
        return Job(task, files, games, seed, run.data_board_len)

    def _file(self, network: wire.NetworkInfo) -> Path | None:
        if network.is_random or network.model_file is None:
            return None
        wanted = NetworkFile(network.name, network.model_file, network.model_file_sha256, network.model_file_bytes)
        told = 0

        def progress(have: int, total: int) -> None:
            nonlocal told
            if have - told >= PROGRESS_STEP_BYTES:
                told = have
                self.report(f"network {network.name}: {have >> 20} of {total >> 20} MiB")

        return self.cache.fetch(wanted, self.stop, progress)

    def run_of(self, task: wire.SelfplayTask | wire.RatingTask) -> wire.RunInfo:
        """The run of a task; asks the server about a run that is new to this process."""
        if self.run is None or self.run.name != task.run.name:
            self.run = self.api.current_run()
            if self.run.name != task.run.name:
                raise OutageError(f"the server changes from the run {task.run.name} to {self.run.name}")
            self.report(f"now playing for the run {self.run.name}")
        return self.run

    def _notice(self, text: str) -> None:
        """Show what the server wants the volunteer to read, once."""
        text = "".join(sign for sign in text if sign.isprintable())
        if text and text != self.notice:
            self.report(f"the server says: {text}")
        self.notice = text

    def _tell_ignored(self, task: wire.SelfplayTask | wire.RatingTask, games: int) -> None:
        """Say once of each key that means nothing in the games' texts: perhaps one of a newer version."""
        kind = kind_of(task).game
        texts = {config_of(task, number) for number in range(games)}
        new = sorted({warning for text in texts for warning in ignored(kind.text, text)} - self.told)
        self.told.update(new)
        for warning in new[:MOST_WARNINGS]:
            self.report(f"settings of the server's games, {warning}")
        if len(new) > MOST_WARNINGS:
            self.report(f"settings of the server's games: {len(new) - MOST_WARNINGS} more keys mean nothing")

    def _trouble(self, text: str) -> None:
        if bool(text) != bool(self.trouble):
            self.report(text or "the server gives tasks again")
        self.trouble = text


def _check_positions(task: wire.SelfplayTask | wire.RatingTask, length: int) -> None:
    """See that games can begin at all of the task's positions: one that cannot would end one child after the other.

    Raises:
        OutageError: one cannot, or the games are not of a kind that begins at positions.
    """
    if task.start_poses and not kind_of(task).game.begins_anywhere:
        raise OutageError(f"the task has start positions, at which games of its kind ({task.kind}) do not begin")
    try:
        for position in task.start_poses:
            check_position(position, length)
    except PositionError as error:
        raise OutageError(f"the task's start positions cannot be played: {error}") from error


def _check_texts(task: wire.SelfplayTask | wire.RatingTask, games: int, length: int) -> None:
    """See that the games' configuration can be played: a text that cannot would end one child after the other.

    Raises:
        OutageError: it cannot; whoever runs the server has to mend it.
    """
    try:
        for text in {config_of(task, number) for number in range(games)}:
            kind_of(task).game.parse(text, length)
    except ConfigError as error:
        raise OutageError(f"the settings of the task's games cannot be played by this version: {error}") from error
