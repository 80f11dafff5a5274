"""A child process: plays the games of one stream and puts them into the spool. Talks to its parent only.

Two threads: the main one plays; the other hears the parent and tells it the progress. A game is audited by the same
function as the server's before it is spooled, so a fault of this machine is found here.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from client.contribute.messages import Discarded, FromChild, Job, Progress, Report, Spooled
from client.contribute.spool import Spool, SpoolError
from client.contribute.uploads import upload_parts
from client.devices import Stream
from client.networks import Network, evaluator_loader
from client.processes import begin_child
from client.streams import Failed, Stop, Want
from common.precision import Precision

if TYPE_CHECKING:  # the playing code is slow to import and the parent, which imports this module, does not need it
    from client.contribute.job_orders import JobOrder
    from client.games.orders import FinishedGame, GameOrder
    from nets.evaluation.batch import Evaluator

PROGRESS_EVERY_S: Final = 5.0
SPOOL_RETRY_S: Final = 10.0


@dataclass(frozen=True)
class ChildSettings:
    """What every child needs to know."""

    data_directory: Path
    server_url: str
    precision: Precision = Precision.FASTEST
    cache_bytes: int = 0  # of evaluations


def child_main(pipe: Connection, stream: Stream, settings: ChildSettings) -> None:
    """Entry point of the process."""
    begin_child(stream.core)
    player = Player(pipe, stream, settings)
    try:
        player.play()
    except Exception as error:
        player.tell(Failed(f"{type(error).__name__}: {error}", permanent=False))
        raise
    finally:
        pipe.close()


class Player:
    """The state of a child: orders to play, and how to stop."""

    def __init__(self, pipe: Connection, stream: Stream, settings: ChildSettings) -> None:
        from client.contribute.activity import ActivityWatch
        from client.contribute.newest_nets import NewestNets
        from client.games.fork_pools import WaitingForks
        from client.games.stream import StreamControl, StreamStats

        self._pipe = pipe
        self._stream = stream
        self._settings = settings
        self._spool = Spool(settings.data_directory / "spool")
        self._orders: deque[JobOrder] = deque()
        self._asked = False
        self._last_progress = 0.0
        self._sending = threading.Lock()
        self._ended = threading.Event()
        self._control = StreamControl()
        self._stats = StreamStats()
        self._forks = WaitingForks()
        self._nets = NewestNets()
        self._activity = ActivityWatch()

    def play(self) -> None:
        """Play until the parent says stop or is gone."""
        from client.games.stream import play_stream
        from client.games.table import GAMES_CACHE

        talker = threading.Thread(target=self._talk, daemon=True)
        talker.start()
        try:
            play_stream(
                self._next_order,
                self._take,
                games=self._stream.games,
                load=self._load,
                control=self._control,
                stats=self._stats,
                cache=replace(GAMES_CACHE, max_bytes=self._settings.cache_bytes),
                newer=self._nets.newer,
            )
        finally:
            self._ended.set()
            talker.join()
            self._activity.close()

    def tell(self, message: FromChild) -> None:
        """Say something to the parent; a parent that is gone hears nothing."""
        with self._sending, contextlib.suppress(OSError):
            self._pipe.send(message)

    def _next_order(self) -> GameOrder | None:
        """The next game; asks the parent for more before the last one is taken, but not much earlier.

        Orders name the network that was current when they were given, so a long queue would play old networks.
        """
        low = self._stream.games // 8
        if len(self._orders) <= low and not self._asked:
            self._asked = True
            first = self._stats.games == 0 and self._stats.games_running == 0
            self.tell(Want(self._stream.games if first else max(1, self._stream.games // 4)))
        if not self._orders:
            return None
        order = self._orders.popleft()
        return self._forks.put_into(order, order.fork_key) if order.kind.begins_anywhere else order

    def _load(self, network: Network, length: int) -> Evaluator:
        stream = self._stream
        self._activity.loading += 1
        try:
            return evaluator_loader(stream.device, stream.threads, self._settings.precision)(network, length)
        finally:
            self._activity.loading -= 1

    def _take(self, game: FinishedGame) -> None:
        """Audit a finished game and write it to the spool; waits for a full disk rather than lose it."""
        from client.contribute.job_orders import JobOrder

        order = game.order
        assert isinstance(order, JobOrder)
        last = game.last_network
        self._forks.add(replace(order, black=last, white=last).fork_key, game)
        if order.kind.gives_rows and game.rows is None:
            self.tell(Discarded("no turn of it became a row", fault=False))
            return
        fault = "; ".join(str(finding) for finding in order.kind.audit(game))
        if fault:
            self.tell(Discarded(fault, fault=True))
            return
        fields, files = upload_parts(game, order, self._nets.url)
        kind = order.kind.upload
        told = False
        while True:
            try:
                self._spool.add(kind, self._settings.server_url, fields, files)
                break
            except SpoolError as error:
                if not told:
                    self.tell(Report(str(error)))
                    told = True
                if self._control.stop_now.wait(SPOOL_RETRY_S):
                    return
        self.tell(Spooled(kind, game.facts.num_training_rows))

    def _talk(self) -> None:
        """Hear the parent, and tell it the progress now and then.

        A child that hears nothing can neither get games nor be stopped: whatever goes wrong here ends it, and says so.
        """
        try:
            while not self._ended.is_set():
                if self._pipe.poll(PROGRESS_EVERY_S / 10):
                    self._hear(self._pipe.recv())
                self._progress()
        except (EOFError, OSError):  # the parent is gone: nobody will send what is played
            self._control.stop_now.set()
        except Exception as error:
            self.tell(Failed(f"{type(error).__name__}: {error}", permanent=False))
            self._control.stop_now.set()

    def _progress(self) -> None:
        if time.monotonic() - self._last_progress >= PROGRESS_EVERY_S:
            self._last_progress = time.monotonic()
            running = self._stats.games_running
            self.tell(Progress(running, self._stats.evaluations, self._stats.found, self._activity.now(running)))

    def _hear(self, message: Job | Stop) -> None:
        from client.contribute.job_orders import orders_of

        if isinstance(message, Job):
            self._nets.learn(message)
            self._orders.extend(orders_of(message))
            self._asked = False
        else:
            self._orders.clear()
            self._control.finish.set()
