"""When a game counts as decided: it is searched less, or its loser gives up.

Knows the values that the searches of a game have found, and nothing else. Specification: selfplay.md 7, 9.
"""

from __future__ import annotations

from collections.abc import Sequence


def reduced_search(
    white_win_losses: Sequence[float], *, base: int, least: int, threshold: float, lookback: int, least_weight: float
) -> tuple[int, float] | None:
    """Visits and weight of a search in a game that has long been decided; None if it is not (selfplay.md 7).

    Args:
        white_win_losses: win minus loss of White at the roots so far, the newest last.
        base: visits of a full search.
        least: visits where the game is fully decided.
        threshold: how large its size has to be, below 1.
        lookback: how many of the last searches have to agree.
        least_weight: weight where the game is fully decided.
    """
    if lookback < 1 or len(white_win_losses) < lookback:
        return None
    recent = white_win_losses[-lookback:]
    margin = max(min(recent), -max(recent))
    share = (margin - threshold) / (1.0 - threshold)
    if share <= 0.0:
        return None
    visits = base + share * share * (least - base)
    return round(visits), 1.0 + share * share * (least_weight - 1.0)


def should_resign(white_win_losses: Sequence[float], *, white_moved: bool, threshold: float, turns: int) -> bool:
    """Whether the player who just moved gives up (selfplay.md 9).

    Args:
        white_win_losses: win minus loss of White at the roots of both players' searches, the newest last.
        white_moved: White made the last move.
        threshold: in [-1, 0]; all of the last ``turns`` values have to lie beyond it.
        turns: how many values are looked at.
    """
    if len(white_win_losses) < turns:
        return False
    recent = white_win_losses[-turns:]
    return max(recent) < threshold if white_moved else min(recent) > -threshold


def first_resignation_turn(area: int) -> int:
    """The first searched move, from 0, after which a player may resign."""
    return 1 + area // 5
