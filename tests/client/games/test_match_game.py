"""Games of a match: each side searches in its own tree."""

from __future__ import annotations

import itertools
from itertools import islice

from client.games.game import play_move
from client.games.match_game import MatchGames
from client.search.pool import SearchPool
from common.go.points import EMPTY, WHITE, point_at
from common.parameters import parse_match
from tests.client.games.evaluators import OpinionatedEvaluator
from tests.client.games.games import NET, OTHER, match_text, orders, play_beginning, searches_of


def test_each_side_searches_on_in_its_own_tree() -> None:
    text = match_text(maxVisits=30)
    pools = [SearchPool(OpinionatedEvaluator(7), slots=1, max_visits=30) for _ in range(2)]
    for pool in pools:
        pool.forget(0)
    games = MatchGames(parse_match(text, data_board_len=7), 1, 7)
    assert play_beginning(games, pools, 0, orders(1, text, NET, OTHER, first_seed=1)[0]) == []
    searches = list(islice(searches_of(games, pools), 9))
    assert [search.order["seat"] for search in searches] == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert all(search.point is not None for search in searches)
    rounds = [search.rounds for search in searches]
    assert set(games.turn_notes.found["visits"][0, :8]) == {30}
    assert rounds[0] == rounds[1] == 30
    assert min(rounds[2:]) < 30  # the rest was there


def test_searches_that_look_for_mirror_go_are_told_the_turns() -> None:
    for told in (False, True):
        text = match_text(bSizes=7, maxVisits=2, antiMirror="true" if told else "false")
        pools = [SearchPool(OpinionatedEvaluator(7), slots=1, max_visits=2) for _ in range(2)]
        games = MatchGames(parse_match(text, data_board_len=7), 1, 7)
        play_beginning(games, pools, 0, orders(1, text, NET, OTHER, first_seed=1)[0])
        game = games.records[0]
        for y, x in itertools.product(range(2), range(7)):  # fourteen turns of either, in which White mirrors
            play_move(game, point_at(x, y))
            play_move(game, point_at(6 - x, 6 - y))
        game["first_searched_turn"] = game["turn"]
        search = next(searches_of(games, pools))
        assert search.order["mirroring"] == (WHITE if told else EMPTY)
