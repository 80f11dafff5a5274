"""Which way of computing a net is chosen on a device, and what is said where there is none."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from common.precision import Precision
from nets.architecture.model import Net
from nets.evaluation.backends import Backend, OpenVinoBackend, TorchBackend, _openvino_takes_bfloat16
from nets.evaluation.batch import EvaluatorError
from nets.evaluation.evaluator import (
    make_evaluator,
)
from nets.evaluation.proving import Proving, Way
from nets.evaluation.ways import _seconds_of_a_batch
from tests.nets.evaluation.evaluators import (
    FLOAT32,
    LENGTH,
    NETS,
    mini,
)


def test_without_openvino(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ImportError("No module named 'openvino'")

    monkeypatch.setattr("nets.evaluation.ways.OpenVinoBackend", missing)
    for question in ("has_bfloat16", "takes_bfloat16"):
        monkeypatch.setattr(missing, question, lambda: False, raising=False)
    for precision, name in ((FLOAT32, "float32"), (Precision.SIXTEEN_BIT, "bfloat16"), (Precision.FASTEST, "float32")):
        made = make_evaluator(mini(NETS[0]), length=LENGTH, precision=precision)
        assert made.description == f"CPU, torch, {name}, 1 thread"


def test_where_openvino_cannot_make_out_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """In containers with some of a host's cores its first object was seen to raise ``stoi``."""

    class Core:
        def __init__(self) -> None:
            raise RuntimeError("Exception from src/inference/src/cpp/core.cpp:126: stoi")

    monkeypatch.setattr("openvino.Core", Core)
    _openvino_takes_bfloat16.cache_clear()
    try:
        for precision, name in (
            (FLOAT32, "float32"),
            (Precision.SIXTEEN_BIT, "bfloat16"),
            (Precision.FASTEST, "float32"),
        ):
            made = make_evaluator(mini(NETS[0]), length=LENGTH, precision=precision)
            assert made.description == f"CPU, torch, {name}, 1 thread"
    finally:
        _openvino_takes_bfloat16.cache_clear()


class Stubborn(OpenVinoBackend):
    """Asks for bfloat16 where OpenVINO takes float32 without a word."""

    def __init__(self, net: Net, length: int, threads: int, *, sixteen_bit: bool) -> None:
        super().__init__(net, length, threads, sixteen_bit=sixteen_bit)
        real = self._core

        class Core:
            def compile_model(self, graph: Any, device: str, settings: dict[str, Any]) -> Any:
                return real.compile_model(graph, device, {**settings, "INFERENCE_PRECISION_HINT": "f32"})

        self._core = Core()

    @staticmethod
    def takes_bfloat16() -> bool:
        return True


def start_at_once(self: Proving, way: Way) -> Backend:
    """Without the child process, of which tests/nets/evaluation/test_proving.py tells."""
    return way.make(self._net, self._length)


def test_float32_under_the_name_of_bfloat16_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.evaluation.ways.OpenVinoBackend", Stubborn)
    monkeypatch.setattr(Proving, "start", start_at_once)
    made = make_evaluator(mini(NETS[0]), length=LENGTH, precision=Precision.SIXTEEN_BIT)
    assert made.description == "CPU, torch, bfloat16, 1 thread"


@pytest.mark.parametrize("quick", ["CPU, torch, bfloat16, 1 thread", "CPU, OpenVINO, float32, 1 thread"])
def test_the_quicker_of_what_is_left(monkeypatch: pytest.MonkeyPatch, quick: str) -> None:
    """Where bfloat16 of OpenVINO fails: whichever of the others evaluates a batch sooner."""

    class DeadInBfloat16(OpenVinoBackend):
        def __init__(self, net: Net, length: int, threads: int, *, sixteen_bit: bool) -> None:
            if sixteen_bit:
                raise RuntimeError("the library has died")
            super().__init__(net, length, threads, sixteen_bit=False)

        @staticmethod
        def has_bfloat16() -> bool:
            return True

    monkeypatch.setattr("nets.evaluation.ways.OpenVinoBackend", DeadInBfloat16)
    monkeypatch.setattr(Proving, "start", start_at_once)
    monkeypatch.setattr(
        "nets.evaluation.ways._seconds_of_a_batch", lambda backend, length: 1.0 + (backend.description != quick)
    )
    assert make_evaluator(mini(NETS[0]), length=LENGTH).description == quick


def test_a_batch_is_timed() -> None:
    net = mini(NETS[0])
    assert 0.0 < _seconds_of_a_batch(TorchBackend(net, LENGTH, 1), LENGTH) < 60.0


@pytest.mark.parametrize(("device", "text"), [("tpu", "unknown device"), ("cuda", "cuda"), ("7", "7")])
def test_devices_that_are_not_there(device: str, text: str) -> None:
    if device != "tpu" and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(EvaluatorError, match=text):
        make_evaluator(mini(NETS[0]), length=LENGTH, device=device)
