"""Which chains live, by the ownership that a search expects or by the rules (engine.md 6). Knows no protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from common.go import scoring
from common.go.game import Game
from common.go.passalive import AREA_SCRATCH, calculate_area
from common.go.points import BLACK, NUM_POINTS, WHITE, point_at, x_of, y_of

_ALIVE_MEAN: Final = 0.2
_ALIVE_LEAST: Final = -0.6


def chains(game: Game) -> list[list[int]]:
    """The points of every chain, in the order of the board."""
    found: dict[int, list[int]] = {}
    for point in stones(game):
        found.setdefault(int(game.state["chain_head"][point]), []).append(point)
    return list(found.values())


def stones(game: Game) -> list[int]:
    """The points with stones, row by row from the top."""
    points = (point_at(x, y) for y in range(game.y_size) for x in range(game.x_size))
    return [point for point in points if game.colour_at(point) in (BLACK, WHITE)]


def alive_by_ownership(game: Game, ownership: npt.NDArray[np.float64]) -> Mapping[int, bool]:
    """By point of a stone whether its chain lives; ``ownership`` [y_size, x_size] is White's."""
    alive: dict[int, bool] = {}
    for chain in chains(game):
        sign = 1.0 if game.colour_at(chain[0]) == WHITE else -1.0
        own = [sign * float(ownership[y_of(point), x_of(point)]) for point in chain]
        lives = sum(own) / len(own) > _ALIVE_MEAN and min(own) > _ALIVE_LEAST
        alive.update((point, lives) for point in chain)
    return alive


def alive_by_rules(game: Game) -> Mapping[int, bool]:
    """By point of a stone whether it is not inside the pass-alive area of the opponent."""
    area = strict_area(game)
    return {point: int(area[point]) in (0, game.colour_at(point)) for point in stones(game)}


def strict_area(game: Game) -> npt.NDArray[np.int8]:
    """Owners [NUM_POINTS] of the pass-alive area alone."""
    area = np.zeros(NUM_POINTS, np.int8)
    suicide = game.state["pass_alive_suicide"] != 0
    calculate_area(game.state, False, False, False, suicide, area, _new_scratch())
    return area


def whole_area(game: Game) -> npt.NDArray[np.int8]:
    """Owners [NUM_POINTS] of every stone and every region of one colour."""
    area = np.zeros(NUM_POINTS, np.int8)
    scoring.plain_area(game.state, area, _new_scratch())
    return area


def _new_scratch() -> Any:
    return np.zeros(1, AREA_SCRATCH)[0]
