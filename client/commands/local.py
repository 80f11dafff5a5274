"""Runs a fixed list of games on this machine into a folder: what the commands ``selfplay`` and ``match`` share.

Ctrl-C once finishes the running games, twice drops them; finished games are written as they finish.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import numpy as np

from client.games.folder import GameFolder
from client.games.orders import FinishedGame
from client.games.playing import CACHE_MIB
from client.games.stream import Sink, Source, StreamControl, StreamStats, play_stream
from client.games.table import GAMES_CACHE
from client.networks import evaluator_loader
from client.search.cache import CacheForm, CacheSettings
from common.arguments import games_at_once, positive, seed, threads, whole
from common.config_text import ConfigError
from common.interrupts import EXIT_INTERRUPTED
from common.parameters import RowFileParameters, TextKind, completed
from common.precision import Precision
from common.progress import QUIET_S
from common.rows import DATA_FORMAT_VERSION, DATA_FORMAT_VERSIONS
from common.text_files import read_text

REPORT_EVERY_S: Final = 10.0
MOST_CACHE_MIB: Final = 1 << 20


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that both commands have."""
    parser.add_argument(
        "--config",
        type=Path,
        required=True,
        metavar="FILE",
        help="configuration text, or what it changes in ours",
    )
    parser.add_argument(
        "--games", type=positive, required=True, metavar="N", help="how many games to play, besides forks"
    )
    parser.add_argument("--seed", type=seed, default=0, metavar="S", help="same seed, same games (default 0)")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="folder for sgfs and tdata")
    parser.add_argument(
        "--data-version",
        type=int,
        choices=DATA_FORMAT_VERSIONS,
        default=DATA_FORMAT_VERSION,
        help="format of the rows; 2 is for programs before KataGo 1.17 (default %(default)s)",
    )
    parser.add_argument(
        "--parallel-games", type=games_at_once, default=32, metavar="G", help="games at once (default 32)"
    )
    parser.add_argument("--device", default="cpu", help="cpu, or cuda with a number as in cuda:0 (default cpu)")
    parser.add_argument(
        "--threads", type=threads, default=1, metavar="T", help="threads of a CPU evaluator (default 1)"
    )
    add_precision(parser)
    add_cache(parser)


def add_cache(parser: argparse.ArgumentParser) -> None:
    """The options of the evaluation cache."""
    parser.add_argument(
        "--cache-mib",
        type=whole(0, MOST_CACHE_MIB),
        default=CACHE_MIB,
        metavar="M",
        help="memory for kept evaluations of each network; it changes no game (default %(default)s)",
    )
    parser.add_argument(
        "--cache-by",
        choices=[CacheForm.INPUTS.name.lower(), CacheForm.SITUATION.name.lower()],
        default=GAMES_CACHE.form.name.lower(),
        help="situation: as KataGo does, whatever the moves before; more is found, and games depend on each other",
    )


def cache_settings(options: argparse.Namespace) -> CacheSettings:
    """What the options of `add_cache` say."""
    return CacheSettings(CacheForm[options.cache_by.upper()], options.cache_mib << 20)


def config_of(path: Path, kind: TextKind) -> str:
    """The whole configuration that the file of ``--config`` means; a line says so if it gives only changes.

    Raises:
        ConfigError: with the file's name.
        OSError, TextError: it cannot be read.
    """
    given = read_text(path)
    with explained(path):
        return whole_config(path, given, kind)


def whole_config(path: Path, given: str, kind: TextKind) -> str:
    """The same of a text that was read from ``path``."""
    text, from_base = completed(kind, given)
    if from_base:
        say(f"{path} gives what differs from {kind}.cfg, which comes with Tengen: {from_base} values are taken from it")
    return text


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """What is wrong with the configuration in ``path`` is told with the file's name."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def game_seed(seed: int, number: int) -> int:
    """The seed of game ``number`` of a run."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])


def add_precision(parser: argparse.ArgumentParser) -> None:
    """The option ``--use-fp16``; without it, its value is None."""
    parser.add_argument(
        "--use-fp16",
        type=Precision,
        choices=list(Precision),
        help="false: compute in float32; true: in 16 bits even if that is slow; auto (the default): whatever is faster",
    )


def play_into_folder(source: Source, options: argparse.Namespace, take: Sink, files: RowFileParameters) -> StreamStats:
    """Play the orders of ``source`` into ``options.output``; ``take`` sees each finished game. Says how it goes.

    ``files`` says how many rows a file there holds. The first SIGINT or SIGTERM finishes the running games, the second
    stops at once; what is finished is on disk.
    """
    folder = _folder_of(options, files)
    stats, control = StreamStats(), StreamControl()

    def sink(game: FinishedGame) -> None:
        folder.add(game)
        take(game)

    with _reported(stats, control), _stopped_by_interrupts(control, stats):
        try:
            try:
                play_stream(
                    source,
                    sink,
                    games=options.parallel_games,
                    load=evaluator_loader(options.device, options.threads, options.use_fp16),
                    control=control,
                    stats=stats,
                    cache=cache_settings(options),
                    until_empty=True,
                )
            finally:
                folder.flush()
        except _StopNow:
            folder.flush()  # it may have interrupted the other one
    return stats


def _folder_of(options: argparse.Namespace, files: RowFileParameters) -> GameFolder:
    try:
        return GameFolder(options.output, options.seed, files, options.data_version)
    except FileExistsError:
        raise
    except OSError as error:
        raise OSError(
            f"{options.output} cannot be written: {error.strerror or error}; name another folder by --output"
        ) from None


def say(text: str) -> None:
    """A line for the person at the terminal."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@contextmanager
def _reported(stats: StreamStats, control: StreamControl) -> Iterator[None]:
    """Within, a line every now and then says how many games there are and how fast they come; one more at the end.

    Where nobody reads them any more, the running games are finished, and the last line raises `BrokenPipeError`.
    """
    start, ended = time.monotonic(), threading.Event()

    def write() -> None:
        seconds = max(time.monotonic() - start, 1e-9)
        running = f", {stats.games_running} running" if stats.games_running else ""
        say(
            f"{stats.games} games, {stats.moves} moves, {stats.rows} rows in {seconds:.0f} s{running}"
            f" ({stats.rows / seconds:.0f} rows and {stats.evaluations / seconds:.0f} evaluations per second,"
            f" {stats.found / seconds:.0f} more found in the cache)"
        )

    def watch() -> None:
        if not ended.wait(QUIET_S) and not stats.evaluations:
            say("loading the network and compiling, which takes a minute or two at the first start")
        while not ended.wait(REPORT_EVERY_S):
            write()

    def watch_until_unread() -> None:
        try:
            watch()
        except BrokenPipeError:
            control.finish.set()

    watcher = threading.Thread(target=watch_until_unread, name="report", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
        write()


class _StopNow(BaseException):
    """Raised by the second signal in whatever the program is doing."""


@contextmanager
def _stopped_by_interrupts(control: StreamControl, stats: StreamStats) -> Iterator[None]:
    """The first SIGINT or SIGTERM finishes the running games, the second drops them, the third ends the program."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        if control.stop_now.is_set():
            os._exit(EXIT_INTERRUPTED)
        if control.finish.is_set():
            control.stop_now.set()
            _say_at_once(f"stopping at once; {stats.games} finished games are kept")
            raise _StopNow
        control.finish.set()
        _say_at_once(f"finishing the {stats.games_running} running games; once more (Ctrl-C) stops at once")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say_at_once(text: str) -> None:
    """A line on stderr from within a signal's handler, which may have interrupted another writing."""
    with contextlib.suppress(OSError):
        os.write(2, f"\n{text}\n".encode())
