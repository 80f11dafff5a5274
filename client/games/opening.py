"""Moves that are drawn from the net's policy before the first search (selfplay.md 5)."""

from __future__ import annotations

import numpy as np

from client.games import draws
from client.games.draft import Draft
from client.games.inquiries import Inquirer
from client.games.playing import Script
from common.go.points import point_of


def play_opening(
    draft: Draft,
    count: int,
    temperature: float,
    length: int,
    inquirer: Inquirer,
    random: np.random.Generator,
    *,
    stops_early: bool,
) -> Script[bool]:
    """Play ``count`` moves, passes included, each by the raw policy of its mover to the power of 1 / ``temperature``.

    Fewer where the game ends, by the rules or, if it ``stops_early``, since every point is decided; returns whether it
    did.
    """
    for _ in range(count):
        result = yield from inquirer.raw(draft.state, draft.history)
        position = draws.opening_position(result.raw_policy, temperature, random)
        draft.play(int(point_of(position, length)))
        if draft.is_over or (stops_early and draft.is_decided()):
            return True
    return False
