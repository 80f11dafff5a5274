"""The kernel between two convolutions: what NVRTC makes of it, and what a net does without it.

What it computes is checked on a GPU by `tests.benchmarks.gpu` (exactness, recorded, padding).
"""

from __future__ import annotations

import logging

import pytest
import torch

from nets.architecture.config import Activation, named
from nets.architecture.layers import Norm
from nets.architecture.model import Net
from nets.evaluation import cuda_kernels


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("activation", list(Activation))
def test_it_compiles_where_there_is_nvrtc(dtype: torch.dtype, activation: Activation) -> None:
    pytest.importorskip("cuda.bindings", reason="no cuda.bindings here: nothing compiles for CUDA")
    assert len(cuda_kernels.compiled(cuda_kernels.source_of(dtype, activation), (8, 0))) > 1000


def test_every_word_of_the_source_is_filled_in() -> None:
    text = cuda_kernels.source_of(torch.bfloat16, Activation.MISH)
    assert not {"WIDEN", "NARROW", "ACTIVATE"} & set(text.split())


def test_a_machine_that_cannot_compile_keeps_torchs_operations(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("no compiler")

    monkeypatch.setattr(cuda_kernels, "FusedPreactivation", refuse)
    monkeypatch.setattr(torch.cuda, "device", lambda device: torch.inference_mode())
    net = Net(named("b2c16"))
    with caplog.at_level(logging.INFO):
        assert not cuda_kernels.fuse(net.blocks, net.config.activation, torch.float16, torch.device("cuda", 0))
    assert all(module.fused is None for module in net.modules() if isinstance(module, Norm))
    assert "no compiler" in caplog.text
