"""One conformance suite for all kinds of evaluators; how batches are cut, put into tensors and proved."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from common.go.symmetry import symmetry_table
from common.precision import Precision
from nets.architecture.model import Net
from nets.evaluation.backends import BatchShape, OpenVinoBackend, OutOfMemory, Raw, TorchBackend
from nets.evaluation.batch import Evaluator, EvaluatorError, new_batch
from nets.evaluation.evaluator import (
    RECURRING,
    NetEvaluator,
    load_evaluator,
)
from nets.evaluation.uniform import UniformEvaluator
from nets.files.exchange import module_of, record_of
from nets.files.katago_file import NetFileError, read_net, write_net
from tests.nets.evaluation.evaluators import (
    FLOAT32,
    LENGTH,
    NET_FILES,
    NETS,
    OUTPUTS,
    boards,
    mini,
    outputs,
    random_batch,
    torch_evaluator,
)


@pytest.fixture(scope="module", params=["uniform", "torch", "torch, bfloat16", *NETS, *(f"{net}, 16" for net in NETS)])
def evaluator(request: pytest.FixtureRequest) -> Iterator[Evaluator]:
    made: Evaluator
    kind, _, precision = request.param.partition(", ")
    if kind == "uniform":
        made = load_evaluator(None, length=LENGTH, device="cpu", threads=1)
    elif kind == "torch":
        made = torch_evaluator(NETS[0], dtype=torch.bfloat16 if precision else torch.float32)
    else:
        wanted = Precision.SIXTEEN_BIT if precision else FLOAT32
        if precision and not OpenVinoBackend.takes_bfloat16():
            pytest.skip("OpenVINO computes in float32 only on this processor: it has no AVX-512")
        made = load_evaluator(NET_FILES / f"{kind}.bin.gz", length=LENGTH, precision=wanted)
        assert made.description == f"CPU, OpenVINO, {'bfloat16' if precision else 'float32'}, 1 thread"
    yield made
    made.close()


def rounding(evaluator: Evaluator, exact: float) -> float:
    """How far two evaluations of the same may be apart: ``exact`` in float32."""
    return 0.02 if "bfloat16" in evaluator.description else exact


def test_rows_beyond_count_and_inputs_stay(evaluator: Evaluator) -> None:
    batch = random_batch(9, LENGTH, full=False)
    for name in OUTPUTS:
        getattr(batch, name)[:] = 77.0
    planes, inputs = batch.planes.copy(), batch.global_inputs.copy()
    evaluator.run(batch, 5)
    assert np.array_equal(batch.planes, planes)
    assert np.array_equal(batch.global_inputs, inputs)
    for name in OUTPUTS:
        assert (getattr(batch, name)[5:] == 77.0).all()
        assert (getattr(batch, name)[:5] != 77.0).all()
    evaluator.run(batch, 0)


def test_probabilities_errors_and_deviations_are_within_their_ranges(evaluator: Evaluator) -> None:
    batch = random_batch(20, LENGTH, full=False)
    evaluator.run(batch, 20)
    assert (np.abs(batch.win_loss) <= 1.0).all()
    assert (np.abs(batch.ownership) <= 1.0).all()
    assert (batch.no_result >= 0.0).all()
    assert (batch.no_result[1::2] == 0.0).all()  # rules under which every game has a result
    assert (batch.score_stdev >= 0.0).all()
    known = batch.short_term_score_error >= 0.0
    assert known.all() if evaluator.has_short_term_errors else not known.any()


def test_a_row_does_not_depend_on_its_batch(evaluator: Evaluator) -> None:
    batch = random_batch(70, LENGTH, full=False)
    evaluator.run(batch, 70)
    for row in (0, 33, 69):
        single = evaluator.new_batch(1)
        for name in ("planes", "global_inputs", "symmetry", "optimism"):
            getattr(single, name)[0] = getattr(batch, name)[row]
        evaluator.run(single, 1)
        near = rounding(evaluator, 2e-4)
        for name, value in outputs(batch, slice(row, row + 1)).items():
            np.testing.assert_allclose(getattr(single, name), value, atol=near, rtol=near, err_msg=name)


def test_symmetries_are_undone(evaluator: Evaluator) -> None:
    """Turning a position and asking for the inverse symmetry shows the net the same input."""
    plain = random_batch(8, LENGTH, full=True)
    plain.optimism[:] = 0.5
    for name in ("planes", "global_inputs"):
        getattr(plain, name)[:] = getattr(plain, name)[:1]
    evaluator.run(plain, 8)
    places = symmetry_table(LENGTH)[:, :-1]
    for symmetry in range(8):
        turned = evaluator.new_batch(1)
        turned.optimism[:] = 0.5
        turned.global_inputs[0] = plain.global_inputs[0]
        turned.planes[0].reshape(22, -1)[:, places[symmetry]] = plain.planes[0].reshape(22, -1)
        evaluator.run(turned, 1)
        near, far = rounding(evaluator, 2e-5), rounding(evaluator, 2e-4)
        np.testing.assert_allclose(turned.win_loss[0], plain.win_loss[symmetry], atol=near)
        np.testing.assert_allclose(turned.ownership[0][places[symmetry]], plain.ownership[symmetry], atol=near)
        np.testing.assert_allclose(turned.policy[0][places[symmetry]], plain.policy[symmetry][:-1], atol=far)


def test_ownership_is_left_out_where_it_is_not_asked_for(evaluator: Evaluator) -> None:
    whole, part = random_batch(5, LENGTH, full=False), random_batch(5, LENGTH, full=False, ownership=False)
    for batch in (whole, part):
        evaluator.run(batch, 5)
    assert part.ownership.shape == (5, 0)
    for name in ("policy", "win_loss", "no_result", "scalars"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name))


def test_ownership_is_decoded_for_the_rows_that_want_it() -> None:
    evaluator = torch_evaluator(NETS[0])
    whole, part = random_batch(5, LENGTH, full=False), random_batch(5, LENGTH, full=False)
    part.wants_ownership[:] = [True, False, False, True, False]
    part.ownership[:] = 5.0
    for batch in (whole, part):
        evaluator.run(batch, 5)
    for row, wanted in enumerate(part.wants_ownership):
        np.testing.assert_array_equal(part.ownership[row], whole.ownership[row] if wanted else 5.0)
    for name in ("policy", "win_loss", "no_result", "scalars"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name))


def test_optimism_mixes_logits() -> None:
    made = torch_evaluator(NETS[0])
    batch = random_batch(3, LENGTH, full=True)
    for name in ("planes", "global_inputs", "symmetry"):
        getattr(batch, name)[:] = getattr(batch, name)[:1]
    batch.optimism[:] = [0.0, 1.0, 0.3]
    made.run(batch, 3)
    expected = batch.policy[0] + 0.3 * (batch.policy[1] - batch.policy[0])
    np.testing.assert_allclose(batch.policy[2], expected, atol=1e-5)
    assert np.abs(batch.policy[1] - batch.policy[0]).max() > 1e-3


def test_uniform_knows_nothing() -> None:
    made = UniformEvaluator(5)
    batch = made.new_batch(3)
    for name in OUTPUTS:
        getattr(batch, name)[:] = 5.0
    made.run(batch, 3)
    assert not batch.policy.any()
    assert not batch.win_loss.any()
    assert not batch.score_mean.any()
    assert (batch.short_term_win_loss_error == -1.0).all()


def test_a_bad_file(tmp_path: Path) -> None:
    (tmp_path / "net.bin.gz").write_bytes(b"not a net")
    with pytest.raises(NetFileError, match=r"net\.bin\.gz"):
        load_evaluator(tmp_path / "net.bin.gz", length=LENGTH)


def test_the_flag_for_pass_alive_areas_arrives(tmp_path: Path) -> None:
    record = record_of(mini("mini-nbttflrs-fson-silu-rsnh"), "flagged")
    record.pass_alive_suicide = True
    write_net(record, tmp_path / "net.bin.gz")
    net = module_of(read_net(tmp_path / "net.bin.gz"))
    assert NetEvaluator(net, TorchBackend(net, LENGTH, 1), LENGTH).pass_alive_suicide
    assert record_of(net, "again").pass_alive_suicide


class Watched(OpenVinoBackend):
    """Remembers what it was asked for."""

    def __init__(self, net: Net, length: int) -> None:
        super().__init__(net, length, 1, sixteen_bit=False)
        self.shapes: list[BatchShape] = []

    def run(self, shape: BatchShape) -> Raw:
        self.shapes.append(shape)
        return super().run(shape)


@pytest.fixture(scope="module")
def watched() -> NetEvaluator:
    net = mini(NETS[0])
    return NetEvaluator(net, Watched(net, LENGTH), LENGTH)


@pytest.mark.parametrize("edge", [2, 5, 6])
def test_boards_of_one_size_are_all_that_is_computed(watched: NetEvaluator, edge: int) -> None:
    """They give what they give beside others, where masks are needed, and what they give in tensors of their own."""
    rows, backend, net = 13, watched._backend, mini(NETS[0])
    alone, beside, own = boards(rows, [(edge, edge)]), boards(rows + 1, [(LENGTH, LENGTH)]), new_batch(rows, edge)
    for name in ("planes", "global_inputs", "symmetry", "optimism"):
        getattr(beside, name)[:rows] = getattr(alone, name)
        getattr(own, name)[:] = getattr(alone, name)[:, :, :edge, :edge] if name == "planes" else getattr(alone, name)
    for name in OUTPUTS:
        getattr(alone, name)[:] = np.nan  # whatever was there is no output
    assert isinstance(backend, Watched)
    for again in range(RECURRING):
        backend.shapes.clear()
        watched.run(alone, rows)
        assert {shape[1:] for shape in backend.shapes} == {(edge, True) if again == RECURRING - 1 else (LENGTH, False)}
    backend.shapes.clear()
    watched.run(beside, rows + 1)
    assert {shape[1:] for shape in backend.shapes} == {(LENGTH, False)}
    made = NetEvaluator(net, TorchBackend(net, edge, 1), edge)
    made.run(own, rows)

    def on_board(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        length = math.isqrt(values.shape[1])
        return values.reshape(rows, length, length)[:, :edge, :edge]

    for other in (beside, own):
        for name in ("win_loss", "no_result", "scalars"):
            np.testing.assert_allclose(getattr(other, name)[:rows], getattr(alone, name), atol=2e-4, rtol=2e-4)
        for name in ("policy", "ownership"):
            mine, others = (getattr(batch, name)[:rows, : batch.ownership.shape[1]] for batch in (alone, other))
            np.testing.assert_allclose(on_board(others), on_board(mine), atol=2e-4, rtol=2e-4)
        np.testing.assert_allclose(other.policy[:rows, -1], alone.policy[:, -1], atol=2e-4, rtol=2e-4)
    assert (alone.policy.reshape(-1, LENGTH**2 + 1)[:, LENGTH**2 - 1] < -1000).all()
    assert np.isfinite(alone.policy).all()
    assert np.isfinite(alone.ownership).all()


class SmallDevice(TorchBackend):
    """Has memory for batches of four rows only."""

    def run(self, shape: BatchShape) -> Raw:
        if shape.rows > 4:
            raise OutOfMemory("no memory")
        return super().run(shape)


def test_out_of_memory_means_smaller_batches(caplog: pytest.LogCaptureFixture) -> None:
    net = mini(NETS[0])
    made = NetEvaluator(net, SmallDevice(net, LENGTH, 1), LENGTH)
    batch, other = random_batch(40, LENGTH, full=True), random_batch(40, LENGTH, full=True)
    made.run(batch, 40)
    torch_evaluator(NETS[0]).run(other, 40)
    np.testing.assert_allclose(batch.policy, other.policy, atol=1e-4)
    assert "no memory for batches of 16; using smaller ones" in caplog.text


class NoDevice(TorchBackend):
    def run(self, shape: BatchShape) -> Raw:
        raise OutOfMemory("no memory")


def test_no_memory_at_all() -> None:
    net = mini(NETS[0])
    with pytest.raises(EvaluatorError, match="no memory for a single row"):
        NetEvaluator(net, NoDevice(net, LENGTH, 1), LENGTH).run(new_batch(1, LENGTH), 1)


SHORT_OF_MEMORY = """
import logging, resource, sys
import numpy as np
from nets.evaluation import backends, evaluator
from nets.architecture.config import named
from nets.architecture.model import Net

logging.basicConfig()
net = Net(named("b6c96")).eval()
backend = getattr(backends, sys.argv[1])
backends.CPU_SIZES = (1, 64, 4096)
made = backend(net, 19, 1, **({"sixteen_bit": False} if sys.argv[1] == "OpenVinoBackend" else {"sizes": (1, 64, 4096)}))
found = evaluator.NetEvaluator(net, made, 19)
batch = evaluator.new_batch(4096, 19, ownership=False)
batch.planes[:, 0] = 1.0
found.run(batch, 64)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (700 << 20),) * 2)
found.run(batch, 4096)
assert np.isfinite(batch.policy).all()
print("sizes left", found._sizes)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the memory as Linux does")
@pytest.mark.parametrize("backend", ["TorchBackend", "OpenVinoBackend"])
def test_a_processor_short_of_memory_takes_smaller_batches(backend: str) -> None:
    """Of a real allocation that fails: what is said of it is the library's own."""
    ended = subprocess.run(
        [sys.executable, "-c", SHORT_OF_MEMORY, backend], capture_output=True, text=True, check=False, timeout=300
    )
    assert "sizes left (1, 64)" in ended.stdout, ended.stderr
