"""Sets up a game from its seed: size, rules, komi, what draws and no-results are worth, length of the opening.

Begins it in its record. Knows the order of the draws; each draw itself is in `client.games.draws`.
Specification: selfplay.md 1-5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from client.games import draws
from client.games.chance import Draw, generator
from client.games.game import Game, begin_game
from common.go.rules import Rules, Scoring
from common.go.start import GameStart, PlayerView
from common.parameters import GameInitParameters, SearchParameters, SelfplayParameters

_Choice = TypeVar("_Choice")


@dataclass(frozen=True)
class GameSetup:
    """A game before its first move."""

    start: GameStart
    draw_white_wins: float  # what a draw is worth for White
    no_result_utility: float  # for White
    opening_moves: int  # to be drawn from the raw policy


def new_game(
    init: GameInitParameters,
    search: SearchParameters,
    selfplay: SelfplayParameters | None,
    random: np.random.Generator,
) -> GameSetup:
    """Draw a game that starts on the empty board.

    Args:
        init: sizes, rules and komi to draw from.
        search: base values of the two utilities.
        selfplay: None for a match, which has no opening of its own.
        random: the game's generator.
    """
    x_size, y_size = draw_board(init, random)
    area = x_size * y_size
    rules = draw_rules(init, random)
    stdev = draws.komi_stdev(
        random,
        stdev=init.komi_stdev,
        big=(init.komi_big_stdev_prob, init.komi_big_stdev),
        bigger=(init.komi_bigger_stdev_prob, init.komi_bigger_stdev),
        area=area,
    )
    allow_integer = draws.coin(random, init.komi_allow_integer_prob)
    no_result = draws.no_result_utility(search.no_result_utility_for_white, init.no_result_stdev, random)
    draw_wins = draws.draw_white_wins(search.draw_equivalent_wins_for_white, init.draw_rand_radius, random)
    komi = draws.komi_with_noise(base_komi(init), stdev, area, random, allow_integer=allow_integer)
    opening = 0
    if selfplay is not None and selfplay.init_games_with_policy:
        mean = area * selfplay.policy_init_area_prop
        opening = draws.opening_length(random, mean=mean, gamma_shape=selfplay.policy_init_gamma_shape)
    return GameSetup(GameStart(x_size, y_size, rules.with_komi(komi)), draw_wins, no_result, opening)


def begin_drawn_game(
    game: Game,
    init: GameInitParameters,
    search: SearchParameters,
    selfplay: SelfplayParameters | None,
    *,
    seed: int,
    max_searched_moves: int,
    pass_alive_suicide: bool = False,
) -> tuple[GameSetup, PlayerView, np.random.Generator]:
    """Draw a game as `new_game` does, and its name, and begin it in its record ``game``.

    ``pass_alive_suicide`` is what its player takes for pass-alive (rules.md 9.4). Returns the game as it was drawn, how
    its player sees it, and the generator for what a kind of games draws besides.
    """
    random = generator(seed, 0, Draw.SETUP)
    hash_words = _draw_hash(random)
    setup = new_game(init, search, selfplay, random)
    view = PlayerView(setup.draw_white_wins, pass_alive_suicide)
    begin_game(game, setup.start, view, seed=seed, hash_words=hash_words, max_searched_moves=max_searched_moves)
    return setup, view, random


def _draw_hash(random: np.random.Generator) -> tuple[int, int]:
    """Two 64-bit words that name a game."""
    low, high = random.integers(1 << 64, size=2, dtype=np.uint64)
    return int(low), int(high)


def base_komi(init: GameInitParameters) -> float:
    """The komi that the spread is around."""
    if init.komi_mean is None:
        raise ValueError("komiMean is missing; komi that is found by search (komiAuto) can not be played")
    return init.komi_mean


def draw_board(init: GameInitParameters, random: np.random.Generator) -> tuple[int, int]:
    """Board size (x size, y size)."""
    if init.b_sizes_xy:
        return init.b_sizes_xy[draws.draw_index(np.array(init.b_size_rel_probs), random)]
    sizes = draws.size_probabilities(init.b_sizes, init.b_size_rel_probs, init.allow_rectangle_prob)
    return draws.draw_size(sizes, random)


def draw_rules(init: GameInitParameters, random: np.random.Generator) -> Rules:
    """Each rule uniformly from its list; the button only with area scoring."""

    ko = _one_of(init.ko_rules, random)
    scoring = _one_of(init.scoring_rules, random)
    tax = _one_of(init.tax_rules, random)
    suicide = _one_of(init.multi_stone_suicide_legals, random)
    button = _one_of(init.has_buttons, random)
    return Rules(ko=ko, scoring=scoring, tax=tax, suicide=suicide, has_button=button and scoring == Scoring.AREA)


def redraw_scoring(rules: Rules, init: GameInitParameters, random: np.random.Generator) -> Rules:
    """The same rules but for what is counted at the end."""
    scoring, tax = _one_of(init.scoring_rules, random), _one_of(init.tax_rules, random)
    button = _one_of(init.has_buttons, random) and scoring == Scoring.AREA
    return replace(rules, scoring=scoring, tax=tax, has_button=button)


def _one_of(choices: Sequence[_Choice], random: np.random.Generator) -> _Choice:
    return choices[int(random.integers(len(choices)))]
