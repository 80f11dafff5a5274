"""Plays and audits one short game by a text of a run, as a contributing client would, without a network.

``python -m client.contribute.proof selfplay|gating LENGTH MOVES < TEXT``; what is wrong goes to stderr, with exit code
1. A server asks for it before it serves a text.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from client.games.kinds import KINDS
from client.games.orders import FinishedGame, GameOrder
from client.games.stream import StreamControl, StreamStats, play_stream
from client.networks import Network
from common.config_text import ConfigError, overlay
from nets.evaluation.evaluator import load_evaluator

NOBODY, NOBODY_ELSE = Network("none", None), Network("other", None)


def play_by(kind_name: str, text: str, length: int, moves: int) -> None:
    """Play one game of at most ``moves`` searched moves.

    Raises:
        ConfigError: the text cannot be played.
    """
    kind = next(kind for kind in KINDS if kind.text == kind_name)
    other = NOBODY if kind.seats == 1 else NOBODY_ELSE
    config = overlay(text, f"maxMovesPerGame = {moves}\n")
    orders = iter([GameOrder(seed=1, kind=kind, config=config, black=NOBODY, white=other, length=length)])

    def check(game: FinishedGame) -> None:
        if game.rows is not None or not game.order.kind.gives_rows:
            game.order.kind.audit(game)

    play_stream(
        lambda: next(orders, None),
        check,
        games=1,
        load=lambda network, edge: load_evaluator(network.path, length=edge),
        control=StreamControl(),
        stats=StreamStats(),
        until_empty=True,
    )


def main(arguments: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    kind, length, moves = arguments
    try:
        play_by(kind, sys.stdin.buffer.read().decode("utf-8"), int(length), int(moves))
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
