"""How far the game is from even by its start, and what is made of it: an engine that must catch up plays as if it were
the stronger one (engine.md 3, step 2). Pure functions of a game and numbers."""

from __future__ import annotations

import math
from typing import Final

from common.go.game import Game
from common.go.handicap import count_stones
from common.go.points import PASS
from common.go.rules import Scoring

_POINTS_PER_STONE: Final = 15.0
_FAIR_KOMI: Final = 7.0
_STANDARD_AREA: Final = 361
_SMALLEST_SIDE: Final = 8
_MOST: Final = 2.75
_STEP: Final = 0.125
_LOST: Final = -0.9  # of winLoss, as the next
_UNDECIDED: Final = -0.5


def handicap_points(game: Game) -> float:
    """By how many points Black was ahead at the start, in the usual reckoning of handicap stones."""
    colours = [colour for colour, _ in game.start.stones]
    moves = [(colour, point == PASS) for colour, point in (*game.start.moves, *game.moves)]
    stones = count_stones(colours, moves if game.start.leading_moves_are_handicap else ())
    ahead = _FAIR_KOMI - game.rules.komi
    if stones < 2:
        return ahead
    # territory scoring takes a point for each stone that Black did not play for
    per_stone = _POINTS_PER_STONE - (1.0 if game.rules.scoring == Scoring.TERRITORY else 0.0)
    return per_stone * (stones - 1) + ahead - float(game.state["handicap_bonus"])


def dynamic_advantage(
    present: float,
    black_ahead: float,
    *,
    x_size: int,
    y_size: int,
    white_win_loss: float | None,
    cap_per_point: float,
) -> float:
    """White's playout doubling advantage for the next search; negative ones are Black's.

    Args:
        present: of the search before.
        black_ahead: `handicap_points`.
        x_size: columns.
        y_size: rows.
        white_win_loss: of the root of the search before; None if there is none, or White has no stones yet.
        cap_per_point: doublings for each point.
    """
    if min(x_size, y_size) < _SMALLEST_SIDE:
        return 0.0
    scale = math.pow(_STANDARD_AREA / (x_size * y_size), 0.75)
    excess = abs(black_ahead) - max(4.0 / scale, 2.0)
    if excess < 0.0:
        return 0.0
    cap = math.floor(min(_MOST, cap_per_point * excess * scale) / _STEP + 0.5) * _STEP
    sign = 1.0 if black_ahead > 0.0 else -1.0
    if white_win_loss is None:
        return sign * cap
    doublings, win_loss = sign * present, sign * white_win_loss
    if win_loss < _LOST:
        doublings += _STEP
    elif win_loss > _UNDECIDED:
        doublings -= _STEP
    return sign * min(max(doublings, 0.0), cap)
