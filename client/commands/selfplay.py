"""``python -m client selfplay``: plays self-play games into a folder, without a server."""

from __future__ import annotations

import argparse
import sys

from client.commands.local import add_common_arguments, config_of, explained, game_seed, play_into_folder
from client.games.kinds import SELFPLAY
from client.games.orders import GameOrder
from client.networks import network_of
from common.arguments import whole
from common.config_text import ConfigError
from common.go.basics import MAX_LENGTH, MIN_LENGTH
from common.parameters import parse_selfplay


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--model", required=True, metavar="FILE|random", help="network file, or random for none")
    parser.add_argument(
        "--length",
        type=whole(MIN_LENGTH, MAX_LENGTH),
        metavar="L",
        help="edge of the tensors (default: the longest board side)",
    )
    add_common_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Play; returns the exit code."""
    try:
        network = network_of(options.model)
        text = config_of(options.config, SELFPLAY.text)
        with explained(options.config):
            length = options.length or parse_selfplay(text).init.longest_side
            parse_selfplay(text, data_board_len=length)
        orders = (
            GameOrder(
                seed=game_seed(options.seed, number),
                kind=SELFPLAY,
                config=text,
                black=network,
                white=network,
                length=length,
            )
            for number in range(options.games)
        )
        play_into_folder(orders, options, lambda game: None)
    except BrokenPipeError:  # whoever reads has enough: no fault to be told (`common.pipes`)
        raise
    except (ConfigError, OSError, ValueError) as error:
        sys.stderr.write(f"selfplay: {error}\n")
        return 1
    return 0
