"""The board and the rules of a game that is drawn; each draw itself is in `client.games.draws`. selfplay.md 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from client.games import draws
from common.go.rules import Rules, Scoring
from common.parameters import GameInitParameters

_Choice = TypeVar("_Choice")


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
