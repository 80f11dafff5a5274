"""Plays many games at once through one evaluator per network, one process, until told to stop.

The stream owns the games that run, the search pools and the evaluators, and nothing else: where orders come from,
where finished games go and when to stop is the caller's business. Networks may change between games; an evaluator is
kept as long as a game or the newest order needs it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from client.search.evaluation import Evaluator
from client.selfplay.orders import FinishedGame, GameOrder, Network

Source = Callable[[], GameOrder | None]
"""Gives the next game to play, or None if there is none at the moment; called whenever there is room."""
Sink = Callable[[FinishedGame], None]
"""Takes a finished game."""
Loader = Callable[[Network, int], Evaluator]
"""Gives a new evaluator of a network for tensors of an edge."""


@dataclass
class StreamControl:
    """How the caller stops a stream; both may be set from another thread, or by the source itself."""

    finish: threading.Event = field(default_factory=threading.Event)  # start no game, play the running ones to the end
    stop_now: threading.Event = field(default_factory=threading.Event)  # drop the running games


@dataclass
class StreamStats:
    """Running totals of a stream, changed in place by it."""

    games_running: int = 0
    games: int = 0
    moves: int = 0
    rows: int = 0
    evaluations: int = 0


def play_stream(
    source: Source,
    sink: Sink,
    *,
    games: int,
    load: Loader,
    control: StreamControl,
    stats: StreamStats,
    idle_s: float = 0.05,
    until_empty: bool = False,
) -> None:
    """Play until ``control`` says stop.

    Args:
        source: asked for a game whenever fewer than ``games`` are running.
        sink: called with each game that came to its end, in this thread.
        games: how many run at once.
        load: called once per network and edge that is needed; the stream closes what it gives.
        control: how to stop.
        stats: totals, changed in place.
        idle_s: how long to wait before the source is asked again while no game is running.
        until_empty: return once the source gives None and no game is running, instead of waiting for more.
    """
