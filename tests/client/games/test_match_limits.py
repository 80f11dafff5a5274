"""Matches whose bots have other limits than visits."""

from __future__ import annotations

import re

import pytest

from common.audit import audit_rating_game
from common.audit_report import Reason
from common.parameters import parse_match
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


def test_a_game_by_the_clock_tells_what_each_side_thought() -> None:
    text = match_text(maxVisits=8, maxTime1=0, maxMovesPerGame=20)
    for game in play(orders(2, text, NET, OTHER)):
        info = read(game.sgf).info
        assert info is not None
        assert info.seconds is not None
        black, white = info.seconds
        assert black == 0.0 < white < 600, "the second bot alone goes by the clock"
        assert str(audit_rating_game(game.sgf, game.facts, parse_match(text))) == ""
        untimed = audit_rating_game(game.sgf, game.facts, parse_match(match_text(maxVisits=8, maxMovesPerGame=20)))
        assert Reason.JOB_TIME in untimed.reasons
    for game in play(orders(2, match_text(maxVisits=8, maxMovesPerGame=20), NET, OTHER)):
        assert "TimeUsed" not in game.sgf


@pytest.mark.parametrize(
    ("times", "holds"),
    [
        ("bTimeUsed=0.25,wTimeUsed=1e5", True),
        ("bTimeUsed=0,wTimeUsed=0.5", True),
        ("bTimeUsed=-1,wTimeUsed=0.5", False),
        ("bTimeUsed=1,wTimeUsed=345601", False),
    ],
)
def test_times_that_cannot_be_are_refused(times: str, holds: bool) -> None:
    text = match_text(maxVisits=8, maxTime=60, maxMovesPerGame=20)
    (game,) = play(orders(1, text, NET, OTHER))
    told = re.sub(r"bTimeUsed=[^,\]]*,wTimeUsed=[^,\]]*", times, game.sgf)
    assert times in told
    findings = audit_rating_game(told, game.facts, parse_match(text))
    assert findings.reasons == ([] if holds else [Reason.JOB_TIME])


def test_who_has_not_searched_has_not_thought() -> None:
    text = match_text(maxVisits=8, maxTime=60, maxMovesPerGame=1)
    (game,) = play(orders(1, text, NET, OTHER))
    info = read(game.sgf).info
    assert info is not None
    assert info.seconds is not None
    assert info.seconds[1] == 0.0
    assert str(audit_rating_game(game.sgf, game.facts, parse_match(text))) == ""
    told = game.sgf.replace("wTimeUsed=0", "wTimeUsed=0.5")
    assert audit_rating_game(told, game.facts, parse_match(text)).reasons == [Reason.JOB_TIME]


def test_playouts_come_on_top_of_a_kept_tree() -> None:
    visits = visits_of(match_text(maxVisits=50, maxPlayouts=6, maxMovesPerGame=20))
    assert visits[:2] == [6, 6]
    assert max(visits) > 6


def test_self_play_takes_the_stricter_of_visits_and_playouts() -> None:
    text = selfplay_text(maxVisits=10, maxPlayouts=7, cheapSearchProb=0, reduceVisits=False, maxMovesPerGame=8)
    (game,) = play(orders(1, text))
    assert {move.values.visits for move in read(game.sgf).moves if move.values is not None} == {7}
