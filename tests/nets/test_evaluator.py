"""Evaluators: one conformance suite for all kinds, decoding by formulas in float64, and failures."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from hypothesis.strategies import booleans, integers, lists, sampled_from, tuples

from common.go.symmetry import symmetry_table
from common.precision import Precision
from nets import backends
from nets.backends import (
    CPU_SIZES,
    Backend,
    BatchShape,
    OpenVinoBackend,
    OutOfMemory,
    Raw,
    TorchBackend,
    _openvino_takes_bfloat16,
)
from nets.batch import Batch, Evaluator, new_batch
from nets.config import named
from nets.evaluator import (
    RECURRING,
    EvaluatorError,
    NetEvaluator,
    UniformEvaluator,
    _seconds_of_a_batch,
    load_evaluator,
    make_evaluator,
    pieces,
)
from nets.exchange import module_of, record_of
from nets.file_grammar import ErrorFormula
from nets.katago_file import NetFileError, read_net, write_net
from nets.model import Net
from nets.outputs import SCALARS, decode_values, decoding_of, score_mean_square, short_term_error, softplus
from nets.proving import Proving, Way
from nets.turning import common_edge

FIXTURES = Path(__file__).parent.parent / "fixtures" / "nets"
LENGTH = 7
FLOAT32 = Precision.FLOAT32
NETS = ["mini-nbt-fson-mish-rvgl-bnh", "mini-nbttflrs-fson-silu-rsnh"]


def mini(name: str) -> Net:
    return module_of(read_net(FIXTURES / f"{name}.bin.gz"))


def torch_evaluator(name: str, length: int = LENGTH, dtype: torch.dtype = torch.float32) -> NetEvaluator:
    net = mini(name)
    return NetEvaluator(net, TorchBackend(net, length, threads=1, dtype=dtype), length)


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
        made = load_evaluator(FIXTURES / f"{kind}.bin.gz", length=LENGTH, precision=wanted)
        assert made.description == f"CPU, OpenVINO, {'bfloat16' if precision else 'float32'}, 1 thread"
    yield made
    made.close()


def rounding(evaluator: Evaluator, exact: float) -> float:
    """How far two evaluations of the same may be apart: ``exact`` in float32."""
    return 0.02 if "bfloat16" in evaluator.description else exact


def random_batch(rows: int, length: int, *, full: bool, seed: int = 0, ownership: bool = True) -> Batch:
    random = np.random.default_rng(seed)
    batch = new_batch(rows, length, ownership=ownership)
    for row in range(rows):
        height, width = (length, length) if full else random.integers(2, length + 1, 2)
        board = batch.planes[row, :, :height, :width]
        board[:] = random.random(board.shape) < 0.2
        board[0] = 1.0
    batch.global_inputs[:, :5] = random.random((rows, 5)) < 0.1
    batch.global_inputs[:, 5] = random.normal(size=rows)
    batch.global_inputs[:, 6] = np.arange(rows) % 2
    batch.symmetry[:] = np.arange(rows) % 8
    batch.optimism[:] = random.random(rows)
    return batch


OUTPUTS = ("policy", "win_loss", "no_result", "scalars", "ownership")


def outputs(batch: Batch, rows: slice) -> dict[str, np.ndarray[Any, Any]]:
    return {name: getattr(batch, name)[rows].copy() for name in OUTPUTS}


# -- every evaluator ------------------------------------------------------------------------------------------------


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


def test_ranges(evaluator: Evaluator) -> None:
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


def test_symmetry_codes_of_the_spec() -> None:
    places = symmetry_table(3)[:, :-1]
    x, y = 1, 0
    expected = {0: (1, 0), 1: (1, 2), 2: (1, 0), 3: (1, 2), 4: (0, 1), 5: (2, 1), 6: (0, 1), 7: (2, 1)}
    for symmetry, (to_x, to_y) in expected.items():
        assert places[symmetry][y * 3 + x] == to_y * 3 + to_x
    inverse = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 5, 7: 7}
    for symmetry, back in inverse.items():
        assert np.array_equal(places[back][places[symmetry]], np.arange(9))


@pytest.mark.parametrize("name", NETS)
def test_openvino_agrees_with_torch(name: str) -> None:
    fast, slow = load_evaluator(FIXTURES / f"{name}.bin.gz", length=LENGTH, precision=FLOAT32), torch_evaluator(name)
    assert fast.description.startswith("CPU, OpenVINO, float32")
    for full in (True, False):
        batch, other = random_batch(4, LENGTH, full=full), random_batch(4, LENGTH, full=full)
        fast.run(batch, 4)
        slow.run(other, 4)
        for key, value in outputs(batch, slice(4)).items():
            np.testing.assert_allclose(getattr(other, key), value, atol=5e-4, rtol=5e-4, err_msg=key)
    fast.close()


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


# -- decoding -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(8, 18))
def test_decoding_by_formulas_in_float64(version: int) -> None:
    import dataclasses

    config = dataclasses.replace(named("b2c16"), version=version)
    raw = np.array([0.3, -0.2, 0.1, 0.7, -1.3, 0.4, 0.9, -0.6, 1.1])[: 7 if version == 8 else 9]
    inputs, scalars = np.zeros(19), np.zeros(len(SCALARS))
    win_loss, void = decode_values(raw, inputs, decoding_of(config), scalars)

    def plus(x: float) -> float:
        return math.log(1 + math.exp(x))

    share = np.exp(raw[:3]) / np.exp(raw[:3]).sum()
    value_error = score_error = turns = -1.0
    if version == 9:
        value_error, score_error = plus(-0.6), plus(1.1) * 10
    elif 10 <= version <= 13:
        value_error, score_error = math.sqrt(plus(-0.6) * 0.25), math.sqrt(plus(1.1) * 150)
    elif version >= 14:
        value_error, score_error = math.sqrt(plus(-0.3) ** 2 * 0.25), math.sqrt(plus(0.55) ** 2 * 150)
    if version >= 9:
        turns = plus(0.9) * 40
    assert win_loss == pytest.approx(share[0] - share[1])
    assert void == pytest.approx(share[2])
    left = 1 - share[2]
    expected = [14 * left, plus(-1.3) * 20, 8 * left, turns, value_error, score_error]
    assert scalars == pytest.approx(expected)
    square = score_mean_square(scalars[0], scalars[1], void)
    assert square == pytest.approx((14**2 + (plus(-1.3) * 20) ** 2) * left)
    inputs[6] = 1.0  # superko: every game has a result
    win_loss, void = decode_values(raw, inputs, decoding_of(config), scalars)
    assert win_loss == pytest.approx(math.tanh(0.25))
    assert void == 0.0
    inputs[9] = 1.0  # unless scored by territory
    assert decode_values(raw, inputs, decoding_of(config), scalars)[1] == pytest.approx(share[2])


def test_extreme_logits() -> None:
    assert softplus(800.0) == 800.0
    assert softplus(-800.0) == 0.0
    assert short_term_error(-90.0, 0.25, ErrorFormula.SQUARED_SOFTPLUS.value) >= 0.0
    scalars = np.zeros(6)
    raw = np.array([900.0, -900.0, 0.0, 0, 0, 0, 0, 0, 0])
    assert decode_values(raw, np.zeros(19), decoding_of(named("b2c16")), scalars) == (1.0, 0.0)


# -- sizes, failures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, [1]),
        (2, [1, 1]),
        (3, [4]),
        (5, [4, 1]),
        (16, [16]),
        (47, [16, 16, 16]),
        (48, [64]),
        (100, [64, 16, 16, 4]),
        (0, []),
    ],
)
def test_pieces(count: int, expected: list[int]) -> None:
    assert list(pieces(count, CPU_SIZES)) == expected


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


def test_ownership_is_left_out_where_it_is_not_asked_for(evaluator: Evaluator) -> None:
    whole, part = random_batch(5, LENGTH, full=False), random_batch(5, LENGTH, full=False, ownership=False)
    for batch in (whole, part):
        evaluator.run(batch, 5)
    assert part.ownership.shape == (5, 0)
    for name in ("policy", "win_loss", "no_result", "scalars"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name))


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


def boards(rows: int, sizes: list[tuple[int, int]]) -> Batch:
    """Random rows on boards of these (height, width) in turn."""
    batch = random_batch(rows, LENGTH, full=True)
    for row in range(rows):
        height, width = sizes[row % len(sizes)]
        batch.planes[row, :, height:] = batch.planes[row, :, :, width:] = 0.0
    return batch


EDGES = integers(2, LENGTH)


@settings(max_examples=200, deadline=None)
@given(lists(tuples(EDGES, EDGES) | EDGES.map(lambda edge: (edge, edge)), min_size=1, max_size=3))
def test_common_edge(sizes: list[tuple[int, int]]) -> None:
    one_square = len(set(sizes)) == 1 and sizes[0][0] == sizes[0][1]
    assert common_edge(boards(len(sizes), sizes).planes) == (sizes[0][0] if one_square else LENGTH)
    assert common_edge(boards(1, sizes).planes[:0]) == LENGTH


@pytest.mark.parametrize("edge", [2, 5, 6])
def test_boards_of_one_size_are_all_that_is_computed(watched: NetEvaluator, edge: int) -> None:
    """They give what they give beside others, where masks are needed, and what they give in tensors of their own."""
    rows, backend = 13, watched._backend
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
    made = NetEvaluator(watched._net, TorchBackend(watched._net, edge, 1), edge)
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


class LateLane(TorchBackend):
    """Reads its inputs when its outputs are asked for, which may be the last moment on a device."""

    def __init__(self, net: Net, device: LateDevice) -> None:
        super().__init__(net, LENGTH, 1, device.sizes)
        self._device = device
        self._launched: BatchShape | None = None

    def launch(self, shape: BatchShape) -> None:
        assert self._launched is None, "launched again before the outputs were taken"
        if shape.rows > self._device.memory:
            raise OutOfMemory("no memory")
        self._launched = shape
        self._device.under_way.append(self)

    def outputs(self) -> Raw:
        assert self._launched is not None, "nothing was launched"
        assert self._device.under_way.pop(0) is self, "waits for a later batch than the oldest"
        shape, self._launched = self._launched, None
        return self.run(shape)


class LateDevice:
    """A device with two lanes, whose batches end one after the other."""

    description = "late"
    sixteen_bit = False
    sizes = (1, 4, 8)

    def __init__(self, net: Net, memory: int = 8) -> None:
        self.memory = memory
        self.under_way: list[LateLane] = []
        self.lanes = LateLane(net, self), LateLane(net, self)

    def close(self) -> None:
        """Nothing to free."""


class SubmittedBatches(RuleBasedStateMachine):
    """Batches submitted and waited for in any order hold in the end what one after the other would give."""

    def __init__(self) -> None:
        super().__init__()
        net = mini(NETS[0])
        self.device = LateDevice(net, memory=4)
        self.evaluator = NetEvaluator(net, self.device, LENGTH)
        self.recurring = patch("nets.evaluator.RECURRING", 2)
        self.recurring.start()
        self.other = torch_evaluator(NETS[0])
        self.waiting: list[tuple[Batch, Batch, Callable[[], None]]] = []
        self.seed = 0

    @rule(rows=integers(0, 14), full=booleans(), edge=sampled_from([LENGTH, 4]))
    def submit(self, rows: int, full: bool, edge: int) -> None:
        self.seed += 1
        mine, other = (random_batch(max(rows, 1), LENGTH, full=full, seed=self.seed) for _ in range(2))
        for batch in (mine, other):
            batch.planes[:, :, edge:] = batch.planes[:, :, :, edge:] = 0.0
        self.other.run(other, rows)
        self.waiting.append((mine, other, self.evaluator.submit(mine, rows)))

    @precondition(lambda self: self.waiting)
    @rule(which=integers(0, 1000), again=booleans())
    def wait(self, which: int, again: bool) -> None:
        mine, other, wait = self.waiting.pop(which % len(self.waiting))
        wait()
        if again:
            wait()
        for name in OUTPUTS:
            np.testing.assert_allclose(getattr(mine, name), getattr(other, name), atol=1e-4, rtol=1e-4)

    def teardown(self) -> None:
        self.recurring.stop()


SubmittedBatches.TestCase.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
TestSubmittedBatches = SubmittedBatches.TestCase


def test_two_batches_are_under_way_at_once() -> None:
    net = mini(NETS[0])
    device = LateDevice(net)
    evaluator = NetEvaluator(net, device, LENGTH)
    evaluator.run(random_batch(8, LENGTH, full=True), 8)  # proves that size
    assert evaluator.lanes == 2
    waits = [evaluator.submit(random_batch(8, LENGTH, full=True), 8) for _ in range(2)]
    assert len(device.under_way) == 2
    for wait in waits:
        wait()
    assert device.under_way == []


def test_a_bad_batch_is_told_where_it_is_waited_for() -> None:
    net = mini(NETS[0])
    evaluator = NetEvaluator(net, LateDevice(net), LENGTH)
    bad, good = random_batch(4, LENGTH, full=True), random_batch(4, LENGTH, full=True)
    bad.global_inputs[2, 5] = np.nan
    wait_for_bad, wait_for_good = evaluator.submit(bad, 4), evaluator.submit(good, 4)
    with pytest.raises(EvaluatorError, match="not a number"):
        wait_for_bad()
    wait_for_good()
    assert np.isfinite(good.policy).all()


class NoDevice(TorchBackend):
    def run(self, shape: BatchShape) -> Raw:
        raise OutOfMemory("no memory")


def test_no_memory_at_all() -> None:
    net = mini(NETS[0])
    with pytest.raises(EvaluatorError, match="no memory for a single row"):
        NetEvaluator(net, NoDevice(net, LENGTH, 1), LENGTH).run(new_batch(1, LENGTH), 1)


def test_not_a_number_stops_with_a_message() -> None:
    net = mini(NETS[0])
    made = make_evaluator(net, length=LENGTH)
    batch = random_batch(4, LENGTH, full=True)
    batch.global_inputs[2, 5] = np.nan
    with pytest.raises(EvaluatorError, match="not a number"):
        made.run(batch, 4)


def test_a_damaged_net_is_refused_at_the_start() -> None:
    net = mini(NETS[0])
    with torch.no_grad():
        net.linear_globals.weight[:] = 1e38
    with pytest.raises(EvaluatorError, match="cannot be evaluated on cpu"):
        make_evaluator(net, length=LENGTH)


class WrongOpenVino(OpenVinoBackend):
    """Computes something else than the net."""

    def run(self, shape: BatchShape) -> Raw:
        raw = super().run(shape)
        return raw._replace(values=raw.values + 1.0 * np.arange(raw.values.shape[1], dtype=np.float32))


def test_a_backend_that_differs_is_replaced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("nets.evaluator.OpenVinoBackend", WrongOpenVino)
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
    monkeypatch.setattr("nets.evaluator.OpenVinoBackend", WrongAt)
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


def test_a_size_that_fails_in_play_loses_no_batch_under_way() -> None:
    class Failing(LateLane):
        def run(self, shape: BatchShape) -> Raw:
            if shape.rows == 8:
                raise RuntimeError("the driver has crashed")
            return super().run(shape)

    net = mini(NETS[0])
    device = LateDevice(net)
    device.lanes = Failing(net, device), Failing(net, device)
    evaluator = NetEvaluator(net, device, LENGTH, iter([lambda: TorchBackend(net, LENGTH, 1)]))
    other = torch_evaluator(NETS[0])
    batches = [(random_batch(rows, LENGTH, full=True, seed=rows), rows) for rows in (4, 1, 8)]
    waits = [evaluator.submit(batch, rows) for batch, rows in batches]
    for (batch, rows), wait in zip(batches, waits, strict=True):
        wait()
        expected = random_batch(rows, LENGTH, full=True, seed=rows)
        other.run(expected, rows)
        np.testing.assert_allclose(batch.policy, expected.policy, atol=1e-4)
    assert evaluator.lanes == 1


SHORT_OF_MEMORY = """
import logging, resource, sys
import numpy as np
from nets import backends, evaluator
from nets.config import named
from nets.model import Net

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


def test_without_openvino(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ImportError("No module named 'openvino'")

    monkeypatch.setattr("nets.evaluator.OpenVinoBackend", missing)
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
    """Without the child process, of which tests/nets/test_proving.py tells."""
    return way.make(self._net, self._length)


def test_float32_under_the_name_of_bfloat16_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.evaluator.OpenVinoBackend", Stubborn)
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

    monkeypatch.setattr("nets.evaluator.OpenVinoBackend", DeadInBfloat16)
    monkeypatch.setattr(Proving, "start", start_at_once)
    monkeypatch.setattr(
        "nets.evaluator._seconds_of_a_batch", lambda backend, length: 1.0 + (backend.description != quick)
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


def test_large_nets_have_few_batch_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "LARGE_NET", 10)
    assert OpenVinoBackend(mini(NETS[0]), LENGTH, 1, sixteen_bit=False).sizes == (1, 8)
