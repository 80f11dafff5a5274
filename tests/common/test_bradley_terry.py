"""Strengths against closed forms, against choix, and by the laws that the model has."""

from __future__ import annotations

import math

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.bradley_terry import VIRTUAL_DRAWS, PairResult, expected_score, strengths


def test_two_networks_closed_form() -> None:
    # 30 of 40 points and 4 virtual draws: odds (30 + 2) / (10 + 2).
    found = strengths(2, [None, 0], [PairResult(1, 0, 30, 40)])
    assert found.log_gamma[0] == 0
    assert found.log_gamma[1] == pytest.approx(math.log(32 / 12), abs=1e-9)
    p = 32 / 44
    assert found.error[1] == pytest.approx(1 / math.sqrt(44 * p * (1 - p)), rel=1e-9)


def test_never_lost_stays_finite() -> None:
    found = strengths(2, [None, 0], [PairResult(1, 0, 200, 200)])
    assert found.log_gamma[1] == pytest.approx(math.log(202 / 2), abs=1e-9)


def test_agrees_with_choix() -> None:
    rng = np.random.default_rng(3)
    true = np.array([0.0, 0.6, 1.1, 0.4, 2.0])
    wins, results = [], []
    for i in range(5):
        for j in range(i):
            points = int(rng.binomial(60, expected_score(true[i], true[j])))
            results.append(PairResult(i, j, points, 60))
            wins += [(i, j)] * points + [(j, i)] * (60 - points)
    parents = [None, 0, 1, 1, 2]
    for child in range(1, 5):
        parent = parents[child] or 0
        wins += [(child, parent)] * 2 + [(parent, child)] * 2
    expected = choix.opt_pairwise(5, wins, alpha=0.0)
    found = strengths(5, parents, results)
    np.testing.assert_allclose(found.log_gamma, expected - expected[0], atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 20)), max_size=20), st.randoms())
def test_strengths_predict_the_points_in_any_order(games: list[tuple[int, int, int]], random: object) -> None:
    results = [PairResult(a, b, float(p), 20.0) for a, b, p in games if a != b]
    parents = [None, 0, 1, 2, 3, 4]
    found = strengths(6, parents, results)
    assert np.isfinite(found.log_gamma).all()
    assert (found.error[1:] > 0).all()
    # Splitting results or naming the pair the other way round changes nothing.
    halves = [PairResult(r.second, r.first, (r.games - r.points) / 2, 10.0) for r in results] * 2
    np.testing.assert_allclose(strengths(6, parents, halves).log_gamma, found.log_gamma, atol=1e-8)
    # At the optimum every network has the points that its strength predicts.
    expected, actual = np.zeros(6), np.zeros(6)
    priors = [PairResult(c, c - 1, VIRTUAL_DRAWS / 2, VIRTUAL_DRAWS) for c in range(1, 6)]
    for r in results + priors:
        win = expected_score(found.log_gamma[r.first], found.log_gamma[r.second])
        expected[r.first] += r.games * win
        expected[r.second] += r.games * (1 - win)
        actual[r.first] += r.points
        actual[r.second] += r.games - r.points
    np.testing.assert_allclose(expected, actual, atol=1e-6)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (PairResult(0, 2, 1, 1), "between networks 0 and 2"),
        (PairResult(1, 1, 1, 1), "between networks 1 and 1"),
        (PairResult(0, 1, 2, 1), "2 points in 1 games"),
    ],
)
def test_refuses_nonsense(result: PairResult, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        strengths(2, [None, 0], [result])


def test_no_networks_and_one() -> None:
    assert strengths(0, [], []).log_gamma.shape == (0,)
    assert strengths(1, [None], []).error.tolist() == [0.0]
