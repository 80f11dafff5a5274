"""Draws of a game against the worked numbers of selfplay.md 14."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.games import draws


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_size_distribution_of_the_specification() -> None:
    sizes = draws.size_probabilities([9, 13], [1, 3], 0.1)
    assert sizes == pytest.approx({(9, 9): 0.23125, (13, 13): 0.73125, (9, 13): 0.01875, (13, 9): 0.01875})


def test_square_boards_alone() -> None:
    assert draws.size_probabilities([7, 9, 7], [1, 2, 1], 0.0) == pytest.approx({(7, 7): 0.5, (9, 9): 0.5})


def test_sizes_come_as_often_as_they_should() -> None:
    sizes = draws.size_probabilities([9, 13], [1, 3], 0.1)
    random = generator()
    drawn = [draws.draw_size(sizes, random) for _ in range(4000)]
    for size, probability in sizes.items():
        assert drawn.count(size) / 4000 == pytest.approx(probability, abs=0.03)


def test_komi_rounds_to_a_neighbour_in_proportion() -> None:
    random = generator()
    drawn = [draws.round_to_half(7.3, random) for _ in range(4000)]
    assert set(drawn) == {7.0, 7.5}
    assert drawn.count(7.5) / 4000 == pytest.approx(0.6, abs=0.03)
    assert draws.round_to_half(-6.5, random) == -6.5


def test_komi_stays_in_reach_of_the_board() -> None:
    assert draws.clip_komi(400.0, 81) == 101.0
    assert draws.clip_komi(-400.0, 81) == -101.0


@given(st.floats(-90, 90), st.floats(0, 40), st.booleans(), st.integers(0, 2**32))
def test_komi_is_in_half_points(base: float, stdev: float, allow_integer: bool, seed: int) -> None:
    komi = draws.komi_with_noise(base, stdev, 81, generator(seed), allow_integer=allow_integer)
    assert (2 * komi).is_integer()
    assert abs(komi) <= 101.5
    assert allow_integer or not komi.is_integer()


def test_komi_without_spread_is_its_base() -> None:
    assert draws.komi_with_noise(6.5, 0.0, 81, generator(), allow_integer=True) == 6.5


def test_spread_of_komi() -> None:
    def stdev(big: float, bigger: float) -> float:
        return draws.komi_stdev(generator(), stdev=1.0, big=(big, 12.0), bigger=(bigger, 45.0), area=81)

    assert stdev(0, 0) == pytest.approx(9 / 19)
    assert stdev(1, 0) == pytest.approx(12 * 9 / 19)
    assert stdev(1, 1) == pytest.approx(45 * 9 / 19)


def test_utilities_stay_in_range() -> None:
    random = generator()
    no_results = [draws.no_result_utility(0.8, 0.5, random) for _ in range(500)]
    draw_values = [draws.draw_white_wins(0.5, 1.0, random) for _ in range(500)]
    assert -1 <= min(no_results) < max(no_results) <= 1
    assert 0 <= min(draw_values) < max(draw_values) <= 1
    assert draws.no_result_utility(0.25, 0.0, random) == 0.25
    assert draws.draw_white_wins(0.5, 0.0, random) == 0.5


@pytest.mark.parametrize("shape", [1.0, 2.5])
def test_opening_lengths_have_their_mean(shape: float) -> None:
    random = generator()
    lengths = [draws.opening_length(random, mean=20.0, gamma_shape=shape) for _ in range(4000)]
    assert min(lengths) >= 0
    assert np.mean(lengths) == pytest.approx(19.5, abs=1.5)


def test_opening_moves_follow_the_policy_by_temperature() -> None:
    policy = np.array([0.8, -1.0, 0.2, 0.0])
    random = generator()
    cold = [draws.opening_position(policy, 0.5, random) for _ in range(4000)]
    assert cold.count(0) / 4000 == pytest.approx(0.64 / 0.68, abs=0.02)
    assert 1 not in cold
    rare = [draws.opening_position(policy, 1.0, random) for _ in range(40000)]
    assert 0 < rare.count(3) < 20  # only by the 1 in 5000 that ignores the policy
    assert 1 not in rare
