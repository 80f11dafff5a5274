"""Asymmetric playouts: one side searches more than the other, and both nets are told (selfplay.md 6).

The advantage is counted in doublings, White's view: +1 means that White has twice the playouts of Black.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from client.games import draws
from common.asymmetry import playout_share
from common.go.points import BLACK, WHITE
from common.kernels import njit
from common.parameters import SearchParameters, SelfplayParameters


def draw_doublings(selfplay: SelfplayParameters, extra_black: int, random: np.random.Generator) -> float:
    """White's doublings in a new game with ``extra_black`` handicap stones; 0 in most games.

    With stones it is White who has more.
    """
    probability = selfplay.handicap_asymmetric_playout_prob if extra_black else selfplay.normal_asymmetric_playout_prob
    if not draws.coin(random, probability):
        return 0.0
    doublings = math.log2(selfplay.max_asymmetric_ratio) * random.random()
    is_whites = extra_black > 0 or draws.coin(random, 0.5)
    return doublings if is_whites else -doublings


@njit(cache=True, nogil=True)
def visits_of(colour: int, visits: int, white_doublings: float) -> int:
    """The visits of ``colour`` where an even game has ``visits``."""
    return math.floor(visits * playout_share(colour, white_doublings) + 0.5)


def most_share(selfplay: SelfplayParameters) -> float:
    """The largest `playout_share` that can be drawn."""
    if max(selfplay.handicap_asymmetric_playout_prob, selfplay.normal_asymmetric_playout_prob) == 0.0:
        return 1.0
    return playout_share(WHITE, math.log2(selfplay.max_asymmetric_ratio))


def told_of_doublings(search: SearchParameters, white_doublings: float) -> SearchParameters:
    """The same search by a net that is told of the advantage."""
    if not white_doublings:
        return search
    colour = WHITE if white_doublings > 0 else BLACK
    return replace(search, playout_doubling_advantage=abs(white_doublings), playout_doubling_advantage_pla=colour)
