"""``python -m client gtp``: a Go engine for graphical programs and for matches, on stdin and stdout.

Only the command line, which takes KataGo's options with one dash and ours with two; the commands are in
`client.engine.gtp.table`. Specification: engine.md, part A.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable
from typing import Final, TextIO

from client.commands.engine_options import add_engine_options, announcing, facts_of, layers_of, log, tell_warnings
from client.commands.local import add_precision
from client.devices import DeviceError, check_device
from client.engine.gtp.protocol import any_bytes, lines_of, serve
from client.engine.gtp.session import SLOTS, Session
from client.engine.gtp.settings import Parameters
from client.engine.gtp.table import commands_of
from client.engine.input_queue import InputQueue
from client.engine.queries import Queries, cache_of, capacity_within
from client.networks import Network, evaluator_loader, network_of
from common.arguments import seed, threads
from common.compiling import tell_compilations
from common.config_text import ConfigError
from common.files import in_words
from common.interrupts import interrupts_end_the_program
from common.parameters import CONFIGS
from common.text_files import TextError
from common.wire import CLIENT_VERSION
from nets.files.katago_file import NetFileError

_HELP: Final = f"""Settings are read from gtp.cfg, which comes with Tengen and says what is set by default
({CONFIGS / "gtp.cfg"}), the files of -config over it, and -override-config over both. Keys that are not known are told
on stderr and passed over. Lizzie needs gtpName = KataGo."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.epilog = _HELP
    add_engine_options(parser, "gtp.cfg", "maxVisits=400,preventCleanupPhase=false")
    parser.add_argument("-override-version", "--override-version", metavar="TEXT", help="answer of the command version")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda with a number as in cuda:0 (default cpu)")
    parser.add_argument(
        "--threads", type=threads, default=1, metavar="T", help="threads of a CPU evaluator (default 1)"
    )
    add_precision(parser)
    parser.add_argument("--seed", type=seed, metavar="S", help="same seed, same moves (default: drawn)")


def run(options: argparse.Namespace, lines: Iterable[str] | None = None, output: TextIO | None = None) -> int:
    """Answer commands until ``quit``; returns the exit code."""
    with interrupts_end_the_program():
        try:
            parameters = Parameters(*layers_of(options))
            network = network_of(options.model)
            precision = options.use_fp16 or parameters.config.settings.use_fp16
            leaves = parameters.config.search.num_search_threads
            models = [facts_of(options.model, network, leaves, precision)]
            check_device(options.device)
        except (ConfigError, DeviceError, TextError, NetFileError, OSError) as error:
            log(in_words(error))
            return 2
        tell_warnings(options, parameters.config.warnings)
        tell_compilations()
        queries = _queries(network, options, parameters)
        session = Session(
            parameters,
            queries,
            models=models,
            seed=options.seed if options.seed is not None else random.SystemRandom().getrandbits(63),
            version=options.override_version or f"{CLIENT_VERSION}+{network.name}",
        )
        try:
            source = InputQueue(lines if lines is not None else _standard_input())
            serve(commands_of(session), source, any_bytes(output if output is not None else sys.stdout), session)
        finally:
            queries.close()
    return 0


def _queries(network: Network, options: argparse.Namespace, parameters: Parameters) -> Queries:
    settings = parameters.config.settings
    load = evaluator_loader(options.device, options.threads, options.use_fp16 or settings.use_fp16)
    capacity = capacity_within(settings.tree_memory * 1e9, SLOTS)
    leaves = parameters.config.search.num_search_threads
    cache = cache_of(settings.cache_power)
    return Queries(network, announcing(load), slots=SLOTS, leaves=leaves, capacity=capacity, cache=cache)


def _standard_input() -> Iterable[str]:
    """The lines of stdin, through a buffer of our own: the interpreter waits for its own at the end."""
    return lines_of(open(sys.stdin.fileno(), encoding="utf-8", errors="surrogateescape", closefd=False))
