"""Random numbers for kernels: a counter-based generator (Philox-4x32-10) and the distributions a search draws from.

A generator is a caller-owned uint64[2], (key, draws so far): copying it copies the stream, and a search is
reproducible from its seed alone. Sources: J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11 (2011);
G. Marsaglia and W. Tsang, "A simple method for generating gamma variables" (2000). All products stay below 2^64, so
nothing wraps around.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from common.kernels import njit

Generator = npt.NDArray[np.uint64]

_ROUNDS: Final = 10
_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_ONE = np.uint64(1)
_MANTISSA_SHIFT = np.uint64(11)
_DRAWS_PER_UNIT: Final = 1.0 / 9007199254740992.0  # 2^-53


def new_generators(count: int) -> Generator:
    """``count`` generators, uint64 [count, 2], all of key 0; `seed_generator` gives each its stream."""
    return np.zeros((count, 2), np.uint64)


@njit(cache=True, nogil=True)
def seed_generator(generator: Generator, seed: Any) -> None:
    """Start the stream of ``seed``, an np.uint64, in ``generator``, uint64[2], changed in place."""
    generator[0] = seed
    generator[1] = 0


@njit(cache=True, nogil=True)
def philox(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> tuple[Any, Any, Any, Any]:
    """Ten rounds of Philox-4x32 over a counter of four and a key of two 32-bit words, all held as uint64."""
    for _ in range(_ROUNDS):
        p0 = _MULTIPLIER_0 * c0
        p1 = _MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (p1 >> _HALF) ^ c1 ^ k0, p1 & _MASK, (p0 >> _HALF) ^ c3 ^ k1, p0 & _MASK
        k0 = (k0 + _WEYL_0) & _MASK
        k1 = (k1 + _WEYL_1) & _MASK
    return c0, c1, c2, c3


@njit(cache=True, nogil=True)
def next_uint64(generator: Generator) -> Any:
    """The next 64 random bits, as np.uint64."""
    count = generator[1]
    generator[1] = count + _ONE
    key = generator[0]
    zero = count ^ count
    w0, w1, _w2, _w3 = philox(count & _MASK, count >> _HALF, zero, zero, key & _MASK, key >> _HALF)
    return (w1 << _HALF) | w0


@njit(cache=True, nogil=True)
def uniform(generator: Generator) -> float:
    """Uniform in [0, 1), 53 bits."""
    return float(next_uint64(generator) >> _MANTISSA_SHIFT) * _DRAWS_PER_UNIT


@njit(cache=True, nogil=True)
def below(generator: Generator, bound: int) -> int:
    """Uniform integer in [0, bound)."""
    return min(bound - 1, int(uniform(generator) * bound))


@njit(cache=True, nogil=True)
def normal(generator: Generator) -> float:
    """Standard normal (Box and Muller; the sine half is not kept)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(generator)))
    return radius * math.cos(2.0 * math.pi * uniform(generator))


@njit(cache=True, nogil=True)
def log_gamma_variate(generator: Generator, shape: float) -> float:
    """Logarithm of a Gamma(shape, 1) variate; finite where the variate itself would underflow (small shapes)."""
    boosted = shape if shape >= 1.0 else shape + 1.0
    d = boosted - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(generator)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        if math.log(1.0 - uniform(generator)) < 0.5 * x * x + d - d * v + d * math.log(v):
            break
    log_variate = math.log(d * v)
    if shape < 1.0:
        log_variate += math.log(1.0 - uniform(generator)) / shape
    return log_variate


@njit(cache=True, nogil=True)
def dirichlet(generator: Generator, alphas: npt.NDArray[np.float64], count: int) -> None:
    """Replace ``alphas[:count]`` (all > 0) by one Dirichlet(alphas) draw, in place."""
    largest = -math.inf
    for i in range(count):
        alphas[i] = log_gamma_variate(generator, alphas[i])
        largest = max(largest, alphas[i])
    total = 0.0
    for i in range(count):
        alphas[i] = math.exp(alphas[i] - largest)
        total += alphas[i]
    for i in range(count):
        alphas[i] /= total


@njit(cache=True, nogil=True)
def choice(generator: Generator, weights: npt.NDArray[np.float64], count: int) -> int:
    """Index drawn in proportion to ``weights[:count]`` (>= 0); -1 if they sum to nothing."""
    total = 0.0
    for i in range(count):
        total += weights[i]
    left = uniform(generator) * total
    chosen = -1
    for i in range(count):
        if weights[i] > 0.0:
            chosen = i
            left -= weights[i]
            if left < 0.0:
                break
    return chosen
