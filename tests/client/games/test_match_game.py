"""Games of a match: each side searches in its own tree."""

from __future__ import annotations

from itertools import islice

from client.games.match_game import MatchGames
from client.games.playing import Purpose
from client.search.pool import SearchPool
from common.parameters import parse_match
from tests.client.games.evaluators import OpinionatedEvaluator
from tests.client.games.games import NET, OTHER, match_text, orders, searches_of


def test_each_side_searches_on_in_its_own_tree() -> None:
    text = match_text(maxVisits=30)
    pools = [SearchPool(OpinionatedEvaluator(7), slots=1, max_visits=30) for _ in range(2)]
    for pool in pools:
        pool.forget(0)
    games = MatchGames(parse_match(text, data_board_len=7), 1)
    games.begin(0, orders(1, text, NET, OTHER, first_seed=1)[0])
    searches = list(islice(searches_of(games, pools), 8))
    assert [search.seat for search, _, _ in searches] == [0, 1] * 4
    assert {search.purpose for search, _, _ in searches} == {Purpose.TURN}
    assert all(point is not None for _, _, point in searches)
    rounds = [rounds for _, rounds, _ in searches]
    assert {turn.visits for turn in games.notes[0].turns} == {30}
    assert rounds[0] == rounds[1] == 30
    assert min(rounds[2:]) < 30  # the rest was there


def test_searches_that_look_for_mirror_go_are_told_the_turns() -> None:
    for told in (False, True):
        text = match_text(maxVisits=2, antiMirror="true" if told else "false")
        pools = [SearchPool(OpinionatedEvaluator(7), slots=1, max_visits=2) for _ in range(2)]
        games = MatchGames(parse_match(text, data_board_len=7), 1)
        games.begin(0, orders(1, text, NET, OTHER, first_seed=1)[0])
        searches = list(islice(searches_of(games, pools), 3))
        turns = [search.guidance.turns for search, _, _ in searches]
        assert [len(each) for each in turns] == ([0, 1, 2] if told else [0, 0, 0])
        assert not told or [point for _, point in turns[2]] == [point for _, _, point in searches[:2]]
