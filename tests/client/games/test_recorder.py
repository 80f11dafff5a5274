"""Rows of a game written down by hand."""

from __future__ import annotations

import numpy as np
import pytest

from client.games.game import PlayedGame
from client.games.recorder import (
    SelfplayGame,
    TurnRecord,
    as_value,
    make_rows,
    scale_policy,
    value_sequence,
    written_turns,
)
from common.derive import horizon_factors
from common.go.points import BLACK, PASS, WHITE, point_at
from common.go.rules import Rules
from common.go.start import GameStart, PlayerView
from common.replay import ending, replay
from common.rows import GlobalTarget, QTarget, ValueTarget, game_hash

G = GlobalTarget
LENGTH = 3


def turn(win_loss: float, *, weight: float = 1.0) -> TurnRecord:
    policy = np.zeros(LENGTH * LENGTH + 1)
    policy[4] = 12.4
    policy[9] = 3.0
    return TurnRecord(
        win_loss=win_loss,
        no_result=0.0,
        score_mean=5.0 * win_loss,
        raw_win_loss=0.25,
        raw_no_result=0.0,
        raw_score_mean=1.5,
        raw_policy_entropy=2.0,
        policy_surprise=0.5,
        policy_entropy=1.5,
        search_entropy=1.0,
        visits=20,
        weight=weight,
        policy=policy,
        child_points=np.array([point_at(1, 1), PASS], np.int16),
        child_visits=np.array([16, 40000], np.int32),
        child_win_losses=np.array([0.5, -1.0]),
        child_score_means=np.array([2.0, -900.0]),
    )


def three_moves() -> SelfplayGame:
    """Black plays the centre of a 3x3 board, both pass: Black has all nine points, White a komi of 2."""
    rules = Rules().with_komi(2.0)
    start = GameStart(3, 3, rules)
    return PlayedGame(
        start=start,
        view=PlayerView(draw_white_wins=0.25),
        colours=[BLACK, WHITE, BLACK],
        points=[point_at(1, 1), PASS, PASS],
        first_turn=0,
        turns=[turn(-0.2), turn(-0.6), turn(-0.8)],
        hash_words=(5, 2**63 + 1),
        hit_move_limit=False,
    )


def test_a_game_by_hand() -> None:
    game = three_moves()
    copies = np.array([1, 2, 0])
    turns = written_turns(game, copies)
    assert list(turns) == [0, 1]
    replayed = replay(game.start, game.colours, game.points, length=LENGTH, view=game.view, encoded_turns=turns)
    end = ending(replayed.state, LENGTH)
    assert end.white_score == -7
    values = value_sequence(game, end)
    rows = make_rows(game, replayed, end, values, copies, np.random.default_rng(3))
    columns = rows.global_targets
    assert list(columns[:, G.TURN]) == [0, 1, 1]
    # a draw is worth a quarter to White: the score is a quarter lower
    assert list(columns[:, G.FINAL_SCORE]) == pytest.approx([7.25, -7.25, -7.25])
    assert columns[0, :4] == pytest.approx([1, 0, 0, 7.25])
    assert columns[1, :4] == pytest.approx([0, 1, 0, -7.25])
    assert columns[1, G.SEARCH_WIN : G.SEARCH_SCORE + 1] == pytest.approx([0.2, 0.8, 0, -3])
    f = horizon_factors(9)[1]
    mid = f * 0.2 + (1 - f) * f * 0.1 + (1 - f) ** 2 * 0
    assert columns[1, G.MID_TD_WIN] == pytest.approx(mid)
    assert columns[0, G.VARIANCE_TIME] == pytest.approx(0.4**2 + 2 * 0.2**2 + 3 * 0.2**2)
    assert list(columns[:, G.OWN_KOMI]) == pytest.approx([-1.75, 1.75, 1.75])
    assert columns[0, G.NET_WIN_LOSS] == pytest.approx(-0.25)
    assert columns[0, G.NET_SCORE_MEAN] == pytest.approx(-1.5)
    assert list(columns[:, G.REPLY_WEIGHT]) == [1, 1, 1]
    assert game_hash(columns[0]) == f"{2**63 + 1:016X}{5:016X}"
    assert (rows.value_targets[0, ValueTarget.OWNERSHIP] == 1).all()
    assert (rows.value_targets[1, ValueTarget.OWNERSHIP] == -1).all()
    assert (rows.value_targets[1, ValueTarget.SCORING] == -120).all()
    assert rows.value_targets[0, ValueTarget.FUTURE_NEAR].sum() == 1
    assert rows.q_values[0, QTarget.VISITS, 9] == 32000
    assert rows.q_values[0, QTarget.WIN_LOSS, 4] == -16000
    assert rows.q_values[0, QTarget.SCORE, 9] == 421 * 60
    assert rows.q_values[1, QTarget.SCORE, 4] == 120
    assert rows.policy_targets[0, 0, 4] == 12


def test_policies_are_scaled_into_sixteen_bits() -> None:
    assert list(scale_policy(np.array([0.5, 2.0]))) == [3, 10]
    assert list(scale_policy(np.array([10.4, 60000.0]))) == [5, 30000]
    assert list(scale_policy(np.array([11.5, 12.4]))) == [12, 12]


def test_values_stay_probabilities() -> None:
    assert as_value(1.0, 0.5, 3.0) == (1.0, 0.0, 0.0, 3.0)
    assert as_value(0.2, 0.1, 0.0) == pytest.approx((0.55, 0.35, 0.1, 0.0))
