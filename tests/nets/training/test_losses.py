"""Each loss term against the formula of training.md 1, written here a second time in float64 numpy, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from common.rows import Rows
from nets.architecture.config import NetConfig, named
from nets.architecture.heads import HEADS, Presence, heads_of, output_shape
from nets.data.targets import RowBatch, Targets, make_batch
from nets.training.losses import Losses, Recipe, SekiScale, all_terms, seki_share
from tests.nets.made_rows import made_rows

LENGTH, COUNT = 5, 6
EXTRA = tuple(head.name for head in HEADS.values() if head.presence is Presence.IF_NAMED)
NET = replace(named("b2c16-q"), extra_heads=EXTRA)
EVERY_TERM = Recipe("today", added={term.name: 1.0 for term in all_terms()})
Outputs = dict[str, torch.Tensor]


def made_outputs(config: NetConfig = NET, seed: int = 3) -> Outputs:
    """Random raw outputs in float64, with gradients; belief normalised, policies off board as the net has them."""
    generator = torch.Generator().manual_seed(seed)
    outputs = {}
    for head in heads_of(config, training=True):
        raw = torch.randn(COUNT, *output_shape(head, LENGTH), generator=generator, dtype=torch.float64) * 1.5
        if head.name == "score_belief":
            raw = raw.log_softmax(dim=1)
        outputs[head.name] = raw.requires_grad_()
    return outputs


@pytest.fixture(scope="module")
def rows() -> Rows:
    return made_rows(COUNT, LENGTH, smallest=3)


@pytest.fixture(scope="module")
def batch(rows: Rows) -> RowBatch:
    return make_batch(rows)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    shares: np.ndarray = e / e.sum(axis=-1, keepdims=True)
    return shares


def ce(target: np.ndarray, logits: np.ndarray) -> float:
    return float(-(target * np.log(softmax(logits))).sum())


def bce(target: np.ndarray, logits: np.ndarray) -> np.ndarray:
    chance = 1 / (1 + np.exp(-logits))
    losses: np.ndarray = -(target * np.log(chance) + (1 - target) * np.log(1 - chance))
    return losses


def huber(x: float, y: float, delta: float) -> float:
    d = abs(x - y)
    return d * d / 2 if d <= delta else delta * delta / 2 + delta * (d - delta)


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


class Row:
    """One row of the fixture and one row of outputs, as numpy; columns by the numbers of the specification."""

    def __init__(self, rows: Rows, outputs: Outputs, index: int) -> None:
        self.c = rows.global_targets[index].astype(np.float64)
        self.o = {name: value[index].detach().numpy() for name, value in outputs.items()}
        self.mask = rows.planes()[index, 0].astype(np.float64)
        self.area: float = self.mask.sum()
        policy = rows.policy_targets[index].astype(np.float64)
        self.pi = policy / policy.sum(axis=1, keepdims=True)
        self.maps = rows.value_targets[index].astype(np.float64)
        self.scores = rows.score_distribution[index] / 100.0
        self.q = rows.q_values[index].astype(np.float64)

    def soft(self, channel: int) -> np.ndarray:
        legal = np.append(self.mask.ravel(), 1.0)
        power = ((self.pi[channel] + 1e-7) * legal) ** 0.25
        shares: np.ndarray = power / power.sum()
        return shares

    @property
    def board_ce3(self) -> float:
        g, o = self.maps[1], self.maps[0]
        total = 0.0
        for y, x in zip(*np.nonzero(self.mask), strict=True):
            raw = self.o["seki"][:, y, x]
            three = np.array([1 - g[y, x] ** 2, max(g[y, x], 0), max(-g[y, x], 0)])
            two = np.array([1 - o[y, x] ** 2, o[y, x] ** 2])
            total += ce(three, raw[:3]) + 0.5 * ce(two, np.array([raw[3], 0.0]))
        return total / self.area

    @property
    def belief(self) -> tuple[float, float]:
        p = np.exp(self.o["score_belief"])
        bins = np.array([i - len(p) / 2 + 0.5 for i in range(len(p))])
        mean = float((p * bins).sum())
        return mean, float((p * (bins - mean) ** 2).sum())

    @property
    def value_short(self) -> float:
        p = softmax(self.o["td_value_short"])
        return float(p[0] - p[1])

    @property
    def long_optimism(self) -> float:
        c = self.c
        stdev = 20 * softplus(float(self.o["score_stdev"]))
        z = (c[3] - 20 * float(self.o["score_mean"])) / math.sqrt(stdev**2 + 0.25)
        return float(min(1.0, max(0.0, (c[0] + c[2] / 2) ** 2 + sigmoid(3 * (z - 1.5)))))

    @property
    def short_optimism(self) -> float:
        c = self.c
        value_error = 0.25 * softplus(float(self.o["short_term_value_error"]) / 2) ** 2
        score_error = 150 * softplus(float(self.o["short_term_score_error"]) / 2) ** 2
        z_v = ((c[12] - c[13]) - self.value_short) / math.sqrt(value_error + 0.0001)
        z_s = (c[15] - 20 * float(self.o["td_score_short"])) / math.sqrt(score_error + 0.25)
        return min(1.0, max(0.0, sigmoid(3 * (z_v - 1.5)) + sigmoid(3 * (z_s - 1.5))))

    def kl(self, first: int, name: str) -> float:
        t = self.c[first : first + 3]
        return ce(t, self.o[name]) + float(sum(p * math.log(p) for p in t if p > 0))


FORMULAS: dict[str, Callable[[Row], float]] = {
    "policy": lambda r: ce(r.pi[0], r.o["policy"]),
    "opponent_policy": lambda r: ce(r.pi[1], r.o["opponent_policy"]),
    "soft_policy": lambda r: ce(r.soft(0), r.o["soft_policy"]),
    "soft_opponent_policy": lambda r: ce(r.soft(1), r.o["soft_opponent_policy"]),
    "long_optimistic_policy": lambda r: ce(r.pi[0], r.o["long_optimistic_policy"]) * r.long_optimism,
    "short_optimistic_policy": lambda r: ce(r.pi[0], r.o["short_optimistic_policy"]) * r.short_optimism,
    "value": lambda r: ce(r.c[0:3], r.o["value"]),
    "td_value_long": lambda r: r.kl(4, "td_value_long"),
    "td_value_mid": lambda r: r.kl(8, "td_value_mid"),
    "td_value_short": lambda r: r.kl(12, "td_value_short"),
    "td_score_long": lambda r: huber(20 * float(r.o["td_score_long"]), r.c[7], 12),
    "td_score_mid": lambda r: huber(20 * float(r.o["td_score_mid"]), r.c[11], 12),
    "td_score_short": lambda r: huber(20 * float(r.o["td_score_short"]), r.c[15], 12),
    "ownership": lambda r: float((bce((1 + r.maps[0]) / 2, 2 * r.o["ownership"]) * r.mask).sum() / r.area),
    "scoring": lambda r: (
        4 * (math.sqrt((((r.o["scoring"] - r.maps[4] / 120) ** 2) * r.mask).sum() / r.area / 2 + 1) - 1)
    ),
    "future_position": lambda r: float(
        (
            ((np.tanh(r.o["future_position"][0]) - r.maps[2]) ** 2) * r.mask
            + 0.25 * ((np.tanh(r.o["future_position"][1]) - r.maps[3]) ** 2) * r.mask
        ).sum()
        / math.sqrt(r.area)
    ),
    "seki": lambda r: 7 * r.board_ce3,
    "score_mean": lambda r: huber(20 * float(r.o["score_mean"]), r.c[3], 12),
    "score_mean_belief": lambda r: huber(20 * float(r.o["score_mean"]), r.belief[0], 10),
    "score_stdev": lambda r: huber(20 * softplus(float(r.o["score_stdev"])), math.sqrt(0.001 + r.belief[1]), 10),
    "score_belief_cdf": lambda r: float(
        sum((np.exp(r.o["score_belief"])[: i + 1].sum() - r.scores[: i + 1].sum()) ** 2 for i in range(len(r.scores)))
    ),
    "score_belief_pdf": lambda r: float(-(r.scores * r.o["score_belief"]).sum()),
    "lead": lambda r: huber(20 * float(r.o["lead"]), r.c[21], 8),
    "variance_time": lambda r: huber(40 * softplus(float(r.o["variance_time"])), r.c[22] + 1e-5, 50),
    "short_term_value_error": lambda r: huber(
        0.25 * softplus(float(r.o["short_term_value_error"]) / 2) ** 2,
        (r.value_short - (r.c[12] - r.c[13])) ** 2 + 1e-8,
        0.4,
    ),
    "short_term_score_error": lambda r: huber(
        150 * softplus(float(r.o["short_term_score_error"]) / 2) ** 2,
        (20 * float(r.o["td_score_short"]) - r.c[15]) ** 2 + 1e-4,
        100,
    ),
    "q_win_loss": lambda r: float(
        (np.sqrt(r.q[2]) * bce((1 + r.q[0] / 32000) / 2, 2 * r.o["q_win_loss"])).sum() / (1 + np.sqrt(r.q[2]).sum())
    ),
    "q_score": lambda r: (
        sum(n * huber(20 * raw, s / 60, 12) for n, raw, s in zip(r.q[2], r.o["q_score"], r.q[1], strict=True))
        / (1 + np.sqrt(r.q[2]).sum())
    ),
}

WEIGHTS: dict[str, Callable[[np.ndarray], float]] = {
    "policy": lambda c: c[26],
    "opponent_policy": lambda c: c[28],
    "soft_policy": lambda c: c[26],
    "soft_opponent_policy": lambda c: c[28],
    "long_optimistic_policy": lambda c: c[26] * c[27],
    "short_optimistic_policy": lambda c: c[26] * c[27],
    "value": lambda c: 1 - c[35],
    "td_value_long": lambda c: 1 - c[24],
    "td_value_mid": lambda c: 1 - c[24],
    "td_value_short": lambda c: 1 - c[24],
    "scoring": lambda c: c[34],
    "future_position": lambda c: c[33],
    "lead": lambda c: c[29],
    **dict.fromkeys(("score_stdev", "score_mean_belief", "q_win_loss", "q_score"), lambda c: 1.0),
}
"""Weight columns of training.md 1; every other term has c27."""


def test_every_term_has_a_formula_here() -> None:
    assert set(FORMULAS) == {term.name for term in all_terms()}
    assert len(all_terms()) == 28


@pytest.mark.parametrize("name", FORMULAS)
def test_each_term_is_its_formula_row_by_row(name: str, rows: Rows, batch: RowBatch) -> None:
    outputs = made_outputs()
    losses = Losses(NET, EVERY_TERM)
    values = losses.formulas(outputs, Targets(batch, torch.float64))
    got = values[losses.names.index(name)].detach().numpy()
    expected = [FORMULAS[name](Row(rows, outputs, index)) for index in range(COUNT)]
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_total_is_the_weighted_sum_over_rows_and_terms(rows: Rows, batch: RowBatch) -> None:
    outputs = made_outputs()
    for recipe in (Recipe("today"), Recipe("paper"), replace(EVERY_TERM, scales={})):
        losses = Losses(NET, recipe)
        result = losses(outputs, Targets(batch, torch.float64))
        columns = rows.global_targets.astype(np.float64)
        expected = 0.0
        for number, term in enumerate(losses.terms):
            weigh: Callable[[np.ndarray], float] = WEIGHTS.get(term.name, lambda c: c[27])
            weight = [weigh(c) * c[25] for c in columns]
            value = [FORMULAS[term.name](Row(rows, outputs, index)) for index in range(COUNT)]
            assert float(result.weights[number]) == pytest.approx(sum(weight), rel=1e-9)
            assert float(result.sums[number]) == pytest.approx(np.dot(weight, value), rel=1e-9)
            expected += recipe.coefficient(term) * np.dot(weight, value)
        assert float(result.total.detach()) == pytest.approx(expected, rel=1e-6)


TODAY = {
    "policy": 0.93,
    "opponent_policy": 0.15,
    "soft_policy": 8,
    "soft_opponent_policy": 1.2,
    "long_optimistic_policy": 0.1,
    "short_optimistic_policy": 0.2,
    "value": 0.72,
    "ownership": 1.5,
    **dict.fromkeys(("td_value_long", "td_value_mid", "td_value_short"), 0.72),
    **dict.fromkeys(("td_score_long", "td_score_mid", "td_score_short"), 0.0004),
    "scoring": 0.25,
    "future_position": 0.25,
    "seki": 1,
    "score_mean": 0.0015,
    "score_belief_cdf": 0.02,
    "score_belief_pdf": 0.02,
    "score_stdev": 0.001,
    "lead": 0.006,
    "variance_time": 0.0003,
    "short_term_value_error": 2,
    "short_term_score_error": 2e-5,
    "q_win_loss": 1.5,
    "q_score": 0.0008,
}
PAPER = {
    "policy": 1,
    "opponent_policy": 0.15,
    "value": 1.5,
    "ownership": 1.5,
    "score_belief_cdf": 0.02,
    "score_belief_pdf": 0.02,
    "score_mean_belief": 0.004,
    "score_stdev": 0.004,
}


@pytest.mark.parametrize(("name", "expected"), [("today", TODAY), ("paper", PAPER)])
def test_weights_of_the_recipes(name: str, expected: dict[str, float]) -> None:
    recipe = Recipe(name)
    assert {term.name: recipe.coefficient(term) for term in all_terms() if recipe.coefficient(term)} == expected


GRADIENT_ELSEWHERE = {"score_stdev": {"score_belief"}, "score_mean_belief": {"score_belief"}}
"""Terms whose gradient reaches a second output; in all others it stays in the term's own."""


@pytest.mark.parametrize("head", HEADS.values(), ids=lambda head: head.name)
def test_gradients_flow_only_where_they_should(head: Any, batch: RowBatch) -> None:
    for term in head.terms:
        outputs = made_outputs()
        only = Recipe("today", scales={t.name: 0.0 for t in all_terms()}, added={term.name: 1.0})
        losses = Losses(NET, only)
        torch.autograd.backward(losses(outputs, Targets(batch, torch.float64)).total)
        reached = {name for name, raw in outputs.items() if raw.grad is not None and raw.grad.abs().sum() > 0}
        assert reached == {head.name} | GRADIENT_ELSEWHERE.get(term.name, set())
        assert reached <= losses.needed


def test_softplus_outputs_have_a_floor_under_their_gradient() -> None:
    """Derivative 0.05 + 0.95·σ(x) of raw output x, whatever the shape of the function (architectures.md 5)."""
    from nets.training.losses import _View

    raw = torch.tensor([-30.0, -1.0, 0.0, 2.0, 30.0], dtype=torch.float64)
    batch = make_batch(made_rows(5, LENGTH))
    cases: list[tuple[str, float, Callable[[float], float]]] = [
        ("score_stdev", 20.0, lambda x: softplus(x)),
        ("variance_time", 40.0, lambda x: softplus(x)),
        ("short_term_value_error", 0.25, lambda x: softplus(x / 2) ** 2),
        ("short_term_score_error", 150.0, lambda x: softplus(x / 2) ** 2),
    ]
    for name, multiplier, exact in cases:
        x = raw.clone().requires_grad_()
        view = _View(NET, {name: x}, Targets(batch, torch.float64), 1.0, True)
        value = view.quantity(name)
        torch.autograd.backward(value.sum())
        assert x.grad is not None
        np.testing.assert_allclose(value.detach(), [multiplier * exact(float(v)) for v in raw], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(x.grad, [multiplier * (0.05 + 0.95 * sigmoid(float(v))) for v in raw], rtol=1e-12)


def test_a_term_can_be_switched_off_scaled_and_added() -> None:
    assert "lead" not in Losses(NET, Recipe("today", scales={"lead": 0.0})).names
    assert "lead" in Losses(NET, Recipe("paper", added={"lead": 0.006})).names
    lead = next(term for term in all_terms() if term.name == "lead")
    assert Recipe("today", scales={"lead": 2.0}).coefficient(lead) == pytest.approx(0.012)
    with pytest.raises(ValueError, match="no loss term is called 'leed'"):
        Recipe("today", scales={"leed": 0.0})
    with pytest.raises(ValueError, match="no recipe"):
        Recipe("tomorrow")
    with pytest.raises(ValueError, match="switched off"):
        Losses(NET, Recipe("paper", scales=dict.fromkeys(PAPER, 0.0)))
    assert not any(name.startswith("q_") for name in Losses(named("b2c16"), Recipe()).names)


def test_without_optimism_the_optimistic_policies_train_like_others_at_half_weight(rows: Rows, batch: RowBatch) -> None:
    losses = Losses(NET, Recipe("today", optimism=False))
    outputs = made_outputs()
    result = losses(outputs, Targets(batch, torch.float64))
    for name in ("long_optimistic_policy", "short_optimistic_policy"):
        expected = sum(
            0.5 * c[25] * c[26] * ce(Row(rows, outputs, index).pi[0], Row(rows, outputs, index).o[name])
            for index, c in enumerate(rows.global_targets.astype(np.float64))
        )
        assert float(result.sums[losses.names.index(name)]) == pytest.approx(expected, rel=1e-9)


def test_seki_scale_follows_the_running_mean(rows: Rows, batch: RowBatch) -> None:
    targets = Targets(batch, torch.float64)
    share = seki_share(targets)
    expected = np.mean(
        [
            c[27] * ((1 - maps[0].astype(float) ** 2) * mask).sum() / (1 + mask.sum())
            for c, maps, mask in zip(rows.global_targets, rows.value_targets, rows.planes()[:, 0], strict=True)
        ]
    )
    assert float(share) == pytest.approx(expected, rel=1e-9)
    scale = SekiScale(dtype=torch.float64)
    assert float(scale.update(share)) == pytest.approx(8 * 0.005 / (0.005 + expected))
    second = torch.tensor(0.01, dtype=torch.float64)
    mean = (0.998 * expected + 0.01) / 1.998
    assert float(scale.update(second)) == pytest.approx(8 * 0.005 / (0.005 + mean))


def test_rows_of_weight_zero_do_not_count(rows: Rows) -> None:
    silent = Rows.concatenate([rows])
    silent.global_targets[:, 25] = 0
    outputs = made_outputs()
    result = Losses(NET, Recipe())(outputs, Targets(make_batch(silent), torch.float64))
    assert float(result.total.detach()) == 0
    assert not result.weights.any()
