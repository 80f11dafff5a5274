"""Targets of rows: the worked numbers of training-data.md, and the columns that a real KataGo wrote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common import derive
from tests.oracles import oracle_path


def score_distribution(score: float | None, length: int) -> np.ndarray:
    scores = np.array([0.0 if score is None else score])
    made: np.ndarray = derive.score_distributions(scores, np.array([score is not None]), length)[0]
    return made


CLEAN = ("068D2E26735BF995", "9743EDBE9FA406E4")


@pytest.mark.parametrize(
    ("area", "factors"),
    [(81, (0.0655, 0.1806, 0.4355)), (169, (0.0325, 0.0956, 0.2700)), (361, (0.0155, 0.0471, 0.1476))],
)
def test_horizons_of_the_specification(area: int, factors: tuple[float, float, float]) -> None:
    assert derive.horizon_factors(area) == pytest.approx(factors, abs=5e-5)


def test_td_targets_by_hand() -> None:
    values = np.array([[1.0], [0.0], [0.5]])
    # f = 1/4: turn 1: 1/4 * 0 + 3/4 * 1/2; turn 0: 1/4 * 1 + 3/4 * turn 1
    assert derive.td_targets(values, 0.25)[:, 0] == pytest.approx([0.25 + 0.75 * 0.375, 0.375])
    assert derive.td_targets(values, 1.0)[:, 0] == pytest.approx([1.0, 0.0])
    assert derive.td_targets(values, 0.0)[:, 0] == pytest.approx([0.5, 0.5])


def test_variance_time_by_hand() -> None:
    # steps of .5, -1, 2: after turn 0 they count 1, 2, 3 times; after turn 2 only the last, once
    assert derive.variance_times(np.array([0.0, 0.5, -0.5, 1.5])) == pytest.approx([0.25 + 2 + 12, 1 + 8, 4])


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (6.5, {6: 100}),
        (6.0, {5: 50, 6: 50}),
        (6.2, {5: 30, 6: 70}),
        (5.7, {5: 80, 6: 20}),
        (-0.5, {-1: 100}),
        (0.0, {-1: 50, 0: 50}),
        (-7.5, {-8: 100}),
    ],
)
def test_score_distribution_by_hand(score: float, expected: dict[int, int]) -> None:
    middle = 81 + 60
    bins = score_distribution(score, 9)
    assert {int(i) - middle: int(bins[i]) for i in np.flatnonzero(bins)} == expected


def test_score_distribution_beyond_its_ends_and_without_target() -> None:
    middle = 81 + 60
    assert score_distribution(-500.0, 9)[0] == 100
    assert score_distribution(500.0, 9)[2 * middle - 1] == 100
    assert list(score_distribution(None, 9)[middle - 1 : middle + 1]) == [50, 50]


@given(st.floats(-140, 140))
def test_score_distribution_keeps_sum_and_mean(score: float) -> None:
    bins = score_distribution(score, 9).astype(int)
    scores = np.arange(len(bins)) - 141 + 0.5
    assert bins.sum() == 100
    assert (bins * scores).sum() / 100 == pytest.approx(score, abs=0.005 + 1e-9)


def test_outcomes() -> None:
    def value(score: float, **kind: Any) -> list[float]:
        kind = {"is_no_result": False, "draw_white_wins": 0.3, "result_is_integer": True, **kind}
        return list(derive.outcome_value(score, **kind))

    assert value(0.0) == pytest.approx([0.3, 0.7, 0.0, -0.2])
    assert value(3.0) == pytest.approx([1.0, 0.0, 0.0, 2.8])
    assert value(-2.5, result_is_integer=False) == pytest.approx([0.0, 1.0, 0.0, -2.5])
    assert value(9.0, is_no_result=True) == [0.0, 0.0, 1.0, 0.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_surprise_weighting_keeps_the_sum(weights: list[float], random: Any) -> None:
    base = np.array(weights)
    policy = np.array([random.random() + 1e-3 for _ in weights])
    value = np.array([random.random() + 1e-3 for _ in weights])
    new = derive.surprise_weights(base, policy, value, policy_share=0.5, value_share=0.1)
    assert new.sum() == pytest.approx(base.sum())
    assert (new >= 0).all()


def test_surprise_weighting_by_hand() -> None:
    weights = np.array([1.0, 0.0, 1.0])
    policy = np.array([0.2, 1.0, 0.4])
    value = np.array([0.002, 0.5, 0.006])
    # S 2, mean policy .3, mean value .004: beta = .1 * .4; a = .2, 1 - .45, .4 (sum 1.15); b = .002, 0, .006
    expected = [
        0.46 + 0.5 * 2 * 0.2 / 1.15 + 0.04 * 2 * 0.25,
        0.5 * 2 * 0.55 / 1.15,
        0.46 + 0.5 * 2 * 0.4 / 1.15 + 0.04 * 2 * 0.75,
    ]
    new = derive.surprise_weights(weights, policy, value, policy_share=0.5, value_share=0.1)
    assert new == pytest.approx(expected)


def test_turns_that_may_not_exceed_their_weight() -> None:
    weights, surprises, none = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.2, 0.4, 2.0, 2.0]), np.zeros(4)
    # the mean is .3; turn 2 exceeds 1.5 times that by 1.55; alpha is a half, beta falls with the value surprise to 0
    may_exceed = np.array([True, True, True, False])
    found = derive.surprise_weights(weights, surprises, none, policy_share=0.5, value_share=0.1, may_exceed=may_exceed)
    total = 0.2 + 0.4 + 1.55
    assert found == pytest.approx([0.5 + 0.2 / total, 0.5 + 0.4 / total, 1.55 / total, 0.0])
    both = derive.surprise_weights(weights, surprises, none, policy_share=0.5, value_share=0.1)
    assert both[2] == both[3] == pytest.approx(1.55 / (total + 1.55))


def test_value_surprise_is_a_bounded_divergence() -> None:
    happened = np.array([[0.5, 0.5, 0.0, 0.0], [1.0, 0.0, 0.0, 3.0]])
    raw = np.array([[0.25, 0.75, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    expected = 0.5 * np.log(2) + 0.5 * np.log(2 / 3)
    assert derive.value_surprises(happened, raw) == pytest.approx([expected, 1.0])


def test_stochastic_rounding_keeps_the_expectation() -> None:
    random = np.random.default_rng(1)
    rounded = derive.stochastic_round(np.full(20000, -1.3), random)
    assert set(rounded) == {-2, -1}
    assert rounded.mean() == pytest.approx(-1.3, abs=0.02)


def test_katagos_td_targets_and_variance_time_follow_from_its_own_values() -> None:
    compared = 0
    for name in CLEAN:
        with np.load(oracle_path(f"vectors/selfplay/clean/{name}.npz")) as file:
            columns = file["globalTargetsNC"].astype(np.float64)
            areas = np.unpackbits(file["binaryInputNCHWPacked"][:, 0], axis=1).sum(axis=1)
        for game in np.unique(columns[:, 41:47], axis=0):
            rows = np.flatnonzero((columns[:, 41:47] == game).all(axis=1))
            rows = rows[np.argsort(columns[rows, 51])]
            turns = columns[rows, 51].astype(int)
            # the two files cut one game: only stretches without a gap up to the game's last turn can be recomputed
            last = columns[rows[-1], 28] == 0
            if not last or (np.diff(turns) != 1).any():
                continue
            white_to_move = turns % 2 == 1  # or the other way round: the sums do not care which side is called White
            now = derive.own_values(columns[rows, 16:20], white_to_move)
            end = derive.own_values(columns[rows[-1:], 0:4], white_to_move[-1:])
            values = np.concatenate([now, end])
            for factor, first in zip(derive.horizon_factors(int(areas[rows[0]])), (4, 8, 12), strict=True):
                own = derive.own_values(derive.td_targets(values, factor), white_to_move)
                np.testing.assert_allclose(columns[rows, first : first + 4], own, rtol=2e-6, atol=2e-6)
            spread = derive.variance_times(values[:, 0] - values[:, 1])
            np.testing.assert_allclose(columns[rows, 22], spread, rtol=1e-5, atol=1e-5)
            compared += len(rows)
    assert compared > 500


def test_katagos_score_distributions_follow_from_its_scores() -> None:
    compared = 0
    for path in [f"clean/{name}" for name in CLEAN] + ["full/DA6A99A477DB6BDE"]:
        with np.load(oracle_path(f"vectors/selfplay/{path}.npz")) as file:
            columns = file["globalTargetsNC"].astype(np.float64)
            bins = derive.score_distributions(columns[:, 20], columns[:, 27] > 0, 9)
            np.testing.assert_array_equal(bins, file["scoreDistrN"])
            compared += len(bins)
    assert compared == 73 + 600 + 226
