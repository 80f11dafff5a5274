"""``python -m client selfplay``: plays self-play games into a folder, without a server.

On all devices and cores, by one net or by the newest in a folder; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from client.commands.local import add_cache, add_precision, add_streams, cache_settings, say
from client.devices import DeviceError, Stream, gpu_count, plan_streams
from client.games.chance import game_seed
from client.games.kinds import SELFPLAY
from client.games.orders import GameOrder
from client.networks import RANDOM_MODEL, Network, check_network, network_of
from client.selfplay.child import ChildSettings
from client.selfplay.ledger import Run, RunError, RunFiles, lock_run
from client.selfplay.loop import Loop, LoopError, LoopSettings, Nets, OrderBook
from client.selfplay.nets import NetFolder, OneNet
from client.selfplay.statistics import statistics_of
from client.selfplay.statistics_table import table
from client.selfplay.status import Status
from client.selfplay.texts import PAPER, Text, shipped_names, text_of
from client.stopping import StopSignals
from common.arguments import positive, seed, whole
from common.config_text import ConfigError
from common.files import LockedError, in_words, sum_of
from common.go.basics import MAX_LENGTH, MIN_LENGTH
from common.parameters import parse_row_files
from common.precision import Precision
from common.rows import DATA_FORMAT_VERSION, DATA_FORMAT_VERSIONS
from common.text_files import TextError

_NOBODY = Network("", None)
"""Stands in an order until it is given out."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    _add_games(parser.add_argument_group("what is played"))
    where = parser.add_argument_group("where")
    where.add_argument("--output", type=Path, metavar="DIR", help="folder for games, by net; a run goes on there")
    add_streams(where)
    add_precision(parser)
    add_cache(parser)
    instead = parser.add_argument_group("instead of playing")
    instead.add_argument(
        "--print-config", action="store_true", help="say every value of the configuration, and where it comes from"
    )
    instead.add_argument(
        "--stats",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="a table of what folders of games hold, ours or KataGo's",
    )


def _add_games(what: argparse._ArgumentGroup) -> None:
    what.add_argument(
        "--model", metavar=f"FILE|{RANDOM_MODEL}", help=f"network file, or {RANDOM_MODEL} for none; with --models-dir, "
        "what plays until the first net is there"
    )  # fmt: skip
    what.add_argument("--models-dir", type=Path, metavar="DIR", help="new games are played by the newest net in it")
    what.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="NAME|FILE",
        help=f"a text by name ({', '.join(shipped_names())}) or of your own: a whole one, or what it changes in those "
        f"before it (default: {PAPER}); may be repeated",
    )
    what.add_argument(
        "--override", action="append", default=[], metavar="K=V,…", help="values put over the texts; may be repeated"
    )
    what.add_argument(
        "--length",
        type=whole(MIN_LENGTH, MAX_LENGTH),
        metavar="L",
        help="edge of the tensors (default: the longest board side)",
    )
    what.add_argument(
        "--games", type=positive, metavar="N", help="how many games to play, besides forks (default: until stopped)"
    )
    what.add_argument("--seed", type=seed, default=0, metavar="S", help="same seed, same games (default 0)")
    what.add_argument(
        "--data-version",
        type=int,
        choices=DATA_FORMAT_VERSIONS,
        default=DATA_FORMAT_VERSION,
        help="format of the rows; 2 is for programs before KataGo 1.17 (default %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Play, or say what was asked; returns the exit code."""
    try:
        if options.stats:
            say(table({str(folder): statistics_of(folder) for folder in options.stats}))
            return 0
        text = text_of(options.config, options.override, options.seed)
        if options.print_config:
            say(text.explained().rstrip("\n"))
            return 0
        return _run(options, text)
    except BrokenPipeError:  # whoever reads has enough: no fault to be told (`common.pipes`)
        raise
    except (ConfigError, DeviceError, LoopError, OSError, RunError, TextError, ValueError) as error:
        sys.stderr.write(f"selfplay: {in_words(error)}\n")
        return 1


def _run(options: argparse.Namespace, text: Text) -> int:
    for note in text.notes:
        say(note)
    if options.output is None:
        raise ValueError("name a folder for the games by --output")
    first = network_of(options.model) if options.model else None
    nets, nowhere = _nets_of(options, first)
    longest = text.longest_side
    length = options.length or longest
    if length < longest:
        raise ValueError(f"--length {length} is too short for the text's boards, which go up to {longest} (bSizes)")
    text.config(length)
    text.sources.check(length)
    if first is not None:
        check_network(first)
    streams = plan_streams(options.gpus, options.cpu_streams, options.parallel_games, gpu_count(options.gpus))
    try:
        with lock_run(options.output, options.seed):
            return _play(options, text, length, streams, nets, nowhere)
    except LockedError as error:
        raise RunError(f"{error}: games of this seed are being played there; name another --seed or --output") from None


def _nets_of(options: argparse.Namespace, first: Network | None) -> tuple[Nets, str]:
    """Where nets come from, and what is said while there is none."""
    if options.models_dir is not None:
        nowhere = (
            f"there is no network in {options.models_dir} yet (NAME.bin.gz, or NAME/model.bin.gz): waiting for one;"
            f" --model {RANDOM_MODEL} would play without"
        )
        return NetFolder(options.models_dir, first), nowhere
    if first is None:
        raise ValueError(f"name a network by --model ({RANDOM_MODEL} for none), or a folder of them by --models-dir")
    return OneNet(first), ""


def _play(options: argparse.Namespace, text: Text, length: int, streams: list[Stream], nets: Nets, nowhere: str) -> int:
    """Play what is left of the run, whose lock is held."""
    config = text.config(length)
    how = RunFiles(
        seed=options.seed, text=text.explained(), files=parse_row_files(text.text), version=options.data_version
    )
    kept = Run(options.output, _description(options, text, length), how)
    if kept.played:
        rows = sum(game.rows for game in kept.played.values())
        say(f"{options.output} has {len(kept.played)} games and {rows} rows of seed {options.seed} already")
    orders = _orders(options, text, config.to_text(), length)
    book = OrderBook(orders, config.selfplay.seki_fork_hack_prob, kept.played)
    settings = LoopSettings(
        streams=[replace(stream, games=_games_at_once(stream, len(streams), options.games)) for stream in streams],
        child=ChildSettings(options.use_fp16 or Precision.FASTEST, cache_settings(options)),
        say=say,
        nowhere=nowhere,
    )
    status = Status(say)
    try:
        with StopSignals() as signals:
            Loop(settings, book, kept, nets, status).play(signals)
    finally:
        status.close()
    return 0


def _games_at_once(stream: Stream, streams: int, games: int | None) -> int:
    """Of a stream; few games are played by all streams."""
    return stream.games if games is None else min(stream.games, -(-games // streams))


def _orders(options: argparse.Namespace, text: Text, played: str, length: int) -> Iterator[GameOrder]:
    """All games of the run in their order, forks aside."""
    for number in itertools.count() if options.games is None else range(options.games):
        own_seed = game_seed(options.seed, number)
        yield GameOrder(
            seed=own_seed,
            kind=SELFPLAY,
            config=played,
            black=_NOBODY,
            white=_NOBODY,
            length=length,
            start=text.sources.draw(own_seed),
        )


def _description(options: argparse.Namespace, text: Text, length: int) -> dict[str, Any]:
    """What makes a run this one and no other; how many games it has and where it is played do not."""
    model = Path(options.model) if options.model and options.model != RANDOM_MODEL else None
    return {
        "config": [line.partition("  # ")[0] for line in text.explained().splitlines() if line],
        "positions": hashlib.sha256(repr(text.sources).encode()).hexdigest() if text.sources.sources else None,
        "length": length,
        "network": "the newest of a folder" if options.models_dir else sum_of(model)[0] if model else RANDOM_MODEL,
        "data_version": options.data_version,
        "precision": (options.use_fp16 or Precision.FASTEST).value,
        "cache_by": options.cache_by,
    }
