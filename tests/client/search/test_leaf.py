"""The softmax of a policy against numpy's in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from client.search.leaf import write_policy

UNITS = 8 * 2.0**-23
"""Relative error: a few units of the last place of single precision."""


def softmax(logits: np.ndarray, legal: np.ndarray, temperature: float) -> np.ndarray:
    """The policy in double precision, -1 where illegal."""
    powers = np.exp((logits.astype(np.float64) - logits[legal].max()) / temperature)
    return np.where(legal, powers / powers[legal].sum(), -1.0)


@pytest.mark.parametrize("positions", [2, 5, 50, 82, 362])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
@pytest.mark.parametrize("scale", [0.0, 1.0, 15.0])
def test_policy_is_the_softmax(positions: int, temperature: float, scale: float) -> None:
    random = np.random.default_rng(positions)
    for shift in (-300.0, 0.0, 40.0):
        logits = (scale * random.normal(size=positions) + shift).astype(np.float32)
        legal = random.random(positions) < 0.7
        legal[-1] = True
        logits[~legal] += 100  # counts for nothing
        policy = np.zeros(positions, np.float32)
        assert write_policy(logits, legal.astype(np.int8), temperature, policy)
        expected = softmax(logits, legal, temperature)
        exact = (expected < 0) | (expected > 1e-30)
        np.testing.assert_allclose(policy[exact], expected[exact], rtol=UNITS * (1 + scale / temperature))
        assert (policy[~exact] >= 0).all()
        assert (policy[~exact] < 1e-29).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_policy_is_told(bad: float) -> None:
    logits = np.zeros(50, np.float32)
    legal = np.ones(50, np.int8)
    logits[7] = bad
    policy = np.zeros(50, np.float32)
    assert not write_policy(logits, legal, 1.0, policy)
    legal[7] = 0
    assert write_policy(logits, legal, 1.0, policy)
    assert policy[7] == -1.0


def test_moves_without_hope_have_no_share() -> None:
    logits = np.array([0.0, -np.inf, -200.0, 0.0], np.float32)
    policy = np.zeros(4, np.float32)
    assert write_policy(logits, np.ones(4, np.int8), 1.0, policy)
    assert policy.tolist() == [0.5, 0.0, 0.0, 0.5]
