"""Whether what a device computes of a net is the net: its outputs on known positions beside those of float32.

Judged is what matters to a search: probabilities, the winrate, and points by how sure the net is of them. Rounding in
16 bits is judged by its mean and by the worst position but one, since one odd number is no reason to go on three times
as slowly; in 32 bits nothing is odd. Knows arrays only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from nets.evaluation.batch import Batch
from nets.evaluation.known_positions import KNOWN_ROWS
from nets.evaluation.outputs import SCORE_STDEV


@dataclass(frozen=True)
class Limits:
    """How far a quantity may be from float32."""

    mean: float
    """Over the known positions."""
    worst: float
    """On any of them, but ``odd``."""
    odd: int = 0
    """Positions that may be further off."""


FLOAT32: Final = Limits(mean=1e-3, worst=2e-3)
SIXTEEN_BITS: Final = Limits(mean=0.05, worst=0.15, odd=1)
"""Three times what sound nets were measured to have (docs/benchmarks.md); what is wrong is further off."""


def differences(found: Batch, expected: Batch, legal: npt.NDArray[np.bool_]) -> dict[str, npt.NDArray[np.float64]]:
    """By quantity, how far each known position is from what was expected, [K]; not a number where an output is none.

    The rows of ``found`` are those of ``expected`` (K rows) in turn; if a position occurs again, the largest counts.
    ``legal`` [K, L·L + 1] says which moves have a probability.
    """
    rows = np.arange(len(found.symmetry)) % len(expected.symmetry)
    chances = _chances(expected.policy, legal)
    spread = np.maximum(1.0, expected.score_stdev)
    scale = 1.0 + np.abs(expected.scalars[:, SCORE_STDEV:])
    by_row = {
        "policy": 0.5 * np.abs(_chances(found.policy, legal[rows]) - chances[rows]).sum(1),
        "winrate": 0.5 * np.abs(found.win_loss - expected.win_loss[rows]),
        "no result": np.abs(found.no_result - expected.no_result[rows]),
        "score": np.abs(found.score_mean - expected.score_mean[rows]) / spread[rows],
        "lead": np.abs(found.lead - expected.lead[rows]) / spread[rows],
        "deviation and errors": (np.abs(found.scalars - expected.scalars[rows])[:, SCORE_STDEV:] / scale[rows]).max(1),
        "ownership": np.abs(found.ownership - expected.ownership[rows]).mean(1),
    }
    return {name: _largest(values.astype(np.float64)) for name, values in by_row.items()}


def _largest(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """[K] the largest value of each position."""
    return np.array([values[position::KNOWN_ROWS].max() for position in range(KNOWN_ROWS)])


def objections(found: dict[str, npt.NDArray[np.float64]], limits: Limits) -> list[str]:
    """What is beyond the limits, in words; nothing for a sound device."""
    texts = []
    for name, values in found.items():
        mean, worst = float(values.mean()), float(np.sort(values)[-1 - limits.odd])
        if not (mean <= limits.mean and worst <= limits.worst):  # which not a number is not
            allowed = f"(allowed: {limits.mean}, {limits.worst})"
            texts.append(f"{name} by {mean:.3g} on average and {worst:.3g} on a position {allowed}")
    return texts


def _chances(logits: npt.NDArray[np.float32], legal: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Probabilities of the legal moves, 0 for the others."""
    logits = np.where(legal, logits, -np.inf).astype(np.float64)
    powers = np.exp(logits - logits.max(1, keepdims=True))
    shares: npt.NDArray[np.float64] = powers / powers.sum(1, keepdims=True)
    return shares
