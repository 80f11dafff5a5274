"""Games of self-play: which turns are searched how, and when a game ends."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from client.games.orders import FinishedGame
from client.games.selfplay_game import SelfplayGames
from client.games.selfplay_turns import WARM_UP_VISITS
from client.search.pool import SearchPool
from common.parameters import parse_selfplay
from common.rows import GlobalTarget
from common.sgf import read
from common.sgf_record import MoveValues
from tests.client.games.evaluators import OpinionatedEvaluator
from tests.client.games.games import orders, play, play_beginning, searches_of, selfplay_text

G = GlobalTarget


def searches(game: FinishedGame) -> list[MoveValues]:
    """Values of the searched moves of a game."""
    record = read(game.sgf)
    assert record.info is not None
    values = [move.values for move in record.moves[record.info.start_turn :]]
    assert None not in values
    return [value for value in values if value is not None]


def columns(games: list[FinishedGame]) -> np.ndarray:
    return np.concatenate([game.rows.global_targets for game in games if game.rows is not None])


PLAIN = {
    "cheapSearchProb": 0,
    "reduceVisits": False,
    "policySurpriseDataWeight": 0,
    "valueSurpriseDataWeight": 0,
    "initGamesWithPolicy": False,
}


def test_full_searches_alone_give_one_row_per_turn() -> None:
    games = play(orders(3, selfplay_text(**PLAIN)))
    for game in games:
        assert game.rows is not None
        assert game.rows.count == game.facts.game_length
        assert {values.visits for values in searches(game)} == {10}
        assert {values.weight for values in searches(game)} == {1.0}
        assert list(game.rows.global_targets[:, G.TURN]) == list(range(game.rows.count))


def test_cheap_searches_alone_give_no_rows() -> None:
    games = play(orders(3, selfplay_text(**PLAIN | {"cheapSearchProb": 1})))
    for game in games:
        assert game.rows is None
        assert game.facts.num_training_rows == 0
        # a kept tree may be larger than a cheap search asks for, but never as large as a full one
        assert all(4 <= values.visits < 10 for values in searches(game))
        assert {values.weight for values in searches(game)} == {0.0}


def test_cheap_searches_of_some_weight_start_afresh() -> None:
    games = play(orders(2, selfplay_text(**PLAIN | {"cheapSearchProb": 1, "cheapSearchTargetWeight": 0.25})))
    for game in games:
        assert {values.visits for values in searches(game)} == {4}
        assert {values.weight for values in searches(game)} == {0.25}


def test_a_quarter_of_the_turns_is_searched_in_full() -> None:
    games = play(orders(12, selfplay_text(**PLAIN | {"cheapSearchProb": 0.75})))
    visits = [values.visits for game in games for values in searches(game)]
    assert np.mean(np.array(visits) == 10) == pytest.approx(0.25, abs=0.06)
    assert (columns(games)[:, G.ROOT_VISITS] == 10).all()


def test_decided_games_are_searched_less() -> None:
    options = PLAIN | {"reduceVisits": True, "reduceVisitsThreshold": 0.05, "reduceVisitsThresholdLookback": 2}
    games = play(orders(4, selfplay_text(**options)))
    values = [value for game in games for value in searches(game)]
    reduced = [value for value in values if value.visits < 10]
    assert reduced
    assert all(value.weight is not None and value.weight < 1 for value in reduced)
    assert all(
        value.weight == 1
        for value in values
        if value.visits == 10 and value.weight is not None and value.weight > 0.999
    )


def test_each_search_has_its_purpose() -> None:
    text = selfplay_text(
        **PLAIN
        | {"initGamesWithPolicy": True, "policyInitAreaProp": 0.2, "maxVisits": 20}
        | {"reduceVisits": True, "reduceVisitsThreshold": 0.0, "reduceVisitsThresholdLookback": 1}
        | {"reducedVisitsMin": 15}
    )
    pool = SearchPool(OpinionatedEvaluator(7), slots=1, max_visits=20)
    games = SelfplayGames(parse_selfplay(text, data_board_len=7), 1, 7)
    opening = play_beginning(games, [pool], 0, orders(1, text, first_seed=3)[0])
    assert {(search.visits, search.keep_tree) for search in opening} == {(1, False)}
    game = games.records[0]
    assert game["first_searched_turn"] == game["turn"] == len(opening) > 0
    searches = list(searches_of(games, [pool]))
    assert {search.point is None for search in searches} == {False, True}
    for search, after in pairwise(searches):
        order, next_order = search.order, after.order
        if search.point is None:
            assert (order["visits"], order["keep_tree"], order["tells"]) == (WARM_UP_VISITS, False, False)
            assert next_order["keep_tree"]
            assert next_order["tells"]
            assert WARM_UP_VISITS < next_order["visits"] <= 20
        else:
            assert search.rounds == order["visits"] or order["keep_tree"]
    played = game["points"][len(opening) : game["turn"]]
    assert [search.point for search in searches if search.point is not None] == list(played)


def test_opening_moves_come_from_the_policy_and_are_no_rows() -> None:
    games = play(orders(8, selfplay_text(**PLAIN | {"initGamesWithPolicy": True, "policyInitAreaProp": 0.2})))
    starts = []
    for game in games:
        record = read(game.sgf)
        assert record.info is not None
        starts.append(record.info.start_turn)
        assert all(move.values is None for move in record.moves[: record.info.start_turn])
        if game.rows is not None:
            assert game.rows.count == game.facts.game_length - record.info.start_turn
            assert (game.rows.global_targets[:, G.START_TURN] == record.info.start_turn).all()
    assert np.mean(starts) > 1
    assert len(set(starts)) > 3


def test_the_move_limit_stops_a_game_as_it_stands() -> None:
    game = play(orders(1, selfplay_text(**PLAIN | {"maxMovesPerGame": 6})))[0]
    assert game.rows is not None
    assert game.facts.game_length == 6
    assert read(game.sgf).result is None
    assert (game.rows.global_targets[:, G.HIT_MOVE_LIMIT] == 1).all()
    assert (game.rows.global_targets[:, G.FINISHED_NORMALLY] == 0).all()
    assert (game.rows.global_targets[:, G.FINAL_SCORE] != 0).any()


def test_the_last_move_has_no_reply_and_others_have() -> None:
    game = play(orders(1, selfplay_text(**PLAIN)))[0]
    assert game.rows is not None
    replies = game.rows.policy_targets[:, 1]
    assert (replies[-1] == 1).all()
    np.testing.assert_array_equal(replies[:-1], game.rows.policy_targets[1:, 0])
    assert list(game.rows.global_targets[-2:, G.REPLY_WEIGHT]) == [1, 0]


def test_surprising_turns_come_more_often() -> None:
    options = PLAIN | {"policySurpriseDataWeight": 0.9}
    games = play(orders(6, selfplay_text(**options)))
    weights = [value.weight for game in games for value in searches(game) if value.weight is not None]
    assert min(weights) < 0.9 < 1.2 < max(weights)
    turns = sum(len(searches(game)) for game in games)
    assert sum(weights) == pytest.approx(turns, abs=0.01 * turns)
    assert len(columns(games)) == pytest.approx(turns, rel=0.1)


def test_q_values_are_those_of_searched_moves() -> None:
    game = play(orders(1, selfplay_text(**PLAIN)))[0]
    assert game.rows is not None
    visits = game.rows.q_values[:, 2].astype(int)
    # one visit is the root's own evaluation
    np.testing.assert_array_equal(visits.sum(axis=1), game.rows.global_targets[:, G.ROOT_VISITS] - 1)
    mean = (game.rows.q_values[:, 0] * visits).sum(axis=1) / 32000
    own = game.rows.global_targets[:, G.NET_WIN_LOSS]
    searched = game.rows.global_targets[:, G.SEARCH_WIN] - game.rows.global_targets[:, G.SEARCH_LOSS]
    np.testing.assert_allclose((mean + own) / 10, searched, atol=2e-3)
