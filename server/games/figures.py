"""The figures of a game (`server.trust.figures`), and which tally they belong to."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from django.db import transaction

from common.rows import GlobalTarget, Rows
from server.games.models import PASSED, Game, GameState
from server.trust import figures
from server.trust.tallies import TallyChanges, TallyKey

_POINTS = {"B": 0.0, "W": 1.0}
_MOST_NATS = 3.0
"""A mean above it counts as this one, so that no single game moves a login's average far."""


def figures_of(game: Game, rows: Rows | None) -> dict[str, float]:
    """What can be told of a game that passed its audit, from its form and its rows."""
    white = _POINTS.get(game.winner, 0.5)
    length = game.game_length / (game.board_size_x * game.board_size_y)
    if rows is None:
        older_is_white = game.white_network_id < game.black_network_id
        return {figures.FIRST_POINTS: white if older_is_white else 1.0 - white, figures.LENGTH: length}
    return {
        figures.WHITE_POINTS: white,
        figures.LENGTH: length,
        figures.SURPRISE: _mean(rows, GlobalTarget.POLICY_SURPRISE),
        figures.SEARCH_ENTROPY: _mean(rows, GlobalTarget.SEARCH_ENTROPY),
    }


def _mean(rows: Rows, column: GlobalTarget) -> float:
    return float(np.clip(rows.global_targets[:, column], 0.0, _MOST_NATS).mean())


def tally_key(game: Game) -> TallyKey:
    """Games with which this one is summed; the two networks of a match in one order. ``game.job`` must be loaded."""
    first, second = sorted((game.black_network_id, game.white_network_id))
    return TallyKey(game.run_id, game.contributor_id, game.job.machine, first, second, game.job.text_id)


def tally_game(changes: TallyChanges, game: Game, state: GameState, sign: int) -> None:
    """Add what a game adds to the tallies while it is in ``state``, or take it away."""
    if state in PASSED:
        changes.add(tally_key(game), game.figures, counts=state == GameState.COUNTED, sign=sign)


def figures_add(key: int, found: Mapping[str, float]) -> None:
    """Note further figures of a game, which it does not have yet."""
    with transaction.atomic():
        game = Game.objects.select_for_update(no_key=True, of=("self",)).select_related("job").get(pk=key)
        new = {name: value for name, value in found.items() if name not in game.figures}
        changes = TallyChanges()
        if game.state in PASSED:
            changes.add(tally_key(game), new, counts=game.state == GameState.COUNTED)
        game.figures = game.figures | new
        game.save(update_fields=["figures"])
        changes.apply()
