"""Batches under way on a device: sizes of their pieces, order, and what is told when."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from hypothesis.strategies import booleans, integers, sampled_from

from common.rows import GlobalInput
from nets.architecture.model import Net
from nets.evaluation.backends import CPU_SIZES, Backend, BatchShape, OutOfMemory, Raw, TorchBackend
from nets.evaluation.batch import Batch, EvaluatorError
from nets.evaluation.evaluator import (
    NetEvaluator,
    make_evaluator,
)
from nets.evaluation.pipeline import pieces
from tests.nets.evaluation.evaluators import (
    FLOAT32,
    LENGTH,
    NETS,
    OUTPUTS,
    mini,
    random_batch,
    torch_evaluator,
)


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
def test_a_batch_is_cut_into_full_pieces_and_one_that_is_padded_a_little(count: int, expected: list[int]) -> None:
    assert list(pieces(count, CPU_SIZES)) == expected


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
        self.recurring = patch("nets.evaluation.evaluator.RECURRING", 2)
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


@pytest.mark.parametrize("sixteen_bit", [False, True])
def test_a_bad_batch_is_told_where_it_is_waited_for(sixteen_bit: bool) -> None:
    net = mini(NETS[0])
    device = LateDevice(net)
    device.sixteen_bit = sixteen_bit
    evaluator = NetEvaluator(net, device, LENGTH)
    bad, good = random_batch(4, LENGTH, full=True), random_batch(4, LENGTH, full=True)
    bad.global_inputs[2, 5] = np.nan
    wait_for_bad, wait_for_good = evaluator.submit(bad, 4), evaluator.submit(good, 4)
    with pytest.raises(EvaluatorError, match=f"not a number on {re.escape(device.description)}") as told:
        wait_for_bad()
    assert ("useFP16 = false" in str(told.value)) is sixteen_bit
    wait_for_good()
    assert np.isfinite(good.policy).all()


class Overflowing(LateLane):
    """Puts out no numbers where komi is large, as 16 bits may."""

    def run(self, shape: BatchShape) -> Raw:
        raw = super().run(shape)
        raw.values[self.global_inputs[: shape.rows, GlobalInput.SELF_KOMI] > 50.0, -1] = np.inf
        return raw


def overflowing(net: Net) -> LateDevice:
    device = LateDevice(net)
    device.sixteen_bit = True
    device.lanes = Overflowing(net, device), Overflowing(net, device)
    return device


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 1, 0)])
def test_where_sixteen_bits_overflow_in_play_the_next_way_evaluates_the_batch(
    order: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    net = mini(NETS[0])
    ways: list[Callable[[], Backend]] = [lambda: overflowing(net), lambda: TorchBackend(net, LENGTH, 1)]
    evaluator = NetEvaluator(net, overflowing(net), LENGTH, iter(ways))
    other = torch_evaluator(NETS[0])
    batches = [random_batch(rows, LENGTH, full=True, seed=rows) for rows in (4, 9, 4)]
    batches[1].global_inputs[6, GlobalInput.SELF_KOMI] = 60.0
    waits = [evaluator.submit(batch, len(batch.symmetry)) for batch in batches]
    for which in order:
        waits[which]()
    for which in set(order):
        batch = batches[which]
        expected = copy.deepcopy(batch)
        other.run(expected, len(batch.symmetry))
        for name in OUTPUTS:
            np.testing.assert_allclose(getattr(batch, name), getattr(expected, name), atol=1e-4, rtol=1e-4)
    assert evaluator.description.startswith("CPU, torch, float32")
    assert caplog.text.count("overflows in 16 bits") == 2


def test_not_a_number_stops_with_a_message() -> None:
    net = mini(NETS[0])
    made = make_evaluator(net, length=LENGTH, precision=FLOAT32)
    batch = random_batch(4, LENGTH, full=True)
    batch.global_inputs[2, 5] = np.nan
    with pytest.raises(EvaluatorError, match="not a number"):
        made.run(batch, 4)


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
