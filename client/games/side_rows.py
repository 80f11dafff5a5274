"""Training rows of the positions beside a game: one search each, and nothing of the game's further course.

Specification: training-data.md 3, 4, 5.5, 5.8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from client.games.played import PlayedGame
from client.games.recorder import (
    fill_game_facts,
    fill_history_flags,
    fill_leads,
    fill_q,
    fill_search_facts,
    root_values,
)
from client.games.side_positions import SearchedLine
from common import derive
from common.derive import MAX_SCORE, SCORE, VALUE_SIZE
from common.go.points import WHITE
from common.rows import GlobalTarget, PolicyTarget, Rows

_BLOCKS = int(GlobalTarget.SEARCH_SCORE + 1) // VALUE_SIZE


def make_side_rows(
    game: PlayedGame,
    searched: Sequence[SearchedLine],
    copies: npt.NDArray[np.int64],
    leads: npt.NDArray[np.float64],
    length: int,
    random: np.random.Generator,
) -> Rows:
    """The rows of positions beside a game, in their order, copies of one position one after the other.

    Args:
        game: the game.
        searched: n positions.
        copies: ``[n]`` rows to write of each.
        leads: ``[n]`` points, White's view; NaN where none was estimated.
        length: edge of the tensors.
        random: for what differs between copies.
    """
    rows = Rows.zeros(len(searched), length)
    found = np.array([side.search.found for side in searched])
    white = np.array([side.to_move == WHITE for side in searched])
    for row, side in enumerate(searched):
        rows.packed_planes[row] = side.position.packed_planes
        rows.global_inputs[row] = side.position.global_inputs
        rows.policy_targets[row, PolicyTarget.OWN] = side.search.policy
    rows.policy_targets[:, PolicyTarget.REPLY] = 1
    nothing = np.zeros(len(searched))
    rows.score_distribution[:] = derive.score_distributions(nothing, nothing > 0, length)
    columns = rows.global_targets
    own = derive.own_values(root_values(found), white)
    own[:, SCORE] = np.clip(own[:, SCORE], -MAX_SCORE, MAX_SCORE)
    columns[:, : _BLOCKS * VALUE_SIZE] = np.tile(own, _BLOCKS)
    fill_game_facts(columns, game)
    fill_search_facts(columns, found, white)
    fill_leads(columns, leads, white)
    columns[:, GlobalTarget.OWN_KOMI] = [side.position.own_komi for side in searched]
    columns[:, GlobalTarget.AREA_LIKE_PHASE] = [side.position.is_area_like for side in searched]
    columns[:, GlobalTarget.NET_CHANGES_AFTER] = [side.later_nets for side in searched]
    columns[:, GlobalTarget.TURN] = [side.line.turn for side in searched]
    of_row = np.repeat(np.arange(len(searched)), copies)
    repeated = rows.take(of_row)
    fill_history_flags(repeated, random)
    children = [side.search.children for side in searched]
    first = np.cumsum([0, *(len(part) for part in children)]).astype(np.int32)
    fill_q(repeated, np.concatenate(children), first, of_row, white[of_row], random)
    return repeated
