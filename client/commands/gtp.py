"""``python -m client gtp``: a Go engine for graphical programs and for matches, on stdin and stdout.

Only the command line; the commands are in `client.engine.gtp_commands`.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable
from typing import TextIO

from client.commands.local import add_precision
from client.engine.gtp_commands import Engine, GtpSettings
from client.engine.gtp_protocol import GtpError, any_bytes, lines_of, serve
from client.engine.gtp_search import EngineSearch
from client.networks import Loader, Network, evaluator_loader, network_of
from common.arguments import seed, threads
from common.config_text import ConfigError
from common.interrupts import interrupts_end_the_program
from common.parameters import parse_engine
from nets.evaluation.batch import Evaluator, EvaluatorError
from nets.files.katago_file import NetFileError, read_net


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--model", required=True, metavar="FILE", help="network file, or random for none")
    parser.add_argument(
        "--override-config",
        default="",
        metavar="KEY=VALUE,…",
        help="settings by KataGo's names, such as maxVisits=400,preventCleanupPhase=false",
    )
    parser.add_argument("--device", default="cpu", help="cpu, or cuda with a number as in cuda:0 (default cpu)")
    parser.add_argument(
        "--threads", type=threads, default=1, metavar="T", help="threads of a CPU evaluator (default 1)"
    )
    add_precision(parser)
    parser.add_argument("--seed", type=seed, metavar="S", help="same seed, same moves (default: drawn)")


def run(options: argparse.Namespace, lines: Iterable[str] | None = None, output: TextIO | None = None) -> int:
    """Answer commands until ``quit``; returns the exit code."""
    with interrupts_end_the_program():
        lines = lines if lines is not None else lines_of(any_bytes(sys.stdin))
        return _run(options, lines, any_bytes(output if output is not None else sys.stdout))


def _run(options: argparse.Namespace, lines: Iterable[str], output: TextIO) -> int:
    try:
        search_parameters, settings = parse_engine(GtpSettings, overrides=options.override_config)
        network = network_of(options.model)
        if network.path is not None:
            read_net(network.path)  # a bad file is told now, not at the first move; an evaluator would take longer
    except (ConfigError, NetFileError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    drawn = options.seed if options.seed is not None else random.SystemRandom().getrandbits(63)
    load = evaluator_loader(options.device, options.threads, options.use_fp16 or settings.use_fp16)
    search = EngineSearch(network, lambda network, length: _loaded(load, network, length), search_parameters, drawn)
    try:
        engine = Engine(settings, search)
        serve(engine.commands, lines, output)
    finally:
        search.close()
    return 0


def _loaded(load: Loader, network: Network, length: int) -> Evaluator:
    """GtpError if the network cannot be evaluated here, in words for the person at the program."""
    try:
        return load(network, length)
    except EvaluatorError as error:
        raise GtpError(str(error)) from error
