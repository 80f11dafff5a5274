"""``python -m client match``: plays games between two networks, colours alternating, and prints the score.

The games themselves are `client.games.match_game`; the same games are played for a server by ``contribute``.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass

from client.commands.local import add_common_arguments, config_of, explained, game_seed, play_into_folder, say
from client.games.kinds import MATCH
from client.games.orders import FinishedGame, GameOrder
from client.networks import Network, network_of
from common.config_text import ConfigError
from common.parameters import parse_match


@dataclass
class Score:
    """Games of the first network against the second."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        """Number of games."""
        return self.wins + self.draws + self.losses

    def add(self, points: float) -> None:
        """A game that gave the first network 1, ½ or 0 points."""
        if points == 1:
            self.wins += 1
        elif points == 0:
            self.losses += 1
        else:
            self.draws += 1

    @property
    def share(self) -> float:
        """Mean points per game, in [0, 1]."""
        return (self.wins + 0.5 * self.draws) / self.games

    @property
    def standard_error(self) -> float:
        """Standard error of `share`; as if one more game had been won and one lost, so that it is never 0."""
        count = self.games + 2
        mean = (self.wins + 1 + 0.5 * self.draws) / count
        square = (self.wins + 1 + 0.25 * self.draws) / count
        return math.sqrt((square - mean * mean) / count)

    def describe(self) -> str:
        """Score with its error, and what it means in Elo, in one line."""
        low, middle, high = (
            elo(min(max(self.share + shift * self.standard_error, 0.0), 1.0)) for shift in (-1.0, 0.0, 1.0)
        )
        return (
            f"{self.wins} won, {self.draws} drawn, {self.losses} lost: {100 * self.share:.1f} ± "
            f"{100 * self.standard_error:.1f} %, Elo {middle:+.0f} ({low:+.0f} to {high:+.0f})"
        )


def elo(share: float) -> float:
    """Difference in Elo that an expected score stands for; infinite at 0 and 1."""
    if share <= 0.0 or share >= 1.0:
        return math.copysign(math.inf, share - 0.5)
    return 400.0 * math.log10(share / (1.0 - share))


def points_of(game: FinishedGame, network: Network) -> float:
    """What a game gave ``network``: 1, ½ or 0; a game without result is a half, a stopped one counts as it stands."""
    winner = game.leader
    if winner not in ("B", "W"):
        return 0.5
    return float((winner == "B") == (game.order.black == network))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--models",
        nargs=2,
        required=True,
        metavar=("A", "B"),
        help="two network files; random for one without knowledge",
    )
    add_common_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Play; returns the exit code."""
    try:
        first, second = (network_of(model) for model in options.models)
        if first == second:
            raise ValueError("a match needs two different networks")
        text = config_of(options.config, MATCH.text)
        with explained(options.config):
            length = parse_match(text).init.longest_side
        score, as_black = Score(), Score()

        def take(game: FinishedGame) -> None:
            points = points_of(game, first)
            score.add(points)
            if game.order.black == first:
                as_black.add(points)

        orders = (_order(number, options.seed, text, first, second, length) for number in range(options.games))
        play_into_folder(orders, options, take)
    except BrokenPipeError:  # whoever reads has enough: no fault to be told (`common.pipes`)
        raise
    except (ConfigError, OSError, ValueError) as error:
        sys.stderr.write(f"match: {error}\n")
        return 1
    if score.games:
        say(f"{first.name} against {second.name}: {score.describe()}")
        say(f"of these with Black: {as_black.wins} won, {as_black.draws} drawn, {as_black.losses} lost")
    return 0


def _order(number: int, seed: int, text: str, first: Network, second: Network, length: int) -> GameOrder:
    """Game ``number``: the first network is Black in even ones, and always bot 0 of the configuration."""
    swapped = number % 2 == 1
    return GameOrder(
        seed=game_seed(seed, number),
        kind=MATCH,
        config=text,
        black=second if swapped else first,
        white=first if swapped else second,
        length=length,
        bots=(1, 0) if swapped else (0, 1),
    )
