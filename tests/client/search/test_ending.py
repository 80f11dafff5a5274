"""The ending bonus: each row of the table of search.md 4.4, and what it does to play-selection values."""

from __future__ import annotations

import numpy as np
import pytest

from client.search.ending import ending_bonus, ending_points, pass_points, set_ending_points
from client.search.grow import new_forest
from client.search.play_selection import apply_lcb, play_selection_values
from client.search.root_moves import find_pass_alive
from client.search.tree import new_scratch
from client.search.utility import expected_score_value, score_table
from common.go.play import play
from common.go.points import BLACK, FIRST_CLEANUP, MAIN_PHASE, NUM_POINTS, PASS, SECOND_CLEANUP, WHITE, point_at
from common.go.rules import Scoring
from tests.client.search.helpers import GTP, SELFPLAY, children, node, record, vector
from tests.client.search.scripted import empty, position

NOBODY = np.zeros(NUM_POINTS, np.int8)
# White to move: (0, 0) captures; (4, 0) touches an opponent; (2, 2) is inside one chain; (0, 3) joins two
BOARD = [".XO..X", "OO....", "OO.O..", ".OOO..", "O....."]


def points(x: int, y: int, ownership: float, *, scoring: Scoring = Scoring.AREA, phase: int = MAIN_PHASE) -> float:
    state, _ = position(BOARD, to_move=WHITE)
    state["scoring_rule"], state["phase"] = int(scoring), phase
    return float(ending_points(state, point_at(x, y), ownership, 0.5, NOBODY))


@pytest.mark.parametrize(("scoring", "phase"), [(Scoring.AREA, MAIN_PHASE), (Scoring.TERRITORY, SECOND_CLEANUP)])
def test_where_stones_in_ones_own_area_cost_nothing(scoring: Scoring, phase: int) -> None:
    assert points(4, 3, -0.97, scoring=scoring, phase=phase) == pytest.approx(-0.5 * 0.02 / 0.05)
    assert points(4, 3, -1.0, scoring=scoring, phase=phase) == pytest.approx(-0.5)
    assert points(4, 3, -0.94, scoring=scoring, phase=phase) == 0.0
    assert points(0, 0, -1.0, scoring=scoring, phase=phase) == 0.0  # captures
    assert points(4, 3, 0.96, scoring=scoring, phase=phase) == pytest.approx(-0.5 * 0.01 / 0.05)
    assert points(4, 0, 1.0, scoring=scoring, phase=phase) == 0.0  # beside an opponent's stone
    assert points(2, 2, 1.0, scoring=scoring, phase=phase) == pytest.approx(-0.5)
    assert points(0, 3, 1.0, scoring=scoring, phase=phase) == 0.0  # joins two groups


@pytest.mark.parametrize("phase", [MAIN_PHASE, FIRST_CLEANUP])
def test_where_they_cost_a_point(phase: int) -> None:
    assert points(0, 0, -1.0, scoring=Scoring.TERRITORY, phase=phase) == pytest.approx(-0.5)
    assert points(4, 3, -0.97, scoring=Scoring.TERRITORY, phase=phase) == pytest.approx(-0.2)
    assert points(4, 0, 1.0, scoring=Scoring.TERRITORY, phase=phase) == 0.0
    assert points(2, 2, 0.97, scoring=Scoring.TERRITORY, phase=phase) == pytest.approx(-0.2)


def test_joining_pass_alive_groups_is_idle_too() -> None:
    state, _ = position(["X.X.X", "XXXXX", ".....", "OOOOO", "O.O.O"])
    scratch = new_scratch(5, 1, 1)
    find_pass_alive(state, scratch)
    loose, _ = position(["X.X", "X.X", "X.X"])
    assert ending_points(loose, point_at(1, 1), 1.0, 0.5, NOBODY) == 0.0
    alive = np.full(NUM_POINTS, BLACK, np.int8)
    assert ending_points(loose, point_at(1, 1), 1.0, 0.5, alive) == pytest.approx(-0.5)


def test_passes() -> None:
    state, _ = empty(3)
    assert pass_points(state, 0.5) == 0.0
    state["button_left"] = 1
    assert pass_points(state, 0.5) == -0.25
    state["button_left"], state["scoring_rule"] = 0, int(Scoring.TERRITORY)
    assert pass_points(state, 0.6) == pytest.approx(-0.4)
    state["phase"] = SECOND_CLEANUP
    assert pass_points(state, 0.6) == 0.0


@pytest.mark.parametrize("to_move", [BLACK, WHITE])
def test_points_of_a_root_are_whites(to_move: int) -> None:
    sign = 1.0 if to_move == WHITE else -1.0
    forest = new_forest(1, 2, 6)
    start = position(["....", "....", "...."], to_move=to_move)
    forest.states[0], forest.histories[0] = start
    forest.states[0]["scoring_rule"] = int(Scoring.TERRITORY)
    forest.parameters[0] = record(root_ending_bonus_points=0.3)
    forest.root_ownership[0, 7] = sign * 1.0
    forest.root_ownership[0, 14] = sign * -0.96
    set_ending_points(forest, 0, new_scratch(6, 1, 1), 6)
    expected = np.zeros(37)
    expected[7], expected[14], expected[36] = sign * -0.3, sign * -0.06, sign * -0.2
    np.testing.assert_allclose(forest.ending_points[0], expected, atol=1e-6)


def test_a_ko_on_the_board_leaves_the_pass_alone() -> None:
    forest = new_forest(1, 2, 4)
    start = position([".XO.", "XO.O", ".XO."])
    play(*start, point_at(2, 1))
    assert start[0]["ko_point"] > PASS
    forest.states[0], forest.histories[0] = start
    forest.states[0]["scoring_rule"] = int(Scoring.TERRITORY)
    forest.parameters[0] = record(root_ending_bonus_points=0.3)
    forest.root_ownership[0] = 1.0
    set_ending_points(forest, 0, new_scratch(4, 1, 1), 4)
    assert np.flatnonzero(forest.ending_points[0]).tolist() == [16]


def test_utility_of_the_points_by_the_childs_spread() -> None:
    forest = new_forest(1, 2, 9)
    forest.parameters[0] = record(SELFPLAY)
    forest.searches[0]["centre"], forest.searches[0]["sqrt_area"] = 1.8, 9.0
    forest.ending_points[0, 5] = -0.5
    child = node(mean=vector(win_loss=0.1, score_mean=2.4, score_mean_sq=60.0, lead=2.0))
    stdev = (60.0 - 2.4**2) ** 0.5

    def value(mean: float) -> float:
        table = score_table()
        return 0.05 * expected_score_value(table, mean, stdev, 0.0, 2.0, 9.0) + 0.30 * expected_score_value(
            table, mean, stdev, 1.8, 0.5, 9.0
        )

    assert ending_bonus(forest, 0, 5, child, score_table()) == pytest.approx(value(1.9) - value(2.4), abs=1e-12)
    assert ending_bonus(forest, 0, 6, child, score_table()) == 0.0


UTILITIES = [0.080, 0.130, -0.050, -0.300, 0.020]
ROOT = {"weight": 118.0, "utility": 0.07, "utility_sq": 0.034, "own_utility": 0.05}


def test_values_of_moves_with_a_bonus() -> None:
    """Worked example 4 with a bonus: like a utility where moves are compared, not where spread is measured."""
    columns = [0.45, 0.30, 0.15, 0.06, 0.04], [60, 40, 12, 4, 1], UTILITIES, [0.030, 0.035, 0.040, 0.120, 0.0004]
    rows, count = children(*columns)
    rows.bonuses[:5] = [-0.02, 0.0, 0.03, 0.0, 0.0]
    parameters = record(GTP)
    play_selection_values(node(**ROOT), rows, count, False, 0.0, parameters)
    scale = 6.247846
    limit = 0.08 - 0.02 + scale * 0.45 / 61
    wanted = [scale * prior / (limit - u) - 1 for prior, u in ((0.15, -0.02), (0.06, -0.3), (0.04, 0.02))]
    assert rows.values.tolist() == [60, 40, *(np.ceil(min(w, e)) for w, e in zip(wanted, (12, 4, 1), strict=True))]
    plain, _ = children(*columns)
    plain.values[:5] = rows.values[:5]
    apply_lcb(rows, count, 60.0, 1.0, parameters)
    apply_lcb(plain, count, 60.0, 1.0, parameters)
    np.testing.assert_allclose(rows.radii[:5], plain.radii[:5])
    np.testing.assert_allclose(rows.lower_bounds[:5] - plain.lower_bounds[:5], rows.bonuses[:5])
    assert rows.values[1] > plain.values[1]  # B outdoes A by more
