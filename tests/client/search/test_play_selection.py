"""Play-selection values, LCB and the draw of the move: search.md 16.4 and 16.7."""

from __future__ import annotations

import math

import numpy as np
import pytest

from client.search.play_selection import (
    Children,
    apply_lcb,
    play_selection_values,
    prune_to_hindsight,
    search_entropy_and_surprise,
    temper_values,
)
from common.go.points import BLACK
from tests.client.search.helpers import GTP, SELFPLAY, children, node, record

UTILITIES = [0.080, 0.130, -0.050, -0.300, 0.020]
ROOT = {"weight": 118.0, "utility": 0.07, "utility_sq": 0.034, "own_utility": 0.05}


def table() -> tuple[Children, int]:
    return children([0.45, 0.30, 0.15, 0.06, 0.04], [60, 40, 12, 4, 1], UTILITIES, [0.030, 0.035, 0.040, 0.120, 0.0004])


def test_pruned_values_of_selfplay() -> None:
    rows, count = table()
    play_selection_values(node(**ROOT), rows, count, False, 0.0, record(SELFPLAY))
    assert rows.values.tolist() == [60, 40, 8, 1, 1]


@pytest.mark.parametrize(
    ("weight", "value"),
    [(32.0, 32), (32.00000000000001, 32), (31.99999999999999, 32), (32.001, 33), (1e-9, 1), (0.0, 0), (0.879, 1)],
)
def test_what_rounding_adds_to_a_weight_is_no_visit(weight: float, value: float) -> None:
    """Pruning rounds up: a move that would have deserved all of its weight keeps it, in whole visits."""
    rows, count = children([0.5, 0.5], [100, 40], [0.0, 1.0], [0.1, 1.1])  # the second is better than the best
    rows.weights[1] = weight
    prune_to_hindsight(rows, count, 0, 1.0, 1.0)
    assert rows.values[1] == value


def test_lcb_of_selfplay() -> None:
    rows, count = table()
    play_selection_values(node(**ROOT), rows, count, True, 0.0, record(SELFPLAY))
    np.testing.assert_allclose(rows.lower_bounds, [-0.019180, 0.023558, -0.333246, -0.893303, -3.355], atol=1e-6)
    np.testing.assert_allclose(rows.radii, [0.099180, 0.106442, 0.283246, 0.593303, 3.375], atol=1e-6)
    np.testing.assert_allclose(rows.values, [60, 104.129172, 8, 1, 1], atol=1e-6)


def test_values_of_gtp() -> None:
    rows, count = table()
    play_selection_values(node(**ROOT), rows, count, False, 0.0, record(GTP))
    assert rows.values.tolist() == [60, 40, 5, 0, 1]
    play_selection_values(node(**ROOT), rows, count, True, 0.0, record(GTP))
    np.testing.assert_allclose(rows.values, [60, 104.123178, 5, 0, 1], atol=1e-6)


def test_black_sees_the_mirror_image() -> None:
    rows, count = table()
    rows.utilities[:] = [-utility for utility in UTILITIES]
    root = node(**{**ROOT, "utility": -0.07, "own_utility": -0.05}, to_move=BLACK)
    play_selection_values(root, rows, count, True, 0.0, record(SELFPLAY))
    np.testing.assert_allclose(rows.values, [60, 104.129172, 8, 1, 1], atol=1e-6)


def test_scaling_up_to_a_largest_value() -> None:
    rows, count = table()
    rows.weights[:] = [4, 2, 1, 0, 0]
    rows.visits[:] = [4, 2, 1, 0, 0]
    play_selection_values(node(**ROOT), rows, count, False, 10.0, record(SELFPLAY))
    assert rows.values.max() == 10.0
    rows, count = table()
    play_selection_values(node(**ROOT), rows, count, False, 10.0, record(SELFPLAY))
    assert rows.values.max() == 60.0


def test_without_visits_the_policy_decides() -> None:
    rows, count = table()
    rows.weights[:] = 0
    rows.visits[:] = 0
    play_selection_values(node(**ROOT), rows, count, True, 0.0, record(SELFPLAY, chosen_move_prune=0.0))
    np.testing.assert_allclose(rows.values, rows.priors)


def test_buggy_lcb_never_prefers_the_first_child() -> None:
    for fixed, expected in ((True, 4.0 * 1.8), (False, 2.0)):
        rows, count = children([0.5, 0.5], [20, 20], [0.2, 0.0], [0.05, 0.05])
        rows.values[:] = [2.0, 4.0]
        apply_lcb(rows, count, 4.0, 1.0, record(SELFPLAY, use_non_buggy_lcb=fixed))
        excess = rows.lower_bounds[0] - rows.lower_bounds[1]
        ratio = (rows.radii[1] + excess) / (rows.radii[1] + 0.2 * excess)
        assert rows.values[0] == pytest.approx(4.0 * ratio**2 if fixed else expected)


@pytest.mark.parametrize(
    ("temperature", "below", "expected"),
    [
        (0.15, 1.0, [0.999978, 0.000022, 0, 0, 0]),
        (0.15, 0.1, [0.833149, 0.166630, 0.000221, 0, 0]),
        (0.5, 1.0, [0.959175, 0.038367, 0.002398, 0.000054, 0.000006]),
        (0.75, 1.0, [0.879362, 0.102851, 0.016198, 0.001291, 0.000298]),
        (0.75, 0.1, [0.806226, 0.161245, 0.029623, 0.002361, 0.000546]),
        (0.0, 1.0, [1, 0, 0, 0, 0]),
    ],
)
def test_move_temperature(temperature: float, below: float, expected: list[float]) -> None:
    weights = np.zeros(5)
    temper_values(np.array([400.0, 80.0, 20.0, 3.0, 1.0]), 5, temperature, below, weights)
    np.testing.assert_allclose(weights / weights.sum(), expected, atol=1e-6)


def test_entropy_and_surprise() -> None:
    rows, count = children([0.5, 0.25, 0.25], [3, 1, 0], [0, 0, 0], [0, 0, 0])
    rows.values[:] = [3.0, 1.0, 0.0]
    entropy, surprise = search_entropy_and_surprise(rows, count)
    assert entropy == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))
    assert surprise == pytest.approx(0.75 * math.log(1.5))
