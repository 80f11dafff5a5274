"""What the engines for other programs, ``gtp`` and ``analysis``, have in common on their command lines.

KataGo's options have one dash, and ours two; the first are known by both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from client.networks import Loader, Network
from common import config_text
from common.config_text import ConfigError, Entry
from common.precision import Precision
from common.progress import READY, announced
from common.text_files import read_text
from common.wire import CLIENT_VERSION
from nets.evaluation.batch import Evaluator
from nets.files.katago_file import read_net


def add_engine_options(parser: argparse.ArgumentParser, text: str, example: str) -> None:
    """The network, and settings over those of the text ``text`` that comes with Tengen, ``example`` of them."""
    parser.add_argument("-version", "--version", action="version", version=f"tengen client {CLIENT_VERSION}")
    parser.add_argument("-model", "--model", required=True, metavar="FILE", help="network file, or random for none")
    parser.add_argument(
        "-config",
        "--config",
        action="append",
        type=Path,
        default=[],
        metavar="FILE",
        help=f"settings that differ from {text}; several files are laid over each other",
    )
    parser.add_argument(
        "-override-config",
        "--override-config",
        action="append",
        default=[],
        metavar="KEY=VALUE,…",
        help=f"settings by KataGo's names, such as {example}; may be repeated",
    )
    parser.add_argument(
        "-human-model",
        "--human-model",
        metavar="FILE",
        help="passed over with a warning: nets that imitate people are not played",
    )


def layers_of(options: argparse.Namespace) -> list[Mapping[str, Entry]]:
    """Entries of the files and of the command line, the later ones over the earlier.

    Raises:
        ConfigError: a text is malformed; with its file's name.
        TextError, OSError: a file cannot be read.
    """
    layers: list[Mapping[str, Entry]] = []
    for path in options.config:
        try:
            layers.append(config_text.parse(read_text(path)))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    return layers + [config_text.parse_overrides(text) for text in options.override_config]


def tell_warnings(options: argparse.Namespace, warnings: tuple[str, ...]) -> None:
    """What of the settings and options has no effect."""
    for warning in warnings:
        log(f"warning: {warning}")
    if options.human_model is not None:
        log("warning: -human-model is passed over: nets that imitate people are not played")


def facts_of(model: str, network: Network, max_batch_size: int, precision: Precision) -> dict[str, Any]:
    """What programs are told of the network, by KataGo's names.

    Raises:
        NetFileError: its file is bad; told now, rather than at the first move.
        OSError: it cannot be read.
    """
    net = read_net(network.path) if network.path is not None else None
    return {
        "name": model,
        "internalName": net.name if net is not None else network.name,
        "maxBatchSize": max_batch_size,
        "usesHumanSLProfile": False,
        "usingFP16": str(precision),
        "version": net.version if net is not None else 0,
    }


def announcing(load: Loader) -> Loader:
    """The loader, which says what it does when that takes long."""

    def announced_load(network: Network, length: int) -> Evaluator:
        with announced("loading the network", READY):
            return load(network, length)

    return announced_load


def log(line: str) -> None:
    """A line on stderr: stdout is the protocol's."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
