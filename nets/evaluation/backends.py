"""Where a net runs: OpenVINO or torch on a CPU, torch on CUDA. Batches of few shapes in, raw outputs out.

A backend owns its input buffers and knows neither symmetries nor what the outputs mean; `nets.evaluation.pipeline`
does. All of them run the one torch module, converted where that pays. What a `BatchShape` needs is prepared when it is
first used. A GPU has two lanes, so that one batch can be prepared and launched while another is under way; on a CPU
there is nothing to overlap.
"""

from __future__ import annotations

import copy
import functools
import gc
import math
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from common.inputs import Inputs
from nets.architecture.config import Activation
from nets.architecture.head_layers import Outputs, Projected
from nets.architecture.layers import Act, Conv
from nets.architecture.model import Net
from nets.evaluation import cuda_kernels
from nets.evaluation.outputs import SCALARS

Float32s = npt.NDArray[np.float32]
Planes = npt.NDArray[np.float32] | npt.NDArray[np.uint8]

CPU_SIZES: Final = (1, 4, 16, 64)
LARGE_CPU_SIZES: Final = (1, 8)
"""Of nets so large that a copy of their weights per batch size would hurt."""
LARGE_NET: Final = 20_000_000
CUDA_SIZES: Final = (1, 4, 16, 32, 64, 128, 256, 512, 1024)
CUDA_LANES: Final = 2
"""The device works on one batch while the other is prepared; a third would only wait."""


class BatchShape(NamedTuple):
    """What is prepared once and then serves all batches alike."""

    rows: int
    """One of the backend's sizes."""
    edge: int
    """Of the tensors: what is beyond it in the batch holds no board."""
    full: bool
    """Whether all boards fill the tensors, so that no masks are needed."""


class Raw(NamedTuple):
    """Raw outputs of a batch of N rows and edge E; valid until its lane's next launch."""

    policy: Float32s
    """[N, channels, E·E + 1]: policy, and the optimistic one if the net has it."""
    values: Float32s
    """[N, 3 + misc]: outcome logits, misc outputs in file order."""
    ownership: Float32s
    """[N, E·E]"""


class OutOfMemory(Exception):
    """The device has not enough memory for a batch of that size."""


class Lane(Protocol):
    """The place of one batch on a device: its inputs, and the outputs of what was launched last."""

    @property
    def planes(self) -> Planes:
        """[largest size, P, L, L], memory for the planes of any shape.

        The caller fills what `front` gives before a launch, and leaves it alone until the outputs are there.
        """
        ...

    @property
    def global_inputs(self) -> Float32s:
        """[largest size, G], as the planes."""
        ...

    def launch(self, shape: BatchShape) -> None:
        """Begin to evaluate a batch. OutOfMemory if the device has too little for it; nothing is under way then."""
        ...

    def outputs(self) -> Raw:
        """The outputs of the last launch, waited for."""
        ...


class Backend(Protocol):
    """A net on a device. One thread at a time may use it."""

    description: str
    """Device, library and precision, for people."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Batch sizes that can be run, ascending."""
        ...

    @property
    def sixteen_bit(self) -> bool:
        """Whether it computes in less than 32 bits."""
        ...

    @property
    def lanes(self) -> Sequence[Lane]:
        """As many batches can be under way at once. What is launched first is finished first."""
        ...

    def close(self) -> None:
        """Free the device."""
        ...


class Flat(nn.Module):
    """A net's inference outputs as three tensors, as in `Raw`."""

    def __init__(self, net: Net, *, full: bool) -> None:
        super().__init__()
        self.net = net
        self.full = full

    def forward(self, planes: Tensor, global_inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return _flat(self.net.infer(planes, global_inputs, full=self.full))


class Front(nn.Module):
    """A net as far as 16 bits will do: the heads' projections, and the boards' mask unless they fill the tensor."""

    def __init__(self, net: Net, *, full: bool) -> None:
        super().__init__()
        self.net = net
        self.full = full

    def forward(self, planes: Tensor, global_inputs: Tensor) -> tuple[Tensor, ...]:
        projected = self.net.project(planes, global_inputs, full=self.full)
        return tuple(projected) if self.full else (*projected, self.net.on_board(planes))


class End(nn.Module):
    """What follows a `Front`, on its outputs: three tensors as in `Raw`."""

    def __init__(self, net: Net, *, full: bool) -> None:
        super().__init__()
        self.net = net
        self.full = full

    def forward(
        self, policy: Tensor, pool: Tensor, value: Tensor, on_board: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        board = policy if on_board is None else on_board
        return _flat(self.net.conclude(Projected(policy, pool, value), board, full=self.full))


def _flat(outputs: Outputs) -> tuple[Tensor, Tensor, Tensor]:
    policies = [outputs[name] for name in ("policy", "short_optimistic_policy") if name in outputs]
    scalars = [outputs[name][:, None] for name in SCALARS if name in outputs]
    return (
        torch.stack(policies, 1),
        torch.cat([outputs["value"], *scalars], 1),
        outputs["ownership"].flatten(1),
    )


_Memory = TypeVar("_Memory", Planes, Tensor)


def front(planes: _Memory, shape: BatchShape) -> _Memory:
    """The first of the memory of ``planes`` [_, P, _, _] as the planes [N, P, E, E] of a batch of that shape."""
    whole = shape.rows, planes.shape[1], shape.edge, shape.edge
    return planes.reshape(-1)[: math.prod(whole)].reshape(whole)


def _buffers(inputs: Inputs, size: int, length: int) -> tuple[Float32s, Float32s]:
    """Input arrays for ``size`` rows, holding empty boards."""
    planes = np.zeros((size, inputs.planes, length, length), np.float32)
    planes[:, inputs.board] = 1.0
    return planes, np.zeros((size, inputs.globals), np.float32)


class CpuBackend(ABC):
    """What computes at once, in the caller's time: its own only lane."""

    def __init__(self, inputs: Inputs, length: int, sizes: tuple[int, ...]) -> None:
        self.sizes = sizes
        self.planes, self.global_inputs = _buffers(inputs, sizes[-1], length)
        self._raw: Raw | None = None

    @property
    def lanes(self) -> Sequence[Lane]:
        """Itself."""
        return (self,)

    @abstractmethod
    def run(self, shape: BatchShape) -> Raw:
        """Evaluate a batch; see `Lane.launch`."""

    def launch(self, shape: BatchShape) -> None:
        """Evaluate."""
        try:
            self._raw = self.run(shape)
        except (RuntimeError, MemoryError) as error:
            if not _is_out_of_memory(error):
                raise
            raise OutOfMemory(str(error)) from error

    def outputs(self) -> Raw:
        """What the last launch found."""
        assert self._raw is not None
        return self._raw


class TorchBackend(CpuBackend):
    """The module as it is on the CPU. In float32 it is the reference for all others.

    In bfloat16 the trunk is; every processor computes in it, those without units for it slowly.
    """

    def __init__(
        self,
        net: Net,
        length: int,
        threads: int,
        sizes: tuple[int, ...] = CPU_SIZES,
        *,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__(net.config.inputs, length, sizes)
        self.sixteen_bit = dtype != torch.float32
        self.description = f"CPU, torch, {_name_of(dtype)}, {_threads(threads)}"
        if self.sixteen_bit:
            net = copy.deepcopy(net)
            _convert_trunk(net, dtype)
        self._flat = {full: Flat(net, full=full).eval() for full in (False, True)}
        self._threads, self._dtype = threads, dtype

    def run(self, shape: BatchShape) -> Raw:
        before = torch.get_num_threads()
        torch.set_num_threads(self._threads)
        try:
            with torch.inference_mode():
                planes = torch.from_numpy(front(self.planes, shape)).to(self._dtype)
                inputs = torch.from_numpy(self.global_inputs[: shape.rows]).to(self._dtype)
                return Raw(*(output.numpy() for output in self._flat[shape.full](planes, inputs)))
        finally:
            torch.set_num_threads(before)

    def close(self) -> None:
        """Nothing to free."""


class OpenVinoBackend(CpuBackend):
    """The module converted for OpenVINO's CPU plugin, which needs no compiler.

    In 16 bits there are two graphs, as the plugin would round the last layers too, and scores with them: the first in
    bfloat16 up to the heads' projections, the rest in float32 on its outputs.
    """

    def __init__(self, net: Net, length: int, threads: int, *, sixteen_bit: bool) -> None:
        import openvino

        large = sum(parameter.numel() for parameter in net.parameters()) > LARGE_NET
        super().__init__(net.config.inputs, length, LARGE_CPU_SIZES if large else CPU_SIZES)
        self._ov = openvino
        self._core = openvino.Core()
        self._net = net
        self.sixteen_bit = sixteen_bit
        self.description = f"CPU, OpenVINO, {'bfloat16' if sixteen_bit else 'float32'}, {_threads(threads)}"
        self._precisions = ("bf16", "f32") if sixteen_bit else ("f32",)
        """Of the graphs that follow one another."""
        self._settings: dict[str, Any] = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,  # every process would pin itself to the first core
            "PERFORMANCE_HINT": "LATENCY",
        }
        if any(isinstance(module, Act) and module.kind is Activation.MISH for module in net.modules()):
            self._settings["SNIPPETS_MODE"] = "DISABLE"  # OpenVINO 2026.4 fails to compile a fused mish
        self._graphs: dict[tuple[int, bool], list[Any]] = {}  # by edge, without and with masks; for any number of rows
        self._requests: dict[BatchShape, list[Any]] = {}

    @staticmethod
    def has_bfloat16() -> bool:
        """Whether OpenVINO works here and this processor has units for bfloat16."""
        try:
            import openvino

            return "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        except (ImportError, RuntimeError):  # it also fails where it cannot make out the processor's cores
            return False

    @staticmethod
    def takes_bfloat16() -> bool:
        """Whether OpenVINO works here and computes in bfloat16 if told to: slowly where AVX-512 has no units for it."""
        return _openvino_takes_bfloat16()

    def run(self, shape: BatchShape) -> Raw:
        requests = self._requests.get(shape)
        if requests is None:
            requests = self._requests[shape] = self._prepare(shape)
        for request in requests:
            request.infer(share_outputs=True)  # they would be copied, those between the graphs too
        return Raw(*(requests[-1].get_output_tensor(index).data for index in range(3)))

    def _prepare(self, shape: BatchShape) -> list[Any]:
        """Requests for batches of that shape; the first one's inputs are the first of the buffers."""
        key = shape.edge, shape.full
        if key not in self._graphs:
            self._graphs[key] = self._convert(*key)
        arrays = front(self.planes, shape), self.global_inputs[: shape.rows]
        inputs = [self._ov.Tensor(array, shared_memory=True) for array in arrays]
        requests = []
        for graph, precision in zip(self._graphs[key], self._precisions, strict=True):
            request = self._compile(graph, precision, inputs)
            inputs = [request.get_output_tensor(index) for index in range(len(request.model_outputs))]
            requests.append(request)
        return requests

    def _compile(self, graph: Any, precision: str, inputs: list[Any]) -> Any:
        """A request for the graph on ``inputs``. RuntimeError if OpenVINO takes another precision."""
        graph = graph.clone()
        graph.reshape({index: list(tensor.shape) for index, tensor in enumerate(inputs)})
        compiled = self._core.compile_model(graph, "CPU", {**self._settings, "INFERENCE_PRECISION_HINT": precision})
        taken = compiled.get_property("INFERENCE_PRECISION_HINT")
        if taken != getattr(self._ov.Type, precision):
            raise RuntimeError(f"{self.description}: this processor has {taken.get_type_name()} only")
        request = compiled.create_infer_request()
        for index, tensor in enumerate(inputs):
            request.set_input_tensor(index, tensor)
        return request

    def _convert(self, edge: int, full: bool) -> list[Any]:
        """OpenVINO's graphs of the module for tensors of that edge, for any batch size, in their order."""
        arrays = front(self.planes, BatchShape(2, edge, full)), self.global_inputs[:2]
        example = tuple(map(torch.from_numpy, arrays))
        if len(self._precisions) == 1:
            return [_openvino_graph(Flat(self._net, full=full), example)]
        first = Front(self._net, full=full).eval()
        with torch.no_grad():
            between = first(*example)
        return [_openvino_graph(first, example), _openvino_graph(End(self._net, full=full), between)]

    def close(self) -> None:
        self._requests.clear()
        self._graphs.clear()


@functools.cache
def _openvino_takes_bfloat16() -> bool:
    """Compiles nothing, since that is what a process may not survive (`nets.evaluation.proving`)."""
    try:
        import openvino
    except ImportError:
        return False
    try:
        core = openvino.Core()  # raises where it cannot make out the processor
        core.set_property("CPU", {"INFERENCE_PRECISION_HINT": "bf16"})
        return bool(core.get_property("CPU", "INFERENCE_PRECISION_HINT") == openvino.Type.bf16)
    except RuntimeError:
        return False


def _openvino_graph(module: nn.Module, example: tuple[Tensor, ...]) -> Any:
    """OpenVINO's graph of a module for any batch size, from inputs as those in ``example`` [2, …].

    The module is traced and frozen, and handed to the frontend directly: a fifth of the time of OpenVINO's convenience
    function, which traces several times, and none of its telemetry.
    """
    import openvino
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # of the tracing, about the shapes that are meant to be constants
        traced = torch.jit.trace(module.eval(), example, check_trace=False)  # type: ignore[no-untyped-call]
        decoder = TorchScriptPythonDecoder(torch.jit.freeze(traced), example_input=example)
    frontend = FrontEndManager().load_by_framework("pytorch")
    graph = frontend.convert(frontend.load(decoder))
    for parameter, tensor in zip(graph.get_parameters(), example, strict=True):
        parameter.set_element_type(openvino.Type.f32)
        parameter.set_partial_shape(openvino.PartialShape([-1, *tensor.shape[1:]]))
    graph.validate_nodes_and_infer_types()
    return graph


def _name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


class CudaBackend:
    """The module on a CUDA device: 16-bit trunk, channels-last, one recorded graph per batch shape.

    Everything of a batch (copies from and to pinned memory, one graph) is put on one CUDA stream at its launch, so the
    device goes from one lane's batch to the other's without the processor, and the graphs can share their memory.
    """

    def __init__(self, net: Net, length: int, device: torch.device, dtype: torch.dtype) -> None:
        self.description = f"{torch.cuda.get_device_name(device)}, torch, {_name_of(dtype)}"
        self.sixteen_bit = dtype != torch.float32
        self.sizes = CUDA_SIZES
        self._device, self._dtype = device, dtype
        self._net = copy.deepcopy(net).to(device)
        _convert_trunk(self._net, dtype)
        if self.sixteen_bit:
            cuda_kernels.fuse(self._net.blocks, self._net.config.activation, dtype, device)
        self.lanes: tuple[CudaLane, ...] = tuple(CudaLane(self, net.config.inputs, length) for _ in range(CUDA_LANES))
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()  # one memory for all graphs, as only one runs at a time
        self._graphs: dict[BatchShape, Recorded] = {}

    def recorded(self, shape: BatchShape) -> Recorded:
        """The work for batches of that shape, recorded when first needed. OutOfMemory."""
        if shape not in self._graphs:
            try:
                self._graphs[shape] = self._record(shape)
            except RuntimeError as error:
                if not _is_out_of_memory(error):
                    raise
                traceback.clear_frames(error.__traceback__)  # they hold the tensors that did fit
                torch.cuda.empty_cache()
                raise OutOfMemory(str(error)) from error
        return self._graphs[shape]

    @contextmanager
    def on_stream(self) -> Iterator[torch.cuda.Stream]:
        """Whatever is done inside happens on the device in the order in which it is asked for."""
        with torch.inference_mode(), torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            yield self._stream

    def _record(self, shape: BatchShape) -> Recorded:
        flat = Flat(self._net, full=shape.full).eval()
        exact = torch.backends.cudnn.flags(enabled=True, allow_tf32=self.sixteen_bit)  # float32 means all of its bits
        with self.on_stream() as stream, exact:
            planes, inputs = (source.to(self._device, copy=True) for source in self.lanes[0].pinned(shape))

            def forward() -> tuple[Tensor, ...]:
                shaped = planes.to(self._dtype).contiguous(memory_format=torch.channels_last)
                return tuple(output.float() for output in flat(shaped, inputs.to(self._dtype)))

            for _ in range(3):  # libraries choose their algorithms before the recording
                forward()
            stream.synchronize()
            graph = torch.cuda.CUDAGraph()
            with _nothing_is_freed(), torch.cuda.graph(graph, pool=self._pool, stream=stream):
                outputs = forward()
        return Recorded(graph, (planes, inputs), outputs)

    def close(self) -> None:
        """Wait for what is under way, and free the device."""
        self._stream.synchronize()
        self._graphs.clear()
        self.lanes = ()  # they know this backend: without it, its memory is free at once
        torch.cuda.empty_cache()


@dataclass(frozen=True)
class Recorded:
    """The recorded work for one batch shape: replayed, it reads and writes these tensors of the device."""

    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor, Tensor]
    outputs: tuple[Tensor, ...]


class CudaLane:
    """Pinned memory for one batch, and the mark of its end on the device's stream.

    Binary planes go to the device as bytes, a quarter of what they are in float32, and are converted there.
    """

    def __init__(self, backend: CudaBackend, declared: Inputs, length: int) -> None:
        planes, inputs = _buffers(declared, backend.sizes[-1], length)
        self._backend = backend
        carried: Planes = planes.astype(np.uint8) if declared.binary else planes
        self._pinned = torch.from_numpy(carried).pin_memory(), torch.from_numpy(inputs).pin_memory()
        self.planes, self.global_inputs = self._pinned[0].numpy(), self._pinned[1].numpy()
        self._results: dict[tuple[int, int], tuple[Tensor, ...]] = {}  # pinned, by rows and edge
        self._last = 0, 0
        self._end = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]  # a waiting core can do other work

    def pinned(self, shape: BatchShape) -> tuple[Tensor, Tensor]:
        """The inputs of a batch of that shape."""
        return front(self._pinned[0], shape), self._pinned[1][: shape.rows]

    def launch(self, shape: BatchShape) -> None:
        """Put the copies and the graph on the stream."""
        recorded, key = self._backend.recorded(shape), (shape.rows, shape.edge)
        if key not in self._results:
            self._results[key] = tuple(torch.empty(out.shape, pin_memory=True) for out in recorded.outputs)
        with self._backend.on_stream() as stream:
            for goal, source in zip(recorded.inputs, self.pinned(shape), strict=True):
                goal.copy_(source, non_blocking=True)
            recorded.graph.replay()
            for result, output in zip(self._results[key], recorded.outputs, strict=True):
                result.copy_(output, non_blocking=True)
            self._end.record(stream)
        self._last = key

    def outputs(self) -> Raw:
        """Wait for the end of the last launch."""
        self._end.synchronize()
        return Raw(*(result.numpy() for result in self._results[self._last]))


@contextmanager
def _nothing_is_freed() -> Iterator[None]:
    """Collect garbage now and not inside: the end of another net's graph would spoil a recording."""
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_MEMORY_TEXTS: Final = ("can't allocate memory", "could not allocate", "bad_alloc", "failed to allocate")
"""How torch and OpenVINO say on a processor that there is not enough; their error is a plain RuntimeError."""


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Whether it is, or came while handling, an error of memory; one during a recording is followed by another."""
    while error is not None:
        if isinstance(error, torch.OutOfMemoryError | MemoryError):
            return True
        if isinstance(error, RuntimeError) and any(text in str(error).lower() for text in _MEMORY_TEXTS):
            return True
        error = error.__context__
    return False


def _convert_trunk(net: Net, dtype: torch.dtype) -> None:
    """The trunk's weights in ``dtype``, convolutions channels-last; norms, frequencies and heads keep 32 bits."""
    for part in (net.conv_planes, net.linear_globals, net.blocks):
        for module in () if part is None else part.modules():
            if isinstance(module, Conv | nn.Linear):
                module.to(dtype)
            if isinstance(module, Conv):
                module.weight.data = module.weight.data.contiguous(memory_format=torch.channels_last)
