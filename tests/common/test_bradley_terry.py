"""Strengths against closed forms, against choix, by the laws that the model has, and against known truths."""

from __future__ import annotations

import math

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common import factors
from common.bradley_terry import NO_PARENT, VIRTUAL_DRAWS, Pairs, Strengths, expected_score, strengths

ELO = 400 / math.log(10)
Line = tuple[int, int, float, float]
"""First, second, points of the first, games."""


def rated(parents: list[int], lines: list[Line]) -> Strengths:
    return strengths(np.array(parents), Pairs.of(lines))


def line_of_nets(count: int) -> list[int]:
    return [NO_PARENT, *range(count - 1)]


def test_two_networks_closed_form() -> None:
    # 30 of 40 points and 4 virtual draws: odds (30 + 2) / (10 + 2).
    found = rated([NO_PARENT, 0], [(1, 0, 30, 40)])
    assert found.log_gamma[0] == 0
    assert found.log_gamma[1] == pytest.approx(math.log(32 / 12), abs=1e-9)
    p = 32 / 44
    assert found.error[1] == pytest.approx(1 / math.sqrt(44 * p * (1 - p)), rel=1e-9)


def test_never_lost_stays_finite() -> None:
    found = rated([NO_PARENT, 0], [(1, 0, 200, 200)])
    assert found.log_gamma[1] == pytest.approx(math.log(202 / 2), abs=1e-9)


@pytest.mark.parametrize("count", [5, 30])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_agrees_with_choix_to_one_elo(monkeypatch: pytest.MonkeyPatch, count: int, is_sparse: bool) -> None:
    monkeypatch.setattr(factors, "DENSE_UP_TO", 0 if is_sparse else 10_000)
    monkeypatch.setattr(factors, "CROWDED", 10.0)
    rng = np.random.default_rng(3)
    true = rng.normal(0, 0.8, count).cumsum()
    lines: list[Line] = []
    wins: list[tuple[int, int]] = []
    for i in range(count):
        for j in range(max(0, i - 4), i):
            points = int(rng.binomial(20, expected_score(true[i], true[j])))
            lines.append((i, j, points, 20))
            wins += [(i, j)] * points + [(j, i)] * (20 - points)
    parents = line_of_nets(count)
    for child in range(1, count):
        wins += [(child, parents[child])] * 2 + [(parents[child], child)] * 2
    expected = choix.opt_pairwise(count, wins, alpha=0.0)
    found = rated(parents, lines)
    np.testing.assert_allclose(found.log_gamma * ELO, (expected - expected[0]) * ELO, atol=0.5)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 20)), max_size=20))
def test_strengths_predict_the_points_in_any_order(games: list[tuple[int, int, int]]) -> None:
    lines: list[Line] = [(a, b, float(p), 20.0) for a, b, p in games if a != b]
    parents = line_of_nets(6)
    found = rated(parents, lines)
    assert np.isfinite(found.log_gamma).all()
    assert (found.error[1:] > 0).all()
    # Splitting results or naming the pair the other way round changes nothing.
    halves: list[Line] = [(b, a, (n - points) / 2, 10.0) for a, b, points, n in lines] * 2
    np.testing.assert_allclose(rated(parents, halves).log_gamma, found.log_gamma, atol=1e-8)
    # At the optimum every network has the points that its strength predicts.
    expected, actual = np.zeros(6), np.zeros(6)
    for a, b, points, n in [*lines, *[(c, c - 1, VIRTUAL_DRAWS / 2, VIRTUAL_DRAWS) for c in range(1, 6)]]:
        win = expected_score(found.log_gamma[a], found.log_gamma[b])
        expected[[a, b]] += n * win, n * (1 - win)
        actual[[a, b]] += points, n - points
    np.testing.assert_allclose(expected, actual, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.1, 50.0))
def test_the_beginning_does_not_matter(seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    parents = np.array(line_of_nets(12))
    games = [(a, int(b)) for a in range(12) for b in rng.choice(12, 3) if a != b]
    lines: list[Line] = [(a, b, int(rng.integers(0, 31)), 30) for a, b in games]
    anywhere = strengths(parents, Pairs.of(lines), rng.normal(0, spread, 12))
    found = strengths(parents, Pairs.of(lines))
    np.testing.assert_allclose(anywhere.log_gamma, found.log_gamma, atol=1e-7)
    np.testing.assert_allclose(anywhere.error, found.error, rtol=1e-6, atol=1e-9)


def test_truth_lies_within_two_errors_as_often_as_it_should() -> None:
    """5,040 networks whose steps are drawn from the prior: four draws say that a child wins as Beta(2, 2) has it."""
    rng = np.random.default_rng(1)
    inside = total = 0
    for _ in range(60):
        count = 85
        parents = np.array([NO_PARENT, *[max(0, child - 1 - rng.integers(0, 2)) for child in range(1, count)]])
        step = rng.beta(2, 2, count)
        true = np.zeros(count)
        for child in range(1, count):
            true[child] = true[parents[child]] + np.log(step[child] / (1 - step[child]))
        lines = []
        for a in range(count):
            for b in rng.integers(max(0, a - 8), max(1, a), 4):
                if a != b:
                    games = int(rng.integers(1, 80))
                    lines.append((a, b, rng.binomial(games, expected_score(true[a], true[b])), games))
        found = strengths(parents, Pairs.of(lines))
        inside += int((np.abs(found.log_gamma - true)[1:] <= 2 * found.error[1:]).sum())
        total += count - 1
    assert total >= 5000
    assert 0.93 <= inside / total <= 0.975, inside / total


def test_fifty_networks_one_at_a_time_are_the_whole() -> None:
    rng = np.random.default_rng(5)
    parents = np.array(line_of_nets(60))
    lines: list[Line] = [(a, b, int(rng.integers(0, 21)), 20) for a in range(60) for b in range(max(0, a - 3), a)]
    known = strengths(parents[:10], Pairs.of([line for line in lines if max(line[:2]) < 10]))
    for count in range(11, 61):
        start = np.append(known.log_gamma, known.log_gamma[parents[count - 1]])
        known = strengths(parents[:count], Pairs.of([line for line in lines if max(line[:2]) < count]), start)
    whole = strengths(parents, Pairs.of(lines))
    np.testing.assert_allclose(known.log_gamma, whole.log_gamma, atol=1e-8)
    np.testing.assert_allclose(known.error, whole.error, rtol=1e-7)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ((0, 2, 1, 1), "between networks 0 and 2"),
        ((1, 1, 1, 1), "between networks 1 and 1"),
        ((0, -1, 1, 1), "between networks 0 and -1"),
        ((0, 1, 2, 1), "2 points in 1 games"),
    ],
)
def test_refuses_nonsense(line: Line, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        rated([NO_PARENT, 0], [line])


@pytest.mark.parametrize("parent", [1, 2, -2])
def test_refuses_impossible_parents(parent: int) -> None:
    with pytest.raises(ValueError, match=f"network 1 cannot have the parent {parent}"):
        rated([NO_PARENT, parent], [])


def test_no_networks_and_one() -> None:
    assert rated([], []).log_gamma.shape == (0,)
    assert rated([NO_PARENT], []).error.tolist() == [0.0]
