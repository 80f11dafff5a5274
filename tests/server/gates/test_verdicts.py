"""When a gate is decided, and what a game is worth: pure functions, no database."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.gates.verdicts import (
    Verdict,
    candidate_half_points,
    log_likelihood_ratio,
    needed_half_points,
    verdict,
)


@pytest.mark.parametrize(
    ("games", "required", "half_points"),
    [(200, 0.5, 200), (200, 0.55, 220), (201, 0.5, 201), (3, 0.5, 3), (100, 0.0, 0), (7, 1.0, 14), (10, 0.501, 11)],
)
def test_half_points_that_a_candidate_needs(games: int, required: float, half_points: int) -> None:
    assert needed_half_points(games, required) == half_points


@pytest.mark.parametrize(
    ("played", "half_points", "expected"),
    [
        (0, 0, Verdict.UNDECIDED),
        (100, 200, Verdict.PASSED),  # 100 wins of 200 games: the rest does not matter
        (100, 199, Verdict.UNDECIDED),
        (199, 199, Verdict.UNDECIDED),
        (200, 200, Verdict.PASSED),  # exactly the share passes
        (200, 199, Verdict.FAILED),
        (101, 0, Verdict.FAILED),  # 99 games cannot give 100 points
        (100, 0, Verdict.UNDECIDED),  # 100 games can
        (210, 190, Verdict.FAILED),  # games beyond the match
    ],
)
def test_verdict_of_a_match_of_200(played: int, half_points: int, expected: Verdict) -> None:
    assert verdict(games=200, required=0.5, played=played, half_points=half_points) is expected


@given(
    outcomes=st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=60),
    required=st.floats(0, 1, allow_nan=False),
)
def test_stopping_early_never_changes_the_verdict(outcomes: list[int], required: float) -> None:
    games = len(outcomes)
    final = verdict(games=games, required=required, played=games, half_points=sum(outcomes))
    assert final is not Verdict.UNDECIDED
    for played in range(games):
        early = verdict(games=games, required=required, played=played, half_points=sum(outcomes[:played]))
        assert early in (Verdict.UNDECIDED, final)


@pytest.mark.parametrize(
    ("is_black", "winner", "half_points"),
    [(True, "B", 2), (True, "W", 0), (False, "W", 2), (False, "B", 0), (True, "0", 1), (False, "-", 1)],
)
def test_points_of_a_game(is_black: bool, winner: str, half_points: int) -> None:
    assert candidate_half_points(candidate_is_black=is_black, winner=winner) == half_points


# ----------------------------------------------------------------------------------------------------------- sequential


def test_the_likelihoods_are_those_of_coins() -> None:
    share = 1 / (1 + 10 ** (-50 / 400))
    expected = 7.5 * math.log(share / 0.5) + 4.5 * math.log((1 - share) / 0.5)
    assert log_likelihood_ratio(12, 15, 50.0) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("played", "half_points", "expected"),
    [(40, 80, Verdict.PASSED), (40, 0, Verdict.FAILED), (40, 40, Verdict.UNDECIDED), (0, 0, Verdict.UNDECIDED)],
)
def test_a_sequential_match_ends_when_it_is_clear(played: int, half_points: int, expected: Verdict) -> None:
    assert verdict(games=400, required=0.5, played=played, half_points=half_points, sprt_elo=50.0) is expected


@pytest.mark.parametrize(("half_points", "expected"), [(40, Verdict.PASSED), (39, Verdict.FAILED)])
def test_a_sequential_match_that_stays_open_is_decided_by_its_share(half_points: int, expected: Verdict) -> None:
    assert verdict(games=40, required=0.5, played=40, half_points=half_points, sprt_elo=50.0) is expected


@pytest.mark.parametrize(("elo", "right"), [(0.0, Verdict.FAILED), (50.0, Verdict.PASSED)])
def test_a_sequential_match_seldom_errs(elo: float, right: Verdict) -> None:
    random = np.random.default_rng(8)
    share, wrong, games = 1 / (1 + 10 ** (-elo / 400)), 0, 0
    for _ in range(400):
        wins = played = 0
        found = Verdict.UNDECIDED
        while found is Verdict.UNDECIDED:
            played += 1
            wins += random.random() < share
            found = verdict(games=5000, required=0.5, played=played, half_points=2 * wins, sprt_elo=50.0)
        wrong += found is not right
        games += played
    assert wrong <= 32, "5 % and three standard deviations"
    assert games / 400 < 320, "a match of fixed length with these errors takes 520 games"
