"""Whether columns of rows agree with what a net says: each formula by hand, and real games with lies in them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from common.go.symmetry import NUM_SYMMETRIES
from common.rows import Q_WIN_LOSS_SCALE, GlobalInput, GlobalTarget, PolicyTarget, QTarget, Rows
from nets.evaluation.batch import Batch, Wait, new_batch
from server.inspection.agreement import MARGINS, Agreement, NetView, ask, compare

G = GlobalTarget
LENGTH = 3
MOVES = LENGTH**2 + 1


def made_rows(count: int, seed: int = 1) -> Rows:
    """Rows whose columns are drawn, each move searched."""
    random = np.random.default_rng(seed)
    rows = Rows.zeros(count, LENGTH)
    rows.policy_targets[:, PolicyTarget.OWN] = random.integers(1, 50, (count, MOVES))
    rows.q_values[:, QTarget.VISITS] = random.integers(1, 50, (count, MOVES))
    rows.q_values[:, QTarget.WIN_LOSS] = random.integers(-Q_WIN_LOSS_SCALE, Q_WIN_LOSS_SCALE, (count, MOVES))
    return rows


def made_view(count: int, seed: int = 2) -> NetView:
    """What some net says, every move being legal."""
    random = np.random.default_rng(seed)
    policy = random.random((count, NUM_SYMMETRIES, MOVES))
    return NetView(
        win_loss=random.uniform(-1, 1, (count, NUM_SYMMETRIES)),
        score_mean=random.uniform(-9, 9, (count, NUM_SYMMETRIES)),
        policy=policy / policy.sum(axis=-1, keepdims=True),
    )


def entropy(policy: npt.NDArray[np.float64]) -> float:
    return -sum(float(p) * math.log(p) for p in policy)


def test_what_a_client_told_may_be_any_orientation_or_between() -> None:
    rows, view = made_rows(4), made_view(4)
    columns = rows.global_targets
    columns[:, G.NET_WIN_LOSS] = [view.win_loss[0, 3], view.win_loss[1].mean(), view.win_loss[2].max() + 0.25, -3]
    columns[:, G.NET_SCORE_MEAN] = [view.score_mean[0, 3], view.score_mean[1].mean(), view.score_mean[2].min() - 2, 0]
    entropies = [[entropy(policy) for policy in one] for one in view.policy]
    columns[:, G.NET_POLICY_ENTROPY] = [
        entropies[0][5],
        entropy(view.policy[1].mean(axis=0)),
        entropy(view.policy[2].mean(axis=0)) + 0.5,
        min(entropies[3]) - 0.125,
    ]
    found = compare(rows, view)
    assert found.win_loss_excess[:3] == pytest.approx([0, 0, 0.25], abs=1e-6)
    assert found.win_loss_excess[3] == pytest.approx(view.win_loss[3].min() + 3)
    largest = np.abs(view.score_mean[2]).max()
    assert found.score_excess[2] == pytest.approx(2 - MARGINS.score_share * largest, abs=1e-5)
    assert (found.score_excess[:2] <= 0).all()
    assert found.entropy_excess == pytest.approx([0, 0, 0.5, 0.125], abs=1e-6)


def test_policies_and_values_go_together_as_the_formulas_say() -> None:
    rows, view = made_rows(5), made_view(5)
    rows.global_targets[:, G.SEARCH_WIN] = 0.7
    rows.global_targets[:, G.SEARCH_LOSS] = 0.1
    rows.global_targets[:, G.NET_WIN_LOSS] = 0.25
    rows.q_values[0, QTarget.VISITS, 4:] = 0
    rows.q_values[1, QTarget.VISITS, 1:] = 0
    rows.q_values[2] = 0
    found = compare(rows, view)
    for row in range(5):
        target = rows.policy_targets[row, PolicyTarget.OWN] / rows.policy_targets[row, PolicyTarget.OWN].sum()
        visits = rows.q_values[row, QTarget.VISITS].astype(float)
        worth = rows.q_values[row, QTarget.WIN_LOSS] / Q_WIN_LOSS_SCALE
        mean = view.policy[row].mean(axis=0)
        divergence = sum(t * math.log(t / m) for t, m in zip(target, mean, strict=True))
        assert found.divergence[row] == pytest.approx(divergence)
        assert found.shift[row] == pytest.approx(abs(0.6 - view.win_loss[row].mean()), abs=1e-6)
        if visits.sum() == 0:
            assert (found.unsearched[row], found.q_gap[row]) == (0, 0)
            assert np.isnan(found.preference[row])
            continue
        assert found.unsearched[row] == pytest.approx(sum(target[visits == 0]))
        average = (sum(visits * worth) + 0.25) / (sum(visits) + 1)
        assert found.q_gap[row] == pytest.approx(abs(0.6 - average), abs=1e-6)
        if (visits > 0).sum() < 2:
            assert np.isnan(found.preference[row])
        else:
            assert found.preference[row] == pytest.approx(sum(target * worth) - worth[visits > 0].mean())


def test_side_rows_are_held_to_values_alone() -> None:
    view = made_view(2)
    view.policy[0] = 0
    rows = made_rows(2)
    rows.global_targets[:, G.NET_POLICY_ENTROPY] = 99
    found = compare(rows, view)
    assert found.entropy_excess[0] == 0
    assert found.entropy_excess[1] > 90
    assert np.isnan(found.divergence[0])


@pytest.mark.parametrize("field", ["win_loss_excess", "score_excess", "entropy_excess", "unsearched", "q_gap"])
def test_one_number_makes_a_misfit(field: str) -> None:
    good = Agreement(*[np.zeros(2) for _ in Agreement._fields])
    assert not good.misfits().any()
    spoiled = good._replace(**{field: np.array([0.0, 3.0])})
    assert spoiled.misfits().tolist() == [False, True]


class Told:
    """An evaluator that says what one of the rows' global inputs and their symmetry lead to."""

    length = LENGTH
    reads = 0

    def new_batch(self, capacity: int, *, ownership: bool = True) -> Batch:
        return new_batch(capacity, LENGTH, ownership=ownership)

    def submit(self, batch: Batch, count: int) -> Wait:
        raise NotImplementedError

    def run(self, batch: Batch, count: int) -> None:
        batch.win_loss[:count] = batch.global_inputs[:count, self.reads] + 0.01 * batch.symmetry[:count]
        batch.scalars[:count] = batch.optimism[:count, np.newaxis]
        batch.policy[:count] = np.arange(MOVES) * batch.planes[:count, 0, 0, 0, np.newaxis]

    def close(self) -> None:
        """Nothing."""


def test_a_net_is_asked_under_all_orientations_about_legal_moves() -> None:
    rows = made_rows(3)
    rows.global_inputs[:, 0] = [0.0, 0.25, 0.5]
    rows.packed_planes[1, 0, 0] = 0x80
    legal = np.ones((3, MOVES), np.int8)
    legal[0, 2:] = 0
    legal[2] = 0
    view = ask(Told(), rows, legal, optimism=0.5)  # type: ignore[arg-type]
    assert view.win_loss == pytest.approx(np.array([[0.0], [0.25], [0.5]]) + 0.01 * np.arange(NUM_SYMMETRIES), abs=1e-6)
    assert (view.score_mean == 0.5).all()
    assert view.policy[0, 4].tolist() == [0.5, 0.5] + [0.0] * (MOVES - 2)
    assert view.policy[1, 7] == pytest.approx(np.exp(np.arange(MOVES)) / np.exp(np.arange(MOVES)).sum())
    assert (view.policy[2] == 0).all()


def test_positions_with_uneven_playouts_are_asked_about_without_them_too() -> None:
    rows = made_rows(2)
    legal = np.ones((2, MOVES), np.int8)
    assert ask(Told(), rows, legal).win_loss.shape == (2, NUM_SYMMETRIES)  # type: ignore[arg-type]
    rows.global_inputs[1, [GlobalInput.HAS_PLAYOUT_DOUBLING, GlobalInput.PLAYOUT_DOUBLING]] = 1.0, 0.5
    told = Told()
    told.reads = int(GlobalInput.PLAYOUT_DOUBLING)
    view = ask(told, rows, legal)  # type: ignore[arg-type]
    expected = np.array([[0.0, 0.0], [0.5, 0.0]])
    assert view.win_loss[:, [0, NUM_SYMMETRIES]] == pytest.approx(expected)
    assert view.policy.shape == (2, 2 * NUM_SYMMETRIES, MOVES)
