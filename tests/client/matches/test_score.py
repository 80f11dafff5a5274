"""Scores of matches: errors by pairs, Elo, and what the sequential test promises."""

from __future__ import annotations

import math

import numpy as np
import pytest

from client.matches.score import Score, SequentialTest, elo, expected_share


def score_of(*pairs: tuple[float, float]) -> Score:
    score = Score()
    for pair, points in enumerate(pairs):
        for game, each in enumerate(points):
            score.add(2 * pair + game, each)
    return score


def test_errors_are_those_of_pairs() -> None:
    # every opening decides for Black: the players are exactly equal, and the error is that of the two added games
    certain = score_of(*[(1.0, 0.0)] * 50)
    assert certain.share == 0.5
    assert certain.standard_error == pytest.approx(math.sqrt(0.25 + 0.25) / 102)
    # the same points in independent games
    alone = Score()
    for number in range(0, 200, 2):
        alone.add(number, float(number % 4 == 0))
    assert alone.games == 100
    assert alone.standard_error == pytest.approx(math.sqrt(102 * 0.25) / 102)


def test_a_score_in_words() -> None:
    score = score_of((1.0, 1.0), (1.0, 0.5), (0.0, 1.0))
    assert (score.wins, score.draws, score.losses) == (4, 1, 1)
    assert score.share == pytest.approx(0.75)
    # units 2, 1.5, 1 of two games each, 1 and 0 of one; mean 5.5 / 8
    mean = 5.5 / 8
    square = sum((points - 2 * mean) ** 2 for points in (2, 1.5, 1)) + (1 - mean) ** 2 + mean**2
    assert score.standard_error == pytest.approx(math.sqrt(square) / 8)
    assert score.describe().startswith("4 won, 1 drawn, 1 lost: 75.0 ± ")
    assert "Elo +191 (95 %: " in score.describe()


def test_elo_and_back() -> None:
    assert elo(0.5) == 0
    assert elo(1.0) == math.inf
    assert elo(0.0) == -math.inf
    assert elo(10 / 11) == pytest.approx(400)
    for difference in (-250.0, -1.0, 0.0, 37.5, 800.0):
        assert elo(expected_share(difference)) == pytest.approx(difference)


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    random, held, matches = np.random.default_rng(1), 0, 1500
    for _ in range(matches):
        score = Score()
        for pair in range(60):  # openings that favour Black by different amounts, the first player a little better
            favour = random.normal(0.0, 0.25)
            for game, chance in enumerate((0.55 + favour, 0.55 - favour)):
                score.add(2 * pair + game, float(random.random() < min(max(chance, 0.0), 1.0)))
        low, high = score.interval
        held += low <= 0.55 <= high
    assert 0.93 < held / matches < 0.98


def play_until_decided(test: SequentialTest, truth: float, random: np.random.Generator) -> float | None:
    score = Score()
    share = expected_share(truth)
    for pair in range(4000):
        for game in range(2):
            score.add(2 * pair + game, float(random.random() < share))
        if pair % 8 == 0 and (verdict := test.verdict(score)) is not None:
            return verdict
    return None


def test_the_sequential_test_keeps_its_errors() -> None:
    test, random = SequentialTest(0.0, 80.0), np.random.default_rng(2)
    wrong = [sum(play_until_decided(test, truth, random) != truth for _ in range(150)) for truth in (0.0, 80.0)]
    # 5 % of 150 is 7.5, with a standard deviation of 2.7
    assert max(wrong) <= 16
    assert play_until_decided(test, 400.0, random) == 80.0
    assert play_until_decided(test, -400.0, random) == 0.0


def test_the_ratio_is_that_of_the_normal_law() -> None:
    test = SequentialTest(0.0, 50.0)
    score = score_of(*[(1.0, 0.0)] * 20, *[(1.0, 1.0)] * 15, *[(0.0, 0.5)] * 5)
    pairs = np.array([0.5] * 20 + [1.0] * 15 + [0.25] * 5)
    low, high = 0.5, 1 / (1 + 10 ** (-50 / 400))
    densities = [-((pairs - share) ** 2).sum() / (2 * pairs.var()) for share in (low, high)]
    assert test.log_likelihood_ratio(score) == pytest.approx(densities[1] - densities[0])
    assert test.bounds == pytest.approx((math.log(0.05 / 0.95), math.log(0.95 / 0.05)))


def test_one_sided_results_decide_too() -> None:
    test = SequentialTest(0.0, 100.0)
    assert test.verdict(score_of(*[(1.0, 1.0)] * 30)) == 100.0
    assert test.verdict(score_of(*[(0.0, 0.0)] * 30)) == 0.0
    assert test.verdict(score_of(*[(1.0, 1.0)] * 5)) is None


@pytest.mark.parametrize("values", [(10.0, 10.0), (20.0, 10.0)])
def test_differences_in_the_wrong_order(values: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="the lower first"):
        SequentialTest(*values)


@pytest.mark.parametrize("values", [(-200_000.0, 0.0), (0.0, math.inf), (-math.inf, 0.0), (0.0, 10_001.0)])
def test_differences_that_no_match_can_show(values: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="up to 10000"):
        SequentialTest(*values)


def test_the_largest_differences_can_be_tested() -> None:
    for test in (SequentialTest(-10_000.0, 0.0), SequentialTest(0.0, 10_000.0), SequentialTest(-10_000.0, 10_000.0)):
        assert test.verdict(score_of(*[(0.0, 0.0)] * 300)) == test.elo0
        assert test.verdict(score_of(*[(1.0, 1.0)] * 300)) == test.elo1
