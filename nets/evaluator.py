"""Positions in, evaluations out: the interface between search and nets, on whatever device there is.

The caller owns a `Batch`; an `Evaluator` applies each row's symmetry, runs the net in pieces of a few fixed sizes,
decodes the raw outputs (`nets.outputs`) and maps them back. Boards of different sizes need masks; where all are squares
of one size, only they are computed. Where the device works by itself, a batch is submitted and waited for apart, so
that the caller can prepare the next one meanwhile. A net proves itself on known positions against float32 before it is
used (`nets.self_test`), falls back to the next slower way if it fails there, and stops with an error if it ever puts
out something that is not a number.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from common.precision import Precision
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
from nets.known_positions import KNOWN_ROWS, known_positions, repeated
from nets.model import Net
from nets.outputs import UNKNOWN, VARIANCE_TIME, decoding_of
from nets.proving import NotProved, Proving, Way
from nets.self_test import FLOAT32, SIXTEEN_BITS, differences, objections
from nets.turning import Turn, common_edge, decode_rows, flat_points, gather_inputs, turn_of

Float32s = npt.NDArray[np.float32]

FILLED_ENOUGH: Final = 0.75
"""A piece of a batch is padded up to a size that it fills to this part; otherwise smaller sizes are used."""
RECURRING: Final = 8
"""So many batches in turn must have boards of one smaller size before graphs are prepared for it."""

_log = logging.getLogger(__name__)


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
                self._prove(BatchShape(next(pieces(KNOWN_ROWS, self._sizes)), self.length, full))

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
        count = max(size, KNOWN_ROWS)
        batch = repeated(known_positions(shape.edge, full=shape.full), count)
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
        sixteen_bit = self._backend.sixteen_bit
        if isinstance(self._backend, TorchBackend) and not sixteen_bit:
            return
        edge, full = key = shape.edge, shape.full
        known = known_positions(edge, full=full)
        if key not in self._expected:
            expected = repeated(known, KNOWN_ROWS)
            backend = TorchBackend(self._net, edge, threads=1, sizes=(KNOWN_ROWS,))
            NetEvaluator(self._net, backend, edge).run(expected, KNOWN_ROWS)
            self._expected[key] = expected
        found = differences(batch, self._expected[key], known.legal)
        objected = objections(found, SIXTEEN_BITS if sixteen_bit else FLOAT32)
        if objected:
            raise EvaluatorError(f"{self._name} on {self.description} differs from float32: {'; '.join(objected)}")

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
                f"{self._name} put out something that is not a number on {self.description}: the net is damaged"
                + (", or overflows in 16 bits (useFP16 = false avoids that)" if self._backend.sixteen_bit else "")
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
    if device == "cpu":
        yield from _cpu_ways(net, length, threads, precision)
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
    for dtype in _CUDA_TYPES[precision]:
        yield partial(CudaBackend, net, length, cuda, dtype)


_CUDA_TYPES: Final = {
    Precision.FASTEST: (torch.float16, torch.bfloat16, torch.float32),
    Precision.SIXTEEN_BIT: (torch.float16, torch.bfloat16),
    Precision.FLOAT32: (torch.float32,),
}


def _cpu_ways(net: Net, length: int, threads: int, precision: Precision) -> Iterator[Callable[[], Backend]]:
    """Ways to run the net on a processor, fastest first."""
    proving, openvino = Proving(net, length), partial(OpenVinoBackend, threads=threads)
    openvino_16 = partial(proving.start, Way("OpenVINO in bfloat16", partial(openvino, sixteen_bit=True)))
    openvino_32 = partial(proving.start_if_doubtful, Way("OpenVINO in float32", partial(openvino, sixteen_bit=False)))
    if precision is Precision.SIXTEEN_BIT:
        if OpenVinoBackend.takes_bfloat16():
            yield openvino_16
        yield partial(TorchBackend, net, length, threads, dtype=torch.bfloat16)
        return
    if precision is Precision.FASTEST and OpenVinoBackend.has_bfloat16():
        yield openvino_16
        in_torch = partial(TorchBackend, threads=threads, dtype=torch.bfloat16)
        torch_16 = partial(proving.start, Way("torch in bfloat16", in_torch))
        yield partial(_quicker, (torch_16, openvino_32), net.config.name, length)
    yield openvino_32
    yield partial(TorchBackend, net, length, threads)


def _quicker(ways: Sequence[Callable[[], Backend]], name: str, length: int) -> Backend:
    """The backend that evaluates a batch in less time; EvaluatorError if none of them can."""
    best: Backend | None = None
    least, reasons = math.inf, []
    for make in ways:
        try:
            backend = make()
            seconds = _seconds_of_a_batch(backend, length)
        except (RuntimeError, ImportError, OutOfMemory) as error:
            reasons.append(str(error))
            _tell(name, error)
            continue
        if seconds < least:
            best, least, backend = backend, seconds, best
        if backend is not None:
            backend.close()
    if best is None:
        raise EvaluatorError("; ".join(reasons))
    return best


def _seconds_of_a_batch(backend: Backend, length: int) -> float:
    """How long a batch of boards that fill the tensor takes: the shortest of a few times, the first not counted."""
    lane, shape = backend.lanes[0], BatchShape(next(pieces(_TIMED_ROWS, backend.sizes)), length, True)
    times = []
    for _ in range(4):
        begun = time.perf_counter()
        lane.launch(shape)
        lane.outputs()
        times.append((time.perf_counter() - begun) / shape.rows)
    return min(times[1:])


_TIMED_ROWS: Final = 16
