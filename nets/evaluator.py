"""Positions in, evaluations out: the interface between search and nets, on whatever device there is.

The caller owns a `Batch`; an `Evaluator` applies each row's symmetry, runs the net in pieces of a few fixed sizes,
decodes the raw outputs (`nets.outputs`) and maps them back. Boards of different sizes need masks; where all are squares
of one size, only they are computed. Where the device works by itself, a batch is submitted and waited for apart, so
that the caller can prepare the next one meanwhile. A net proves itself on a few positions against float32 before it is
used, falls back to the next slower way if it fails there, and stops with an error if it ever puts out something that is
not a number.
"""

from __future__ import annotations

import enum
import logging
import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from nets.backends import (
    Backend,
    BatchShape,
    CudaBackend,
    Lane,
    OpenVinoBackend,
    OutOfMemory,
    Planes,
    TorchBackend,
    front,
)
from nets.batch import Batch, Evaluator, Wait, new_batch
from nets.exchange import module_of
from nets.katago_file import read_net
from nets.model import Net
from nets.outputs import (
    KO_NOT_SIMPLE,
    UNKNOWN,
    VARIANCE_TIME,
    decoding_of,
)
from nets.proving import NotProved, Proving, Way
from nets.turning import Turn, common_edge, decode_rows, flat_points, gather_inputs, turn_of

Float32s = npt.NDArray[np.float32]

FILLED_ENOUGH: Final = 0.75
"""A piece of a batch is padded up to a size that it fills to this part; otherwise smaller sizes are used."""
RECURRING: Final = 8
"""So many batches in turn must have boards of one smaller size before graphs are prepared for it."""
TOLERANCE_32: Final = 2e-3
TOLERANCE_16: Final = 0.1
"""Largest differences from float32 that the self-test allows in probabilities, ownership and, relative, scores.

Measured with sound nets (docs/benchmarks.md): up to 0.012 in float16 and 0.06 in bfloat16.
"""

_log = logging.getLogger(__name__)


class Precision(enum.StrEnum):
    """How exactly to compute."""

    FASTEST = "fastest"
    """16 bits where the device gains by it and the net passes the self-test."""
    FLOAT32 = "float32"


class EvaluatorError(RuntimeError):
    """The net cannot be evaluated on this device; the text says what to do."""


class UniformEvaluator:
    """Knows nothing: every move alike, an even game. Plays until there is a first net."""

    description = "uniform"
    has_short_term_errors = False
    pass_alive_suicide = False
    lanes = 1

    def __init__(self, length: int) -> None:
        self.length = length

    def new_batch(self, capacity: int, *, ownership: bool = True) -> Batch:
        return new_batch(capacity, self.length, ownership=ownership)

    def submit(self, batch: Batch, count: int) -> Wait:
        self.run(batch, count)
        return _nothing_to_wait_for

    def run(self, batch: Batch, count: int) -> None:
        for output in (batch.policy, batch.win_loss, batch.no_result, batch.ownership):
            output[:count] = 0.0
        batch.scalars[:count, :VARIANCE_TIME] = 0.0
        batch.scalars[:count, VARIANCE_TIME:] = UNKNOWN

    def close(self) -> None:
        """Nothing to free."""


def _nothing_to_wait_for() -> None:
    """The outputs are there."""


@dataclass(eq=False)
class _Piece:
    """Rows of a batch that a lane of the device works on, or has finished."""

    batch: Batch
    rows: slice
    turn: Turn
    lane: Lane
    finished: bool = False


class NetEvaluator:
    """A net on a backend, with others to fall back on.

    Before a shape of batches is first used, its outputs on known positions are compared with float32.
    """

    def __init__(
        self, net: Net, backend: Backend, length: int, others: Iterator[Callable[[], Backend]] | None = None
    ) -> None:
        self.length = length
        self.decoding = decoding_of(net.config)
        self.has_short_term_errors = self.decoding.has_variance_time
        self.pass_alive_suicide = net.config.pass_alive_suicide
        self._net = net
        self._name = net.config.name
        self._others = others or iter(())
        self._edge, self._recurred = length, 0
        self._under_way: deque[_Piece] = deque()  # in the order of their launches, which is that of their ends
        self._expected: dict[tuple[int, bool], Batch] = {}  # what float32 says of the known positions
        self._use(backend)

    @property
    def description(self) -> str:
        """Device, library and precision."""
        return self._backend.description

    @property
    def lanes(self) -> int:
        """Batches that can be under way at once."""
        return len(self._backend.lanes)

    def new_batch(self, capacity: int, *, ownership: bool = True) -> Batch:
        return new_batch(capacity, self.length, ownership=ownership)

    def submit(self, batch: Batch, count: int) -> Wait:
        piece, done = None, 0
        edge = self._edge_for(batch.planes[:count])
        while done < count:
            size = next(pieces(count - done, self._sizes))
            rows = slice(done, done + min(size, count - done))
            # boards are rectangles in the upper left corner, so the last point tells whether all points are there
            shape = BatchShape(size, edge, bool(batch.planes[rows, 0, edge - 1, edge - 1].all()))
            if shape not in self._proved:
                self._prove(shape)
            else:
                piece = self._launch(batch, rows, shape)
                done = rows.stop
        return _nothing_to_wait_for if piece is None else partial(self._finish_up_to, piece)

    def run(self, batch: Batch, count: int) -> None:
        self.submit(batch, count)()

    def prepare(self) -> None:
        """Compare both graphs with float32 now, as `submit` does before it first uses one. EvaluatorError."""
        for full in (True, False):
            while not any(shape.full is full for shape in self._proved):
                self._prove(BatchShape(next(pieces(_KNOWN_ROWS, self._sizes)), self.length, full))

    def _edge_for(self, planes: Planes) -> int:
        """Edge of the tensors that ``planes`` are put into: that of the boards, if they were alike for a while."""
        edge = common_edge(planes)
        self._recurred = self._recurred + 1 if edge == self._edge else 1
        self._edge = edge
        return edge if self._recurred >= RECURRING else self.length

    def _use(self, backend: Backend) -> None:
        self._backend = backend
        self._sizes = backend.sizes
        self._free = deque(backend.lanes)
        self._proved: set[BatchShape] = set()

    def _prove(self, shape: BatchShape) -> None:
        """Find out whether batches of that shape can be used; if not, use fewer rows or the next backend."""
        while self._under_way:
            self._finish_oldest()
        size = shape.rows
        count = max(size, _KNOWN_ROWS)
        batch = _test_positions(shape.edge, count, full=shape.full)
        try:
            for start in range(0, count, size):
                self._finish_up_to(self._launch(batch, slice(start, min(start + size, count)), shape))
            self._check(batch, shape)
            self._proved.add(shape)
        except OutOfMemory as error:
            self._sizes = tuple(smaller for smaller in self._sizes if smaller < size)
            if not self._sizes:
                raise EvaluatorError(f"{self._name}: {self.description} has no memory for a single row") from error
            _log.warning("%s has no memory for batches of %d; using smaller ones", self.description, size)
        except RuntimeError as error:  # of a library, or of the comparison
            _tell(self._name, error)
            self._backend.close()
            self._use(_first_that_starts(self._others, self._name, [str(error)]))

    def _check(self, batch: Batch, shape: BatchShape) -> None:
        """Compare the outputs for the known positions with those of float32. EvaluatorError."""
        if isinstance(self._backend, TorchBackend):
            return
        edge, full = key = shape.edge, shape.full
        if key not in self._expected:
            expected = _test_positions(edge, _KNOWN_ROWS, full=full)
            backend = TorchBackend(self._net, edge, threads=1, sizes=(_KNOWN_ROWS,))
            NetEvaluator(self._net, backend, edge).run(expected, _KNOWN_ROWS)
            self._expected[key] = expected
        difference = _difference(batch, self._expected[key])
        limit = TOLERANCE_16 if self._backend.sixteen_bit else TOLERANCE_32
        if not difference <= limit:
            raise EvaluatorError(
                f"{self._name} on {self.description} differs from float32 by {difference:.3g}, more than {limit}"
            )

    def _launch(self, batch: Batch, rows: slice, shape: BatchShape) -> _Piece:
        """Hand rows to a free lane, or to the one that is free first."""
        if not self._free:
            self._finish_oldest()
        lane, count = self._free[0], rows.stop - rows.start
        planes, turn = front(lane.planes, shape), turn_of(batch.planes.shape[-1], shape.edge)
        gather_inputs(flat_points(batch.planes[rows]), batch.symmetry[rows], turn, flat_points(planes))
        lane.global_inputs[:count] = batch.global_inputs[rows]
        lane.launch(shape)
        piece = _Piece(batch, rows, turn, self._free.popleft())
        self._under_way.append(piece)
        return piece

    def _finish_up_to(self, piece: _Piece) -> None:
        while not piece.finished:
            self._finish_oldest()

    def _finish_oldest(self) -> None:
        """Wait for the piece that was launched first, and decode it into its batch."""
        piece = self._under_way.popleft()
        piece.finished = True
        raw, rows, batch = piece.lane.outputs(), piece.rows, piece.batch
        finite = decode_rows(
            raw.policy,
            raw.values,
            raw.ownership,
            batch.global_inputs[rows],
            batch.symmetry[rows],
            batch.optimism[rows],
            piece.turn,
            self.decoding,
            batch.policy[rows],
            batch.win_loss[rows],
            batch.no_result[rows],
            batch.scalars[rows],
            batch.ownership[rows],
        )
        self._free.append(piece.lane)
        if not finite:
            raise EvaluatorError(
                f"{self._name} put out something that is not a number on {self.description}: the net is damaged, "
                "or overflows in 16 bits (precision float32 avoids that)"
            )

    def close(self) -> None:
        self._backend.close()


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


# -- choosing a backend ---------------------------------------------------------------------------------------------


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
    ways = _candidates(net, length, device, threads, precision)
    try:
        evaluator = NetEvaluator(net, _first_that_starts(ways, net.config.name, []), length, ways)
        evaluator.prepare()
    except EvaluatorError as error:
        raise EvaluatorError(f"{net.config.name} cannot be evaluated on {device}: {error}") from error
    return evaluator


def _first_that_starts(ways: Iterator[Callable[[], Backend]], name: str, reasons: list[str]) -> Backend:
    """The first of the backends that can be made; EvaluatorError with the ``reasons`` and more if none can."""
    for make in ways:
        try:
            return make()
        except (RuntimeError, ImportError) as error:
            reasons.append(str(error))
            _tell(name, error)
    raise EvaluatorError("; ".join(reasons))


def _tell(name: str, error: Exception) -> None:
    """Why a way to run the net is not gone; what was told when it was found out is not told again with every net."""
    known = isinstance(error, NotProved) and error.known
    _log.log(logging.INFO if known else logging.WARNING, "%s: %s", name, error)


def _candidates(
    net: Net, length: int, device: str, threads: int, precision: Precision
) -> Iterator[Callable[[], Backend]]:
    """Ways to run the net on the device, fastest first."""
    fastest = precision is Precision.FASTEST
    if device == "cpu":
        proving, openvino = Proving(net, length), partial(OpenVinoBackend, threads=threads)
        if fastest and OpenVinoBackend.has_bfloat16():
            yield partial(proving.start, Way("OpenVINO in bfloat16", partial(openvino, sixteen_bit=True)))
        yield partial(proving.start_if_doubtful, Way("OpenVINO in float32", partial(openvino, sixteen_bit=False)))
        yield lambda: TorchBackend(net, length, threads)
        return
    name = f"cuda:{device}" if device.isdigit() else device
    if not name.startswith("cuda"):
        raise EvaluatorError(f"unknown device {device!r}: use cpu, cuda, or the number of a GPU")
    if not torch.cuda.is_available():
        raise EvaluatorError(
            f"device {device}: torch finds no CUDA GPU here; use cpu, or install a CUDA build of torch"
        )
    cuda = torch.device(name)
    if (cuda.index or 0) >= torch.cuda.device_count():
        raise EvaluatorError(f"device {device}: there are only {torch.cuda.device_count()} GPUs, counted from 0")
    for dtype in (torch.float16, torch.bfloat16, torch.float32) if fastest else (torch.float32,):
        yield partial(_cuda, net, length, cuda, dtype)


def _cuda(net: Net, length: int, device: torch.device, dtype: torch.dtype) -> Backend:
    return CudaBackend(net, length, device, dtype)


_KNOWN_ROWS: Final = 4


def _test_positions(length: int, rows: int, *, full: bool) -> Batch:
    """At least four rows of four positions in turn, always the same: an empty board and scattered stones.

    Their boards fill the tensor or not.
    """
    batch = new_batch(rows, length)
    random = np.random.default_rng(length)
    for row in range(_KNOWN_ROWS):
        height = length if full else max(1, length - 1 - row % 2)
        width = length if full else max(1, length - row // 2)
        board = batch.planes[row, :, :height, :width]
        board[0] = 1.0
        colour = random.integers(0, 3, (height, width)) * (row > 0)
        board[1], board[2] = colour == 1, colour == 2
        batch.global_inputs[row, [5, 8, 18]] = -0.375, 1.0, -0.5
        batch.global_inputs[row, KO_NOT_SIMPLE] = row % 2
        batch.symmetry[row] = row
    for array in (batch.planes, batch.global_inputs, batch.symmetry):
        array[_KNOWN_ROWS:] = np.resize(array[:_KNOWN_ROWS], array[_KNOWN_ROWS:].shape)
    return batch


def _difference(batch: Batch, expected: Batch) -> float:
    """Largest difference in probabilities and ownership (absolute) and in scores (relative above 1 point).

    The rows of ``batch`` are those of ``expected`` in turn.
    """
    same = np.arange(len(batch.symmetry)) % len(expected.symmetry)
    shares = [_softmax(batch.policy), _softmax(expected.policy)[same]]
    scalars = expected.scalars[same]
    parts = (
        np.abs(shares[0] - shares[1]),
        np.abs(batch.win_loss - expected.win_loss[same]) / 2.0,
        np.abs(batch.no_result - expected.no_result[same]),
        np.abs(batch.ownership - expected.ownership[same]),
        np.abs(batch.scalars - scalars) / np.maximum(1.0, np.abs(scalars)),
    )
    return max(float(part.max()) for part in parts)


def _softmax(logits: Float32s) -> Float32s:
    powers: Float32s = np.exp(logits - logits.max(1, keepdims=True))
    powers /= powers.sum(1, keepdims=True)
    return powers
