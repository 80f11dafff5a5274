"""From recorded rows to what a net is trained on: augmentation of a batch of rows, and its targets by name.

Knows which arrays and columns a target is read from (``common/rows.py`` names them, ``nets/architecture/heads.py`` says
what each loss term compares with). Does not know the formulas (``nets/training/losses.py``) nor where rows come from
(``nets/data/passes.py``). Specification: training.md 6 (augmentation), training-data.md 2 and 3 (targets),
features.md 6 (symmetries).

Shapes: N rows, L the tensor's edge, P = L·L + 1 moves, B score bins. A batch has the edge that its boards need, which
may be less than that of the rows. All values are seen from the player to move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from common import rows as columns
from common.go.symmetry import FLIP_X, FLIP_Y, TRANSPOSE
from common.inputs import V7
from common.rows import GlobalInput, GlobalTarget, InputPlane, PolicyTarget, QTarget, Rows, ValueTarget, score_bins
from nets.architecture.config import NetConfig
from nets.architecture.heads import RowWeight, Target

HISTORY_KEEP_PROBABILITY: Final = 0.98
_POLICY_SMOOTHING: Final = 1e-7
_SOFT_EXPONENT: Final = 0.25
_VARIANCE_TIME_OFFSET: Final = 1e-5


def require_inputs_of_rows(net: NetConfig) -> None:
    """ValueError for a net that cannot be shown rows, since they hold V7's inputs."""
    if net.inputs != V7:
        raise ValueError(f"{net.name} has inputs {net.inputs.name!r}, and rows hold {V7.name!r} only")


def apply_symmetry(maps: npt.NDArray[Any], symmetry: int) -> npt.NDArray[Any]:
    """``maps`` [..., L, L] under a symmetry code of features.md 6: bit 0 flips y, bit 1 flips x, bit 2 transposes."""
    if symmetry & FLIP_Y:
        maps = maps[..., ::-1, :]
    if symmetry & FLIP_X:
        maps = maps[..., ::-1]
    if symmetry & TRANSPOSE:
        maps = maps.swapaxes(-1, -2)
    return maps


def _moves(moves: npt.NDArray[Any], length: int, edge: int, symmetry: int) -> npt.NDArray[Any]:
    """``moves`` [N, C, P] of the part of that edge, under a symmetry; the pass stays."""
    shape = moves.shape[:-1]
    moved = np.empty((*shape, edge * edge + 1), moves.dtype)
    board = moves[..., :-1].reshape(*shape, length, length)[..., :edge, :edge]
    moved[..., :-1] = apply_symmetry(board, symmetry).reshape(*shape, -1)
    moved[..., -1] = moves[..., -1]
    return moved


def _bins(distribution: npt.NDArray[np.int8], edge: int) -> npt.NDArray[np.int8]:
    """A score distribution [N, B] as it is recorded for tensors of that edge: what is beyond its ends is put there."""
    beyond = (distribution.shape[1] - score_bins(edge)) // 2
    if beyond == 0:
        return distribution
    bins = distribution[:, beyond:-beyond].copy()
    bins[:, 0] += distribution[:, :beyond].sum(1, dtype=np.int8)
    bins[:, -1] += distribution[:, -beyond:].sum(1, dtype=np.int8)
    return bins


def draw_history(rng: np.random.Generator, count: int) -> npt.NDArray[np.bool_]:
    """[count, 5]: whether each row keeps its last moves; a move is kept only with all later ones (training.md 6)."""
    kept = rng.random((count, columns.HISTORY_MOVES)) < HISTORY_KEEP_PROBABILITY
    return np.logical_and.accumulate(kept, axis=1)


def drop_history(
    planes: npt.NDArray[np.uint8], global_inputs: npt.NDArray[np.float32], kept: npt.NDArray[np.bool_]
) -> None:
    """Erase the moves that are not ``kept`` [N, 5] from the inputs, which are changed in place.

    ``planes`` [N, 22, L, L], ``global_inputs`` [N, 19]. Without move 1 the earlier boards' ladders become the current
    board's; without move 2 those of two turns ago become those of one turn ago.
    """
    first, passed = InputPlane.MOVE_1_AGO, GlobalInput.PASS_1_AGO
    planes[:, first : first + columns.HISTORY_MOVES] *= kept[:, :, None, None]
    global_inputs[:, passed : passed + columns.HISTORY_MOVES] *= kept
    no_first = np.flatnonzero(~kept[:, 0])
    planes[no_first, InputPlane.LADDERED_1_AGO] = planes[no_first, InputPlane.LADDERED]
    no_second = np.flatnonzero(~kept[:, 1])
    planes[no_second, InputPlane.LADDERED_2_AGO] = planes[no_second, InputPlane.LADDERED_1_AGO]


@dataclass(frozen=True)
class RowBatch:
    """Rows as tensors of their stored types, planes unpacked; small enough to be sent to a device as they are."""

    planes: Tensor  #              uint8 [N, 22, L, L]
    global_inputs: Tensor  #       float32 [N, 19]
    policy_targets: Tensor  #      int16 [N, 2, P]
    global_targets: Tensor  #      float32 [N, 80]
    score_distribution: Tensor  #  int8 [N, B]
    value_targets: Tensor  #       int8 [N, 5, L, L]
    q_values: Tensor  #            int16 [N, 3, P]
    places: Tensor | None = None
    """int64 [K], where the points on board are among all N·L·L; None if every board fills the tensor."""

    @property
    def full(self) -> bool:
        """Whether every board fills the tensor."""
        return self.places is None

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.planes.shape[0]

    def first(self, count: int) -> RowBatch:
        """The first ``count`` rows, or all if there are fewer; the memory is shared."""
        if count >= self.count:
            return self
        points = count * self.planes.shape[-2] * self.planes.shape[-1]
        places = None if self.places is None else self.places[self.places < points]
        return replace(self._each(lambda tensor: tensor[:count]), places=places)

    def to(self, device: torch.device) -> RowBatch:
        """The same on ``device``; asynchronously where the memory is pinned."""
        return self._each(lambda tensor: tensor.to(device, non_blocking=True))

    def pin_memory(self) -> RowBatch:
        """The same in page-locked memory, from which a GPU copies asynchronously."""
        return self._each(lambda tensor: tensor.pin_memory())

    def _each(self, change: Callable[[Tensor], Tensor]) -> RowBatch:
        tensors = {field.name: getattr(self, field.name) for field in fields(self)}
        changed: dict[str, Any] = {name: change(tensor) for name, tensor in tensors.items() if tensor is not None}
        return replace(self, **changed)


def make_batch(
    rows: Rows, *, edge: int | None = None, symmetry: int = 0, kept: npt.NDArray[np.bool_] | None = None
) -> RowBatch:
    """``rows`` for tensors of ``edge``, under one symmetry for all of them.

    ``edge`` must not be less than a board's longest side (None: that of the rows). ``kept`` [N, 5] says what is left of
    the history (None: all of it).
    """
    edge = rows.length if edge is None else edge
    planes, global_inputs = rows.planes(), rows.global_inputs
    if kept is not None:
        global_inputs = global_inputs.copy()
        drop_history(planes, global_inputs, kept)
    planes, values = (apply_symmetry(maps[..., :edge, :edge], symmetry) for maps in (planes, rows.value_targets))
    policy, q_values = rows.policy_targets, rows.q_values
    if symmetry or edge < rows.length:
        policy, q_values = (_moves(moves, rows.length, edge, symmetry) for moves in (policy, q_values))
    on_board = planes[:, InputPlane.ON_BOARD]
    return RowBatch(
        _tensor(planes),
        _tensor(global_inputs),
        _tensor(policy),
        _tensor(rows.global_targets),
        _tensor(_bins(rows.score_distribution, edge)),
        _tensor(values),
        _tensor(q_values),
        None if on_board.all() else torch.from_numpy(np.flatnonzero(on_board)),
    )


def _tensor(array: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array))


class Targets:
    """Targets and weights of one batch, by the names of ``nets.architecture.heads``; each is made when first asked for.

    ``dtype`` is what they are computed in; float64 serves the tests of the formulas.
    """

    def __init__(self, batch: RowBatch, dtype: torch.dtype = torch.float32) -> None:
        self._batch = batch
        self._made: dict[Target | RowWeight | str, Tensor] = {}
        self.dtype = dtype
        self.columns = batch.global_targets.to(dtype)  # [N, 80]

    def __getitem__(self, name: Target) -> Tensor:
        """The target ``name``; shapes are given in ``nets.architecture.heads.Target``."""
        return self._once(name, lambda: _TARGETS[name](self))

    def weight(self, name: RowWeight) -> Tensor:
        """[N], without the row weight."""
        return self._once(name, lambda: _WEIGHTS[name](self))

    def soft(self, name: Target) -> Tensor:
        """[N, P]: the policy target ``name`` flattened over the legal shape of the board, ∝ ((π + 1e-7)·m)^¼."""
        return self._once(f"soft {name}", lambda: self._flatten(self[name]))

    @property
    def row_weight(self) -> Tensor:
        """[N], multiplies every term."""
        return self.columns[:, GlobalTarget.ROW_WEIGHT]

    @property
    def mask(self) -> Tensor:
        """[N, L, L], 1 on the board."""
        return self._once("mask", lambda: self._batch.planes[:, InputPlane.ON_BOARD].to(self.dtype))

    @property
    def area(self) -> Tensor:
        """[N], points on the board."""
        return self._once("area", lambda: self.mask.sum(dim=(1, 2)))

    def _once(self, name: Target | RowWeight | str, make: Callable[[], Tensor]) -> Tensor:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def _policy(self, channel: int) -> Tensor:
        moves = self._batch.policy_targets[:, channel].to(self.dtype)
        return moves / moves.sum(dim=1, keepdim=True)

    def _flatten(self, policy: Tensor) -> Tensor:
        board = (policy[:, :-1] + _POLICY_SMOOTHING) * self.mask.flatten(1)
        moves = torch.cat([board, policy[:, -1:] + _POLICY_SMOOTHING], dim=1) ** _SOFT_EXPONENT
        return moves / moves.sum(dim=1, keepdim=True)

    def _columns(self, three: tuple[GlobalTarget, ...]) -> Tensor:
        return self.columns[:, three[0] : three[0] + len(three)]

    def _plane(self, first: int, count: int | None = None) -> Tensor:
        index = first if count is None else slice(first, first + count)
        return self._batch.value_targets[:, index].to(self.dtype)

    def _q_values(self) -> Tensor:
        scale = torch.ones(len(QTarget), 1, dtype=self.dtype, device=self.columns.device)
        scale[QTarget.WIN_LOSS], scale[QTarget.SCORE] = 1 / columns.Q_WIN_LOSS_SCALE, 1 / columns.Q_SCORE_SCALE
        return self._batch.q_values.to(self.dtype) * scale

    def _scores(self) -> Tensor:
        return self._batch.score_distribution.to(self.dtype) / columns.SCORE_PERCENT


_TARGETS: Final[Mapping[Target, Callable[[Targets], Tensor]]] = {
    Target.POLICY: lambda t: t._policy(PolicyTarget.OWN),
    Target.REPLY: lambda t: t._policy(PolicyTarget.REPLY),
    Target.OUTCOME: lambda t: t._columns(columns.VALUE_COLUMNS),
    Target.TD_OUTCOME_LONG: lambda t: t._columns(columns.LONG_TD_COLUMNS),
    Target.TD_OUTCOME_MID: lambda t: t._columns(columns.MID_TD_COLUMNS),
    Target.TD_OUTCOME_SHORT: lambda t: t._columns(columns.SHORT_TD_COLUMNS),
    Target.TD_SCORE_LONG: lambda t: t.columns[:, GlobalTarget.LONG_TD_SCORE],
    Target.TD_SCORE_MID: lambda t: t.columns[:, GlobalTarget.MID_TD_SCORE],
    Target.TD_SCORE_SHORT: lambda t: t.columns[:, GlobalTarget.SHORT_TD_SCORE],
    Target.SCORE: lambda t: t.columns[:, GlobalTarget.SCORE],
    Target.LEAD: lambda t: t.columns[:, GlobalTarget.LEAD],
    Target.VARIANCE_TIME: lambda t: t.columns[:, GlobalTarget.VARIANCE_TIME] + _VARIANCE_TIME_OFFSET,
    Target.OWNERSHIP: lambda t: t._plane(ValueTarget.OWNERSHIP),
    Target.SEKI: lambda t: t._plane(ValueTarget.SEKI),
    Target.FUTURE: lambda t: t._plane(ValueTarget.FUTURE_NEAR, len(columns.FUTURE_TURNS)),
    Target.SCORING: lambda t: t._plane(ValueTarget.SCORING) / columns.SCORING_SCALE,
    Target.SCORE_DISTRIBUTION: lambda t: t._scores(),
    Target.Q_VALUES: lambda t: t._q_values(),
}

_WEIGHTS: Final[Mapping[RowWeight, Callable[[Targets], Tensor]]] = {
    RowWeight.ONE: lambda t: torch.ones_like(t.row_weight),
    RowWeight.POLICY: lambda t: t.columns[:, GlobalTarget.POLICY_WEIGHT],
    RowWeight.REPLY: lambda t: t.columns[:, GlobalTarget.REPLY_WEIGHT],
    RowWeight.POLICY_AND_OUTCOME: lambda t: t.weight(RowWeight.POLICY) * t.weight(RowWeight.OUTCOME),
    RowWeight.OUTCOME: lambda t: t.columns[:, GlobalTarget.OUTCOME_WEIGHT],
    RowWeight.VALUE: lambda t: 1 - t.columns[:, GlobalTarget.VALUE_WEIGHT_MISSING],
    RowWeight.TD_VALUE: lambda t: 1 - t.columns[:, GlobalTarget.TD_VALUE_WEIGHT_MISSING],
    RowWeight.LEAD: lambda t: t.columns[:, GlobalTarget.LEAD_WEIGHT],
    RowWeight.FUTURE: lambda t: t.columns[:, GlobalTarget.FUTURE_WEIGHT],
    RowWeight.SCORING: lambda t: t.columns[:, GlobalTarget.SCORING_WEIGHT],
}
