"""When a game counts as decided: it is searched less, or its loser gives up.

Knows the values that the searches of a game have found, and nothing else: win minus loss of White at the roots,
``win_losses[first]`` to ``win_losses[end - 1]``, the newest last. Specification: selfplay.md 7, 9.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from common.kernels import njit

Floats = npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def _lowest(values: Floats, first: int, end: int) -> float:
    lowest = math.inf
    for index in range(first, end):
        lowest = min(lowest, values[index])
    return lowest


@njit(cache=True, nogil=True)
def _highest(values: Floats, first: int, end: int) -> float:
    highest = -math.inf
    for index in range(first, end):
        highest = max(highest, values[index])
    return highest


@njit(cache=True, nogil=True)
def reduced_search(
    win_losses: Floats,
    first: int,
    end: int,
    base: int,
    least: int,
    threshold: float,
    lookback: int,
    least_weight: float,
) -> tuple[int, float]:
    """Visits and weight of a search in a game that has long been decided (selfplay.md 7); no visits: it is not.

    Args:
        win_losses: of the searches so far.
        first: see there.
        end: see there.
        base: visits of a full search.
        least: visits where the game is fully decided.
        threshold: how large its size has to be, below 1.
        lookback: how many of the last searches have to agree.
        least_weight: weight where the game is fully decided.
    """
    if lookback < 1 or end - first < lookback:
        return 0, 0.0
    margin = max(_lowest(win_losses, end - lookback, end), -_highest(win_losses, end - lookback, end))
    share = (margin - threshold) / (1.0 - threshold)
    if share <= 0.0:
        return 0, 0.0
    visits = base + share * share * (least - base)
    return round(visits), 1.0 + share * share * (least_weight - 1.0)


@njit(cache=True, nogil=True)
def should_resign(win_losses: Floats, first: int, end: int, white_moved: bool, threshold: float, turns: int) -> bool:
    """Whether the player who just moved gives up (selfplay.md 9).

    Args:
        win_losses: of both players' searches.
        first: see there.
        end: see there.
        white_moved: White made the last move.
        threshold: in [-1, 0]; all of the last ``turns`` values have to lie beyond it.
        turns: how many values are looked at.
    """
    if end - first < turns:
        return False
    if white_moved:
        return bool(_highest(win_losses, end - turns, end) < threshold)
    return bool(_lowest(win_losses, end - turns, end) > -threshold)


@njit(cache=True, nogil=True)
def first_resignation_turn(area: int) -> int:
    """The first searched move, from 0, after which a player may resign."""
    return 1 + area // 5
