"""Weights of children: the worked example of search.md 16.3 and the table of 3.4."""

from __future__ import annotations

import numpy as np
import pytest

from client.search.weights import prune_noise, reweight, student_cdf, student_table
from tests.client.search.helpers import GTP, SELFPLAY, record

PRIORS = np.array([0.55, 0.15, 0.02])
UTILITIES = np.array([0.10, 0.12, -0.20])


@pytest.mark.parametrize(
    ("z", "value"),
    [(-3, 0.028841595), (-1, 0.195565741), (0.5, 0.674215739), (1, 0.804434259), (-60, 0), (60, 1), (-50, 0), (50, 1)],
)
def test_student_law(z: float, value: float) -> None:
    assert student_cdf(student_table(), z) == pytest.approx(value, abs=1e-9)


def test_noise_pruning_then_value_weighting() -> None:
    weights = np.array([30.0, 12.0, 8.0])
    total = prune_noise(weights, UTILITIES, PRIORS, 3, 50.0, record(GTP))
    assert total == pytest.approx(45.129549, abs=1e-6)
    np.testing.assert_allclose(weights, (30, 12, 3.129549), atol=1e-6)
    reweight(student_table(), weights, UTILITIES, 3, total, 0.0, 0.0, 0.25, np.zeros(3))
    np.testing.assert_allclose(weights, (30.159605, 12.141248, 2.828696), atol=1e-6)
    utility = (weights @ UTILITIES + 0.05) / (total + 1.0)
    assert utility == pytest.approx(0.0857839, abs=1e-7)


def test_value_weighting_alone() -> None:
    weights = np.array([30.0, 12.0, 8.0])
    exponent = record(SELFPLAY)["value_weight_exponent"]
    reweight(student_table(), weights, UTILITIES, 3, 50.0, 0.0, 0.0, exponent, np.zeros(3))
    np.testing.assert_allclose(weights, (31.134718, 12.537303, 6.327980), atol=1e-6)
    assert (weights @ UTILITIES + 0.05) / 51.0 == pytest.approx(0.0667128, abs=1e-7)


def test_small_weights_are_cut_and_the_total_restored() -> None:
    weights = np.array([60.0, 3.0, 0.5])
    reweight(student_table(), weights, UTILITIES, 3, 63.5, 0.0, 0.9375, 0.0, np.zeros(3))
    np.testing.assert_allclose(weights, np.array([60.0, 3.0, 0.0]) * 63.5 / 63.0)
    weights = np.array([60.0, 3.0, 0.5])
    reweight(student_table(), weights, UTILITIES, 3, 63.5, 0.75, 0.0, 0.0, np.zeros(3))
    np.testing.assert_allclose(weights, np.array([59.25, 2.25, 0.0]) * 63.5 / 61.5)


def test_nothing_happens_to_a_lone_child() -> None:
    weights = np.array([7.0])
    assert prune_noise(weights, UTILITIES, PRIORS, 1, 7.0, record(GTP)) == 7.0
    reweight(student_table(), weights, UTILITIES, 1, 7.0, 0.0, 0.0, 0.5, np.zeros(1))
    assert weights[0] == pytest.approx(7.0)
