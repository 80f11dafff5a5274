"""Options and words that the commands ``selfplay`` and ``match`` share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from client.games.playing import CACHE_MIB
from client.games.table import GAMES_CACHE
from client.search.cache import CacheForm, CacheSettings
from common.arguments import games_at_once, whole
from common.config_text import ConfigError
from common.parameters import TextKind, completed, ignored
from common.precision import Precision
from common.text_files import read_text

MOST_CACHE_MIB: Final = 1 << 20
_WORDS: Final = [each.value for each in Precision]
PRECISIONS: Final = "|".join(_WORDS)
"""What ``--help`` says of a precision."""


def add_streams(parser: argparse._ActionsContainer) -> None:
    """The options that say which devices play (`client.devices.plan_streams`)."""
    parser.add_argument(
        "--gpus", default="", metavar="0,1", help="GPU numbers, or cpu (default: every GPU, else the CPU)"
    )
    parser.add_argument(
        "--cpu-streams", type=games_at_once, default=0, metavar="N", help="processes on a CPU (default: cores)"
    )
    parser.add_argument(
        "--parallel-games", type=games_at_once, default=0, metavar="G", help="games at once in each process"
    )


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


def config_of(path: Path, kind: TextKind, num_bots: int = 2) -> str:
    """The whole configuration that the file of ``--config`` means; a line says so if it gives only changes.

    So does one for each key that means nothing. A match may be one of ``num_bots`` bots.

    Raises:
        ConfigError: with the file's name.
        OSError, TextError: it cannot be read.
    """
    given = read_text(path)
    with explained(path):
        text, from_base = completed(kind, given, num_bots=num_bots)
        warnings = ignored(kind, given, num_bots)
    for warning in warnings:
        say(f"{path}: {warning}")
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


def add_precision(parser: argparse.ArgumentParser) -> None:
    """The option ``--use-fp16``; without it, its value is None."""
    parser.add_argument(
        "--use-fp16",
        type=precision,
        metavar=PRECISIONS,
        help="false: compute in float32; true: in 16 bits even if that is slow; auto (the default): whatever is faster",
    )


def precision(text: str) -> Precision:
    """A word of ``--use-fp16``."""
    try:
        return Precision(text)
    except ValueError:
        words = f"{', '.join(_WORDS[:-1])} or {_WORDS[-1]}"
        raise argparse.ArgumentTypeError(f"must be {words}, not {text!r}") from None


def say(text: str) -> None:
    """A line for the person at the terminal."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
