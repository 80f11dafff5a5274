"""The random numbers: known answers of Philox, and the laws of the distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from client.search.rng import (
    Generator,
    below,
    choice,
    dirichlet,
    log_gamma_variate,
    new_generators,
    normal,
    philox,
    seed_generator,
    uniform,
)


def generator(seed: int) -> Generator:
    made: Generator = new_generators(1)[0]
    seed_generator(made, np.uint64(seed))
    return made


@pytest.mark.parametrize(
    ("words", "answer"),  # known-answer tests of Random123: counter, then key
    [
        ((0, 0, 0, 0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 6, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_known_answers(words: tuple[int, ...], answer: tuple[int, ...]) -> None:
    assert tuple(int(word) for word in philox(*(np.uint64(word) for word in words))) == answer


def test_a_seed_fixes_the_stream_and_copies_go_on_alike() -> None:
    first = generator(2**64 - 1)
    numbers = [uniform(first) for _ in range(3)]
    copied = first.copy()
    assert [uniform(copied) for _ in range(3)] == [uniform(first) for _ in range(3)]
    assert [uniform(generator(2**64 - 1)) for _ in range(1)] == numbers[:1]
    assert uniform(generator(1)) != uniform(generator(2))


def test_uniform_numbers() -> None:
    made = generator(3)
    numbers = np.array([uniform(made) for _ in range(20000)])
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    counts = np.histogram(numbers, 20, (0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # chi squared, 19 degrees of freedom, one in a thousand
    assert {below(made, 8) for _ in range(200)} == set(range(8))


def test_normal_numbers() -> None:
    made = generator(4)
    numbers = np.array([normal(made) for _ in range(20000)])
    assert numbers.mean() == pytest.approx(0, abs=0.025)
    assert numbers.var() == pytest.approx(1, abs=0.04)
    assert (np.abs(numbers) < 1.959964).mean() == pytest.approx(0.95, abs=0.006)


@pytest.mark.parametrize("shape", [0.03, 0.5, 1.0, 3.4])
def test_gamma_numbers(shape: float) -> None:
    made = generator(6)
    logs = np.array([log_gamma_variate(made, shape) for _ in range(20000)])
    assert np.isfinite(logs).all()
    assert np.exp(logs).mean() == pytest.approx(shape, abs=0.03 * math.sqrt(shape) + 0.003)
    assert np.exp(logs).var() == pytest.approx(shape, rel=0.25)


def test_tiny_dirichlet_shapes_still_sum_to_one() -> None:
    made = generator(7)
    for _ in range(100):
        alphas = np.full(362, 1e-3)
        dirichlet(made, alphas, 362)
        assert alphas.sum() == pytest.approx(1.0)


def test_choice_follows_its_weights() -> None:
    made = generator(8)
    weights = np.array([0.0, 3.0, 0.0, 1.0, 0.0])
    drawn = np.bincount([choice(made, weights, 5) for _ in range(8000)], minlength=5) / 8000
    np.testing.assert_allclose(drawn, [0, 0.75, 0, 0.25, 0], atol=0.02)
    assert choice(made, np.zeros(3), 3) == -1
