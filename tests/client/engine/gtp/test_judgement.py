"""What the engine makes of a game: handicaps, dynamic advantage, resignation (engine.md 3), by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from client.engine.gtp.advantage import dynamic_advantage, handicap_points
from client.engine.gtp.resignation import handicap_bound, has_lost
from client.engine.gtp.settings import GtpSettings
from common.go.game import Game
from common.go.points import BLACK, WHITE, point_at
from common.go.rules import NAMED_RULES, Rules
from common.go.start import GameStart

STONES = tuple((BLACK, point_at(x, 3)) for x in (3, 9, 15, 17))


def game(rules: Rules, stones: int, **options: object) -> Game:
    return Game(GameStart(19, 19, rules, STONES[:stones], WHITE, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rules", "stones", "points"),
    [
        (Rules(komi=7.5), 0, -0.5),
        (Rules(komi=0.5), 0, 6.5),
        (Rules(komi=0.5), 4, 45 + 6.5),
        (NAMED_RULES["japanese"].with_komi(0.5), 4, 42 + 6.5),
        (NAMED_RULES["chinese"].with_komi(0.5), 4, 45 + 6.5 - 4),
        (NAMED_RULES["aga"].with_komi(0.5), 4, 45 + 6.5 - 3),
    ],
)
def test_points_of_a_handicap(rules: Rules, stones: int, points: float) -> None:
    assert handicap_points(game(rules, stones)) == points


def test_leading_black_moves_are_stones_where_that_is_assumed() -> None:
    for assumed, points in ((True, 15 + 6.5), (False, 6.5)):
        played = Game(GameStart(19, 19, Rules(komi=0.5), leading_moves_are_handicap=assumed))
        for x in (3, 15):
            played.play(point_at(x, 3), BLACK, tolerant=True)
        played.play(point_at(3, 15), WHITE)
        assert handicap_points(played) == points


def advantage(present: float, ahead: float, win_loss: float | None, size: int = 19) -> float:
    return dynamic_advantage(present, ahead, x_size=size, y_size=size, white_win_loss=win_loss, cap_per_point=0.045)


def test_dynamic_advantage() -> None:
    # 19x19: b = 1, begins at 4 points; .045 * (36 - 4) = 1.44, in eighths 1.5
    assert advantage(0.0, 36.0, None) == 1.5
    assert advantage(0.0, -36.0, None) == -1.5
    assert advantage(0.0, 3.9, None) == 0.0
    assert advantage(0.0, 200.0, None) == 2.75
    assert advantage(1.0, 36.0, -0.95) == 1.125
    assert advantage(1.0, 36.0, -0.7) == 1.0
    assert advantage(1.0, 36.0, 0.2) == 0.875
    assert advantage(0.0625, 36.0, 0.2) == 0.0
    assert advantage(1.5, 36.0, -0.99) == 1.5
    assert advantage(-1.0, -36.0, 0.95) == -1.125  # Black's, seen from his side
    # 9x9: b = (361/81)^.75 = 3.0669; begins at 2 points; .045 * (12 - 2) * 3.0669 = 1.3801, in eighths 1.375
    assert advantage(0.0, 12.0, None, size=9) == 1.375
    assert advantage(0.0, 12.0, None, size=7) == 0.0


def test_the_bound_of_a_handicap_game_rises_to_a_small_loss() -> None:
    # 19x19: first turn 73, .6 * 361 - 73 = 143.6 turns
    assert handicap_bound(40.0, 361, 73) == pytest.approx(-40 - 5 - 6)
    assert handicap_bound(40.0, 361, 73 + 71) == pytest.approx(-40 * (143.6 - 71) / 143.6 - 11)
    assert handicap_bound(40.0, 361, 300) == pytest.approx(-11)


def test_resignation() -> None:
    settings = GtpSettings()
    even, handicap = game(Rules(), 0), game(Rules(komi=0.5), 4)
    lost = [-0.95, -0.92, -0.91]
    assert has_lost(settings, even, WHITE, lost, -3.0)
    assert not has_lost(settings, even, BLACK, lost, -3.0)
    assert has_lost(settings, even, BLACK, [0.95, 0.92, 0.91], 3.0)
    assert not has_lost(settings, even, WHITE, [-0.95, -0.89, -0.91], -3.0)
    assert not has_lost(settings, even, WHITE, lost[:2], -3.0)
    by_lead = replace(settings, resign_min_score_difference=10.0)
    assert not has_lost(by_lead, even, WHITE, lost, -9.0)
    assert has_lost(by_lead, even, WHITE, lost, -11.0)
    assert not has_lost(replace(settings, resign_min_moves_per_area=0.1), even, WHITE, lost, -11.0)
    assert not has_lost(settings, handicap, WHITE, lost, -100.0)  # too early, however far behind
    for turn in range(80):
        handicap.play(point_at(turn % 19, 5 + turn // 19), tolerant=True)
    assert has_lost(settings, handicap, WHITE, lost, -100.0)
    assert not has_lost(settings, handicap, WHITE, lost, -20.0)
