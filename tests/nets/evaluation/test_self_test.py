"""The judge of devices: what rounding does passes, what a fault does does not, and one odd number decides nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from common.go.points import MAX_LENGTH, MIN_LENGTH
from common.inputs import V7
from common.rows import InputPlane
from nets.evaluation.batch import Batch
from nets.evaluation.known_positions import KNOWN_ROWS, known_positions, repeated
from nets.evaluation.self_test import FLOAT32, SIXTEEN_BITS, differences, objections

EDGE = 9


def answered(rows: int = KNOWN_ROWS, *, noise: float = 0.0, seed: int = 0) -> Batch:
    """The known positions with outputs as of a net that has learned something, each times 1 ± ``noise``."""
    random = np.random.default_rng(7)
    batch = repeated(known_positions(V7, EDGE, full=True), KNOWN_ROWS)
    values: dict[str, Any] = {
        "policy": random.normal(0.0, 3.0, batch.policy.shape),
        "win_loss": random.uniform(-0.9, 0.9, KNOWN_ROWS),
        "no_result": random.uniform(0.0, 0.1, KNOWN_ROWS),
        "scalars": random.uniform(5.0, 15.0, batch.scalars.shape),
        "ownership": random.uniform(-1.0, 1.0, batch.ownership.shape),
    }
    answer = repeated(known_positions(V7, EDGE, full=True), rows)
    shaking = np.random.default_rng(seed)
    for name, value in values.items():
        array = getattr(answer, name)
        array[:] = np.resize(value, array.shape)
        array *= 1.0 + noise * shaking.normal(size=array.shape)
    return answer


def objected(found: Batch, limits: Any = SIXTEEN_BITS) -> list[str]:
    return objections(differences(found, answered(), known_positions(V7, EDGE, full=True).legal), limits)


@pytest.mark.parametrize("rows", [KNOWN_ROWS, 64, 20])
def test_rounding_passes(rows: int) -> None:
    assert objected(answered(rows, noise=2**-9)) == []  # of bfloat16
    assert objected(answered(rows, noise=2**-22), FLOAT32) == []
    assert objected(answered(rows, noise=2**-9), FLOAT32) != []


def test_one_odd_position_decides_in_32_bits_only() -> None:
    odd = answered()
    odd.win_loss[5] -= 0.6 * np.sign(odd.win_loss[5])  # 0.3 of winrate
    assert objected(odd) == []
    assert objected(odd, FLOAT32) != []


FAULTS: dict[str, Any] = {
    "policy turned around": lambda batch: batch.policy.__setitem__(slice(None), batch.policy[:, ::-1].copy()),
    "rows of others": lambda batch: batch.policy.__setitem__(slice(None), np.roll(batch.policy, 1, 0)),
    "winrate of the other side": lambda batch: np.negative(batch.win_loss, out=batch.win_loss),
    "scores of the other side": lambda batch: np.negative(batch.scalars[:, 0], out=batch.scalars[:, 0]),
    "lead in other units": lambda batch: np.multiply(batch.lead, 20.0, out=batch.scalars[:, 2]),
    "no result at all": lambda batch: batch.no_result.fill(1.0),
    "ownership turned around": lambda batch: np.negative(batch.ownership, out=batch.ownership),
    "not a number": lambda batch: batch.win_loss.__setitem__(3, np.nan),
    "not a number in the policy": lambda batch: batch.policy.__setitem__((6, -1), np.nan),
    "two positions wrong": lambda batch: batch.win_loss.__setitem__(slice(2, 4), 0.99),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_do_not_pass(fault: str) -> None:
    batch = answered()
    FAULTS[fault](batch)
    assert objected(batch) != [], fault
    assert objected(batch, FLOAT32) != [], fault


def test_what_is_illegal_does_not_count() -> None:
    batch, legal = answered(), known_positions(V7, EDGE, full=True).legal
    assert not legal.all()
    batch.policy[~legal] = 1e9
    assert objected(batch, FLOAT32) == []


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("edge", range(MIN_LENGTH, MAX_LENGTH + 1))
def test_there_are_positions_for_every_tensor(edge: int, full: bool) -> None:
    known = known_positions(V7, edge, full=full)
    planes = known.batch.planes
    on_board = planes[:, InputPlane.ON_BOARD]
    assert on_board[0].all()
    assert on_board.all() == (full or edge == MIN_LENGTH)
    stones = (planes[:, InputPlane.OWN_STONE] + planes[:, InputPlane.OPP_STONE]).sum((1, 2))
    assert stones[0] == 0
    assert np.count_nonzero(np.diff(stones)) >= min(4, edge - 1)  # a game goes on from row to row
    assert known.legal[:, -1].all()
    assert not (known.legal[:, :-1].reshape(on_board.shape) & (on_board == 0)).any()
    assert list(known.batch.symmetry) == list(range(KNOWN_ROWS))
