"""``python -m client selfplay``: plays self-play games into a folder, without a server."""

from __future__ import annotations

import argparse
import sys

from client.commands.local import add_common_arguments, explained, game_seed, play_into_folder, whole_config
from client.games.fork_pools import ForkedOrders
from client.games.kinds import SELFPLAY
from client.games.orders import GameOrder
from client.games.position_files import PositionSources, read_sources, without_files
from client.networks import network_of
from common.arguments import whole
from common.config_text import ConfigError
from common.go.basics import MAX_LENGTH, MIN_LENGTH
from common.parameters import parse_row_files, parse_selfplay
from common.text_files import read_text


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
        text, sources = _config_and_positions(options)
        with explained(options.config):
            length = options.length or max(parse_selfplay(text).init.longest_side, sources.longest_side)
            config = parse_selfplay(text, data_board_len=length)
            files = parse_row_files(text)
            sources.check(length)
        orders = (
            GameOrder(
                seed=game_seed(options.seed, number),
                kind=SELFPLAY,
                config=text,
                black=network,
                white=network,
                length=length,
                start=sources.draw(game_seed(options.seed, number)),
            )
            for number in range(options.games)
        )
        forked = ForkedOrders(orders, config.selfplay.seki_fork_hack_prob)
        play_into_folder(forked.next, options, forked.take, files)
    except BrokenPipeError:  # whoever reads has enough: no fault to be told (`common.pipes`)
        raise
    except (ConfigError, OSError, ValueError) as error:
        sys.stderr.write(f"selfplay: {error}\n")
        return 1
    return 0


def _config_and_positions(options: argparse.Namespace) -> tuple[str, PositionSources]:
    """The configuration, and the positions in the files that the user's own text names beside it."""
    given = read_text(options.config)
    with explained(options.config):
        sources = read_sources(given, options.seed)
        return whole_config(options.config, without_files(given), SELFPLAY.text), sources
