"""Random draws of a game by what they are for: each follows from the game's seed, the turn and the purpose alone.

So a game that is forked, or saved and gone on with, draws what it would have drawn, without the state of a generator.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.games.playing import Purpose
from client.search.rng import philox
from common.go.symmetry import NUM_SYMMETRIES
from common.kernels import njit


class Draw(IntEnum):
    """What is drawn; the turn is 0 where a whole game is meant."""

    SETUP = 0
    """All of a game's beginning (`client.games.beginning`)."""
    LIMITS = 1
    """How a turn is searched."""
    ROWS = 3
    """Copies of rows, and what differs between them."""
    SYMMETRIES = 4
    """In which symmetry the nets see each position."""
    FORKS = 5
    """What goes on from a finished game, and the seeds of that."""
    SEKI = 6
    """Whether a new game goes on near the end of another."""
    POSITION = 7
    """At which position of a file a new game begins."""
    AGAIN = 8
    """Which turns of a finished game are searched again."""
    HAS_SIDE_POSITION = 9
    """Whether a line leaves the game at a turn."""
    SIDE_POSITIONS = 10
    """The moves of that line, and how far it goes."""
    SIDE_ROWS = 11
    """As `ROWS`, of side positions."""
    HAS_LEAD = 12
    """Whether a turn's lead is estimated."""
    HAS_SIDE_LEAD = 13
    """The same of a side position; the turn is its number."""
    NET = 14
    """Whether a game looks for a newer network after a turn's move."""
    SEARCH = 16
    """And on: the seeds of searches, one stream for each `Purpose`."""


_MASK: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)
_DRAWS_PER_UNIT: Final = 2.0**-64
_SEARCH: Final = int(Draw.SEARCH)


def game_seed(seed: int, number: int) -> int:
    """The seed of game ``number`` of a run or a match."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])


def generator(seed: int, turn: int, draw: Draw) -> np.random.Generator:
    """A generator for many draws."""
    return np.random.default_rng([seed, turn, draw])


def search_seed(seed: int, turn: int, purpose: Purpose) -> int:
    """The seed of a turn's search for ``purpose``, 64 bits."""
    return int(search_bits(np.uint64(seed), turn, int(purpose)))


def fork_seed(seed: int, number: int) -> int:
    """The seed of the fork ``number``, from 0, of the game of ``seed``; 63 bits."""
    return int(draw_bits(np.uint64(seed), number + 1, int(Draw.FORKS))) >> 1


def symmetry_salt(seed: int) -> int:
    """What the searches of a game tell `SearchPool.start`: the same in all, so that one finds what another kept."""
    return int(draw_bits(np.uint64(seed), 0, int(Draw.SYMMETRIES))) % NUM_SYMMETRIES


@njit(cache=True, nogil=True)
def coin(seed: Any, turn: int, draw: int, probability: float) -> bool:
    """True with ``probability``; the only draw of its stream. ``seed`` is an np.uint64."""
    return bool(draw_bits(seed, turn, draw) * _DRAWS_PER_UNIT < probability)


def chosen_turns(seed: int, first: int, end: int, draw: Draw, probability: float) -> npt.NDArray[np.bool_]:
    """[end - first] the `coin` of each turn from ``first`` to before ``end``."""
    chosen = np.zeros(end - first, np.bool_)
    if probability > 0.0:
        _choose_turns(np.uint64(seed), first, int(draw), probability, chosen)
    return chosen


@njit(cache=True, nogil=True)
def _choose_turns(seed: Any, first: int, draw: int, probability: float, chosen: npt.NDArray[np.bool_]) -> None:
    for index in range(chosen.shape[0]):
        chosen[index] = coin(seed, first + index, draw, probability)


@njit(cache=True, nogil=True)
def search_bits(seed: Any, turn: int, purpose: int) -> Any:
    """`search_seed` as an np.uint64; ``seed`` is one."""
    return draw_bits(seed, turn, _SEARCH + purpose)


@njit(cache=True, nogil=True)
def draw_bits(seed: Any, turn: int, draw: int) -> Any:
    """The first 64 bits of a stream, as np.uint64; ``seed`` is one."""
    zero = seed ^ seed
    w0, w1, _w2, _w3 = philox(np.uint64(turn), np.uint64(draw), zero, zero, seed & _MASK, seed >> _HALF)
    return (w1 << _HALF) | w0
