"""What nets need of a device other than the processor, checked without one.

On the meta device every operation must find all its tensors there, and reading a number back is an error: what passes
runs on a GPU without waiting for the host, which is what a CUDA graph can record. Arithmetic in 16 bits is the same
modules' on the processor.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

import pytest
import torch

from common.inputs import V7
from nets.architecture.config import named
from nets.architecture.model import Net
from nets.data.targets import Targets, make_batch
from nets.evaluation import backends
from nets.evaluation import evaluator as evaluators
from nets.evaluation.backends import CudaBackend, Flat, TorchBackend
from nets.evaluation.evaluator import NetEvaluator, make_evaluator
from nets.evaluation.known_positions import KNOWN_ROWS, known_positions, repeated
from nets.evaluation.self_test import SIXTEEN_BITS, differences, objections
from nets.training.averaging import Averager
from nets.training.config import recipe_config
from nets.training.losses import Losses, SekiScale, seki_share
from nets.training.metrics import TermMeans
from tests.benchmarks import gpu
from tests.benchmarks.gpu.nets import Unchecked, lively, positions
from tests.benchmarks.gpu.nets import differences as largest_differences
from tests.benchmarks.rounding import rounded
from tests.nets import stand_in_cuda
from tests.nets.made_rows import made_rows

META = torch.device("meta")
HALVES = [torch.float16, torch.bfloat16]
FAMILIES = [
    "b2c16",
    "b2c16-bn",
    "b1c6nbt-fson-mish-rvgl-bnh",
    "b5c48h3tfr-fson-silu-rnh",
    "b4c256h4nbttflrs-fson-mish-rsnh-q",
    "b7c96h6kv3qk32v16tflrs-fson-silu",
]


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("dtype", [*HALVES, torch.float32])
@pytest.mark.parametrize("name", FAMILIES)
def test_inference_stays_on_the_device(name: str, dtype: torch.dtype, full: bool) -> None:
    with META:
        net = Net(named(name)).eval()
    backends._convert_trunk(net, dtype)
    planes = torch.empty(4, 22, 9, 9, device=META, dtype=dtype).contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        outputs = Flat(net, full=full)(planes, torch.empty(4, 19, device=META, dtype=dtype))
    assert all(output.device == META and output.dtype == torch.float32 for output in outputs)


@pytest.mark.parametrize("smallest", [None, 5])
@pytest.mark.parametrize(("name", "recipe"), [(FAMILIES[1], "paper"), (FAMILIES[2], "today"), (FAMILIES[3], "today")])
def test_losses_and_gradients_stay_on_the_device(
    name: str, recipe: str, smallest: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "autocast", lambda *arguments, **options: nullcontext())  # meta tensors have none
    config = recipe_config(recipe, named(name), length=9)
    with META:
        net = Net(config.net).train()
    batch = make_batch(made_rows(4, 9, smallest=smallest)).to(META)
    targets, losses, seki = Targets(batch), Losses(config.net, config.recipe, device=META), SekiScale(META)
    means, averager = TermMeans(losses.names, META), Averager(net, config.averaging, epoch=8)
    scale = seki.update(seki_share(targets))
    results = [
        losses(heads, targets, scale) for heads in net(batch.planes.float(), batch.global_inputs, places=batch.places)
    ]
    torch.autograd.backward(torch.stack([result.total for result in results]).sum())
    means.add(results[0].sums, results[0].weights, results[0].total.detach(), batch.count)
    averager.take(4)
    averager.take(8)
    found = [parameter.grad for parameter in net.parameters() if parameter.grad is not None]
    assert found
    assert all(gradient.device == META for gradient in found)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", FAMILIES[:4])
def test_sixteen_bits_pass_the_self_tests_limit(name: str, dtype: torch.dtype, full: bool) -> None:
    net, known = lively(name), known_positions(V7, 7, full=full)
    wanted, found = repeated(known, KNOWN_ROWS), repeated(known, KNOWN_ROWS)
    for batch, backend in ((wanted, TorchBackend(net, 7, 1, sizes=(4,))), (found, rounded(net, 7, dtype))):
        Unchecked(net, backend, 7).run(batch, KNOWN_ROWS)
    apart = differences(found, wanted, known.legal)
    assert objections(apart, SIXTEEN_BITS) == []
    assert max(values.max() for values in apart.values()) > 1e-5


def test_memory_that_fails_while_a_graph_is_recorded() -> None:
    def record() -> None:
        try:
            raise torch.OutOfMemoryError("CUDA out of memory")
        finally:
            raise RuntimeError("operation failed due to a previous error during capture")

    with pytest.raises(RuntimeError) as caught:
        record()
    assert backends._is_out_of_memory(caught.value)
    assert not backends._is_out_of_memory(RuntimeError("an illegal memory access was encountered"))


@pytest.mark.parametrize(("name", "at_once"), [(FAMILIES[0], False), (FAMILIES[0], True), (FAMILIES[3], False)])
def test_batches_under_way_on_a_device(monkeypatch: pytest.MonkeyPatch, name: str, at_once: bool) -> None:
    """The code of a GPU's lanes, streams and graphs on a stand-in: outputs are those of one batch after the other."""
    net = lively(name)
    shapes = [(40, (7,)), (3, (5,)), (17, (7, 4)), (40, (7,)), (16, (5,)), (1, (6,)), (64, (7, 3))]
    wanted, found = ([positions(rows, 7, edges=edges) for rows, edges in shapes] for _ in range(2))
    reference = NetEvaluator(net, TorchBackend(net, 7, 1), 7)
    for batch in wanted:
        reference.run(batch, len(batch.symmetry))
    stand_in_cuda.pretend(monkeypatch, at_once=at_once)
    monkeypatch.setattr(backends, "CUDA_SIZES", (1, 4, 16, 64))
    backend = CudaBackend(net, 7, torch.device("cpu"), torch.float32)
    monkeypatch.setattr(evaluators, "RECURRING", 1)
    stream = backend._stream
    assert isinstance(stream, stand_in_cuda.Stream)
    evaluator = NetEvaluator(net, backend, 7)
    for again in range(2):  # the first time, graphs are recorded and proved in between
        waits = [evaluator.submit(batch, len(batch.symmetry)) for batch in found]
        assert len(evaluator._pipeline._under_way) == again + 1 <= evaluator.lanes == 2
        assert bool(stream.pending) is not at_once
        for wait in waits:
            wait()
        assert not evaluator._pipeline._under_way
        for mine, other in zip(found, wanted, strict=True):
            assert max(largest_differences(mine, other).values()) < 1e-4
            for array in (mine.policy, mine.win_loss, mine.no_result, mine.scalars, mine.ownership):
                array[:] = again
    evaluator.submit(found[0], 40)
    evaluator.close()
    assert not stream.pending


def test_a_machine_without_openvino_uses_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    evaluator = make_evaluator(lively("b2c16"), length=7)
    assert "torch" in evaluator.description
    evaluator.close()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here; the benchmark would run")
def test_the_gpu_benchmark_says_that_there_is_no_gpu(capsys: Any) -> None:
    gpu.main()
    assert "no CUDA GPU" in capsys.readouterr().out
