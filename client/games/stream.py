"""Plays many games at once through one evaluator per network, one process, until told to stop.

The stream owns the tables at which games run, and the evaluators, and nothing else: where orders come from, where
finished games go and when to stop is the caller's business. Networks may change between games, and in the middle of
one; an evaluator is kept as long as a game or the newest order needs it. Where the evaluators work by themselves
(GPUs), the games are divided into groups, so that the trees of one are descended while the device evaluates for the
other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from client.games.net_changes import Newer, can_be_told
from client.games.orders import FinishedGame, GameOrder
from client.games.table import GAMES_CACHE, Table, networks_of
from client.networks import Loader, Network
from client.search.cache import CacheSettings
from nets.evaluation.batch import Evaluator

Source = Callable[[], GameOrder | None]
"""Gives the next game to play, or None if there is none at the moment; called whenever there is room."""
Sink = Callable[[FinishedGame], None]
"""Takes a finished game."""


_NetworkKey = tuple[Network, int]


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
    """By the networks."""
    found: int = 0
    """Evaluations that were in a cache."""


def play_stream(
    source: Source,
    sink: Sink,
    *,
    games: int,
    load: Loader,
    control: StreamControl,
    stats: StreamStats,
    cache: CacheSettings = GAMES_CACHE,
    newer: Newer | None = None,
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
        cache: of the evaluations of each network.
        newer: says with which network a running game goes on, where its configuration allows that; None: with its own.
        idle_s: how long to wait before the source is asked again while no game is running.
        until_empty: return once the source gives None and no game is running, instead of waiting for more.

    Raises:
        ConfigError: an order's configuration can not be played.
    """
    stream = _Stream(games, load, sink, stats, cache, newer)
    try:
        while not control.stop_now.is_set():
            may_start = not control.finish.is_set()
            if may_start:
                stream.fill(source)
            if stats.games_running > 0:
                stream.round()
            elif until_empty or not may_start:
                return
            else:
                control.finish.wait(idle_s)
    finally:
        stream.close()


class _Stream:
    """The games that run, by table; see `play_stream`."""

    def __init__(
        self, games: int, load: Loader, sink: Sink, stats: StreamStats, cache: CacheSettings, newer: Newer | None
    ) -> None:
        self._games = games
        self._load = load
        self._sink = sink
        self._stats = stats
        self._cache = cache
        self._newer = newer
        self._evaluators: dict[_NetworkKey, Evaluator] = {}
        self._tables: list[Table] = []

    def fill(self, source: Source) -> None:
        """Start games until all places are taken or the source has none."""
        while self._stats.games_running < self._games:
            order = source()
            if order is None:
                return
            table = self._table_for(order)
            self._stats.games_running += 1
            if finished := table.sit(order):
                self._take(finished)

    def round(self) -> None:
        """One step of every table, with all that follows for the games whose search is finished."""
        for table in list(self._tables):
            for finished in table.round():
                self._take(finished)
        for table in self._tables:
            made, found = table.take_evaluations()
            self._stats.evaluations += made
            self._stats.found += found
        for leaving in [game for table in self._tables for game in table.take_leaving()]:
            network = leaving.network
            self._table_for(replace(leaving.order, black=network, white=network)).sit_on(leaving)

    def close(self) -> None:
        """Drop all games and give the evaluators back."""
        self._stats.games_running = 0
        self._tables.clear()
        for evaluator in self._evaluators.values():
            evaluator.close()
        self._evaluators.clear()

    def _take(self, finished: FinishedGame) -> None:
        stats = self._stats
        stats.games_running -= 1
        stats.games += 1
        stats.moves += finished.facts.game_length
        stats.rows += finished.facts.num_training_rows
        self._sink(finished)

    def _table_for(self, order: GameOrder) -> Table:
        """The emptiest table where games with the networks and the configuration of ``order`` are played.

        There are as many such tables as the evaluators have lanes, each with an equal part of the places.
        """
        fitting = [table for table in self._tables if table.fits(order)]
        if not fitting:
            self._clear_away(order)
        evaluators = [self._evaluator(network, order.length) for network in networks_of(order)]
        lanes = min(self._games, max(evaluator.lanes for evaluator in evaluators))
        if len(fitting) < lanes:
            newer = None if self._newer is None else self._newer_network
            table = Table(order, evaluators, -(-self._games // lanes), self._cache, newer)
            self._tables.append(table)
            return table
        return min(fitting, key=lambda table: table.games_running)

    def _newer_network(self, order: GameOrder, network: Network) -> Network | None:
        """With which network a game goes on that is played by ``network``; None: with that.

        A game's idea of what is pass-alive is that of its first network, so that one with another idea does not do.
        """
        assert self._newer is not None
        newer = self._newer(order, network)
        if newer is None or not can_be_told(newer):
            return None
        before, after = (self._evaluator(each, order.length) for each in (network, newer))
        return newer if before.pass_alive_suicide == after.pass_alive_suicide else None

    def _clear_away(self, order: GameOrder) -> None:
        """Drop tables without games, and evaluators that neither the others nor ``order`` need."""
        self._tables = [table for table in self._tables if table.games_running]
        needed = {(network, order.length) for network in networks_of(order)}
        for table in self._tables:
            needed |= {(network, table.order.length) for network in networks_of(table.order)}
        for key in list(self._evaluators):
            if key not in needed:
                self._evaluators.pop(key).close()

    def _evaluator(self, network: Network, length: int) -> Evaluator:
        key = network, length
        if key not in self._evaluators:
            self._evaluators[key] = self._load(network, length)
        return self._evaluators[key]
