"""Winners and results as text, of scores and of endings."""

from __future__ import annotations

from dataclasses import replace

from common.go import play
from common.go.points import BLACK, PASS, WHITE, point_at
from common.go.result import resignation_text, result_text, winner_of
from common.go.rules import Rules
from common.go.start import GameStart, start_position
from common.replay import Ending, ending


def ending_with(komi: float, moves: tuple[tuple[int, int], ...] = ()) -> Ending:
    """The end of a game on 3x3 in which Black may play, and both pass."""
    turns = (*moves, (BLACK if len(moves) % 2 == 0 else WHITE, PASS), (WHITE if len(moves) % 2 == 0 else BLACK, PASS))
    state, history = start_position(GameStart(3, 3, Rules(komi=komi)))
    for colour, point in turns:
        assert state["to_move"] == colour
        assert play.play(state, history, point)
    return ending(state, 3)


def test_scores_as_text() -> None:
    assert [winner_of(score) for score in (0.5, -3, 0)] == ["W", "B", "0"]
    assert [result_text(score) for score in (3.5, -12, 0)] == ["W+3.5", "B+12", "0"]
    assert [result_text(score, "{:.1f}".format) for score in (3.5, -12, 0)] == ["W+3.5", "B+12.0", "0"]
    assert resignation_text("W") == "W+R"


def test_an_ending_tells_form_and_sgf() -> None:
    centre = ((BLACK, int(point_at(1, 1))),)
    won, lost, drawn = ending_with(7.5, centre), ending_with(2.5), ending_with(9.0, centre)
    assert (won.winner, won.score, won.result) == ("B", -1.5, "B+1.5")
    assert (lost.winner, lost.score, lost.result) == ("W", 2.5, "W+2.5")
    assert (drawn.winner, drawn.score, drawn.result) == ("0", 0.0, "0")


def test_a_game_without_result_has_no_winner_and_no_score() -> None:
    nobody = replace(ending_with(7.5), is_no_result=True)
    assert (nobody.winner, nobody.score, nobody.result) == ("-", 0.0, "Void")
