"""Rows of batches through the lanes of one backend: in, under way, decoded. Whether the numbers are right is not asked.

What is launched first is finished first. So that the caller can prepare one batch while the device works on another,
launching and waiting are apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nets.evaluation.backends import Backend, BatchShape, Lane, front
from nets.evaluation.batch import Batch, EvaluatorError
from nets.evaluation.orientation import Placement, decode_rows, flat_points, gather_inputs, placement_of
from nets.evaluation.outputs import Decoding

FILLED_ENOUGH: Final = 0.75
"""A piece of a batch is padded up to a size that it fills to this part; otherwise smaller sizes are used."""


@dataclass(eq=False)
class Piece:
    """Rows of a batch that a lane of the device works on, or has finished."""

    batch: Batch
    rows: slice
    placement: Placement
    lane: Lane
    backend: Backend
    finished: bool = False
    finite: bool = True
    """Whether what was put out are numbers; known once it is finished."""


class Pipeline:
    """A backend, and what is under way on it. ``name`` is the net's, for errors."""

    def __init__(self, backend: Backend, name: str, decoding: Decoding) -> None:
        self.backend = backend
        self._name, self._decoding = name, decoding
        self._free = deque(backend.lanes)
        self._under_way: deque[Piece] = deque()  # in the order of their launches, which is that of their ends

    def launch(self, batch: Batch, rows: slice, shape: BatchShape) -> Piece:
        """Hand rows to a free lane, or to the one that is free first. OutOfMemory, and what the backend raises."""
        if not self._free:
            self._finish_oldest()
        lane, count = self._free[0], rows.stop - rows.start
        planes, placement = front(lane.planes, shape), placement_of(batch.planes.shape[-1], shape.edge)
        gather_inputs(flat_points(batch.planes[rows]), batch.symmetry[rows], placement, flat_points(planes))
        lane.global_inputs[:count] = batch.global_inputs[rows]
        lane.launch(shape)
        piece = Piece(batch, rows, placement, self._free.popleft(), self.backend)
        self._under_way.append(piece)
        return piece

    def run(self, batch: Batch, shape: BatchShape) -> None:
        """Evaluate all rows of a batch in pieces of one shape. EvaluatorError if what was put out are no numbers."""
        count = len(batch.symmetry)
        for start in range(0, count, shape.rows):
            piece = self.launch(batch, slice(start, min(start + shape.rows, count)), shape)
            if not self.finish([piece]):
                raise self.not_numbers()

    def finish(self, parts: Sequence[Piece]) -> bool:
        """Wait for pieces, and so for those before them; whether all that these put out are numbers."""
        while not all(piece.finished for piece in parts):
            self._finish_oldest()
        return all(piece.finite for piece in parts)

    def finish_all(self) -> None:
        """Wait for everything under way."""
        while self._under_way:
            self._finish_oldest()

    def not_numbers(self) -> EvaluatorError:
        """What is wrong where a piece is not `finite`."""
        return EvaluatorError(
            f"{self._name} put out something that is not a number on {self.backend.description}: the net is damaged"
            + (", or overflows in 16 bits (useFP16 = false avoids that)" if self.backend.sixteen_bit else "")
        )

    def _finish_oldest(self) -> None:
        """Wait for the piece that was launched first, and decode it into its batch."""
        piece = self._under_way.popleft()
        piece.finished = True
        raw, rows, batch = piece.lane.outputs(), piece.rows, piece.batch
        piece.finite = decode_rows(
            raw.policy,
            raw.values,
            raw.ownership,
            batch.global_inputs[rows],
            batch.symmetry[rows],
            batch.optimism[rows],
            batch.wants_ownership[rows],
            piece.placement,
            self._decoding,
            batch.policy[rows],
            batch.win_loss[rows],
            batch.no_result[rows],
            batch.scalars[rows],
            batch.ownership[rows],
        )
        self._free.append(piece.lane)


def pieces(count: int, sizes: tuple[int, ...]) -> Iterator[int]:
    """Sizes of the runs that evaluate ``count`` rows: full ones, and the last padded if that is little waste."""
    while count > 0:
        above = next((size for size in sizes if size >= count), None)
        if above is not None and count >= FILLED_ENOUGH * above:
            size = above
        else:
            size = max((size for size in sizes if size <= count), default=sizes[0])
        yield size
        count -= size
