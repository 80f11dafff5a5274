"""``python -m client analysis``: the analysis engine for KaTrain and other programs, JSON lines on stdin and stdout.

Only the command line, which takes KataGo's options with one dash and ours with two; the engine is in
`client.engine.analysis_engine`. Specification: engine.md 9.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TextIO

from client.commands.engine_options import add_engine_options, announcing, facts_of, layers_of, log, tell_warnings
from client.commands.local import add_precision
from client.devices import DeviceError, check_device
from client.engine.analysis_engine import AnalysisEngine
from client.engine.analysis_lines import lines_of
from client.engine.analysis_settings import SettingsReader
from client.engine.input_queue import InputQueue
from client.engine.queries import Queries, cache_of, capacity_within
from client.networks import Network, evaluator_loader, network_of
from common.arguments import seed, threads, whole
from common.compiling import tell_compilations
from common.config_text import ConfigError, Entry
from common.files import in_words
from common.interrupts import interrupts_end_the_program
from common.parameters import CONFIGS
from common.text_files import TextError
from nets.files.katago_file import NetFileError

READY: Final = "Started, ready to begin handling requests"
"""What programs may wait for on stderr."""
_HELP: Final = f"""Settings are read from analysis.cfg, which comes with Tengen and says what is set by default
({CONFIGS / "analysis.cfg"}), the files of -config over it, -override-config over both, and a request's
overrideSettings over all. Keys that are not known are told on stderr and passed over."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = _HELP
    add_engine_options(parser, "analysis.cfg", "maxVisits=400,numAnalysisThreads=2")
    parser.add_argument(
        "-analysis-threads",
        "--analysis-threads",
        type=whole(1, 4096),
        metavar="N",
        help="positions searched at once (default: numAnalysisThreads of the settings)",
    )
    parser.add_argument(
        "-quit-without-waiting",
        "--quit-without-waiting",
        action="store_true",
        help="at the end of input, leave at once instead of finishing what was asked",
    )
    parser.add_argument("--device", help="cpu, or cuda with a number as in cuda:0 (default: device of the settings)")
    parser.add_argument(
        "--threads", type=threads, metavar="T", help="threads of a CPU evaluator (default: one for each processor)"
    )
    add_precision(parser)
    parser.add_argument("--seed", type=seed, metavar="S", help="same seed and requests, same answers (default: drawn)")


def run(options: argparse.Namespace, lines: Iterable[bytes] | None = None, output: TextIO | None = None) -> int:
    """Answer requests until the end of input; returns the exit code."""
    with interrupts_end_the_program():
        try:
            reader = SettingsReader(*_layers(options))
            network = network_of(options.model)
            settings = reader.config.settings
            precision = options.use_fp16 or settings.use_fp16
            models = [facts_of(options.model, network, settings.num_analysis_threads, precision)]
            check_device(options.device or settings.device)
        except (ConfigError, DeviceError, TextError, NetFileError, OSError) as error:
            log(in_words(error))
            return 2
        tell_warnings(options, reader.config.warnings)
        tell_compilations()
        queries = _queries(network, options, reader)
        try:
            engine = AnalysisEngine(
                reader,
                queries,
                models=models,
                write=_writer(output if output is not None else sys.stdout),
                seed=options.seed if options.seed is not None else random.SystemRandom().getrandbits(63),
                log=log,
            )
            log(READY)
            serve(engine, InputQueue(lines if lines is not None else _standard_input()), options.quit_without_waiting)
        finally:
            queries.close()
    return 0


def serve(engine: AnalysisEngine, requests: InputQueue[bytes], quit_without_waiting: bool) -> None:
    """Take what has arrived and search, in turn, until the end of input and of what was asked before."""
    while requests.is_open or (engine.is_busy and not quit_without_waiting):
        line = requests.take(wait=not engine.is_busy)
        while line is not None:
            engine.take(line)
            line = requests.take(wait=False)
        if engine.is_busy:
            engine.work()


def _layers(options: argparse.Namespace) -> list[Mapping[str, Entry]]:
    """`layers_of`, and what -analysis-threads says over them."""
    if options.analysis_threads is None:
        return layers_of(options)
    return [*layers_of(options), {"numAnalysisThreads": Entry(str(options.analysis_threads), "-analysis-threads")}]


def _queries(network: Network, options: argparse.Namespace, reader: SettingsReader) -> Queries:
    settings = reader.config.settings
    device = options.device or settings.device
    load = evaluator_loader(device, options.threads or _processors(), options.use_fp16 or settings.use_fp16)
    slots = settings.num_analysis_threads
    capacity = capacity_within(settings.tree_memory * 1e9, slots)
    log(
        f"{slots} positions at once; a search ends at {capacity:,} visits, when its part of treeMemoryGB = "
        f"{settings.tree_memory:g} is full"
    )
    leaves = reader.config.search.num_search_threads
    cache = cache_of(settings.cache_power)
    return Queries(network, announcing(load), slots=slots, leaves=leaves, capacity=capacity, cache=cache)


def _processors() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _standard_input() -> Iterable[bytes]:
    """The lines of stdin, through a buffer of our own: the interpreter waits for its own at the end."""
    return lines_of(open(sys.stdin.fileno(), "rb", closefd=False))


def _writer(output: TextIO) -> Callable[[str], None]:
    """Writes lines in UTF-8, whatever the locale says, each at once."""
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(encoding="utf-8", errors="replace", newline="\n")

    def write(line: str) -> None:
        output.write(f"{line}\n")
        output.flush()

    return write
