"""Random games: every turn is legal and fills no eye, each possible move is drawn equally often."""

from __future__ import annotations

from typing import Any

import numpy as np

from common.go import playout
from common.go.game import Game
from common.go.points import NUM_POINTS, PASS, from_vertex
from common.go.rules import Rules
from common.go.start import GameStart

RULES = Rules.parse("koSIMPLEscoreAREAtaxNONEsui0")


def generator(seed: int) -> Any:
    """A state of the random generator."""
    return np.array([seed], np.uint64)


def possible(game: Game) -> set[int]:
    """The moves that a random game may choose from."""
    points = [point for point in game.legal_moves()[1:] if not playout.fills_own_eye(game.state, point)]
    return set(points or [PASS])


def next_move(game: Game, random: Any) -> int:
    """Let a random turn be played on a copy of ``game`` and tell which it was."""
    copy = game.copy()
    assert playout.play_random_game(copy.state, copy.history, random, np.zeros(NUM_POINTS, np.int16), 1) == 1
    return int(copy.state["recent_point"][0])


def test_every_turn_is_possible_until_both_pass() -> None:
    random = generator(3)
    game = Game(GameStart(5, 4, RULES))
    while not game.finished:
        move = next_move(game, random)
        assert move in possible(game)
        game.play(move)
        assert game.turn < 200
    assert [point for _, point in game.moves[-2:]] == [PASS, PASS]
    # A game that nobody watches is the same game.
    other = Game(GameStart(5, 4, RULES))
    scratch = np.zeros(NUM_POINTS, np.int16)
    turns = playout.play_random_game(other.state, other.history, generator(3), scratch, 1000)
    assert turns <= 1000
    assert other.state["finished"]


def test_moves_are_drawn_uniformly() -> None:
    game = Game.from_picture(".X./XO./...", RULES)
    choices = possible(game)
    assert from_vertex("A3", 3, 3) not in choices  # Black's own eye
    random = generator(11)
    draws = 1200
    counts = dict.fromkeys(choices, 0)
    for _ in range(draws):
        counts[next_move(game, random)] += 1
    expected = draws / len(choices)
    # Chi-square with 4 degrees of freedom stays below 18.5 with probability 0.999; the seed is fixed.
    assert len(choices) == 5
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 18.5


def test_random_numbers_reach_every_value() -> None:
    random = generator(7)
    counts = np.bincount([playout.random_below(random, 7) for _ in range(7000)], minlength=7)
    assert len(counts) == 7
    assert ((counts - 1000) ** 2 / 1000).sum() < 22.5  # chi-square, 6 degrees of freedom, probability 0.999
