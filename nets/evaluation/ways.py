"""The ways to run a net on a device, fastest first, and the first of them that can be gone.

Whether what it computes is the net is not asked here (`nets.evaluation.comparison`).
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import torch

from common.precision import Precision
from nets.architecture.model import Net
from nets.evaluation.backends import Backend, BatchShape, CudaBackend, OpenVinoBackend, OutOfMemory, TorchBackend
from nets.evaluation.batch import EvaluatorError
from nets.evaluation.pipeline import pieces
from nets.evaluation.proving import NotProved, Proving, Way

_log = logging.getLogger(__name__)


def first_that_starts(ways: Iterator[Callable[[], Backend]], name: str, reasons: list[str]) -> Backend:
    """The first of the backends that can be made; EvaluatorError with the ``reasons`` and more if none can."""
    for make in ways:
        try:
            return make()
        except (RuntimeError, ImportError) as error:
            reasons.append(str(error))
            tell(name, error)
    raise EvaluatorError("; ".join(reasons))


def tell(name: str, error: Exception) -> None:
    """Why a way to run the net is not gone; what was told when it was found out is not told again with every net."""
    known = isinstance(error, NotProved) and error.known
    _log.log(logging.INFO if known else logging.WARNING, "%s: %s", name, error)


def ways_on(device: str, net: Net, length: int, threads: int, precision: Precision) -> Iterator[Callable[[], Backend]]:
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
            tell(name, error)
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
