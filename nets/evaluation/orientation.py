"""Rows of a batch to the tensors of a net and back: which part of them, under which symmetry.

Knows arrays only. Symmetries: features.md 6; what raw outputs mean: ``nets/evaluation/outputs.py``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from common.by_reference import by_reference
from common.go.points import MIN_LENGTH
from common.go.symmetry import symmetry_table
from common.kernels import njit
from nets.architecture.head_layers import OFF_BOARD_LOGIT
from nets.evaluation.backends import Planes
from nets.evaluation.outputs import Decoding, decode_ownership, decode_policy, decode_values


@by_reference
class Placement(NamedTuple):
    """How the positions of a batch of edge L go to tensors of edge E, A = E·E."""

    length: int
    edge: int
    places: npt.NDArray[np.int16]
    """[8, A] where each position of a tensor of edge E goes, by symmetry."""


@cache
def placement_of(length: int, edge: int) -> Placement:
    """How the positions of batches of edge ``length`` go to tensors of ``edge``."""
    return Placement(length, edge, symmetry_table(edge)[:, :-1].copy())


def common_edge(on_board: Planes) -> int:
    """The edge of all boards, if they are squares of one size; otherwise L. ``on_board`` [N, L, L] is 1 on them."""
    length = int(on_board.shape[-1])
    edge = int(on_board[:1, 0].sum())
    if not MIN_LENGTH <= edge < length:
        return length
    larger = on_board[:, edge, 0].any() or on_board[:, 0, edge].any()
    same = on_board[:, edge - 1, edge - 1].all() and not larger
    return edge if same else length


def flat_points(planes: Planes) -> Planes:
    """The same planes [N, P, L, L] as [N, P, L·L]."""
    return planes.reshape(*planes.shape[:2], -1)


@njit(cache=True, nogil=True)
def gather_inputs(planes: Any, symmetry: Any, placement: Placement, target: Any) -> None:
    """Copy planes [rows, P, L·L] into ``target`` [at least as many, P, E·E] under their symmetries."""
    rows, channels, _ = planes.shape
    length, edge = placement.length, placement.edge
    lines, width = (edge, edge) if edge < length else (1, edge * edge)  # a whole tensor is one line: 5.6 µs, not 8.3
    for row in range(rows):
        places = placement.places[symmetry[row]]
        for channel in range(channels):
            goal = target[row, channel]
            for line in range(lines):
                source = planes[row, channel, line * length : line * length + width]
                place = places[line * width : (line + 1) * width]
                for position in range(width):
                    goal[place[position]] = source[position]


@njit(cache=True, nogil=True)
def decode_rows(
    raw_policy: Any,
    raw_values: Any,
    raw_ownership: Any,
    global_inputs: Any,
    symmetry: Any,
    optimism: Any,
    wants_ownership: Any,
    placement: Placement,
    decoding: Decoding,
    policy: Any,
    win_loss: Any,
    no_result: Any,
    scalars: Any,
    ownership: Any,
) -> bool:
    """Decode as many rows as ``global_inputs`` has into the five last arrays; False if anything is not a number."""
    total = 0.0
    for row in range(global_inputs.shape[0]):
        win_loss[row], no_result[row] = decode_values(raw_values[row], global_inputs[row], decoding, scalars[row])
        place = placement.places[symmetry[row]]
        if placement.edge < placement.length:
            policy[row] = OFF_BOARD_LOGIT
        decode_policy(raw_policy[row], optimism[row], place, policy[row], placement.length)
        total += win_loss[row]
        for index in range(scalars.shape[1]):
            total += scalars[row, index]
        for index in range(policy.shape[1]):
            total += policy[row, index]
        if wants_ownership[row] and ownership.shape[1] > 0:
            if placement.edge < placement.length:
                ownership[row] = 0.0
            decode_ownership(raw_ownership[row], place, ownership[row], placement.length)
            for index in range(ownership.shape[1]):
                total += ownership[row, index]
    return bool(np.isfinite(total))
