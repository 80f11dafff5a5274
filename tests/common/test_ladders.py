"""Ladders: against a real KataGo, against pictures worked out by hand, and against the slow twin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from common.go import ladders
from common.go.points import BLACK, NUM_POINTS, WHITE, point_at
from tests.common import naive
from tests.common.fixtures import fixture_records
from tests.common.pictures import state_of
from tests.common.test_passalive import random_picture
from tests.oracles import records

SCRATCH = np.zeros(1, ladders.LADDER_SCRATCH)[0]
KATAGO_SCRATCH = np.zeros(1, ladders.LADDER_SCRATCH)[0]
"""Of another reader, for it alone."""
BITS = (ladders.LADDERED, 1 << BLACK, 1 << WHITE)


def solve(state: Any) -> Any:
    """The ladder map; the search must have left its board as it found it, and a board built from colours agrees."""
    ladder = np.full(NUM_POINTS, 9, np.int8)
    ladders.ladder_map(state, ladder, SCRATCH)
    stones = (state["colour"] == BLACK) | (state["colour"] == WHITE)
    heads = np.unique(state["chain_head"][stones])
    for field in ("chain_head", "chain_next"):
        assert np.array_equal(SCRATCH[field][stones], state[field][stones])
    for field in ("chain_liberties", "chain_size"):
        assert np.array_equal(SCRATCH[field][heads], state[field][heads])
    assert np.array_equal(SCRATCH["colour"], state["colour"])
    assert SCRATCH["ko_point"] == state["ko_point"]
    state["earlier_colour"][0], state["earlier_ko_point"][0] = state["colour"], state["ko_point"]
    earlier = np.full(NUM_POINTS, 9, np.int8)
    ladders.earlier_ladder_map(state, 1, earlier, SCRATCH)
    assert np.array_equal(earlier, ladder)
    return ladder


def marked(state: Any) -> list[set[tuple[int, int]]]:
    """Points (x, y) of laddered stones, of Black's working moves and of White's."""
    ladder = solve(state)
    points = [(x, y) for y in range(state["y_size"]) for x in range(state["x_size"])]
    return [{(x, y) for x, y in points if ladder[point_at(x, y)] & bit} for bit in BITS]


def check(recorded: Iterable[dict[str, Any]]) -> int:
    compared = 0
    for record in recorded:
        width = record["xSize"]
        found = [sorted(y * width + x for x, y in points) for points in marked(state_of(record["board"]))]
        keys = ("laddered", "workingMovesBlackToMove", "workingMovesWhiteToMove")
        assert found == [record[key] for key in keys], record["id"]
        compared += 1
    return compared


def test_our_own_choice_of_positions() -> None:
    assert check(fixture_records("ladders")) == 12


def test_every_position_of_the_oracle() -> None:
    assert check(records("ladders")) == 35


RUNS = "...... ..X... .XO... .X.... ...... ......"


def test_a_ladder_runs_to_the_edge_unless_a_stone_breaks_it() -> None:
    # Black at (3, 2): White's chain grows by (2, 3), (3, 3), (3, 4) ... From (2, 3) it gets three liberties at (3, 2).
    assert marked(state_of(RUNS)) == [{(2, 2)}, {(3, 2)}, set()]
    assert marked(state_of("...... ..X... .XO... .X.... ....O. ......"))[0] == set()


def test_the_attacker_does_not_begin_at_the_ko_point() -> None:
    state = state_of(RUNS)
    state["ko_point"] = point_at(3, 2)
    assert marked(state) == [set(), set(), set()]
    state["ko_point"] = point_at(2, 3)
    assert marked(state) == [{(2, 2)}, {(3, 2)}, set()]


def test_the_defender_may_retake_any_ko_at_the_root() -> None:
    # White's stone at (0, 1) is in atari and can take one stone at (1, 0).
    state = state_of(".XO. OXO. XO.. ....")
    free = marked(state)
    state["ko_point"] = point_at(0, 0)
    assert marked(state) == free


def test_an_empty_board_has_no_ladders() -> None:
    assert marked(state_of("..../..../....")) == [set(), set(), set()]


@pytest.mark.parametrize("seed", range(3))
def test_random_boards_equal_the_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    compared = with_ladders = 0
    while compared < 100:
        picture = random_picture(rng, rng.uniform(0.3, 0.8))
        if picture is None or len(picture) > 40:
            continue
        laddered, working = naive.ladders(naive.board_of(picture))
        found = marked(state_of(picture))
        assert found[0] == laddered, picture
        assert found[1] == {point for colour, point in working if colour == "X"}, picture
        assert found[2] == {point for colour, point in working if colour == "O"}, picture
        with_ladders += bool(laddered)
        compared += 1
    assert with_ladders > 30


# Boards on which KataGo may take a chain for escaped that is captured (rules.md 11): its liberty is itself a capture,
# and another capture seems to bring liberties enough.
SLIPS = (
    "OO.O/X.XX/.OOX/OO.O/OOXO/..XX/OOO.",
    ".OXX.O./.OO..OX/X...O.O/XO.XX../OOO.XXO",
    "OXX..XO/.XOOO../OXOX.O./XOO.XX./XXOO.../..OOXXO",
    "X.X./X.O./O.../X.X.",
    "XO.O.O/XO.X.O/..O..X/....XO/..XXXO/OXXXX./O..XX.",
    "OOX.../..O.X./OOXX.X",
)


def marked_as_katago(state: Any) -> list[set[tuple[int, int]]]:
    """The same as `marked` with all that KataGo's reader may take for escaped; at every age of the board."""
    found = []
    for age in range(3):
        ladder = np.full(NUM_POINTS, 9, np.int8)
        if age:
            state["earlier_colour"][age - 1], state["earlier_ko_point"][age - 1] = state["colour"], state["ko_point"]
        ladders.katago_ladder_map(state, age, ladder, KATAGO_SCRATCH)
        points = [(x, y) for y in range(state["y_size"]) for x in range(state["x_size"])]
        found.append([{(x, y) for x, y in points if ladder[point_at(x, y)] & bit} for bit in BITS])
    assert found[0] == found[1] == found[2]
    return found[0]


@pytest.mark.parametrize("picture", SLIPS)
def test_where_katago_may_take_a_chain_for_escaped(picture: str) -> None:
    board = naive.board_of(picture)
    for as_katago, found in ((False, marked(state_of(picture))), (True, marked_as_katago(state_of(picture)))):
        laddered, working = naive.ladders(board, as_katago)
        assert found[0] == laddered
        assert found[1:] == [{point for colour, point in working if colour == mover} for mover in "XO"]
    assert marked_as_katago(state_of(picture)) != marked(state_of(picture))


def test_elsewhere_katago_reads_as_we_do() -> None:
    rng = np.random.default_rng(0)
    compared = 0
    while compared < 60:
        picture = random_picture(rng, rng.uniform(0.3, 0.8))
        if picture is not None and len(picture) <= 40:
            assert marked_as_katago(state_of(picture)) == marked(state_of(picture))
            compared += 1
