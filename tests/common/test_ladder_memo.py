"""Verdicts from the memo of ladder searches are those of the search, whatever boards the memo has seen before."""

from __future__ import annotations

import numpy as np
import pytest

from common.go.game import Game
from common.go.ladder_memo import UNKNOWN, recall, search_key
from common.go.ladder_readings import NO_READING
from common.go.ladders import LADDER_SCRATCH, LADDERED, ladder_map
from common.go.points import BLACK, EMPTY, NUM_POINTS, PASS, WHITE, from_vertex
from common.go.start import GameStart

LADDER = "......./..O..../.OXO.../.O...../......./......./......."
"""Black's stone C5 can only extend to C4, and is driven down to the edge."""


def map_of(game: Game, scratch: np.void) -> list[int]:
    """The ladder map of the game's position."""
    ladder = np.zeros(NUM_POINTS, np.int8)
    ladder_map(game.state, ladder, scratch)
    found: list[int] = ladder.tolist()
    return found


def fresh_map_of(game: Game) -> list[int]:
    """The same by searches alone, nothing being known of this board or any other."""
    state = np.array([game.state])[0]
    state["reading"] = NO_READING
    ladder = np.zeros(NUM_POINTS, np.int8)
    ladder_map(state, ladder, new_scratch())
    found: list[int] = ladder.tolist()
    return found


def new_scratch() -> np.void:
    """A LADDER_SCRATCH that remembers nothing."""
    scratch: np.void = np.zeros(1, LADDER_SCRATCH)[0]
    return scratch


@pytest.mark.parametrize(
    ("x_size", "y_size", "turns", "games"), [(5, 5, 30, 12), (7, 7, 60, 12), (9, 6, 60, 6), (19, 19, 150, 1)]
)
def test_maps_are_those_without_memo(x_size: int, y_size: int, turns: int, games: int) -> None:
    """Games with many branches, as a search sees them: most chains come again among other stones."""
    shared = new_scratch()
    random = np.random.default_rng(x_size)
    for _ in range(games):
        game = Game(GameStart(x_size, y_size))
        while game.turn < turns and not game.finished:
            moves = [move for move in game.legal_moves() if move != PASS] or [PASS]
            for move in random.choice(moves, min(4, len(moves)), replace=False):
                game.play(int(move))
                assert map_of(game, shared) == fresh_map_of(game)
                game.undo()
            game.play(int(random.choice(moves)))


def test_a_stone_far_away_is_not_searched_again_and_a_breaker_is() -> None:
    """A ladder runs across the board: what lies on its way belongs to its footprint, a far corner does not."""
    scratch = new_scratch()
    game = Game.from_picture(LADDER)
    chain = from_vertex("C5", 7, 7)
    assert map_of(game, scratch)[chain] == LADDERED
    kept = np.count_nonzero(scratch["memo"]["key"])
    assert kept > 0
    game.play("G6")
    assert map_of(game, scratch)[chain] == LADDERED
    assert np.count_nonzero(scratch["memo"]["key"]) == kept
    game.undo()
    game.play("D2")
    assert map_of(game, scratch)[chain] == 0
    assert np.count_nonzero(scratch["memo"]["key"]) > kept


def test_every_further_stone_gives_the_map_without_memo() -> None:
    """The memo sees a board again with one more stone, at every point in turn and of either colour."""
    scratch = new_scratch()
    for to_move in (BLACK, WHITE):
        game = Game.from_picture(LADDER, to_move=to_move)
        for move in game.legal_moves():
            game.play(move)
            assert map_of(game, scratch) == fresh_map_of(game), move
            game.undo()


def test_nothing_is_recalled_where_a_footprint_holds_another_colour() -> None:
    """The verdict's key tells the stones beside the chain, and the footprint the others that the search met."""
    scratch = new_scratch()
    game = Game.from_picture(LADDER)
    map_of(game, scratch)
    memo = scratch["memo"]
    key = search_key(scratch, from_vertex("C5", 7, 7), memo)
    assert recall(scratch, key, memo) & 1 == 1
    for vertex, is_known in (("D2", False), ("G7", True)):
        point = from_vertex(vertex, 7, 7)
        scratch["colour"][point] = WHITE
        memo["rows_known"] = 0
        assert (recall(scratch, key, memo) != UNKNOWN) == is_known
        scratch["colour"][point] = EMPTY
