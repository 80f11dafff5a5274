"""What the parent process and the children that play say to each other, over a pipe. Plain data that can be pickled."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from client.streams import Failed, Stop, Want
from common import wire


@dataclass(frozen=True)
class Job:
    """Parent to child: play ``games`` games of this task.

    ``networks`` has, for each network name of the task, its checked file, or None for the random network. The games'
    own seeds follow from ``seed``, which the server drew, or else this client; ``length`` is the edge of the run's
    tensors.
    """

    task: wire.SelfplayTask | wire.RatingTask
    networks: dict[str, Path | None]
    games: int
    seed: int
    length: int


@dataclass(frozen=True)
class Spooled:
    """Child to parent: a finished game lies in the spool."""

    kind: str
    rows: int


@dataclass(frozen=True)
class Discarded:
    """Child to parent: a finished game is not sent, and why (no rows, or its own audit failed)."""

    reason: str
    fault: bool


class Activity(StrEnum):
    """What a stream is doing, in words for the volunteer."""

    STARTING = "starting"
    COMPILING = "compiling, which takes some minutes after an installation or update"
    LOADING = "loading a network"
    WAITING = "waiting for games to play"
    PLAYING = "playing"


@dataclass(frozen=True)
class Progress:
    """Child to parent, every few seconds: totals since the child's start, and what it does now."""

    games_running: int
    evaluations: int
    found: int
    activity: Activity


@dataclass(frozen=True)
class Report:
    """Child to parent: a line for the volunteer."""

    text: str


FromParent = Job | Stop
FromChild = Want | Spooled | Discarded | Progress | Report | Failed
