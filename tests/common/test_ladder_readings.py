"""Verdicts that a STATE carries from turn to turn are those of a search, and are dropped where one would look."""

from __future__ import annotations

import numpy as np
import pytest

from common.go.game import Game
from common.go.ladder_readings import (
    NO_READING,
    READINGS,
    begin_readings,
    cells_of,
    keep_reading,
    name_of,
    reading_of,
    verdict_of,
)
from common.go.points import BLACK, MAX_LENGTH, PASS, point_at
from common.go.start import GameStart
from common.go.state import MAX_READINGS
from tests.common.test_ladder_memo import LADDER, fresh_map_of, map_of, new_scratch


def searches_of(game: Game) -> int:
    """How many ladders are searched where no memo knows any."""
    scratch = new_scratch()
    map_of(game, scratch)
    return int(np.count_nonzero(scratch["memo"]["key"]))


@pytest.mark.parametrize(("x_size", "y_size", "turns"), [(4, 4, 40), (7, 7, 60), (9, 6, 60), (19, 19, 150)])
def test_maps_along_a_game_are_those_that_are_searched(x_size: int, y_size: int, turns: int) -> None:
    """Captures, passes and all; each board is asked twice, as after a change of the player to move."""
    random = np.random.default_rng(x_size)
    game = Game(GameStart(x_size, y_size))
    carried = 0
    while game.turn < turns and not game.finished:
        for _ in range(2):
            assert map_of(game, new_scratch()) == fresh_map_of(game)
        carried += int(np.count_nonzero(game.state["reading"][0]))
        moves = [move for move in game.legal_moves() if move != PASS]
        passes = not moves or (game.state["consecutive_passes"] == 0 and random.random() < 0.05)
        game.play(PASS if passes else int(random.choice(moves)))
    assert carried > 0


def test_only_a_stone_where_the_search_looked_has_it_made_again() -> None:
    """The ladder of LADDER in the lower right of a larger board, whose upper left corner is beyond its box."""
    rows = ["." * 11] * 4 + ["...." + row for row in LADDER.split("/")]
    game = Game.from_picture("/".join(rows))
    assert searches_of(game) > 0
    for move in (PASS, "B9"):
        game.play(move)
        assert searches_of(game) == 0
    game.play("H2")
    assert searches_of(game) > 0


def test_no_more_readings_are_kept_than_there_is_room_for() -> None:
    """Sixteen stones in atari that may run fill a STATE; more than that are searched anew each turn."""
    tile = ["..O.", ".OXO", ".O..", "...."]
    game = Game.from_picture("/".join(tile[y % 4] * 4 + "..." for y in range(19)))
    scratch = new_scratch()
    assert map_of(game, scratch) == fresh_map_of(game)
    assert np.count_nonzero(game.state["reading"][0]) == MAX_READINGS
    kept = scratch["readings"]["found"].copy()
    keep_reading(scratch["readings"], 1)
    assert np.array_equal(scratch["readings"]["found"], kept)


@pytest.mark.parametrize(("x_size", "y_size"), [(7, 7), (9, 9), (13, 13), (19, 19), (2, 19), (19, 3)])
def test_a_reading_falls_where_a_point_of_its_cells_changes(x_size: int, y_size: int) -> None:
    """Every point has one cell; on boards of at most 51 points no other point has it."""
    game = Game(GameStart(x_size, y_size))
    readings = np.zeros(1, READINGS)[0]
    rows = np.zeros(MAX_LENGTH, np.int64)
    random = np.random.default_rng(x_size)
    for x, y in random.integers((x_size, y_size), size=(12, 2)).tolist():
        rows[:] = 0
        rows[y] = 1 << x
        cells = cells_of(rows, x_size, y_size)
        assert cells.bit_count() == 1
        name = name_of(point_at(x, y), point_at(x, y) + 1, PASS)
        reading = reading_of(name, 2 * cells + 1)
        assert verdict_of(reading)
        assert reading > 0
        for other_y in range(y_size):
            for other_x in range(x_size):
                state = np.array([game.state])[0]
                state["reading"][1] = NO_READING
                state["reading"][1][0] = reading
                state["earlier_colour"][0] = state["colour"]
                state["earlier_colour"][0][point_at(other_x, other_y)] = BLACK
                begin_readings(state, readings)
                rows[:] = 0
                rows[other_y] = 1 << other_x
                is_same_cell = cells_of(rows, x_size, y_size) == cells
                assert readings["known_count"] == (0 if is_same_cell else 1), (x, y, other_x, other_y)
                if x_size * y_size <= 51:
                    assert is_same_cell == ((x, y) == (other_x, other_y))
