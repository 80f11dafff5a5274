"""``python -m client replay FOLDER``: plays a stored game again and says whether it is the same.

The folder is what a server's ``manage.py replay_game`` writes (`common.stored_game`).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from client.commands.local import add_precision, say
from client.networks import evaluator_loader
from common.config_text import ConfigError
from common.precision import Precision
from common.rows import RowsError, read_npz
from common.sgf import SgfError
from common.stored_game import StoredGame
from common.wire_base import MessageError

EXIT_EQUAL: Final = 0
EXIT_DIFFERENT: Final = 3
EXIT_UNUSABLE: Final = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("folder", type=Path, help="of one game, as the server wrote it")
    parser.add_argument("--device", default="cpu", help="as torch names it, such as cuda:0 (default %(default)s)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the record of the game played again here")
    add_precision(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play and compare; returns the exit code."""
    folder: Path = arguments.folder
    try:
        stored, sgf, packed = StoredGame.read(folder)
        rows = None if packed is None else read_npz(packed, length=stored.length)
        from client.games.replaying import CannotReplay, differences, order_of, play_again  # slow to import

        try:
            order = order_of(stored, folder, sgf)
        except CannotReplay as error:
            say(f"the game cannot be played again: {error}")
            return EXIT_UNUSABLE
        load = evaluator_loader(arguments.device, 1, arguments.use_fp16 or Precision.FASTEST)
        played = play_again(order, load)
        if arguments.output is not None:
            arguments.output.write_text(played.sgf, "utf-8")
        found = differences(sgf, rows, played)
    except (OSError, MessageError, SgfError, RowsError, ConfigError, ValueError) as error:
        say(f"the game in {folder} cannot be played again: {error}")
        return EXIT_UNUSABLE
    if not found:
        say("equal: moves, values and rows are the same")
        return EXIT_EQUAL
    for line in found:
        say(line)
    return EXIT_DIFFERENT
