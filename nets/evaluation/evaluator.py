"""Positions in, evaluations out: the interface between search and nets, on whatever device there is.

The caller owns a `Batch`; an evaluator cuts it into pieces of a few fixed sizes, which the net is run on under each
row's symmetry (`nets.evaluation.pipeline`). Boards of different sizes need masks; where all are squares of one size,
only they are computed. A shape of pieces is proved before its first use (`nets.evaluation.comparison`); what fails is
replaced by the next slower way (`nets.evaluation.ways`). So are 16 bits that give no numbers in play; in 32 bits
that is an error.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from common.encoders import encoder_of
from common.precision import Precision
from nets.architecture.model import Net
from nets.evaluation.backends import Backend, BatchShape, OutOfMemory, Planes
from nets.evaluation.batch import Batch, Evaluator, EvaluatorError, Wait, new_batch, nothing_to_wait_for
from nets.evaluation.comparison import Comparison
from nets.evaluation.known_positions import KNOWN_ROWS
from nets.evaluation.orientation import common_edge
from nets.evaluation.outputs import decoding_of
from nets.evaluation.pipeline import Piece, Pipeline, pieces
from nets.evaluation.uniform import UniformEvaluator
from nets.evaluation.ways import first_that_starts, tell, ways_on
from nets.files.exchange import module_of
from nets.files.katago_file import read_net

RECURRING: Final = 8
"""So many batches in turn must have boards of one smaller size before graphs are prepared for it."""

_log = logging.getLogger(__name__)


class NetEvaluator:
    """A net on a backend, with others to fall back on."""

    def __init__(
        self, net: Net, backend: Backend, length: int, others: Iterator[Callable[[], Backend]] | None = None
    ) -> None:
        self.length, self.inputs = length, net.config.inputs
        self.pass_alive_suicide = net.config.pass_alive_suicide
        self._decoding = decoding_of(net.config)
        self.has_short_term_errors = self._decoding.has_variance_time
        self._name = net.config.name
        self._comparison = Comparison(net)
        self._others = others or iter(())
        self._edge, self._recurred = length, 0
        self._use(backend)

    def _use(self, backend: Backend) -> None:
        self._backend = backend
        self._pipeline = Pipeline(backend, self._name, self._decoding)
        self._sizes = backend.sizes
        self._proved: set[BatchShape] = set()

    @property
    def description(self) -> str:
        """Device, library and precision."""
        return self._backend.description

    @property
    def lanes(self) -> int:
        """Batches that can be under way at once."""
        return len(self._backend.lanes)

    def new_batch(self, capacity: int, *, ownership: bool = True) -> Batch:
        return new_batch(capacity, self.length, inputs=self.inputs, ownership=ownership)

    def submit(self, batch: Batch, count: int) -> Wait:
        parts, done, on_board = list[Piece](), 0, batch.planes[:count, self.inputs.board]
        edge = self._edge_for(on_board)
        while done < count:
            rows, shape = self._proved_piece(on_board, done, edge)
            parts.append(self._pipeline.launch(batch, rows, shape))
            done = rows.stop
        return partial(self._finish, self._pipeline, parts, batch, count) if parts else nothing_to_wait_for

    def run(self, batch: Batch, count: int) -> None:
        self.submit(batch, count)()

    def close(self) -> None:
        self._backend.close()

    def _finish(self, pipeline: Pipeline, parts: list[Piece], batch: Batch, count: int) -> None:
        """Wait for the parts of a batch; where 16 bits gave no numbers, evaluate it in another way. EvaluatorError."""
        if pipeline.finish(parts):
            return
        if any(piece.backend is self._backend for piece in parts if not piece.finite):
            self._fall_back()
        self.run(batch, count)
        parts.clear()  # whoever waits again has it

    def _fall_back(self) -> None:
        """Use the next way from now on; what is under way comes to its end. EvaluatorError if this one is exact.

        A net may overflow in 16 bits at a position that no self-test has met: better slower than a game that is lost.
        """
        error = self._pipeline.not_numbers()
        if not self._backend.sixteen_bit:
            raise error
        tell(self._name, error)
        self._pipeline.finish_all()
        self._backend.close()
        self._use(first_that_starts(self._others, self._name, [str(error)]))

    def _edge_for(self, on_board: Planes) -> int:
        """Edge of the tensors that a batch is put into: that of the boards, if they were alike for a while."""
        edge = common_edge(on_board)
        self._recurred = self._recurred + 1 if edge == self._edge else 1
        self._edge = edge
        return edge if self._recurred >= RECURRING else self.length

    def _proved_piece(self, on_board: Planes, done: int, edge: int) -> tuple[slice, BatchShape]:
        """The rows after ``done`` that are to be run together, and their shape. ``on_board`` [N, L, L].

        A shape that is not proved yet is settled first, after which sizes and backend may be others.
        """
        count = len(on_board)
        while True:
            size = next(pieces(count - done, self._sizes))
            rows = slice(done, min(done + size, count))
            # boards are rectangles in the upper left corner, so the last point tells whether all points are there
            shape = BatchShape(size, edge, bool(on_board[rows, edge - 1, edge - 1].all()))
            if shape in self._proved:
                return rows, shape
            self._settle(shape)

    def _settle(self, shape: BatchShape) -> None:
        """Prove a shape; where that fails, use smaller sizes or the next backend from now on. EvaluatorError."""
        self._pipeline.finish_all()
        try:
            self._comparison.prove(self._pipeline, shape)
            self._proved.add(shape)
        except OutOfMemory as error:
            self._sizes = tuple(smaller for smaller in self._sizes if smaller < shape.rows)
            if not self._sizes:
                raise EvaluatorError(f"{self._name}: {self.description} has no memory for a single row") from error
            _log.warning("%s has no memory for batches of %d; using smaller ones", self.description, shape.rows)
        except RuntimeError as error:  # of a library, or of the comparison
            tell(self._name, error)
            self._backend.close()
            self._use(first_that_starts(self._others, self._name, [str(error)]))

    def prepare(self) -> None:
        """Settle a shape of either graph now, as `submit` does before it first uses one. EvaluatorError."""
        for full in (True, False):
            while not any(shape.full is full for shape in self._proved):
                self._settle(BatchShape(next(pieces(KNOWN_ROWS, self._sizes)), self.length, full))


def load_evaluator(
    path: str | os.PathLike[str] | None,
    *,
    length: int,
    device: str = "cpu",
    threads: int = 1,
    precision: Precision = Precision.FASTEST,
) -> Evaluator:
    """The evaluator of a net file for a tensor of edge ``length``; ``path`` None gives the uniform one.

    ``device`` is ``cpu``, ``cuda``, ``cuda:N`` or ``N``; ``threads`` counts for CPUs. NetFileError for a bad file,
    EvaluatorError if no way to run the net on the device passes the self-test.
    """
    if path is None:
        return UniformEvaluator(length)
    return make_evaluator(module_of(read_net(path)), length=length, device=device, threads=threads, precision=precision)


def make_evaluator(
    net: Net, *, length: int, device: str = "cpu", threads: int = 1, precision: Precision = Precision.FASTEST
) -> Evaluator:
    """The evaluator of a module, as `load_evaluator`; the module must not change afterwards."""
    net.eval()
    try:
        encoder_of(net.config.inputs)
    except LookupError as error:
        raise EvaluatorError(f"{net.config.name} cannot be evaluated: {error}") from error
    ways = ways_on(device, net, length, threads, precision)
    try:
        evaluator = NetEvaluator(net, first_that_starts(ways, net.config.name, []), length, ways)
        evaluator.prepare()
    except EvaluatorError as error:
        raise EvaluatorError(f"{net.config.name} cannot be evaluated on {device}: {error}") from error
    return evaluator
