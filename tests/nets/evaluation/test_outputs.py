"""Decoding of raw outputs by formulas in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nets.architecture.config import named
from nets.evaluation.outputs import SCALARS, decode_values, decoding_of, score_mean_square, short_term_error, softplus
from nets.files.grammar import ErrorFormula


@pytest.mark.parametrize("version", range(8, 18))
def test_decoding_by_formulas_in_float64(version: int) -> None:
    import dataclasses

    config = dataclasses.replace(named("b2c16"), version=version)
    raw = np.array([0.3, -0.2, 0.1, 0.7, -1.3, 0.4, 0.9, -0.6, 1.1])[: 7 if version == 8 else 9]
    inputs, scalars = np.zeros(19), np.zeros(len(SCALARS))
    win_loss, void = decode_values(raw, inputs, decoding_of(config), scalars)

    def plus(x: float) -> float:
        return math.log(1 + math.exp(x))

    share = np.exp(raw[:3]) / np.exp(raw[:3]).sum()
    value_error = score_error = turns = -1.0
    if version == 9:
        value_error, score_error = plus(-0.6), plus(1.1) * 10
    elif 10 <= version <= 13:
        value_error, score_error = math.sqrt(plus(-0.6) * 0.25), math.sqrt(plus(1.1) * 150)
    elif version >= 14:
        value_error, score_error = math.sqrt(plus(-0.3) ** 2 * 0.25), math.sqrt(plus(0.55) ** 2 * 150)
    if version >= 9:
        turns = plus(0.9) * 40
    assert win_loss == pytest.approx(share[0] - share[1])
    assert void == pytest.approx(share[2])
    left = 1 - share[2]
    expected = [14 * left, plus(-1.3) * 20, 8 * left, turns, value_error, score_error]
    assert scalars == pytest.approx(expected)
    square = score_mean_square(scalars[0], scalars[1], void)
    assert square == pytest.approx((14**2 + (plus(-1.3) * 20) ** 2) * left)
    inputs[6] = 1.0  # superko: every game has a result
    win_loss, void = decode_values(raw, inputs, decoding_of(config), scalars)
    assert win_loss == pytest.approx(math.tanh(0.25))
    assert void == 0.0
    inputs[9] = 1.0  # unless scored by territory
    assert decode_values(raw, inputs, decoding_of(config), scalars)[1] == pytest.approx(share[2])


def test_extreme_logits() -> None:
    assert softplus(800.0) == 800.0
    assert softplus(-800.0) == 0.0
    assert short_term_error(-90.0, 0.25, ErrorFormula.SQUARED_SOFTPLUS.value) >= 0.0
    scalars = np.zeros(6)
    raw = np.array([900.0, -900.0, 0.0, 0, 0, 0, 0, 0, 0])
    assert decode_values(raw, np.zeros(19), decoding_of(named("b2c16")), scalars) == (1.0, 0.0)
