"""Matches whose bots have other limits than visits."""

from __future__ import annotations

from common.sgf import read
from tests.client.games.games import NET, OTHER, match_text, orders, play, selfplay_text


def visits_of(text: str) -> list[int]:
    """Visits of each turn of a match game with this text."""
    (game,) = play(orders(1, text, NET, OTHER))
    return [move.values.visits for move in read(game.sgf).moves if move.values is not None]


def test_a_bot_by_time_has_two_playouts_at_least() -> None:
    visits = visits_of(match_text(maxVisits=8, maxTime1=0, maxMovesPerGame=20))
    assert visits.count(8) == 10
    by_time = [count for count in visits if count != 8]
    assert len(by_time) == 10
    assert 2 <= min(by_time) <= max(by_time) <= 4  # a kept tree has two more


def test_playouts_come_on_top_of_a_kept_tree() -> None:
    visits = visits_of(match_text(maxVisits=50, maxPlayouts=6, maxMovesPerGame=20))
    assert visits[:2] == [6, 6]
    assert max(visits) > 6


def test_self_play_takes_the_stricter_of_visits_and_playouts() -> None:
    text = selfplay_text(maxVisits=10, maxPlayouts=7, cheapSearchProb=0, reduceVisits=False, maxMovesPerGame=8)
    (game,) = play(orders(1, text))
    assert {move.values.visits for move in read(game.sgf).moves if move.values is not None} == {7}
