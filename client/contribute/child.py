"""A child process: plays the games of one stream and puts them into the spool. Talks to its parent only.

Two threads: the main one plays; the other hears the parent and tells it the progress. A game is audited by the same
function as the server's before it is spooled, so a fault of this machine is found here.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from client.contribute.devices import Stream
from client.contribute.messages import Discarded, Failed, FromChild, Job, Progress, Report, Spooled, Stop, Want
from client.contribute.spool import Spool, SpoolError
from client.contribute.stopping import STOP_SIGNALS
from client.networks import Network, evaluator_loader
from common import config_text, wire
from common.precision import Precision
from common.wire_base import FormMessage

if TYPE_CHECKING:  # the playing code is slow to import and the parent, which imports this module, does not need it
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


def child_main(pipe: Connection, stream: Stream, settings: ChildSettings) -> None:
    """Entry point of the process."""
    ignore_stop_signals()
    if stream.core is not None and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, {stream.core})
    player = Player(pipe, stream, settings)
    try:
        player.play()
    except Exception as error:
        player.tell(Failed(f"{type(error).__name__}: {error}", permanent=False))
        raise
    finally:
        pipe.close()


def ignore_stop_signals() -> None:
    """Ctrl-C and a service manager's SIGTERM reach the whole group: the parent alone decides, and tells by the pipe."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # held back since before the process began, see `client.contribute.streams`
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


class Player:
    """The state of a child: orders to play, and how to stop."""

    def __init__(self, pipe: Connection, stream: Stream, settings: ChildSettings) -> None:
        from client.contribute.activity import ActivityWatch
        from client.games.stream import StreamControl, StreamStats

        self._pipe = pipe
        self._stream = stream
        self._settings = settings
        self._spool = Spool(settings.data_directory / "spool")
        self._orders: deque[GameOrder] = deque()
        self._asked = False
        self._last_progress = 0.0
        self._sending = threading.Lock()
        self._ended = threading.Event()
        self._control = StreamControl()
        self._stats = StreamStats()
        self._activity = ActivityWatch()

    def play(self) -> None:
        """Play until the parent says stop or is gone."""
        from client.games.stream import play_stream

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
        return self._orders.popleft() if self._orders else None

    def _load(self, network: Network, length: int) -> Evaluator:
        stream = self._stream
        self._activity.loading += 1
        try:
            return evaluator_loader(stream.device, stream.threads, self._settings.precision)(network, length)
        finally:
            self._activity.loading -= 1

    def _take(self, game: FinishedGame) -> None:
        """Audit a finished game and write it to the spool; waits for a full disk rather than lose it."""
        job: Job = game.order.tag
        if game.order.is_selfplay and game.rows is None:
            self.tell(Discarded("no turn of it became a row", fault=False))
            return
        fault = _fault_of(game)
        if fault:
            self.tell(Discarded(fault, fault=True))
            return
        fields, files = upload_parts(game, job)
        kind = "training" if game.order.is_selfplay else "rating"
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
            self.tell(Progress(running, self._stats.evaluations, self._activity.now(running)))

    def _hear(self, message: Job | Stop) -> None:
        if isinstance(message, Job):
            self._orders.extend(orders_of(message))
            self._asked = False
        else:
            self._orders.clear()
            self._control.finish.set()


def orders_of(job: Job) -> list[GameOrder]:
    """The games of a job; in a match the colours alternate, beginning with the job's own."""
    from client.games.orders import GameOrder

    task = job.task
    draws = random.Random(job.seed)
    if isinstance(task, wire.SelfplayTask):
        pair = (task.network.name, task.network.name)
    else:
        pair = (task.black_network.name, task.white_network.name)
    orders = []
    for number in range(job.games):
        black, white = pair if number % 2 == 0 else pair[::-1]
        orders.append(
            GameOrder(
                seed=draws.getrandbits(63),
                config=config_of(task, number),
                black=Network(black, job.networks[black]),
                white=Network(white, job.networks[white]),
                length=job.length,
                tag=job,
            )
        )
    return orders


def config_of(task: wire.SelfplayTask | wire.RatingTask, number: int) -> str:
    """The task's configuration text with the overrides of its game ``number`` put over it."""
    if number >= len(task.overrides):
        return task.config
    changes = config_text.parse_overrides(task.overrides[number])
    return config_text.overlay(task.config, config_text.write({key: entry.value for key, entry in changes.items()}))


def upload_parts(game: FinishedGame, job: Job) -> tuple[dict[str, str], dict[str, tuple[str, bytes]]]:
    """Form fields and files of a finished game's upload."""
    from common.rows import to_npz

    task, uid = job.task, game.facts.uid
    files = {"sgf_file": (f"{uid}.sgf", game.sgf.encode())}
    if isinstance(task, wire.SelfplayTask):
        assert game.rows is not None
        files["training_data_file"] = (f"{uid}.npz", to_npz(game.rows))
        form: FormMessage = game.training_upload(
            run_url=task.run.url, network_url=task.network.url or "", job_id=task.job_id
        )
    else:
        urls = {network.name: network.url or "" for network in (task.black_network, task.white_network)}
        form = game.rating_upload(
            run_url=task.run.url,
            black_url=urls[game.order.black.name],
            white_url=urls[game.order.white.name],
            job_id=task.job_id,
        )
    return form.to_form(), files


def _fault_of(game: FinishedGame) -> str:
    """What this machine's own audit finds wrong with a game it played; empty if nothing."""
    from common import audit
    from common.parameters import parse_match, parse_selfplay

    if game.rows is None:
        findings = audit.audit_rating_game(game.sgf, game.facts, parse_match(game.order.config))
    else:
        findings = audit.audit_training_game(game.sgf, game.rows, game.facts, parse_selfplay(game.order.config))
    return "; ".join(str(finding) for finding in findings)
