"""Nothing is used that differs from float32."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nets.evaluation.backends import BatchShape, OpenVinoBackend, Raw
from nets.evaluation.batch import EvaluatorError
from nets.evaluation.evaluator import (
    make_evaluator,
)
from tests.nets.evaluation.evaluators import (
    FLOAT32,
    LENGTH,
    NETS,
    mini,
    random_batch,
    torch_evaluator,
)


class WrongOpenVino(OpenVinoBackend):
    """Computes something else than the net."""

    def run(self, shape: BatchShape) -> Raw:
        raw = super().run(shape)
        return raw._replace(values=raw.values + 1.0 * np.arange(raw.values.shape[1], dtype=np.float32))


def test_a_backend_that_differs_is_replaced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("nets.evaluation.ways.OpenVinoBackend", WrongOpenVino)
    made = make_evaluator(mini(NETS[0]), length=LENGTH, precision=FLOAT32)
    assert made.description.startswith("CPU, torch")
    assert "differs from float32" in caplog.text


class WrongAt(OpenVinoBackend):
    """Computes something else than the net in batches of one size, in one of its graphs."""

    wrong = (16, True)

    def run(self, shape: BatchShape) -> Raw:
        raw = super().run(shape)
        return raw._replace(policy=raw.policy[:, :, ::-1].copy()) if (shape.rows, shape.full) == self.wrong else raw


@pytest.mark.parametrize("wrong", [(16, True), (64, False), (1, False), (4, False)])
def test_every_size_and_graph_is_compared_before_its_first_use(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, wrong: tuple[int, bool]
) -> None:
    monkeypatch.setattr(WrongAt, "wrong", wrong)
    monkeypatch.setattr("nets.evaluation.ways.OpenVinoBackend", WrongAt)
    net = mini(NETS[0])
    made, other = make_evaluator(net, length=LENGTH, precision=FLOAT32), torch_evaluator(NETS[0])
    at_start = wrong == (4, False)
    assert made.description.startswith("CPU, torch" if at_start else "CPU, OpenVINO")
    size, full = wrong
    mine, expected = (random_batch(size, LENGTH, full=full) for _ in range(2))
    made.run(mine, size)
    other.run(expected, size)
    np.testing.assert_allclose(mine.policy, expected.policy, atol=1e-3)
    assert made.description.startswith("CPU, torch")
    assert "differs from float32" in caplog.text


def test_a_damaged_net_is_refused_at_the_start() -> None:
    net = mini(NETS[0])
    with torch.no_grad():
        net.conv_planes.weight[:] = 1e38
    with pytest.raises(EvaluatorError, match="cannot be evaluated on cpu"):
        make_evaluator(net, length=LENGTH, precision=FLOAT32)
