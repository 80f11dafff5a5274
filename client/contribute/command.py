"""``python -m client contribute``: the parent process that ties tasks, children, spool and console together.

Threads: the main one listens to the children and prints; one asks for tasks and downloads networks; one sends games;
one hears signals. They end with the program and for no other reason: what nobody foresaw is told, kept in `ERRORS_FILE`
and followed by another try. The main one waits for nothing that a host could withhold. The first Ctrl-C or SIGTERM
finishes the running games and sends them, the second stops at once; finished games are on disk either way and are sent
by the next start. Before games are played either one simply ends the program.
"""

from __future__ import annotations

import argparse
import queue
import random
import secrets
import sys
import threading
from contextlib import ExitStack
from typing import Final

import requests

from client.contribute.api import ServerApi
from client.contribute.child import ChildSettings, child_main
from client.contribute.console import LastingConsole, Totals, VolunteerConsole
from client.contribute.downloads import NetworkCache
from client.contribute.errors import OutageError, ServerError
from client.contribute.folder import FolderInUseError, machine_of, sole_use
from client.contribute.loop import Backoff, Outcome
from client.contribute.loop import run as run_loop
from client.contribute.messages import Activity, Discarded, FromChild, Progress, Report, Spooled
from client.contribute.mishaps import Mishaps
from client.contribute.settings import (
    ClientSettings,
    SettingsError,
    add_arguments,
    data_directory_error,
    load_settings,
    prepare_data_directory,
)
from client.contribute.speed import SpeedMeter
from client.contribute.spool import Spool
from client.contribute.tasks import TaskFetcher, Wish
from client.contribute.uploader import Uploader
from client.contribute.uploads import UPLOAD_KINDS
from client.contribute.warmup import ensure_compiled
from client.devices import DeviceError, Stream, gpu_count, plan_streams
from client.stopping import StopSignals
from client.streams import StreamGroup, StreamProcess, Want

__all__ = ["add_arguments", "run"]

LISTEN_S: Final = 0.5
LOOK_S: Final = 0.2
LEAVE_S: Final = 0.3
"""How long a thread is given to end by itself at the end of the program."""
ERRORS_FILE: Final = "errors.log"
EXIT_USAGE: Final = 2
EXIT_GAVE_UP: Final = 1


def run(arguments: argparse.Namespace) -> int:
    """Contribute until stopped; returns the exit code."""
    console = VolunteerConsole(LastingConsole(file=sys.stdout))
    try:
        settings = load_settings(arguments)
        streams = plan_streams(settings.gpus, settings.cpu_streams, settings.games_per_stream, gpu_count(settings.gpus))
        prepare_data_directory(settings.data_directory)
    except (SettingsError, DeviceError) as error:
        console.line(str(error))
        return EXIT_USAGE
    for line in settings.advice():
        console.line(line)
    with ExitStack() as stack:
        try:
            stack.enter_context(sole_use(settings.data_directory, console.line))
            contributor = Contributor(settings, streams, stack.enter_context(requests.Session()), console)
        except FolderInUseError as error:
            console.line(str(error))
            return EXIT_USAGE
        except OSError as error:
            console.line(str(data_directory_error(settings.data_directory, error)))
            return EXIT_USAGE
        return contributor.run()


class Contributor:
    """One run of the contribute command."""

    def __init__(
        self, settings: ClientSettings, streams: list[Stream], session: requests.Session, console: VolunteerConsole
    ) -> None:
        self._settings = settings
        self._streams = streams
        self._console = console
        self._mishaps = Mishaps(settings.data_directory / ERRORS_FILE, console.line)
        self._spool = Spool(settings.data_directory / "spool", console.line)
        self._totals = Totals(
            games={kind.games: 0 for kind in UPLOAD_KINDS.values()},
            activities={stream.name: Activity.STARTING for stream in streams},
        )
        self._latest: dict[str, Progress] = {}
        self._stops = StopSignals()
        self._stop_asking = threading.Event()
        self._stop_sending = threading.Event()
        self._wake_sender = threading.Event()
        self._gave_up = ""
        self._ended = False
        self._wishes: queue.SimpleQueue[Wish] = queue.SimpleQueue()
        self._speed = SpeedMeter()
        self._api = ServerApi(session, settings.server_url, settings.login, self._stops.now)
        self._fetcher = TaskFetcher(
            api=self._api,
            cache=NetworkCache(settings.data_directory / "networks", settings.network_cache_bytes, session),
            wishes=self._wishes,
            instance_id=secrets.token_hex(8).upper(),
            rep_factor=settings.task_rep_factor,
            machine=machine_of(settings.data_directory),
            games_per_hour=self._speed.games_per_hour,
            only_rating=settings.only_rating,
            backoff=Backoff(random.Random()),
            report=console.line,
            give_up=self._give_up,
            stop=self._stop_asking,
        )
        self._uploader = Uploader(self._api, self._spool, Backoff(random.Random()), console.line, self._give_up)

    def run(self) -> int:
        """Play until the volunteer stops it or the server will not have it."""
        self._spool.clean()
        if not self._find_server():
            return EXIT_GAVE_UP
        ensure_compiled(self._console.line)
        self._announce()
        with self._stops:
            usable = self._play()
        self._console.summary(self._current_totals(), now=True)
        waiting = self._spool.count()
        if waiting:
            self._console.line(f"{waiting} finished games wait in {self._spool.waiting}; the next start sends them")
        if self._gave_up:
            self._console.line(f"stopped: {self._gave_up}")
        self._console.close()
        return EXIT_GAVE_UP if self._gave_up or not usable else 0

    def _play(self) -> bool:
        """Play until stopped and send what can be sent; returns whether any stream could play to the end."""
        # Daemons: what waits for a host that never answers must not hold the end of the program up.
        fetcher = threading.Thread(target=self._fetch_tasks, daemon=True)
        sender = threading.Thread(target=self._send_games, daemon=True)
        fetcher.start()
        sender.start()
        group: StreamGroup[FromChild] | None = None
        try:
            group = StreamGroup(
                self._streams,
                child_main,
                self._child_settings(),
                self._hear,
                self._console.line,
                stopping=self._is_stopping,
            )
            self._stops.last_act = group.kill_now
            self._listen(group)
        except Exception as error:
            self._mishaps.tell("the client", error, then="stops")
        finally:
            if group is not None:
                group.kill()
            self._ended = True
            self._stop_asking.set()
            self._finish_sending(sender)
            fetcher.join(LEAVE_S)
        return group is not None and group.usable()

    def _find_server(self) -> bool:
        """See that server and login work before anything is played; waits for a server that is away."""
        backoff = Backoff(random.Random())
        while True:
            try:
                self._fetcher.run = self._api.current_run()
                return True
            except OutageError as error:
                backoff.at_least = error.retry_after or 0.0
                why = str(error)
            except ServerError as error:
                self._console.line(f"stopped: {error}")
                return False
            except Exception as error:
                self._mishaps.tell("what asks for the run", error)
                why = "no answer that could be understood"
            pause = backoff.after(Outcome.FAILED)
            self._console.line(f"{why}; the next try follows in {pause:.0f} s")
            self._stop_asking.wait(pause)

    def _announce(self) -> None:
        games = sum(stream.games for stream in self._streams)
        run = self._fetcher.run.name if self._fetcher.run else ""
        self._console.line(
            f"contributing to {self._settings.server_url} as {self._settings.login.told}, run {run}:"
            f" {', '.join(stream.name for stream in self._streams)}, up to {games} games at once."
            " Ctrl-C finishes the running games, a second one stops now"
        )
        if self._spool.count():
            self._console.line(f"{self._spool.count()} games of an earlier start are sent first")

    def _child_settings(self) -> ChildSettings:
        settings = self._settings
        return ChildSettings(
            settings.data_directory, settings.server_url, settings.precision, settings.evaluation_cache_bytes
        )

    def _is_stopping(self) -> bool:
        return self._stops.finish.is_set() or bool(self._gave_up)

    def _listen(self, group: StreamGroup[FromChild]) -> None:
        """Hear the children until all have ended."""
        asked = False
        while group.alive() and not self._stops.now.is_set():
            try:
                group.listen(LISTEN_S)
            except Exception as error:
                self._mishaps.tell("what listens to the streams", error)
                self._stops.now.wait(LISTEN_S)
            if not asked and (self._is_stopping() or not group.usable()):
                asked = True
                self._stop_asking.set()
                self._console.line("finishing the running games")
                group.stop()
            self._console.summary(self._current_totals())
        if self._stops.now.is_set():
            self._console.line("stopping now")

    def _hear(self, process: StreamProcess, message: FromChild) -> None:
        match message:
            case Want(games):
                self._speed.game_asked()
                self._wishes.put(Wish(games, process.send))
            case Spooled(kind=kind, rows=rows):
                self._totals.games[UPLOAD_KINDS[kind].games] += 1
                self._totals.rows += rows
                self._speed.game_ended()
                self._wake_sender.set()
            case Discarded(reason, fault):
                self._speed.game_ended()
                if fault:
                    self._console.line(f"{process.stream.name}: a finished game is not sent: {reason}")
            case Progress():
                self._hear_progress(process.stream.name, message)
            case Report(text):
                self._console.line(f"{process.stream.name}: {text}")

    def _hear_progress(self, stream: str, progress: Progress) -> None:
        self._latest[stream] = progress
        compiling = Activity.COMPILING in self._totals.activities.values()
        self._totals.activities[stream] = progress.activity
        if progress.activity is Activity.COMPILING and not compiling:
            self._console.line(f"{stream}: {progress.activity}")

    def _current_totals(self) -> Totals:
        totals = self._totals
        running = sum(progress.games_running for progress in self._latest.values())
        totals.running = 0 if self._ended else running
        totals.evaluations = sum(progress.evaluations for progress in self._latest.values())
        totals.found = sum(progress.found for progress in self._latest.values())
        totals.sent, totals.refused = self._uploader.sent, self._uploader.refused
        totals.waiting = self._spool.count()
        return totals

    def _fetch_tasks(self) -> None:
        run_loop(
            self._fetcher.step,
            self._stop_asking,
            self._fetcher.backoff,
            lambda error: self._mishaps.tell("what asks for tasks", error),
        )

    def _send_games(self) -> None:
        run_loop(
            self._uploader.step,
            self._stop_sending,
            self._uploader.backoff,
            self._sending_failed,
            self._wake_sender,
        )
        # what an outage left: the server may be back, and the next start may be far away
        try:
            self._uploader.send_waiting(lambda: not (self._gave_up or self._stops.now.is_set()))
        except Exception as error:
            self._sending_failed(error)

    def _sending_failed(self, error: Exception) -> None:
        self._uploader.trouble = str(error) or type(error).__name__  # nobody waits for it at the end
        self._mishaps.tell("what sends games", error)

    def _finish_sending(self, sender: threading.Thread) -> None:
        """Let the sender empty the spool, unless the server is away or the volunteer is in a hurry."""
        told = False
        while self._uploader.waiting() and not (self._uploader.trouble or self._gave_up or self._stops.now.is_set()):
            if not told:
                self._console.line("sending the finished games; a second Ctrl-C leaves them to the next start")
                told = True
            self._wake_sender.set()
            self._stops.now.wait(LOOK_S)
        self._stop_sending.set()
        self._wake_sender.set()
        while sender.is_alive() and not self._stops.now.is_set():
            sender.join(LOOK_S)
        sender.join(LEAVE_S)

    def _give_up(self, reason: str) -> None:
        self._gave_up = self._gave_up or reason
        self._stop_asking.set()
        self._stop_sending.set()
