"""The evaluation cache: what the net said of positions, so that it need not be asked again (search.md 13).

A table of a fixed number of entries, a power of two; a key's low bits say where its entry lies, and a new one takes the
place of what was there. An entry holds a row of the evaluator's outputs as it came, before temperature and noise, with
no logit where a move is illegal, and the ladders of the position, which the inputs of later ones show.

Two forms (`CacheForm`). A table belongs to one pool, whose rounds follow each other in one thread, so nothing locks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from client.search.tree import LadderRows, Outputs, Playouts
from common.by_reference import by_reference
from common.kernels import njit

NO_ENTRY: Final = -1

_KEY_BYTES: Final = 16
_ROW_BYTES: Final = 4  # of ladders

NO_LOGIT: Final = -math.inf
"""The logit of an illegal move in an entry."""


class CacheForm(IntEnum):
    """How evaluations are named, and with it what a game may owe to others."""

    OFF = 0
    """Every leaf is evaluated, in a symmetry drawn by its search."""
    INPUTS = 1
    """By all that the net is shown, in a symmetry that follows from it: whatever the size of the table and whoever
    filled it, a search with one leaf at a time finds the same."""
    SITUATION = 2
    """Without the moves before and in any symmetry, as KataGo does it: more hits, and a search depends on those before
    it. A root that is averaged over symmetries is evaluated anew."""


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """Which cache a pool has."""

    form: CacheForm
    max_bytes: int
    """What its table may take at most; it takes memory as entries come. Too little for an entry: none is kept."""
    max_entries: int = 2**40


NO_CACHE: Final = CacheSettings(CacheForm.OFF, 0)


@by_reference
class Cache(NamedTuple):
    """The table: E entries, a power of two, or none."""

    form: int  # a CacheForm
    keys: npt.NDArray[np.uint64]  # [E, 2] of the entry; both 0: there is none
    answers: Outputs  # [max(E, 2)] rows
    ladders: npt.NDArray[np.uint32]  # [E, L] `LadderRows`
    hits: npt.NDArray[np.int64]  # [1] evaluations that were found so far


def new_cache(settings: CacheSettings, outputs: Outputs, *, ownership: bool) -> Cache:
    """An empty cache for evaluations like those in ``outputs``, the arrays of a batch; with ownership or without."""
    if not ownership:
        outputs = outputs._replace(ownership=outputs.ownership[:, :0].copy())
    length = math.isqrt(outputs.policy.shape[1])
    each = _KEY_BYTES + _ROW_BYTES * length + sum(array.itemsize * array.size // len(array) for array in outputs)
    fitting = min(settings.max_bytes // each, settings.max_entries)
    entries = 0 if settings.form == CacheForm.OFF or fitting < 1 else 1 << (fitting.bit_length() - 1)
    return Cache(
        form=int(settings.form),
        keys=np.zeros((entries, 2), np.uint64),
        answers=_rows_like(outputs, max(entries, 2)),
        ladders=np.zeros((entries, length), np.uint32),
        hits=np.zeros(1, np.int64),
    )


def _rows_like(outputs: Outputs, rows: int) -> Outputs:
    """``rows`` rows in arrays of the same layouts as those of ``outputs``, so that kernels take either.

    Single numbers that lie in columns of one array do so again; of fewer than two rows numpy would not tell them apart.
    """
    columns = sum(not array.flags.c_contiguous for array in outputs)
    table = np.zeros((rows, columns + 1), np.float32)
    arrays: dict[str, Any] = {}
    column = 0
    for name, array in outputs._asdict().items():
        if array.flags.c_contiguous:
            arrays[name] = np.zeros((rows, *array.shape[1:]), array.dtype)
        else:
            arrays[name] = table[:, column]
            column += 1
    return Outputs(**arrays)


@njit(cache=True, nogil=True)
def _entry_of(cache: Cache, first: Any, second: Any) -> int:
    """Where the answer under a key has its place, or NO_ENTRY: it is not to be kept."""
    entries = cache.keys.shape[0]
    if entries == 0 or (first == 0 and second == 0):
        return NO_ENTRY
    return int(np.int64(first & np.uint64(entries - 1)))


@njit(cache=True, nogil=True)
def find_entry(cache: Cache, first: Any, second: Any) -> int:
    """The row of the answer under a key of two np.uint64, or NO_ENTRY."""
    entry: Any = np.int64(_entry_of(cache, first, second))
    if entry != NO_ENTRY and (cache.keys[entry, 0] != first or cache.keys[entry, 1] != second):
        return NO_ENTRY
    return int(entry)


@njit(cache=True, nogil=True)
def keep_answer(cache: Cache, playouts: Playouts, row: int, outputs: Outputs, ladder: LadderRows) -> None:
    """Make an entry of batch row ``row``, a leaf with the ladder map ``ladder``, under the key that it was given."""
    first = playouts.keys[row, 0]
    second = playouts.keys[row, 1]
    entry: Any = np.int64(_entry_of(cache, first, second))
    if entry == NO_ENTRY:
        return
    cache.keys[entry, 0] = first
    cache.keys[entry, 1] = second
    answers = cache.answers
    logits = answers.policy[entry]
    legal = playouts.legal[row]
    for position in range(logits.shape[0]):
        logits[position] = outputs.policy[row, position] if legal[position] else NO_LOGIT
    answers.win_loss[entry] = outputs.win_loss[row]
    answers.no_result[entry] = outputs.no_result[row]
    answers.score_mean[entry] = outputs.score_mean[row]
    answers.score_stdev[entry] = outputs.score_stdev[row]
    answers.lead[entry] = outputs.lead[row]
    answers.short_term_win_loss_error[entry] = outputs.short_term_win_loss_error[row]
    answers.short_term_score_error[entry] = outputs.short_term_score_error[row]
    answers.variance_time[entry] = outputs.variance_time[row]
    for position in range(answers.ownership.shape[1]):
        answers.ownership[entry, position] = outputs.ownership[row, position]
    for y in range(ladder.shape[0]):
        cache.ladders[entry, y] = ladder[y]


@njit(cache=True, nogil=True)
def read_entry(cache: Cache, entry: int, legal: npt.NDArray[np.int8], ladder: LadderRows) -> None:
    """Write which moves are legal at the position of an entry, and which of its stones are in a ladder."""
    logits = cache.answers.policy[entry]
    for position in range(legal.shape[0]):
        legal[position] = logits[position] != NO_LOGIT
    for y in range(ladder.shape[0]):
        ladder[y] = cache.ladders[entry, y]


def clear_cache(cache: Cache) -> None:
    """Forget everything; the counts stay."""
    cache.keys[:] = 0
