"""Training rows: the one declaration of their arrays and columns, and their ``.npz`` file.

Knows names, types, shapes, units and admissible ranges of everything in a row, and how rows become a file and come back
(the archive itself: ``common/npz.py``). Does not know how a target is computed (``common/derive.py``) nor how
it enters a loss (``nets/data/targets.py``, ``nets/training/losses.py``).

Specification: training-data.md 1 to 3 (the arrays and columns), contribute-protocol.md 12 (ranges), features.md 2 and 5
(inputs). ``length`` is the edge of the net's tensor, area = length², a *position* is ``y * length + x``, the pass is
``area``. Every signed value is seen from the row's player to move.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from common import npz
from common.files import write_whole
from common.npz import Limits as Limits
from common.npz import RowsError as RowsError

Array = npt.NDArray[Any]

NUM_PLANES: Final = 22
NUM_GLOBAL_INPUTS: Final = 19
NUM_GLOBAL_TARGETS: Final = 80
NUM_GLOBAL_TARGETS_V2: Final = 64
"""Columns in a file of data format version 2 and older; readers append zeros."""
DATA_FORMAT_VERSION: Final = 3
"""What ``GlobalTarget.DATA_FORMAT_VERSION`` holds in rows that we write."""
DATA_FORMAT_VERSIONS: Final = (2, DATA_FORMAT_VERSION)
"""What files can be written in; version 2 has fewer columns, and does not say which rows were reanalysed."""

SCORE_MARGIN: Final = 60
"""The score distribution reaches from ``-(area + SCORE_MARGIN) + 0.5`` to ``area + SCORE_MARGIN - 0.5``."""
SCORE_PERCENT: Final = 100
"""Sum of the entries of one score distribution."""
Q_WIN_LOSS_SCALE: Final = 32000
Q_SCORE_SCALE: Final = 60
SCORING_SCALE: Final = 120
"""Units per point of ``ValueTarget.SCORING``."""


class InputPlane(IntEnum):
    """Planes of the net's input V7 (features.md 2); all hold 0 or 1."""

    ON_BOARD = 0
    OWN_STONE = 1
    OPP_STONE = 2
    ONE_LIBERTY = 3
    TWO_LIBERTIES = 4
    THREE_LIBERTIES = 5
    KO_BANNED = 6
    KO_BLOCKED = 7
    RESERVED = 8
    MOVE_1_AGO = 9
    MOVE_2_AGO = 10
    MOVE_3_AGO = 11
    MOVE_4_AGO = 12
    MOVE_5_AGO = 13
    LADDERED = 14
    LADDERED_1_AGO = 15
    LADDERED_2_AGO = 16
    LADDER_CAPTURE = 17
    OWN_AREA = 18
    OPP_AREA = 19
    ENCORE_START_OWN = 20
    ENCORE_START_OPP = 21


class GlobalInput(IntEnum):
    """Global inputs V7 (features.md 5)."""

    PASS_1_AGO = 0
    PASS_2_AGO = 1
    PASS_3_AGO = 2
    PASS_4_AGO = 3
    PASS_5_AGO = 4
    SELF_KOMI = 5
    KO_NOT_SIMPLE = 6
    KO_KIND = 7
    MULTI_STONE_SUICIDE = 8
    TERRITORY_SCORING = 9
    TAXED = 10
    GROUP_TAX = 11
    ENCORE = 12
    SECOND_ENCORE = 13
    PASS_WOULD_END_PHASE = 14
    HAS_PLAYOUT_DOUBLING = 15
    PLAYOUT_DOUBLING = 16
    BUTTON = 17
    KOMI_PARITY = 18


HISTORY_MOVES: Final = 5


class PolicyTarget(IntEnum):
    """Channels of ``Rows.policy_targets``; 1 in every entry where the target does not exist."""

    OWN = 0
    REPLY = 1


class ValueTarget(IntEnum):
    """Planes of ``Rows.value_targets`` (training-data.md 2); 0 outside the board."""

    OWNERSHIP = 0
    SEKI = 1
    FUTURE_NEAR = 2
    FUTURE_FAR = 3
    SCORING = 4


FUTURE_TURNS: Final = (8, 32)
"""How many turns later the boards of ``FUTURE_NEAR`` and ``FUTURE_FAR`` are."""


class QTarget(IntEnum):
    """Channels of ``Rows.q_values``: only entries with visits are targets."""

    WIN_LOSS = 0
    SCORE = 1
    VISITS = 2


class GlobalTarget(IntEnum):
    """Columns of ``Rows.global_targets``: index, unit, meaning (training-data.md 3). Columns 69 to 79 are spare."""

    unit: str
    meaning: str

    def __new__(cls, column: int, unit: str, meaning: str) -> GlobalTarget:
        """A member that is its column's number and carries unit and meaning."""
        member = int.__new__(cls, column)
        member._value_ = column
        member.unit = unit
        member.meaning = meaning
        return member

    WIN = 0, "probability", "final outcome; a draw is split by its worth"
    LOSS = 1, "probability", "final outcome"
    NO_RESULT = 2, "probability", "final outcome"
    SCORE = 3, "points", "final score with draw adjustment, clamped"
    LONG_TD_WIN = 4, "probability", "TD value of the long horizon"
    LONG_TD_LOSS = 5, "probability", "TD value of the long horizon"
    LONG_TD_NO_RESULT = 6, "probability", "TD value of the long horizon"
    LONG_TD_SCORE = 7, "points", "TD score of the long horizon"
    MID_TD_WIN = 8, "probability", "TD value of the middle horizon"
    MID_TD_LOSS = 9, "probability", "TD value of the middle horizon"
    MID_TD_NO_RESULT = 10, "probability", "TD value of the middle horizon"
    MID_TD_SCORE = 11, "points", "TD score of the middle horizon"
    SHORT_TD_WIN = 12, "probability", "TD value of the short horizon"
    SHORT_TD_LOSS = 13, "probability", "TD value of the short horizon"
    SHORT_TD_NO_RESULT = 14, "probability", "TD value of the short horizon"
    SHORT_TD_SCORE = 15, "points", "TD score of the short horizon"
    SEARCH_WIN = 16, "probability", "this turn's own search"
    SEARCH_LOSS = 17, "probability", "this turn's own search"
    SEARCH_NO_RESULT = 18, "probability", "this turn's own search"
    SEARCH_SCORE = 19, "points", "this turn's own search"
    FINAL_SCORE = 20, "points", "final score, not clamped; 0 where OUTCOME_WEIGHT is 0"
    LEAD = 21, "points", "komi change that would make the game even, clamped; 0 where LEAD_WEIGHT is 0"
    VARIANCE_TIME = 22, "turns", "sum over k of k times the squared k-th change of win - loss"
    UNUSED_23 = 23, "", "0"
    TD_VALUE_WEIGHT_MISSING = 24, "weight", "1 - weight of the TD values"
    ROW_WEIGHT = 25, "weight", "multiplies every loss term of the row"
    POLICY_WEIGHT = 26, "weight", "of the policy target"
    OUTCOME_WEIGHT = 27, "weight", "of ownership, score and whatever else needs the game's end"
    REPLY_WEIGHT = 28, "weight", "of the reply's policy target"
    LEAD_WEIGHT = 29, "weight", "1 where a lead was estimated"
    POLICY_SURPRISE = 30, "nats", "divergence of the search's policy from the root's prior"
    POLICY_ENTROPY = 31, "nats", "entropy of the root's prior"
    SEARCH_ENTROPY = 32, "nats", "entropy of the search's policy"
    FUTURE_WEIGHT = 33, "weight", "of the future boards"
    SCORING_WEIGHT = 34, "weight", "of the scoring plane"
    VALUE_WEIGHT_MISSING = 35, "weight", "1 - weight of the value target"
    HISTORY_1_KEPT = 36, "flag", "writer's own draw of history dropout; trainers draw anew"
    HISTORY_2_KEPT = 37, "flag", "cumulative"
    HISTORY_3_KEPT = 38, "flag", "cumulative"
    HISTORY_4_KEPT = 39, "flag", "cumulative"
    HISTORY_5_KEPT = 40, "flag", "cumulative"
    GAME_HASH_0_LOW = 41, "bits", "low 22 bits of word 0 of the game's hash"
    GAME_HASH_0_MIDDLE = 42, "bits", "next 22 bits"
    GAME_HASH_0_HIGH = 43, "bits", "high 20 bits"
    GAME_HASH_1_LOW = 44, "bits", "low 22 bits of word 1"
    GAME_HASH_1_MIDDLE = 45, "bits", "next 22 bits"
    GAME_HASH_1_HIGH = 46, "bits", "high 20 bits"
    OWN_KOMI = 47, "points", "komi and bonus points so far, with draw adjustment"
    AREA_LIKE_PHASE = 48, "flag", "area scoring, or the second clean-up phase"
    NET_CHANGED = 49, "flag", "a net changed during the game"
    NET_CHANGES_AFTER = 50, "count", "net changes after this row's search"
    TURN = 51, "turns", "moves already in the record"
    HIT_MOVE_LIMIT = 52, "flag", "the game was stopped by the move limit"
    START_TURN = 53, "turns", "initial moves before self-play for training began"
    EXTRA_BLACK_MOVES = 54, "stones", "handicap"
    GAME_KIND = 55, "code", "0 normal, 1 clean-up, 2 fork, 3 handicap, 4 SGF, 5 hint, 6 hint fork, 7 asymmetric"
    INITIAL_TURN_NUMBER = 56, "turns", "turn number that index 0 corresponds to"
    NET_WIN_LOSS = 57, "probability", "raw net's win - loss"
    NET_SCORE_MEAN = 58, "points", "raw net's score mean"
    NET_POLICY_ENTROPY = 59, "nats", "entropy of the raw policy"
    ROOT_VISITS = 60, "visits", "of the search that made the row"
    BONUS_TO_COME = 61, "points", "bonus points that the player gains from now to the end"
    FINISHED_NORMALLY = 62, "flag", "the game ended by the rules and the row is a main row"
    DATA_FORMAT_VERSION = 63, "version", "3; in 64-column files 2 or older"
    REANALYSED = 64, "flag", "searched again after the game"
    CHEAP_POLICY_SURPRISE = 65, "nats", "of the first, cheap search; only if REANALYSED"
    CHEAP_VALUE_SURPRISE = 66, "nats", "of the first, cheap search; only if REANALYSED"
    CHEAP_VISITS = 67, "visits", "of the first, cheap search; only if REANALYSED"
    PASS_ALIVE_WITH_SUICIDE = 68, "flag", "pass-alive areas computed as if suicide were legal"


_G = GlobalTarget
VALUE_COLUMNS: Final = (_G.WIN, _G.LOSS, _G.NO_RESULT)
LONG_TD_COLUMNS: Final = (_G.LONG_TD_WIN, _G.LONG_TD_LOSS, _G.LONG_TD_NO_RESULT)
MID_TD_COLUMNS: Final = (_G.MID_TD_WIN, _G.MID_TD_LOSS, _G.MID_TD_NO_RESULT)
SHORT_TD_COLUMNS: Final = (_G.SHORT_TD_WIN, _G.SHORT_TD_LOSS, _G.SHORT_TD_NO_RESULT)
SEARCH_COLUMNS: Final = (_G.SEARCH_WIN, _G.SEARCH_LOSS, _G.SEARCH_NO_RESULT)
TD_SCORE_COLUMNS: Final = (_G.LONG_TD_SCORE, _G.MID_TD_SCORE, _G.SHORT_TD_SCORE)
HISTORY_COLUMNS: Final = tuple(column for column in _G if column.name.startswith("HISTORY_"))
HASH_COLUMNS: Final = tuple(column for column in _G if column.name.startswith("GAME_HASH_"))
SPARE_COLUMNS: Final = (int(_G.UNUSED_23), *range(len(_G), NUM_GLOBAL_TARGETS))
"""Columns without a meaning, which hold 0: what KataGo left unused, and what has no name yet."""

_PROBABILITIES: Final = VALUE_COLUMNS + LONG_TD_COLUMNS + MID_TD_COLUMNS + SHORT_TD_COLUMNS + SEARCH_COLUMNS
_SCORES: Final = (
    *(_G.SCORE, *TD_SCORE_COLUMNS, _G.SEARCH_SCORE, _G.FINAL_SCORE, _G.LEAD),
    *(_G.OWN_KOMI, _G.NET_SCORE_MEAN, _G.BONUS_TO_COME),
)
_WEIGHTS: Final = (
    *(_G.UNUSED_23, _G.TD_VALUE_WEIGHT_MISSING, _G.POLICY_WEIGHT, _G.OUTCOME_WEIGHT, _G.REPLY_WEIGHT),
    *(_G.LEAD_WEIGHT, _G.FUTURE_WEIGHT, _G.SCORING_WEIGHT, _G.VALUE_WEIGHT_MISSING),
)
_NATS: Final = (
    *(_G.POLICY_SURPRISE, _G.POLICY_ENTROPY, _G.SEARCH_ENTROPY, _G.NET_POLICY_ENTROPY),
    *(_G.CHEAP_POLICY_SURPRISE, _G.CHEAP_VALUE_SURPRISE),
)
_FLAGS: Final = (
    *(_G.AREA_LIKE_PHASE, _G.NET_CHANGED, _G.HIT_MOVE_LIMIT, _G.FINISHED_NORMALLY, _G.REANALYSED),
    _G.PASS_ALIVE_WITH_SUICIDE,
)
_TURNS: Final = (_G.NET_CHANGES_AFTER, _G.TURN, _G.START_TURN, _G.INITIAL_TURN_NUMBER)
_VISITS: Final = (_G.ROOT_VISITS, _G.CHEAP_VISITS)
_HASH_BITS: Final = (22, 22, 20)
_MAX_TURNS: Final = 50_000.0
_MAX_NATS: Final = 100.0
"""More than the logarithm of the smallest float32, so of any ratio of two probabilities."""
GLOBAL_TARGET_RANGES: Final[dict[GlobalTarget, tuple[float, float]]] = {
    **dict.fromkeys(_PROBABILITIES, (-2.0, 2.0)),
    **dict.fromkeys(_SCORES, (-5000.0, 5000.0)),
    **dict.fromkeys(_WEIGHTS, (0.0, 2.0)),
    _G.ROW_WEIGHT: (0.0, 5.0),  # start positions may weigh up to 5 (training-data.md 3)
    **dict.fromkeys(HISTORY_COLUMNS, (0.0, 1.0)),
    _G.VARIANCE_TIME: (0.0, 1e7),  # a value that swings from end to end in each of 2,000 turns comes to 8e6
    **dict.fromkeys(_NATS, (-1.0, _MAX_NATS)),
    **dict.fromkeys(_FLAGS, (0.0, 1.0)),
    **dict.fromkeys(_TURNS, (0.0, _MAX_TURNS)),
    **dict.fromkeys(_VISITS, (0.0, 1e9)),
    **{column: (0.0, 2.0**bits - 1) for column, bits in zip(HASH_COLUMNS, _HASH_BITS * 2, strict=True)},
    _G.EXTRA_BLACK_MOVES: (0.0, 1000.0),
    _G.GAME_KIND: (0.0, 100.0),
    _G.NET_WIN_LOSS: (-2.0, 2.0),
    _G.DATA_FORMAT_VERSION: (0.0, 100.0),
}
"""Inclusive ranges of every named column: those of contribute-protocol.md 12, of the others what their unit can be.

They keep out what would spoil sums and losses; whether a number is the game's is the audit's question.
"""
SPARE_RANGE: Final = (-1e6, 1e6)
"""Of the columns without a name."""
GLOBAL_INPUT_RANGE: Final = (-5.0, 5.0)
KOMI_INPUT_RANGE: Final = (-60.0, 60.0)
POLICY_RANGE: Final = (0, 32767)
VALUE_TARGET_RANGES: Final[dict[ValueTarget, tuple[int, int]]] = {
    **dict.fromkeys(ValueTarget, (-2, 2)),
    ValueTarget.SCORING: (-SCORING_SCALE, SCORING_SCALE),
}
Q_RANGES: Final[dict[QTarget, tuple[int, int]]] = {
    QTarget.WIN_LOSS: (-Q_WIN_LOSS_SCALE, Q_WIN_LOSS_SCALE),
    QTarget.SCORE: (-32767, 32767),
    QTarget.VISITS: (0, 32767),
}
"""Inclusive ranges of the arrays of whole numbers (training-data.md 2)."""


@dataclass(frozen=True)
class ArraySpec:
    """One array of a row file: its member name, its field in ``Rows``, type and shape per row."""

    member: str
    field: str
    dtype: np.dtype[Any]
    required: bool

    def shape(self, length: int) -> tuple[int, ...]:
        """Shape of one row's part, for a tensor of edge ``length``."""
        area = length * length
        shapes: dict[str, tuple[int, ...]] = {
            "packed_planes": (NUM_PLANES, packed_bytes(length)),
            "global_inputs": (NUM_GLOBAL_INPUTS,),
            "policy_targets": (len(PolicyTarget), area + 1),
            "global_targets": (NUM_GLOBAL_TARGETS,),
            "score_distribution": (score_bins(length),),
            "value_targets": (len(ValueTarget), length, length),
            "q_values": (len(QTarget), area + 1),
        }
        return shapes[self.field]


GLOBAL_TARGETS_MEMBER: Final = "globalTargetsNC"
ARRAYS: Final = (
    ArraySpec("binaryInputNCHWPacked", "packed_planes", np.dtype("u1"), True),
    ArraySpec("globalInputNC", "global_inputs", np.dtype("<f4"), True),
    ArraySpec("policyTargetsNCMove", "policy_targets", np.dtype("<i2"), True),
    ArraySpec(GLOBAL_TARGETS_MEMBER, "global_targets", np.dtype("<f4"), True),
    ArraySpec("scoreDistrN", "score_distribution", np.dtype("i1"), True),
    ArraySpec("valueTargetsNCHW", "value_targets", np.dtype("i1"), True),
    ArraySpec("qValueTargetsNCMove", "q_values", np.dtype("<i2"), False),
)
MIN_LENGTH: Final = 2
MAX_LENGTH: Final = 39
"""Bounds of the edge of a tensor in a file."""


def packed_bytes(length: int) -> int:
    """Bytes of one bit-packed plane, the last one padded with zero bits."""
    return (length * length + 7) // 8


def score_bins(length: int) -> int:
    """Entries of a score distribution; bin i stands for the score ``i - score_bins(length) / 2 + 0.5``."""
    return 2 * (length * length + SCORE_MARGIN)


def row_bytes(length: int) -> int:
    """Bytes of one row in memory, all arrays together."""
    return sum(math.prod(spec.shape(length)) * spec.dtype.itemsize for spec in ARRAYS)


@dataclass(frozen=True)
class Rows:
    """The arrays of n rows (n may be 0). Types and shapes are those of ``ARRAYS``, with a leading axis n."""

    packed_planes: npt.NDArray[np.uint8]  #      [n, 22, ceil(length² / 8)], bits in position order, high bit first
    global_inputs: npt.NDArray[np.float32]  #    [n, 19]
    policy_targets: npt.NDArray[np.int16]  #     [n, 2, area + 1], proportional to move weights
    global_targets: npt.NDArray[np.float32]  #   [n, 80], columns of GlobalTarget
    score_distribution: npt.NDArray[np.int8]  #  [n, 2 * area + 120], percent
    value_targets: npt.NDArray[np.int8]  #       [n, 5, length, length], planes of ValueTarget
    q_values: npt.NDArray[np.int16]  #           [n, 3, area + 1], channels of QTarget

    @classmethod
    def zeros(cls, count: int, length: int) -> Rows:
        """``count`` rows of zeros for a tensor of edge ``length``."""
        return cls(**{spec.field: np.zeros((count, *spec.shape(length)), spec.dtype) for spec in ARRAYS})

    @classmethod
    def concatenate(cls, parts: Sequence[Rows]) -> Rows:
        """All rows of ``parts``, which must be at least one and have the same length, in order."""
        return cls(**{spec.field: np.concatenate([getattr(part, spec.field) for part in parts]) for spec in ARRAYS})

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.value_targets.shape[0])

    @property
    def length(self) -> int:
        """Edge of the net's tensor."""
        return int(self.value_targets.shape[-1])

    def take(self, index: slice | npt.NDArray[np.intp]) -> Rows:
        """The rows that ``index`` (a slice or an array of row numbers) selects, in its order."""
        return Rows(**{field.name: getattr(self, field.name)[index] for field in fields(self)})

    def put(self, place: slice, rows: Rows) -> None:
        """Write ``rows``, which must have the same length, over those of ``place``."""
        for field in fields(self):
            getattr(self, field.name)[place] = getattr(rows, field.name)

    def planes(self) -> npt.NDArray[np.uint8]:
        """Unpacked planes [n, 22, length, length] of 0 and 1."""
        length = self.length
        bits = np.unpackbits(self.packed_planes, axis=2, count=length * length)
        return bits.reshape(self.count, NUM_PLANES, length, length)

    def largest_side(self) -> int:
        """The longest side of any board; the tensor's edge if a row has no board, or there is no row."""
        points = np.bitwise_or.reduce(self.packed_planes[:, InputPlane.ON_BOARD], axis=0, initial=0)
        on_board = np.unpackbits(points, count=self.length**2).reshape(self.length, self.length)
        sides = np.flatnonzero(on_board.any(0) | on_board.any(1))
        return int(sides[-1]) + 1 if len(sides) else self.length

    def check(self) -> None:
        """Raise ``RowsError`` unless types, shapes, finiteness and ranges are those of the specification."""
        length = self.length
        for spec in ARRAYS:
            array = getattr(self, spec.field)
            _check_type(spec, array.dtype)
            _check_shape(spec, array.shape, self.count, length)
        _check_ranges(self)


def hash_columns(word_0: int, word_1: int) -> tuple[float, ...]:
    """Contents of ``HASH_COLUMNS`` for the two 64-bit words of a game's hash."""
    parts = []
    for word in (word_0, word_1):
        for bits in _HASH_BITS:
            parts.append(float(word & ((1 << bits) - 1)))
            word >>= bits
    return tuple(parts)


def game_hash(global_targets: npt.NDArray[np.float32]) -> str:
    """The hash of one row's game ([80] columns) as an SGF prints it: word 1, then word 0, 16 hex digits each."""
    words = []
    for first in (HASH_COLUMNS[0], HASH_COLUMNS[3]):
        low, middle, high = (int(value) for value in global_targets[first : first + 3])
        words.append(low | middle << _HASH_BITS[0] | high << (_HASH_BITS[0] + _HASH_BITS[1]))
    return f"{words[1]:016X}{words[0]:016X}"


def to_npz(rows: Rows, version: int = DATA_FORMAT_VERSION) -> bytes:
    """The bytes of a row file. Equal rows give equal bytes.

    ``version`` is one of ``DATA_FORMAT_VERSIONS``. Raises ``RowsError`` for rows that no reader would take.
    """
    rows.check()
    arrays = {spec.member: getattr(rows, spec.field) for spec in ARRAYS}
    if version != DATA_FORMAT_VERSION:
        columns = rows.global_targets[:, :NUM_GLOBAL_TARGETS_V2].copy()
        columns[:, GlobalTarget.DATA_FORMAT_VERSION] = version
        arrays[GLOBAL_TARGETS_MEMBER] = columns
    return npz.to_bytes(arrays)


def write_npz(rows: Rows, path: str | os.PathLike[str], version: int = DATA_FORMAT_VERSION) -> None:
    """Write ``rows`` to ``path``; the file appears complete or not at all. Errors as ``to_npz``, and ``OSError``."""
    write_whole(Path(path), to_npz(rows, version))


UPLOAD_LIMITS: Final = Limits(max_file_bytes=16 << 20, max_unpacked_bytes=96 << 20, max_rows=10_000)
"""For one game's file from a contributor (contribute-protocol.md 8: up to 10,000 rows)."""
SHARD_LIMITS: Final = Limits(max_file_bytes=1 << 30, max_unpacked_bytes=4 << 30, max_rows=1_000_000)
"""For the files of a data directory, shuffled ones of 70,000 rows included."""


def read_npz(
    source: str | os.PathLike[str] | bytes, limits: Limits = SHARD_LIMITS, *, length: int | None = None
) -> Rows:
    """Read a row file (a path, or its bytes) and check everything that ``Rows.check`` checks.

    Member names may end in ``.npy``; 64 columns are padded to 80; absent Q values are zeros; further arrays are
    tolerated and dropped. ``length``, if given, must be the file's. Raises ``RowsError`` with the reasons of
    ``npz.read_arrays`` and: missing, length, shape, row_count, not_finite, range, no_policy; ``OSError`` where the
    path cannot be read.
    """
    found = npz.read_arrays(source, {spec.member: spec.dtype for spec in ARRAYS}, limits)
    missing = [spec.member for spec in ARRAYS if spec.required and spec.member not in found]
    if missing:
        raise RowsError("missing", f"the archive lacks {', '.join(missing)}")
    rows = Rows(**_complete({spec.field: found.get(spec.member) for spec in ARRAYS}, length))
    rows.check()
    return rows


def _complete(arrays: dict[str, Array | None], length: int | None) -> dict[str, Array]:
    """Settle the edge of the tensor, pad old columns, supply absent Q values; shapes are checked by ``Rows.check``."""
    planes, columns = arrays["value_targets"], arrays["global_targets"]
    assert planes is not None
    assert columns is not None
    if planes.ndim != 4 or planes.shape[2] != planes.shape[3] or not MIN_LENGTH <= planes.shape[3] <= MAX_LENGTH:
        raise RowsError("shape", f"valueTargetsNCHW has shape {planes.shape}; expected (n, 5, length, length)")
    count, actual = planes.shape[0], planes.shape[3]
    if length is not None and actual != length:
        raise RowsError("length", f"the rows are for a tensor of edge {actual}; edge {length} is expected")
    if columns.ndim == 2 and columns.shape[1] == NUM_GLOBAL_TARGETS_V2:
        arrays["global_targets"] = np.pad(columns, ((0, 0), (0, NUM_GLOBAL_TARGETS - NUM_GLOBAL_TARGETS_V2)))
    if arrays["q_values"] is None:
        arrays["q_values"] = Rows.zeros(count, actual).q_values
    return {field: array for field, array in arrays.items() if array is not None}


def _check_type(spec: ArraySpec, dtype: np.dtype[Any]) -> None:
    if dtype != spec.dtype:
        raise RowsError("dtype", f"{spec.member} holds {dtype.str}; expected {spec.dtype.str}")


def _check_shape(spec: ArraySpec, shape: tuple[int, ...], count: int, length: int) -> None:
    expected = spec.shape(length)
    if shape[1:] != expected:
        wanted = ", ".join(["n", *map(str, expected)])
        raise RowsError("shape", f"{spec.member} has shape {shape}; expected ({wanted}) for edge {length}")
    if shape[0] != count:
        raise RowsError("row_count", f"{spec.member} has {shape[0]} rows, valueTargetsNCHW has {count}")


def _check_ranges(rows: Rows) -> None:
    """contribute-protocol.md 12, and that each policy target can be normalised."""
    if rows.count == 0:
        return
    for member, array in (("globalInputNC", rows.global_inputs), ("globalTargetsNC", rows.global_targets)):
        finite = np.isfinite(array).all(axis=0)
        if not finite.all():
            raise RowsError("not_finite", f"{member} column {int(np.argmin(finite))} holds NaN or infinity")
    komi = int(GlobalInput.SELF_KOMI)
    _check_columns("globalInputNC", np.delete(rows.global_inputs, komi, axis=1), *GLOBAL_INPUT_RANGE)
    _check_columns("globalInputNC (komi)", rows.global_inputs[:, komi], *KOMI_INPUT_RANGE)
    lowest, highest = rows.global_targets.min(axis=0), rows.global_targets.max(axis=0)
    for column, (low, high) in GLOBAL_TARGET_RANGES.items():
        if lowest[column] < low or highest[column] > high:
            _refuse_range(
                f"globalTargetsNC column {int(column)} ({column.name})", lowest[column], highest[column], low, high
            )
    spare = rows.global_targets[:, len(GlobalTarget) :]
    _check_columns("globalTargetsNC (spare columns)", spare, *SPARE_RANGE)
    _check_columns("policyTargetsNCMove", rows.policy_targets, *POLICY_RANGE)
    _check_columns("scoreDistrN", rows.score_distribution, 0, SCORE_PERCENT)
    for plane, limits in VALUE_TARGET_RANGES.items():
        _check_columns(f"valueTargetsNCHW plane {plane} ({plane.name})", rows.value_targets[:, plane], *limits)
    for channel, limits in Q_RANGES.items():
        _check_columns(f"qValueTargetsNCMove {channel.name}", rows.q_values[:, channel], *limits)
    if (rows.policy_targets.sum(axis=2, dtype=np.int64) == 0).any():
        raise RowsError("no_policy", "policyTargetsNCMove has a channel of zeros; an absent target holds ones")


def _check_columns(name: str, array: Array, low: float, high: float) -> None:
    lowest, highest = array.min(), array.max()
    if lowest < low or highest > high:
        _refuse_range(name, lowest, highest, low, high)


def _refuse_range(name: str, lowest: Any, highest: Any, low: float, high: float) -> None:
    raise RowsError("range", f"{name} reaches from {lowest:g} to {highest:g}; {low:g} to {high:g} is accepted")
