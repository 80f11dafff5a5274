"""When the engine gives a game up (engine.md 3, step 5). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from client.engine.gtp.advantage import handicap_points
from client.engine.gtp.settings import GtpSettings
from client.games.decided import first_resignation_turn, should_resign
from common.go.game import Game
from common.go.points import WHITE

_HANDICAP: Final = 0.9
"""Points at the start from which on White is thought to play a handicap game."""
_PLAYED_OUT: Final = 0.6
"""Share of the board's points after as many turns nothing of a handicap has to be left."""
_MARGIN: Final = 5.0  # points
_MARGIN_SHARE: Final = 0.15


def has_lost(settings: GtpSettings, game: Game, colour: int, win_losses: Sequence[float], white_lead: float) -> bool:
    """Whether ``colour``, who has just searched, resigns.

    Args:
        settings: the thresholds.
        game: before the move.
        colour: who searched.
        win_losses: White's at the roots so far, this search's last.
        white_lead: of this search, points.
    """
    area, turns = game.start.area, len(game.moves)
    lead = white_lead if colour == WHITE else -white_lead
    values = np.array(win_losses, np.float64)
    threshold, needed = settings.resign_threshold, settings.resign_consec_turns
    is_hopeless = should_resign(values, 0, len(values), colour == WHITE, threshold, needed)
    if not is_hopeless or -lead < settings.resign_min_score_difference:
        return False
    if turns < settings.resign_min_moves_per_area * area:
        return False
    ahead = handicap_points(game)
    if colour == WHITE and ahead > _HANDICAP:
        return turns >= first_resignation_turn(area) and lead <= handicap_bound(ahead, area, turns)
    return True


def handicap_bound(ahead: float, area: int, turns: int) -> float:
    """The lead from which White resigns a game that began ``ahead`` points for Black: at first far below that."""
    first = first_resignation_turn(area)
    length = max(1.0, _PLAYED_OUT * area - first)
    played = min(max(float(turns - first), 0.0), length)
    return -ahead * (length - played) / length - _MARGIN - _MARGIN_SHARE * ahead
