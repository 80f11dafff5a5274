"""Temperature and noise at the root: search.md 16.6."""

from __future__ import annotations

import numpy as np
import pytest

from client.search.rng import new_generators, seed_generator
from client.search.root_policy import (
    add_dirichlet_noise,
    apply_temperature,
    dirichlet_shares,
    even_shares,
    interpolate_by_turn,
    make_root_policy,
    policy_entropy,
)
from tests.client.search.helpers import SELFPLAY, record


@pytest.mark.parametrize(
    ("early", "late", "turn", "on_19", "on_9"),
    [
        (1.5, 1.1, 9, 1.388049, 1.3),
        (1.5, 1.1, 19, 1.3, 1.192587),
        (0.75, 0.15, 9, 0.582074, 0.45),
        (0.75, 0.15, 19, 0.45, 0.288881),
        (0.75, 0.15, 60, 0.217225, 0.155906),
    ],
)
def test_interpolation_by_turn(early: float, late: float, turn: int, on_19: float, on_9: float) -> None:
    assert interpolate_by_turn(early, late, 19.0, turn, 19.0) == pytest.approx(on_19, abs=1e-6)
    assert interpolate_by_turn(early, late, 19.0, turn, 9.0) == pytest.approx(on_9, abs=1e-6)


def test_temperature() -> None:
    policy = np.array([0.6, -1, 0.25, 0.1, 0, 0.04, 0.01], np.float32)
    apply_temperature(policy, 1.25)
    np.testing.assert_allclose(policy, [0.529864, -1, 0.263024, 0.126370, 0, 0.060714, 0.020028], atol=1e-6)


@pytest.mark.parametrize(
    ("policy", "shares"),
    [
        ((0.60, 0.39, 0.006, 0.003, 0.001), (0.311485, 0.311485, 0.177029, 0.1, 0.1)),
        ((0.6, 0.25, 0.1, 0.03, 0.015, 0.004, 0.001), (0.171429,) * 5 + (0.071429,) * 2),
        ((0.25, 0.25, 0.25, 0.25), (0.25,) * 4),
    ],
)
def test_shape_of_the_noise(policy: tuple[float, ...], shares: tuple[float, ...]) -> None:
    found = np.zeros(len(policy) + 1)
    assert dirichlet_shares(np.array((*policy, -1), np.float32), found) == len(policy)
    np.testing.assert_allclose(found[: len(policy)], shares, atol=1e-6)


def test_even_noise_spreads_the_concentration_of_the_paper() -> None:
    found = np.zeros(362)
    policy = np.full(362, 0.002, np.float32)
    policy[7] = -1
    assert even_shares(policy, found) == 361
    np.testing.assert_allclose(10.83 * found[:361], 0.03)
    assert found[361] == 0.0


@pytest.mark.parametrize(
    ("shaped", "shares"), [(True, (0.311485, 0.311485, 0.177029, 0.1, 0.1)), (False, (0.2, 0.2, 0.2, 0.2, 0.2))]
)
def test_noise_has_the_mean_and_spread_of_its_law(shaped: bool, shares: tuple[float, ...]) -> None:
    raw = np.array([0.60, 0.39, -1, 0.006, 0.003, 0.001], np.float32)
    wanted = np.array(shares)
    parameters = record(root_dirichlet_noise_shaped=shaped, root_dirichlet_noise_weight=1.0)
    generator = new_generators(1)[0]
    seed_generator(generator, np.uint64(5))
    draws = []
    for _ in range(4000):
        policy = raw.copy()
        add_dirichlet_noise(policy, parameters, generator, np.zeros(6))
        assert policy[2] == -1
        draws.append(policy[raw >= 0])
    found = np.array(draws)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(found.mean(axis=0), wanted, atol=0.01)
    np.testing.assert_allclose(found.var(axis=0), wanted * (1 - wanted) / 11.83, rtol=0.15)


def test_root_policy_does_what_its_parameters_say() -> None:
    raw = np.array([0.6, 0.25, 0.1, 0.04, 0.01], np.float32)
    generator = new_generators(1)[0]
    untouched = raw.copy()
    make_root_policy(untouched, 0, 9.0, record(), generator, np.zeros(5))
    assert (untouched == raw).all()
    assert generator[1] == 0
    heated = raw.copy()
    parameters = record(SELFPLAY, root_policy_temperature_early=1.25, root_policy_temperature=1.25)
    make_root_policy(heated, 7, 9.0, parameters, generator, np.zeros(5))
    np.testing.assert_allclose(heated, [0.529864, 0.263024, 0.126370, 0.060714, 0.020028], atol=1e-6)
    noised = raw.copy()
    make_root_policy(noised, 0, 9.0, record(root_noise_enabled=True), generator, np.zeros(5))
    assert noised.sum() == pytest.approx(1, abs=1e-6)
    assert (noised >= 0.75 * raw - 1e-6).all()
    assert not (noised == raw).all()


def test_policy_entropy_ignores_illegal_moves() -> None:
    assert policy_entropy(np.array([0.25, 0.25, -1, 0.25, 0.25, 0], np.float32)) == pytest.approx(np.log(4))
