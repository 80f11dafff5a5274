"""What interfaces may do to a position, and that a refusal changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from client.engine.position import IllegalMoveError, Position, game_after
from common.go.points import BLACK, PASS, WHITE, point_at
from common.go.rules import NAMED_RULES, Rules
from common.go.start import GameStart

CORNER, NEXT = point_at(0, 0), point_at(1, 0)


def make_position() -> Position:
    return Position(GameStart(5, 4, Rules(komi=6.0), leading_moves_are_handicap=True), prevents_cleanup=True)


def test_other_beginnings_keep_the_rules() -> None:
    position = make_position()
    position.set_up([(BLACK, CORNER), (WHITE, NEXT)], WHITE)
    assert position.game.rows()[0] == "XO..."
    assert position.game.to_move == WHITE
    assert not position.is_empty
    position.resize(7, 3)
    assert (position.size, position.is_empty) == ((7, 3), True)
    position.play(WHITE, CORNER)
    assert not position.is_empty
    position.clear()
    assert position.size == (7, 3)
    position.set_handicap([CORNER, NEXT])
    assert (position.game.rows()[0], position.game.to_move) == ("XX.....", WHITE)
    assert position.rules.komi == 6.0
    assert position.game.start.leading_moves_are_handicap
    assert position.game.prevents_cleanup


def test_moves_stay_when_rules_change_and_undo_takes_them_back() -> None:
    position = make_position()
    position.play(BLACK, CORNER)
    position.play(BLACK, NEXT)
    position.use_rules(NAMED_RULES["japanese"])
    assert position.rules.komi == 6.5
    assert position.game.rows()[0] == "XX..."
    position.undo()
    position.undo()
    with pytest.raises(ValueError, match="no move to take back"):
        position.undo()
    assert position.is_empty


def test_a_refusal_changes_nothing() -> None:
    position = make_position()
    position.play(BLACK, CORNER)
    before = position.game
    attempts: tuple[Callable[[], None], ...] = (
        lambda: position.play(WHITE, CORNER),
        lambda: position.resize(1, 5),
        lambda: position.set_up([(BLACK, CORNER), (WHITE, CORNER)], BLACK),
        lambda: position.begin(GameStart(5, 5), [(BLACK, CORNER), (WHITE, CORNER)]),
    )
    for wrong in attempts:
        with pytest.raises(ValueError, match=r"."):
            wrong()
        assert position.game is before
        assert len(position.game.moves) == 1


def test_the_move_that_is_impossible_is_told() -> None:
    moves = [(BLACK, CORNER), (BLACK, PASS), (WHITE, NEXT), (WHITE, CORNER)]
    assert game_after(GameStart(5, 5), moves[:3]).to_move == BLACK
    with pytest.raises(IllegalMoveError, match="occupied") as caught:
        game_after(GameStart(5, 5), moves)
    assert caught.value.index == 3
