"""Match games in which a player sees no hope."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from common.sgf import read
from tests.client.games.games import NET, OTHER, match_text, orders, play
from tests.client.search.scripted import Answer, ScriptedEvaluator


class OneSided(ScriptedEvaluator):
    """Believes that Black, whose first stone it sees, wins or loses for certain."""

    def __init__(self, length: int, black_wins: float) -> None:
        def answer(planes: Any, global_inputs: Any, symmetry: int) -> Answer:
            is_black = global_inputs[5] < 0  # komi is positive for White
            wins = black_wins if is_black else -black_wins
            return Answer(policy=np.zeros(length * length + 1, np.float32), win_loss=wins, score_stdev=1.0)

        super().__init__(length, answer)

    pass_alive_suicide = False

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("black_wins", "result"), [(0.97, "B+R"), (-0.97, "W+R")])
def test_who_sees_no_hope_resigns(black_wins: float, result: str) -> None:
    text = match_text(bSizes=7, resignThreshold=-0.9, resignConsecTurns=3, komiMean=7, komiStdev=0)
    game = play(orders(1, text, NET, OTHER), load=lambda network, length: OneSided(length, black_wins))[0]
    record = read(game.sgf)
    assert record.result == result
    assert game.facts.resigned
    assert game.facts.winner == result[0]
    assert game.facts.score == 0
    # on 49 points resignation begins with the searched move 10 (from 0); the loser's own move has to come
    first = 11 if result == "W+R" else 12
    assert game.facts.game_length == first
    assert len(record.moves) == first - 1
    assert record.resignation is not None


def test_nobody_resigns_where_that_is_off() -> None:
    text = match_text(bSizes=4, allowResignation=False)
    game = play(orders(1, text, NET, OTHER), load=lambda network, length: OneSided(length, 0.97))[0]
    assert not game.facts.resigned
