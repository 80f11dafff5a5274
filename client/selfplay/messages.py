"""What the parent of a run of self-play and its children say to each other: plain data that can be pickled."""

from __future__ import annotations

from dataclasses import dataclass

from client.games.orders import FinishedGame, GameOrder
from client.networks import Network
from client.streams import Failed, Stop, Want


@dataclass(frozen=True)
class Play:
    """Parent to child: play these games too; what begins from now on is played by ``network``, whatever orders say.

    So are games that run, from when they look for it, where their text allows that (`client.games.net_changes`).
    """

    orders: tuple[GameOrder, ...]
    network: Network


@dataclass(frozen=True)
class Finished:
    """Child to parent: a game is over."""

    game: FinishedGame


@dataclass(frozen=True)
class Unusable:
    """Child to parent: a network cannot be used, and why; orders that had not begun are the parent's again."""

    network: Network
    text: str
    seeds: tuple[int, ...]
    """Of these orders."""


@dataclass(frozen=True)
class Progress:
    """Child to parent, every few seconds: totals since the child's start."""

    games_running: int
    evaluations: int
    found: int  # evaluations that were in a cache


FromParent = Play | Stop
FromChild = Want | Finished | Unusable | Progress | Failed
