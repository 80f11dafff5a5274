"""The fixed random keys that positions are hashed with (Zobrist hashing).

Knows nothing of rules. A position's key is the XOR of the keys of everything that distinguishes it. Keys that belong
to different kinds of entry in the one HISTORY carry different tags, so that they can not be taken for each other.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from common.go.points import NUM_POINTS

_MASK: Final = (1 << 64) - 1


def split_mix_64(seed: int, count: int) -> npt.NDArray[np.uint64]:
    """``count`` pseudo-random words of the SplitMix64 generator (Steele, Lea and Flood 2014) started at ``seed``."""
    words = np.empty(count, np.uint64)
    for index in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & _MASK
        word = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
        words[index] = word ^ (word >> 31)
    return words


_WORDS = split_mix_64(0x7E4E6E, 5 * NUM_POINTS + 4)

STONE_KEYS: Final = np.concatenate([np.zeros(NUM_POINTS, np.uint64), _WORDS[: 2 * NUM_POINTS]]).reshape(3, NUM_POINTS)
"""uint64 [colour, point]: a stone of BLACK or WHITE on ``point``; the row of EMPTY is 0."""

SECOND_SEED: Final = 0x5EA2C4
"""Of the second words of 128-bit names: the first of them are those of stones, `client.search.keys` has the others."""

SECOND_STONE_KEYS: Final = np.concatenate(
    [np.zeros(NUM_POINTS, np.uint64), split_mix_64(SECOND_SEED, 2 * NUM_POINTS)]
).reshape(3, NUM_POINTS)
"""uint64 [colour, point]: as `STONE_KEYS`, independent of them."""

BLOCK_KEYS: Final = _WORDS[2 * NUM_POINTS : 3 * NUM_POINTS].copy()
"""uint64 [point]: a ko block on ``point`` (rules.md 6)."""

KO_LOG_KEYS: Final = np.concatenate([np.zeros(NUM_POINTS, np.uint64), _WORDS[3 * NUM_POINTS : 5 * NUM_POINTS]]).reshape(
    3, NUM_POINTS
)
"""uint64 [colour, point]: an entry of the log of ko captures in a cleanup phase (rules.md 6)."""

TO_MOVE_KEYS: Final = np.array([0, _WORDS[5 * NUM_POINTS], _WORDS[5 * NUM_POINTS + 1]], np.uint64)
"""uint64 [colour]: whose turn it is."""

PASS_KEYS: Final = np.array([0, _WORDS[5 * NUM_POINTS + 2], _WORDS[5 * NUM_POINTS + 3]], np.uint64)
"""uint64 [colour]: an entry of the set of positions in which that colour has passed (rules.md 4.1)."""
