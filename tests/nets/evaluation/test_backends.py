"""The ways in which a net is computed: they agree, and large nets take less memory."""

from __future__ import annotations

import numpy as np
import pytest

from nets.architecture.model import Net
from nets.evaluation import backends
from nets.evaluation.backends import OpenVinoBackend
from nets.evaluation.evaluator import (
    NetEvaluator,
    load_evaluator,
)
from tests.nets.evaluation.evaluators import (
    FLOAT32,
    LENGTH,
    NET_FILES,
    NETS,
    mini,
    outputs,
    random_batch,
    torch_evaluator,
)


@pytest.mark.parametrize("name", NETS)
def test_openvino_agrees_with_torch(name: str) -> None:
    fast, slow = load_evaluator(NET_FILES / f"{name}.bin.gz", length=LENGTH, precision=FLOAT32), torch_evaluator(name)
    assert fast.description.startswith("CPU, OpenVINO, float32")
    for full in (True, False):
        batch, other = random_batch(4, LENGTH, full=full), random_batch(4, LENGTH, full=full)
        fast.run(batch, 4)
        slow.run(other, 4)
        for key, value in outputs(batch, slice(4)).items():
            np.testing.assert_allclose(getattr(other, key), value, atol=5e-4, rtol=5e-4, err_msg=key)
    fast.close()


class TwoGraphs(OpenVinoBackend):
    """In two parts as in 16 bits, but both in float32."""

    def __init__(self, net: Net, length: int) -> None:
        super().__init__(net, length, 1, sixteen_bit=False)
        self._precisions = ("f32", "f32")


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("name", NETS)
def test_two_graphs_in_a_row_are_the_net(name: str, full: bool) -> None:
    net = mini(name)
    found, wanted = (random_batch(70, LENGTH, full=full) for _ in range(2))
    NetEvaluator(net, TwoGraphs(net, LENGTH), LENGTH).run(found, 70)
    torch_evaluator(name).run(wanted, 70)
    for key, value in outputs(wanted, slice(70)).items():
        np.testing.assert_allclose(getattr(found, key), value, atol=5e-4, rtol=5e-4, err_msg=key)


def test_large_nets_have_few_batch_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "LARGE_NET", 10)
    assert OpenVinoBackend(mini(NETS[0]), LENGTH, 1, sixteen_bit=False).sizes == (1, 8)


def test_whether_openvino_takes_bfloat16_is_asked_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    openvino = pytest.importorskip("openvino")
    numbers = openvino.opset13.parameter([1], np.float32)
    model = openvino.Model([openvino.opset13.relu(numbers)], [numbers])
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "bf16"})
    takes = compiled.get_property("INFERENCE_PRECISION_HINT") == openvino.Type.bf16

    def no_compiling(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(openvino.Core, "compile_model", no_compiling)
    backends._openvino_takes_bfloat16.cache_clear()
    assert OpenVinoBackend.takes_bfloat16() == takes
    backends._openvino_takes_bfloat16.cache_clear()
