"""Candidates of the root, and its policy under hints and avoided moves: small boards, by hand (search.md 4.4, 5)."""

from __future__ import annotations

import numpy as np
import pytest

from client.search.grow import new_forest
from client.search.guidance import EVERYWHERE, NO_GUIDANCE, Avoided, Guidance, all_but, write_guidance
from client.search.root_moves import (
    favour_hint,
    find_candidates,
    find_pass_alive,
    has_ban,
    maps_to_itself,
    opponent_only_passes,
    rescale_avoided,
)
from client.search.tree import Forest, new_scratch
from common.go.play import play
from common.go.points import BLACK, PASS, WHITE, point_at
from common.go.symmetry import FLIP_X, FLIP_Y, TRANSPOSE
from tests.client.search.helpers import record
from tests.client.search.scripted import position


def candidates(
    start: tuple[np.void, np.void], length: int, guidance: Guidance = NO_GUIDANCE, **parameters: bool
) -> list[str]:
    """Rows of the board with + at the root's candidates."""
    forest = forest_of(start, length, guidance, **parameters)
    find_candidates(forest, 0, new_scratch(length, 1, 1), length)
    if not forest.searches[0]["limits_root"]:
        return []
    assert forest.candidates[0, length * length]
    width, height = int(start[0]["x_size"]), int(start[0]["y_size"])
    board = forest.candidates[0, : length * length].reshape(length, length)[:height, :width]
    return ["".join("+" if each else "." for each in row) for row in board]


def forest_of(
    start: tuple[np.void, np.void], length: int, guidance: Guidance = NO_GUIDANCE, **parameters: bool
) -> Forest:
    forest = new_forest(1, 2, length)
    forest.states[0], forest.histories[0] = start
    forest.parameters[0] = record(None, **parameters)
    write_guidance(forest, 0, guidance, length)
    return forest


def test_black_looks_from_the_upper_right_and_white_from_the_lower_left() -> None:
    empty = ["....."] * 5
    assert candidates(position(empty), 5, root_symmetry_pruning=True) == [
        "....+",
        "...++",
        "..+++",
        ".....",
        ".....",
    ]
    assert candidates(position(empty, to_move=WHITE), 5, root_symmetry_pruning=True) == [
        ".....",
        ".....",
        "+++..",
        "++...",
        "+....",
    ]


def test_rectangles_do_not_transpose_and_lie_in_a_corner_of_the_tensor() -> None:
    assert candidates(position(["...."] * 3), 5, root_symmetry_pruning=True) == ["..++", "..++", "...."]


def test_one_axis_of_a_board_that_is_symmetric_about_it() -> None:
    rows = ["...", "X.X", "..."]
    assert candidates(position(rows), 3, root_symmetry_pruning=True) == [".++", ".++", "..."]
    assert candidates(position(["X..", "...", "..O"]), 3, root_symmetry_pruning=True) == ["+++", ".++", "..+"]
    assert candidates(position(["X..", "O..", "..."]), 3, root_symmetry_pruning=True) == []
    assert candidates(position(rows), 3) == []


def test_avoided_points_stand_for_nobody() -> None:
    avoid = [Avoided(BLACK, point_at(4, 0)), Avoided(BLACK, point_at(3, 1)), Avoided(WHITE, point_at(2, 2))]
    avoid += [Avoided(BLACK, point_at(x, y)) for x, y in ((1, 1), (3, 3), (1, 3))]
    found = candidates(position(["....."] * 5), 5, Guidance(avoid=avoid), root_symmetry_pruning=True)
    # the corner below stands for the avoided one; the whole orbit of (3, 1) is avoided, so nobody stands for it
    assert found == [".....", ".+.++", "..+++", ".+.+.", "....+"]


def test_a_ko_forbids_symmetry_pruning() -> None:
    rows = [".XO.", "XO.O", ".XO."]
    start = position(rows)
    assert maps_to_itself(start[0], FLIP_Y)
    assert not maps_to_itself(start[0], FLIP_X)
    assert not has_ban(*start)
    assert candidates(start, 4, root_symmetry_pruning=True) == ["++++", "++++", "...."]
    play(*start, point_at(2, 1))
    assert has_ban(*start)
    assert candidates(start, 4, root_symmetry_pruning=True) == []


def test_cleanup_marks_break_symmetry() -> None:
    state, _ = position(["..."] * 3)
    assert maps_to_itself(state, TRANSPOSE)
    state["second_cleanup_start"][point_at(1, 0)] = BLACK
    assert not maps_to_itself(state, TRANSPOSE)
    assert maps_to_itself(state, FLIP_X)


ALIVE = [".X.X.", "XXXXX", ".....", "OOOOO", ".O.O."]


def test_nobody_plays_in_decided_areas_once_the_opponent_only_passes() -> None:
    start = position(ALIVE, to_move=WHITE)
    for point in (PASS, point_at(0, 2), PASS, point_at(4, 2), PASS, point_at(2, 2)):
        play(*start, point)  # White passes, Black fills
        assert not opponent_only_passes(start[0])
    play(*start, PASS)
    assert opponent_only_passes(start[0])
    scratch = new_scratch(5, 1, 1)
    find_pass_alive(start[0], scratch)
    area = [[int(scratch.area[point_at(x, y)]) for x in range(5)] for y in range(5)]
    assert area[0] == area[1] == [BLACK] * 5
    assert area[3] == area[4] == [WHITE] * 5
    found = candidates(start, 5, root_prune_useless_moves=True)
    assert found[0] == found[1] == found[3] == found[4] == "....."
    assert candidates(start, 5) == []
    play(*start, point_at(1, 2))
    assert start[0]["passes_in_turn"].tolist() == [0, 0, 4]
    assert not opponent_only_passes(start[0])


def test_four_passes_of_a_colour_are_needed() -> None:
    start = position(ALIVE, to_move=WHITE)
    for point in (point_at(1, 2), PASS, PASS, PASS, point_at(3, 2), PASS, PASS, PASS):
        play(*start, point)
    assert start[0]["passes_in_turn"].tolist() == [0, 4, 1]
    assert opponent_only_passes(start[0])
    start = position(ALIVE, to_move=WHITE)
    for point in (point_at(1, 2), point_at(2, 2), PASS, PASS, point_at(3, 2), PASS, PASS, PASS):
        play(*start, point)
    assert start[0]["passes_in_turn"].tolist() == [0, 3, 1]
    assert not opponent_only_passes(start[0])


def test_policy_of_moves_that_are_not_avoided() -> None:
    policy = np.array([0.5, 0.3, -1, 0.1, 0.1], np.float32)
    rescale_avoided(policy, np.array([1, 0, 0, 0, 0], np.int16))
    np.testing.assert_allclose(policy, [0.5, 0.6, -1, 0.2, 0.2], rtol=1e-6)
    rescale_avoided(policy, np.array([1, 1, 1, 1, 1], np.int16))
    np.testing.assert_allclose(policy, [0.5, 0.6, -1, 0.2, 0.2], rtol=1e-6)


@pytest.mark.parametrize(
    ("hint", "expected"),
    [(1, [0.49, 0.314, -1, 0.196]), (2, [0.5, 0.3, -1, 0.2]), (-1, [0.5, 0.3, -1, 0.2])],
)
def test_a_hint_takes_a_fiftieth_of_everybody(hint: int, expected: list[float]) -> None:
    policy = np.array([0.5, 0.3, -1, 0.2], np.float32)
    favour_hint(policy, hint)
    np.testing.assert_allclose(policy, expected, rtol=1e-6)


def test_allowed_moves_as_moves_to_avoid() -> None:
    avoided = all_but([point_at(0, 0), PASS], WHITE, 2, 3, until_depth=4)
    assert avoided == tuple(Avoided(WHITE, point_at(x, y), 4) for y in range(3) for x in range(2) if (x, y) != (0, 0))
    assert all_but([point_at(0, 0)], WHITE, 2, 3)[-1] == Avoided(WHITE, PASS, EVERYWHERE)


def test_what_guidance_writes_and_when_a_tree_no_longer_fits() -> None:
    forest = forest_of(position(["..."] * 3), 5)
    search = forest.searches[0]
    assert not search["avoids"]
    assert not write_guidance(forest, 0, NO_GUIDANCE, 5)
    avoid = [Avoided(BLACK, point_at(1, 2), 2), Avoided(BLACK, point_at(1, 2), 99_999), Avoided(WHITE, PASS, 1)]
    assert write_guidance(forest, 0, Guidance(avoid=avoid, rescale_avoided=True), 5)
    assert search["avoids"]
    assert search["rules_inside"]
    assert search["rescales_avoided"]
    assert forest.avoid_until[0, 0, 11] == EVERYWHERE
    assert forest.avoid_until[0, 1, 25] == 1
    assert np.count_nonzero(forest.avoid_until) == 2
    assert not write_guidance(forest, 0, Guidance(avoid=avoid), 5)
    assert write_guidance(forest, 0, Guidance(avoid=avoid[:1]), 5)
    assert write_guidance(forest, 0, NO_GUIDANCE, 5)
    assert not forest.avoid_until.any()
    assert write_guidance(forest, 0, Guidance(hint=PASS), 5)
    assert search["hint"] == 25
