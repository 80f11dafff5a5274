"""The kernels of the game against a slow twin and against recomputation from scratch, over random games."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.go import board, play
from common.go import history as keys
from common.go.game import Game
from common.go.points import (
    BLACK,
    EMPTY,
    NEIGHBOURS,
    NO_POINT,
    NUM_POINTS,
    PASS,
    STRIDE,
    WALL,
    WHITE,
    point_at,
    x_of,
    y_of,
)
from common.go.rules import HandicapBonus, Ko, Rules, Scoring, Tax
from common.go.start import GameStart
from common.go.zobrist import SECOND_STONE_KEYS, STONE_KEYS
from tests.common.made_rules import any_rules
from tests.common.naive import Board, board_of
from tests.common.naive_game import NaiveGame, chain_of, liberties

LAWS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FEW_OR_ALL = pytest.mark.parametrize("examples", [15, pytest.param(60, marks=pytest.mark.slow)])
"""Of random games that are played by the slow twin as well."""
LETTERS = {"X": BLACK, "O": WHITE, ".": EMPTY}


def rules_of_play() -> st.SearchStrategy[Rules]:
    """All rules that a move's legality or a game's end can depend on."""
    return any_rules(tax=Tax.NONE, white_handicap_bonus=HandicapBonus.ZERO, friendly_pass_ok=False, komi=0.5)


CHOICES = st.lists(st.integers(0, 2**16), min_size=30, max_size=150)
KOS = [".XO./X.XO/.XO./....", ".XO./X.XO/.XO./X.XO/.XO.", ".XO./XO.O/.XO./X.XO/.XO./XO.O/.XO."]
SIZES = st.tuples(st.integers(2, 5), st.integers(2, 4))


def pick(game: Game, choice: int) -> int:
    """One of the legal moves; ko captures and crowded points are taken more often than their number, passes less."""
    legal = game.legal_moves()
    kind, index = choice % 16, choice // 16
    if kind == 0 or len(legal) == 1:
        return legal[0]
    points = legal[1:]
    kos = [point for point in points if board.ko_capture(game.state, point, game.to_move) != NO_POINT]
    crowded = [point for point in points if all(game.colour_at(point + step) != EMPTY for step in NEIGHBOURS)]
    wanted = kos if kind < 12 and kos else crowded if kind < 6 and crowded else points
    return wanted[index % len(wanted)]


def check_chains(state: Any, stones: Board) -> None:
    """Chains, liberties and keys of ``state`` are those that can be read off its stones."""
    grid_key = second_key = np.uint64(0)
    for (x, y), letter in stones.items():
        point = point_at(x, y)
        assert state["colour"][point] == LETTERS[letter]
        if letter == ".":
            assert state["chain_head"][point] == 0
            continue
        chain = {point_at(*stone) for stone in chain_of(stones, (x, y))}
        head = int(state["chain_head"][point])
        assert head in chain
        assert all(state["chain_head"][stone] == head for stone in chain)
        assert state["chain_size"][head] == len(chain)
        assert state["chain_liberties"][head] == len(liberties(stones, (x, y)))
        linked, stone = set(), point
        while stone not in linked:
            linked.add(stone)
            stone = int(state["chain_next"][stone])
        assert linked == chain
        members = np.array(sorted(chain))
        assert state["chain_key"][head] == np.bitwise_xor.reduce(STONE_KEYS[LETTERS[letter], members])
        grid_key ^= STONE_KEYS[LETTERS[letter], point]
        second_key ^= SECOND_STONE_KEYS[LETTERS[letter], point]
    assert state["grid_key"] == grid_key
    assert state["second_key"] == second_key
    assert (state["colour"] == WALL).sum() == NUM_POINTS - len(stones)


def check_marks(game: Game) -> None:
    """All points at once are marked as one by one: what may be played, and what only ko or repetition forbid."""
    state, history = game.state, game.history
    marks = np.zeros(NUM_POINTS, np.int8)
    play.mark_points(state, history, marks)
    for point in range(1, NUM_POINTS):
        legal = play.is_legal(state, history, point)
        if state["colour"][point] != EMPTY:
            banned = False
        elif game.phase > 0:
            banned = play.is_once_banned(state, history, point)
        else:
            banned = not legal and not board.is_illegal_suicide(state, point, game.to_move)
        assert marks[point] == play.LEGAL * legal + play.BANNED * banned


@FEW_OR_ALL
def test_kernels_agree_with_the_slow_twin(examples: int) -> None:
    @settings(LAWS, max_examples=examples)
    @given(SIZES, rules_of_play(), CHOICES)
    def law(size: tuple[int, int], rules: Rules, choices: list[int]) -> None:
        agree(Game(GameStart(*size, rules)), choices)

    law()


@FEW_OR_ALL
def test_ko_fights_agree_with_the_slow_twin(examples: int) -> None:
    @settings(LAWS, max_examples=examples)
    @given(st.sampled_from(KOS), rules_of_play(), st.integers(0, 2), CHOICES)
    def law(picture: str, rules: Rules, phase: int, choices: list[int]) -> None:
        agree(Game.from_picture(picture, rules, phase=phase if rules.scoring == Scoring.TERRITORY else 0), choices)

    law()


def agree(game: Game, choices: list[int]) -> None:
    """Play a game in both ways and compare everything after every turn."""
    twin = NaiveGame(board_of("/".join(game.rows())), game.rules, phase=game.phase)
    for choice in choices:
        expected = [point for point in twin.board if twin.is_legal(point)]
        assert {point_at(*point) for point in expected} == set(game.legal_moves()[1:])
        check_marks(game)
        move = pick(game, choice)
        game.play(move)
        twin.play(None if move == PASS else (int(x_of(move)), int(y_of(move))))
        check_chains(game.state, twin.board)
        state = game.state
        assert (state["phase"], state["finished"], state["no_result"]) == (twin.phase, twin.finished, twin.no_result)
        assert LETTERS[twin.to_move] == game.to_move
        assert state["white_bonus"] == twin.white_bonus
        assert {(x_of(p), y_of(p)) for p in np.flatnonzero(state["ko_blocked"]).tolist()} == twin.blocked
        if game.finished:
            break


@LAWS
@given(st.sampled_from([Ko.POSITIONAL, Ko.SITUATIONAL]), st.booleans(), CHOICES)
def test_superko_never_repeats(ko: Ko, suicide: bool, choices: list[int]) -> None:
    game = Game(GameStart(3, 2, Rules(ko=ko, suicide=suicide)))
    seen = {(str(game), game.to_move if ko == Ko.SITUATIONAL else 0)}
    for choice in choices:
        move = pick(game, choice)
        game.play(move)
        key = (str(game), game.to_move if ko == Ko.SITUATIONAL else 0)
        assert move == PASS or key not in seen
        seen.add(key)
        if game.finished:
            game = Game(GameStart(3, 2, Rules(ko=ko, suicide=suicide)))
            seen = {(str(game), game.to_move if ko == Ko.SITUATIONAL else 0)}


@LAWS
@given(SIZES, rules_of_play(), CHOICES)
def test_undo_takes_everything_back(size: tuple[int, int], rules: Rules, choices: list[int]) -> None:
    game = Game(GameStart(*size, rules))
    before = []
    for choice in choices:
        count = int(game.history["count"])
        before.append((game.state.tobytes(), game.history["table_index"].tobytes(), count))
        game.play(pick(game, choice))
        if game.finished:
            break
    forked = game.copy()
    while game.moves:
        game.undo()
        state, table, count = before.pop()
        assert game.state.tobytes() == state
        assert game.history["table_index"].tobytes() == table
        assert game.history["count"] == count
    assert forked.finished or len(forked.moves) == len(choices)


@LAWS
@given(rules_of_play(), CHOICES)
def test_rules_do_not_know_directions(rules: Rules, choices: list[int]) -> None:
    game, mirrored = Game(GameStart(4, 3, rules)), Game(GameStart(3, 4, rules))

    def turned(point: int) -> int:
        return PASS if point == PASS else int(point_at(y_of(point), 3 - x_of(point)))

    for choice in choices:
        assert {turned(point) for point in game.legal_moves()} == set(mirrored.legal_moves())
        move = pick(game, choice)
        game.play(move)
        mirrored.play(turned(move))
        assert game.result == mirrored.result
        if game.finished:
            break


def test_recent_moves_and_boards_are_kept() -> None:
    game = Game(GameStart(5, 5))
    game.play("C3")
    first = game.state["colour"].copy()
    game.play("C4")
    second = game.state["colour"].copy()
    game.play("pass")
    state = game.state
    assert list(state["recent_point"][:4]) == [PASS, point_at(2, 1), point_at(2, 2), -1]
    assert list(state["recent_colour"][:4]) == [BLACK, WHITE, BLACK, EMPTY]
    np.testing.assert_array_equal(state["earlier_colour"][0], second)
    np.testing.assert_array_equal(state["earlier_colour"][1], first)


def test_ladder_maps_grow_old() -> None:
    game = Game(GameStart(5, 5))
    for turn in range(2):
        game.state["ladder"][0, 21 + turn] = 1
        game.state["ladder_known"][0] = 1
        game.play("C3" if turn == 0 else "C4")
    state = game.state
    assert list(state["ladder_known"]) == [0, 1, 1]
    assert list(np.flatnonzero(state["ladder"][2])) == [21]
    assert list(np.flatnonzero(state["ladder"][1])) == [21, 22]


def test_state_alone_is_enough_to_search_from() -> None:
    """A search copies a root, plays on with the shared history, rewinds, and finds everything as it was."""
    game = Game.from_picture(".XO./X..O/.XO./....", Rules(ko=Ko.SITUATIONAL))
    fork = game.copy()
    root = game.state["history_count"]
    for move in (6 * STRIDE, STRIDE * 2 + 3, PASS, PASS):
        play.play(fork.state, game.history, move)
    assert fork.state["history_count"] > root
    keys.rewind(game.history, root)
    assert game.history.tobytes()[: game.history["key"].nbytes] != b""
    assert set(game.legal_moves()) == set(Game.from_picture(".XO./X..O/.XO./....", game.rules).legal_moves())


def test_full_history_ends_the_game() -> None:
    game = Game(GameStart(5, 5))
    number = 0
    while not keys.is_full(game.history, play.KEYS_PER_TURN):
        number += 1
        keys.add(game.history, np.uint64(number), 0)
    before = game.state["colour"].tobytes()
    assert not play.play(game.state, game.history, int(point_at(2, 2)))
    assert game.state["colour"].tobytes() == before
    assert game.state["finished"]
    assert game.state["no_result"]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=300), st.integers(0, 40))
@settings(max_examples=50, deadline=None)
def test_history_is_a_list_with_counts(steps: list[tuple[bool, int]], start: int) -> None:
    history: Any = Game(GameStart(2, 2)).history
    keys.rewind(history, 0)
    model: list[int] = []
    for grows, value in steps:
        # Keys that meet in few slots of the table, so that probe sequences overlap.
        key = np.uint64(value * 2**40 + value % 3)
        if grows or value > len(model):
            expected = sum(old == key for old in model[start:])
            assert keys.contains(history, key, start) == (expected > 0)
            assert keys.add(history, key, start) == expected
            model.append(int(key))
        else:
            keys.rewind(history, value)
            del model[value:]
        assert history["count"] == len(model)
    keys.rewind(history, 0)
    assert not history["table_index"].any()
