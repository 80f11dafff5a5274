"""Games and their records: KataGo's own games play through, and what we write is what we read."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common import sgf
from common.game_record import from_sgf, game_of, record_of, to_sgf
from common.go.game import Game
from common.go.points import BLACK, PASS, WHITE, from_vertex
from common.go.rules import Rules
from common.go.start import GameStart
from tests.oracles import oracle_path

RULES = [
    "koPOSITIONALscoreAREAtaxNONEsui1komi7.5",
    "koSIMPLEscoreTERRITORYtaxSEKIsui0komi6.5",
    "koSITUATIONALscoreAREAtaxALLsui0button1komi7",
]


def test_katagos_games_play_through_and_come_out_as_they_went_in() -> None:
    played = 0
    for kind in ("clean", "full"):
        for path in sorted(oracle_path(f"vectors/selfplay/{kind}").glob("*.sgfs")):
            for line in path.read_text().splitlines():
                record = sgf.read(line)
                game = game_of(record)
                again = record_of(game, info=record.info)
                bare = tuple(replace(move, values=None, comment="") for move in record.moves)
                assert again.moves == bare
                assert (again.stones, again.handicap) == (record.stones, record.handicap)
                # A clean-up game has captures from before its record, so its score is off by a constant.
                if game.finished and record.info and record.info.game_type != "cleanuptraining":
                    assert game.result == record.result
                played += 1
    assert played == 26


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(RULES), st.integers(2, 7), st.integers(2, 7), st.randoms(use_true_random=False))
def test_what_is_written_is_read_again(rules: str, x_size: int, y_size: int, draws: random.Random) -> None:
    game = Game(GameStart(x_size, y_size, Rules.parse(rules)))
    while not game.finished and len(game.moves) < 60:
        legal = game.legal_moves()
        game.play(draws.choice([*legal, PASS]) if draws.random() < 0.9 else PASS)
    again = from_sgf(to_sgf(game, black_name="B]lack", white_name="White"))
    assert again.moves == game.moves
    assert str(again) == str(game)
    assert again.result == game.result


def test_an_illegal_move_is_named() -> None:
    with pytest.raises(ValueError, match="move 3, B C3, is illegal"):
        from_sgf("(;FF[4]GM[1]SZ[5]KM[6.5]RU[Chinese];B[cc];W[bb];B[cc])")


def test_resignation_and_set_up() -> None:
    game = Game(GameStart(5, 5, Rules(), stones=((BLACK, from_vertex("B2", 5, 5)), (WHITE, from_vertex("D4", 5, 5)))))
    game.play("C3")
    game.resign(WHITE)
    text = to_sgf(game)
    assert "RE[B+R]" in text
    again = from_sgf(text)
    assert (again.result, again.start.stones, again.moves) == ("B+R", game.start.stones, game.moves)


def test_a_start_in_a_cleanup_phase_must_be_told() -> None:
    game = Game(GameStart(5, 5, Rules.parse(RULES[1]), phase=1))
    with pytest.raises(ValueError, match="needs a StartInfo"):
        to_sgf(game)
