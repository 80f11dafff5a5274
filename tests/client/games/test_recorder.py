"""Rows of a game written down by hand."""

from __future__ import annotations

import numpy as np
import pytest

from client.games.played import (
    REPLACED,
    PlayedGame,
    PlayedTurns,
    keep_turn,
    new_turn_notes,
    scale_policy,
    turns_of,
    with_more_room,
)
from client.games.recorder import RowPlan, make_rows, value_sequence, values_of, written_turns
from client.games.starts import PLAIN
from client.search.turns import CHILD, FOUND, new_turns
from client.search.values import Values
from common.derive import horizon_factors
from common.go.points import BLACK, PASS, WHITE, point_at
from common.go.rules import Rules
from common.go.start import GameStart, PlayerView
from common.go.state import HISTORY, STATE
from common.replay import ending, replay
from common.rows import GlobalTarget, QTarget, ValueTarget, game_hash

G = GlobalTarget
LENGTH = 3


def turns(*win_losses: float) -> PlayedTurns:
    """Searches that found these, and otherwise all the same."""
    count = len(win_losses)
    found, children = np.zeros(count, FOUND), np.zeros((count, 2), CHILD)
    for turn, win_loss in enumerate(win_losses):
        found["mean"][turn] = Values(win_loss, 0.0, 5.0 * win_loss, 30.0, 0.0)
        found["raw"][turn] = Values(0.25, 0.0, 1.5, 30.0, 0.0)
    found["raw_policy_entropy"], found["policy_surprise"], found["policy_entropy"] = 2.0, 0.5, 1.5
    found["search_entropy"], found["visits"], found["num_children"] = 1.0, 20, 2
    children["point"], children["visits"] = [point_at(1, 1), PASS], [16, 40000]
    children["win_loss"], children["score_mean"] = [0.5, -1.0], [2.0, -900.0]
    policies = np.zeros((count, LENGTH * LENGTH + 1), np.int16)
    policies[:, 4], policies[:, 9] = 12, 3
    first = 2 * np.arange(count + 1, dtype=np.int32)
    return PlayedTurns(found, np.ones(count), policies, first, children.reshape(-1), np.zeros(count, REPLACED))


def three_moves() -> PlayedGame:
    """Black plays the centre of a 3x3 board, both pass: Black has all nine points, White a komi of 2."""
    rules = Rules().with_komi(2.0)
    start = GameStart(3, 3, rules)
    return PlayedGame(
        start=start,
        view=PlayerView(draw_white_wins=0.25),
        provenance=PLAIN,
        colours=np.array([BLACK, WHITE, BLACK], np.int8),
        points=np.array([point_at(1, 1), PASS, PASS], np.int16),
        first_turn=0,
        turns=turns(-0.2, -0.6, -0.8),
        hash_words=(5, 2**63 + 1),
        hit_move_limit=False,
    )


def test_a_game_by_hand() -> None:
    game = three_moves()
    copies = np.array([1, 2, 0])
    written = written_turns(game, copies)
    assert list(written) == [0, 1]
    replayed = replay(game.start, game.colours, game.points, length=LENGTH, view=game.view, encoded_turns=written)
    end = ending(replayed.state, LENGTH)
    assert end.white_score == -7
    values = value_sequence(game, end)
    plan = RowPlan(values, copies, np.array([np.nan, -500.0, 3.0]), np.zeros(3, np.bool_))
    rows = make_rows(game, replayed, end, plan, np.random.default_rng(3))
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
    assert list(columns[:, G.LEAD]) == [0, -421, -421]
    assert list(columns[:, G.LEAD_WEIGHT]) == [0, 1, 1]
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


def scaled(*policy: float) -> list[int]:
    target = np.zeros(len(policy), np.int16)
    scale_policy(np.array(policy), target)
    return target.tolist()


def test_policies_are_scaled_into_sixteen_bits() -> None:
    assert scaled(0.5, 2.0) == [3, 10]
    assert scaled(10.4, 60000.0) == [5, 30000]
    assert scaled(11.5, 12.4) == [12, 12]


def test_values_stay_probabilities() -> None:
    found = values_of(np.array([[1.0, 0.5, 3.0, 9.0, 0.0], [0.2, 0.1, 0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(found, [[1.0, 0.0, 0.0, 3.0], [0.55, 0.35, 0.1, 0.0]])


def test_notes_grow() -> None:
    """Of two games, each with as many turns as it has children a turn."""
    notes = new_turn_notes(2, 2, policies=True)
    table = new_turns(np.zeros(2, STATE), np.zeros(2, HISTORY), 2)
    table.children["point"] = np.arange(5)
    table.targets[:] = [10, 0, 5, 1, 0]
    for number in range(60):
        for slot in range(2):
            table.found["num_children"][slot] = (number + slot) % 6
            table.found["visits"][slot] = 2 * number + slot
            keep_turn(notes, table, slot, number, 0.5 * slot)
            if notes.is_full[0]:
                notes = with_more_room(notes)
    for slot in range(2):
        kept = turns_of(notes, slot, 60)
        assert kept.count == 60
        assert kept.found["visits"].tolist() == [2 * number + slot for number in range(60)]
        assert set(kept.weights) == {0.5 * slot}
        assert (kept.policies == [10, 0, 5, 1, 0]).all()
        points = [point for number in range(60) for point in range((number + slot) % 6)]
        assert kept.children["point"].tolist() == points
