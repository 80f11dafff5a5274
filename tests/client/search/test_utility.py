"""Utilities against the worked numbers of search.md 2.2, 2.4, 2.5, 16.1, 16.5."""

from __future__ import annotations

import math

import numpy as np
import pytest

from client.search.utility import (
    dynamic_centre,
    evaluation_weight,
    expected_score_value,
    outcome_utility,
    score_stdev,
    score_table,
    score_utility,
    terminal_score_moments,
    uncertainty,
)
from tests.client.search.helpers import GTP, SELFPLAY, record


@pytest.mark.parametrize(
    ("mean", "stdev", "centre", "scale", "edge", "value"),
    [
        (5, 0, 0, 2, 19, 0.083287307),
        (5, 10, 0, 2, 19, 0.078535677),
        (5, 10, 3, 0.5, 19, 0.085433444),
        (-12.3, 20.5, -4, 0.75, 9, -0.247806017),
        (100, 30, 80, 0.5, 13, 0.424573957),
        (0.3, 0.2, 0, 0.5, 9, 0.042263301),
        (400, 5, 0, 2, 9, 0.971181320),
    ],
)
def test_expected_score_value(
    mean: float, stdev: float, centre: float, scale: float, edge: float, value: float
) -> None:
    assert expected_score_value(score_table(), mean, stdev, centre, scale, edge) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("mean", [-1e9, -430.0, 430.0, 1e9])
@pytest.mark.parametrize("stdev", [0.0, 1e9])
def test_scores_beyond_the_table_stay_within_it(mean: float, stdev: float) -> None:
    value = expected_score_value(score_table(), mean, stdev, 0.0, 0.5, 9.0)
    assert abs(value) <= 1.0
    assert math.copysign(1.0, value) == math.copysign(1.0, mean)


def test_score_table_is_odd_in_the_mean_and_read_only() -> None:
    table = score_table()
    assert table.shape == (842, 421)
    np.testing.assert_allclose(table[2:], -table[:1:-1], atol=1e-12)  # means i and 843 - i are opposite
    assert not table.flags.writeable


def test_utility_of_the_worked_example() -> None:
    parameters = record(SELFPLAY, no_result_utility_for_white=-0.1)
    centre = dynamic_centre(2.4, 9.0, parameters)
    assert centre == pytest.approx(1.8)
    assert score_stdev(2.4, 60.0) == pytest.approx(7.364781, abs=1e-6)
    value = outcome_utility(0.60 - 0.38, 0.02, parameters) + score_utility(
        score_table(), 2.4, 60.0, centre, 9.0, parameters
    )
    assert value == pytest.approx(0.2344398, abs=5e-8)


def test_centre_is_kept_near_the_expected_score() -> None:
    assert dynamic_centre(60.0, 19.0, record(SELFPLAY)) == pytest.approx(50.5)
    assert dynamic_centre(-60.0, 19.0, record(SELFPLAY)) == pytest.approx(-50.5)


@pytest.mark.parametrize(
    ("score", "draw", "mean", "mean_sq"),
    [(-3, 0.5, -3, 9.25), (-3, 0.3, -3.2, 10.45), (0, 0.5, 0, 0.25), (6.5, 0.5, 6.5, 42.25), (7, 0.5, 7, 49.25),
     (7, 0.3, 6.8, 46.45)],
)  # fmt: skip
def test_moments_of_a_final_score(score: float, draw: float, mean: float, mean_sq: float) -> None:
    assert terminal_score_moments(score, draw) == pytest.approx((mean, mean_sq))


@pytest.mark.parametrize(
    ("win_loss_error", "score_error", "error", "weight"),
    [(0.30, 6.0, 0.390376, 0.592943), (0.05, 1.5, 0.072594, 2.407458), (0.0, 0.0, 0.0, 8.0)],
)
def test_weight_of_an_uncertain_evaluation(
    win_loss_error: float, score_error: float, error: float, weight: float
) -> None:
    parameters = record(GTP, use_uncertainty=True)
    found = uncertainty(win_loss_error, score_error, 2.0, 1.6, 19.0, parameters)
    assert found == pytest.approx(error, abs=1e-6)
    assert evaluation_weight(found, parameters) == pytest.approx(weight, abs=1e-6)
