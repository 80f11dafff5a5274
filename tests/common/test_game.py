"""The game for people: reasons, results, handicap, undo, and small games with endings worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from common.go.game import Game
from common.go.handicap import count_stones
from common.go.points import BLACK, WHITE, from_vertex, point_at
from common.go.rules import Rules
from common.go.start import GameStart

KO = ".XO./X.XO/.XO./...."


def played(game: Game, moves: str) -> Game:
    """The game after moves given as vertices."""
    for vertex in moves.split():
        game.play(vertex)
    return game


@pytest.mark.parametrize(
    ("game", "move", "reason"),
    [
        (Game.from_picture("X../.../..."), "A3", "move 1, B A3, is illegal: the point is occupied"),
        (Game.from_picture(".O./O../..."), "A3", "single stone"),
        (Game.from_picture(".OO/XO./O..", Rules(suicide=False)), "A3", "forbid suicide"),
        (Game(GameStart(3, 3)), 5 * 20, "point 100 .off the board., is illegal: it is off the board"),
        (Game(GameStart(3, 3)), -7, "off the board"),
        (Game(GameStart(3, 3)), 100_000, "off the board"),
        (Game(GameStart(3, 3)), "D1", "outside a board of 3 columns"),
        (Game(GameStart(3, 3)), "here", "not a board vertex"),
        (played(Game.from_picture(KO, to_move=WHITE), "B3"), "C3", "move 2, B C3, is illegal: it retakes a ko"),
        (played(Game(GameStart(3, 3)), "pass pass"), "A1", "the game is over"),
    ],
)
def test_illegal_moves_are_named_with_a_reason(game: Game, move: str | int, reason: str) -> None:
    before = game.state.tobytes()
    with pytest.raises(ValueError, match=reason):
        game.play(move)
    assert game.state.tobytes() == before


def test_positional_superko_forbids_what_situational_allows() -> None:
    # White's suicide of two stones after a pass gives back the board, but with the other player to move.
    for text, allowed in (("koPOSITIONALscoreAREAtaxNONEsui1", False), ("koSITUATIONALscoreAREAtaxNONEsui1", True)):
        game = Game.from_picture("..X/XXX/...", Rules.parse(text), to_move=WHITE)
        played(game, "A3 pass")
        why = game.why_illegal(from_vertex("B3", 3, 3))
        assert why == (None if allowed else "it repeats an earlier position")


def test_turn_and_colour() -> None:
    game = Game(GameStart(5, 5))
    with pytest.raises(ValueError, match="it is Black's turn"):
        game.play("C3", WHITE)
    with pytest.raises(ValueError, match="7 is no colour"):
        game.play("C3", 7)
    game.play("C3", WHITE, tolerant=True)
    assert game.to_move == BLACK
    assert game.moves == [(WHITE, point_at(2, 2))]


def test_tolerant_play_accepts_what_interfaces_send() -> None:
    game = played(Game.from_picture(KO, Rules(suicide=False), to_move=WHITE), "B3")
    game.play("C3", tolerant=True)  # retakes the ko
    assert game.rows()[1] == "X.XO"
    assert played(game, "pass pass").finished
    game.play("D1", tolerant=True)
    assert (game.finished, bool(game.state["past_end"])) == (False, True)
    with pytest.raises(ValueError, match="occupied"):
        game.play("D1", tolerant=True)
    game.undo()
    assert game.finished
    assert game.result is not None


def test_pictures() -> None:
    assert str(Game.from_picture(".XO./X.XO/.XO./....")) == ".XO.\nX.XO\n.XO.\n...."


@pytest.mark.parametrize("picture", ["", "X./.", "XA/..", "X"])
def test_broken_pictures(picture: str) -> None:
    with pytest.raises(ValueError, match=r"is no board|is not from 2 to 19"):
        Game.from_picture(picture)


@pytest.mark.parametrize(
    ("keywords", "reason"),
    [
        ({"x_size": 1}, "not from 2 to 19"),
        ({"y_size": 20}, "not from 2 to 19"),
        ({"phase": 1}, "phase 1"),
        ({"phase": 3, "rules": Rules.parse("japanese")}, "phase 3"),
        ({"to_move": 0}, "to_move 0"),
        ({"stones": ((BLACK, 21), (BLACK, 21))}, "set up at A19"),
        ({"stones": ((3, 21),)}, "colour 3"),
        ({"stones": ((BLACK, 10_000),)}, "off the board"),
    ],
)
def test_impossible_starts(keywords: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Game(GameStart(**keywords))


def test_area_game_to_its_end() -> None:
    # Black owns columns 1-2, White columns 3-4 of a 4x4 board: 8 points each.
    game = Game.from_picture(".XO./.XO./.XO./.XO.", Rules.parse("chinese").with_komi(0.5))
    assert game.result is None
    game = played(game, "pass pass")
    assert (game.finished, game.result, game.score()) == (True, "W+0.5", 0.5)
    assert game.area().tolist() == [[1, 1, 2, 2]] * 4
    assert game.legal_moves() == []


def test_button_and_draw() -> None:
    rules = Rules.parse("koSIMPLEscoreAREAtaxNONEsui0button1komi0.5")
    game = Game.from_picture(".XO./.XO./.XO./.XO.", rules)
    game.play("pass")  # Black takes the button
    assert game.state["white_bonus"] == -0.5
    game.play("pass")
    assert not game.finished
    game.play("pass")
    assert game.result == "0"


def test_territory_game_through_its_phases() -> None:
    game = Game.from_picture(".XO./.XO./.XO./.XO.", Rules.parse("japanese").with_komi(0))
    assert game.phase == 0
    played(game, "pass pass")
    assert game.phase == 1
    played(game, "pass pass")
    assert game.phase == 2
    played(game, "pass pass")
    assert game.result == "0"


def test_pass_for_ko_lifts_a_block() -> None:
    game = Game.from_picture(KO, Rules.parse("japanese"), to_move=WHITE, phase=1)
    game.play("B3")
    assert game.state["ko_blocked"][from_vertex("B3", 4, 4)]
    assert game.rows()[1] == "XO.O"
    game.play("C3")  # the capture only lifts the block
    assert game.rows()[1] == "XO.O"
    assert not game.state["ko_blocked"].any()
    game.play("A1")
    game.play("C3")  # now it captures, and is blocked itself
    assert game.rows()[1] == "X.XO"
    game.play("C3")  # an occupied point: lifts the block
    game.play("D1")
    assert game.why_illegal(from_vertex("B3", 4, 4)) is None


def test_a_ko_capture_is_banned_once_in_its_phase_only() -> None:
    game = Game.from_picture(KO, Rules.parse("japanese"), to_move=WHITE, phase=1)
    played(game, "B3 C3 pass C3 B3 pass")  # White's ko is unblocked and retaken, and unblocked again
    assert "/".join(game.rows()) == KO
    assert game.why_illegal(from_vertex("B3", 4, 4)) == "it repeats a ko capture of this cleanup phase"
    played(game, "pass pass")
    assert game.phase == 2
    assert "/".join(game.rows()) == KO
    assert game.why_illegal(from_vertex("B3", 4, 4)) is None


def test_long_cycle_has_no_result() -> None:
    """Three kos in turn: after six captures everything is as before; the third time ends the game."""
    three = ".XO./X.XO/.XO./XO.O/.XO./X.XO/.XO."
    game = Game.from_picture(three, Rules.parse("koSIMPLEscoreAREAtaxNONEsui0"), to_move=WHITE)
    cycle = "B6 C4 B2 C6 B4 C2"
    played(game, cycle)
    assert game.rows() == three.split("/")
    played(game, cycle)
    assert game.result == "Void"
    game.undo()
    assert game.result is None


def test_a_pass_forgets_the_positions_of_a_cycle() -> None:
    three = ".XO./X.XO/.XO./XO.O/.XO./X.XO/.XO."
    game = Game.from_picture(three, Rules.parse("koSIMPLEscoreAREAtaxNONEsui0"), to_move=WHITE)
    played(game, "B6 C4 B2 C6 B4 C2")
    played(game, "B6 C4 pass C6 B4 pass B6")  # the last position is there for the third time
    assert not game.finished


def test_resignation() -> None:
    game = Game(GameStart(5, 5))
    game.resign(BLACK)
    assert (game.finished, game.result) == (True, "W+R")
    with pytest.raises(ValueError, match="the game is over"):
        game.play("C3")
    with pytest.raises(ValueError, match="the game is over"):
        game.resign()
    game.undo()
    assert not game.finished
    with pytest.raises(ValueError, match="no move to take back"):
        game.undo()


@pytest.mark.parametrize(
    ("moves", "expected"),
    [("", 0), ("B", 0), ("B W", 0), ("B w B w B W B", 3), ("B B b B W", 3), ("B w w B", 0), ("B w W B", 0), ("W B", 0)],
)
def test_leading_black_moves_are_handicap(moves: str, expected: int) -> None:
    """Small letters are passes."""
    told = [(BLACK if letter in "Bb" else WHITE, letter.islower()) for letter in moves.split()]
    assert count_stones((), told) == expected


@pytest.mark.parametrize(
    ("bonus", "stones", "keywords", "expected"),
    [
        ("N", 3, {}, 3),
        ("N-1", 3, {}, 2),
        ("0", 3, {}, 0),
        ("N", 1, {}, 0),
        ("N", 0, {"handicap_stones": 4}, 4),
        ("N-1", 0, {"handicap_stones": 0}, 0),
        ("N", 2, {"leading_moves_are_handicap": True}, 3),
        ("N", 0, {"leading_moves_are_handicap": True}, 0),
    ],
)
def test_handicap_bonus(bonus: str, stones: int, keywords: dict[str, Any], expected: int) -> None:
    start = GameStart(
        9,
        9,
        Rules.parse(f"koSIMPLEscoreAREAtaxNONEsui0whb{bonus}"),
        tuple((BLACK, int(point_at(2 * index, 2))) for index in range(stones)),
        **keywords,
    )
    game = Game(start)
    game.play("A1")
    game.play("B1")
    assert game.state["handicap_bonus"] == expected


def test_the_same_moves_under_other_rules() -> None:
    game = played(Game(GameStart(9, 9, Rules.parse("chinese"), first_turn=3)), "C3 D4 pass")
    other = game.under(Rules.parse("japanese"))
    assert (other.turn, other.moves, str(other)) == (6, game.moves, str(game))
    assert other.state["white_bonus"] == 0
    assert other.rules == Rules.parse("japanese")
