"""The policy at the root of a search: temperature, then Dirichlet noise (search.md 5).

Policies are by position; illegal moves hold ILLEGAL_PRIOR and keep it.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from client.search.rng import dirichlet
from common.kernels import njit

FloatArray = npt.NDArray[np.float64]
Policy = npt.NDArray[np.float32]

_LARGEST_SHAPED_PRIOR: Final = 0.01
_TINY: Final = 1e-20
_STANDARD_EDGE: Final = 19.0


@njit(cache=True, nogil=True)
def interpolate_by_turn(early: float, late: float, halflife: float, turn: int, sqrt_area: float) -> float:
    """From ``early`` to ``late``, half of what is left every ``halflife`` turns of a 19x19 board."""
    share = 0.5 ** (turn / halflife * _STANDARD_EDGE / sqrt_area)
    return late + (early - late) * float(share)


@njit(cache=True, nogil=True)
def apply_temperature(policy: Policy, temperature: float) -> None:
    """Make the legal probabilities proportional to P^(1/temperature), in place."""
    largest = np.float32(0.0)
    for i in range(policy.shape[0]):
        largest = max(largest, policy[i])
    if largest <= 0.0:
        return
    total = 0.0
    for i in range(policy.shape[0]):
        if policy[i] > 0.0:
            policy[i] = (policy[i] / largest) ** (1.0 / temperature)
            total += policy[i]
    for i in range(policy.shape[0]):
        if policy[i] > 0.0:
            policy[i] /= total


@njit(cache=True, nogil=True)
def dirichlet_shares(policy: Policy, shares: FloatArray) -> int:
    """Fill ``shares`` with the shaped distribution over legal moves, in order of position; returns their number n.

    Half of the concentration is spread evenly, half over moves whose log policy lies above the mean.
    """
    count = 0
    mean = 0.0
    for i in range(policy.shape[0]):
        if policy[i] >= 0.0:
            shares[count] = math.log(min(_LARGEST_SHAPED_PRIOR, policy[i]) + _TINY)
            mean += shares[count]
            count += 1
    if count == 0:
        return 0
    mean /= count
    total = 0.0
    for i in range(count):
        shares[i] = max(0.0, shares[i] - mean)
        total += shares[i]
    for i in range(count):
        shares[i] = 1.0 / count if total <= 0.0 else 0.5 * shares[i] / total + 0.5 / count
    return count


@njit(cache=True, nogil=True)
def even_shares(policy: Policy, shares: FloatArray) -> int:
    """Fill ``shares`` with 1 / n for each of the n legal moves, as the paper spreads its noise; returns n."""
    count = 0
    for i in range(policy.shape[0]):
        if policy[i] >= 0.0:
            count += 1
    for i in range(count):
        shares[i] = 1.0 / count
    return count


@njit(cache=True, nogil=True)
def add_dirichlet_noise(
    policy: Policy,
    parameters: np.void,
    generator: npt.NDArray[np.uint64],
    noise: FloatArray,
) -> None:
    """Mix Dirichlet noise into ``policy``, in place; ``noise`` [P] is working space."""
    count = dirichlet_shares(policy, noise) if parameters["root_dirichlet_noise_shaped"] else even_shares(policy, noise)
    total_concentration = parameters["root_dirichlet_noise_total_concentration"]
    noise_weight = parameters["root_dirichlet_noise_weight"]
    for i in range(count):
        noise[i] *= total_concentration
    dirichlet(generator, noise, count)
    count = 0
    for i in range(policy.shape[0]):
        if policy[i] >= 0.0:
            policy[i] = (1.0 - noise_weight) * policy[i] + noise_weight * noise[count]
            count += 1


@njit(cache=True, nogil=True)
def make_root_policy(
    policy: Policy,
    turn: int,
    sqrt_area: float,
    parameters: np.void,
    generator: npt.NDArray[np.uint64],
    noise: FloatArray,
) -> None:
    """Turn the raw policy of the root into the one that the search uses, in place."""
    early = parameters["root_policy_temperature_early"]
    late = parameters["root_policy_temperature"]
    if early != 1.0 or late != 1.0:
        halflife = parameters["chosen_move_temperature_halflife"]
        apply_temperature(policy, interpolate_by_turn(early, late, halflife, turn, sqrt_area))
    if parameters["root_noise_enabled"]:
        add_dirichlet_noise(policy, parameters, generator, noise)


@njit(cache=True, nogil=True)
def policy_entropy(policy: Policy) -> float:
    """Entropy of the legal moves' probabilities, in nats."""
    entropy = 0.0
    for i in range(policy.shape[0]):
        if policy[i] > 0.0:
            entropy -= policy[i] * math.log(policy[i])
    return entropy
