"""What a task says of its games: their kind, networks and texts. The only place that knows the kinds of tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from client.games.kinds import MATCH, SELFPLAY, GameKind
from common import config_text, wire

Task = wire.SelfplayTask | wire.RatingTask


@dataclass(frozen=True)
class TaskKind:
    """A kind of tasks."""

    game: GameKind[Any]
    networks: Callable[[Any], tuple[wire.NetworkInfo, wire.NetworkInfo]]
    """The task's networks of Black and White in its first game; colours alternate."""


TASK_KINDS: dict[str, TaskKind] = {
    "selfplay": TaskKind(SELFPLAY, lambda task: (task.network, task.network)),
    "rating": TaskKind(MATCH, lambda task: (task.black_network, task.white_network)),
}
"""By `kind` of the task."""


def kind_of(task: Task) -> TaskKind:
    """The kind of a task."""
    return TASK_KINDS[task.kind]


def networks_of(task: Task) -> dict[str, wire.NetworkInfo]:
    """The different networks of a task, by name."""
    return {network.name: network for network in kind_of(task).networks(task)}


def config_of(task: Task, number: int) -> str:
    """The task's configuration text with the overrides of its game ``number`` put over it."""
    if number >= len(task.overrides):
        return task.config
    return config_text.overridden(task.config, task.overrides[number])
