"""The loss: each term of the heads' table as a formula, and the two recipes of weights by which they are summed.

Knows the formulas of training.md 1 and nothing of where targets come from (``nets/data/targets.py``), of
parameters (``nets/training/optimizer.py``) or steps (``nets/training/trainer.py``). Which terms exist, what they read
and their weights stands in ``nets/architecture/heads.py``. Weight decay (terms 24 and 25) belongs to the optimiser.

Every formula gives one number per row, [N]; the total is the sum over rows of row weight · term weight · formula times
the recipe's coefficient. All are seen from the player to move.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import torch
import torch.nn.functional as F  # noqa: N812  torch's own custom
from torch import Tensor

from nets.architecture.config import NetConfig
from nets.architecture.heads import HEADS, Head, Loss, RowWeight, Shape, Target, Term, Unit, heads_of
from nets.data.targets import Targets
from nets.files.grammar import ErrorFormula, capabilities_of

RECIPES: Final = ("today", "paper")
_GRADIENT_FLOOR: Final = 0.05
_SEKI_DECAY: Final = 0.998
_SEKI_FRACTION: Final = 0.005
_SEKI_STRENGTH: Final = 8.0
_SEKI_VALIDATION_SCALE: Final = 7.0


@dataclass(frozen=True)
class Recipe:
    """Which terms are trained, and how strongly.

    ``name`` chooses the column of weights in the heads' table. ``scales`` multiplies single terms by name: 0 switches
    one off; a term that the recipe lacks is added by ``added`` with its own coefficient. ``optimism`` off trains the
    optimistic policies like ordinary ones, at half the weight.
    """

    name: str = "today"
    scales: Mapping[str, float] = field(default_factory=dict)
    added: Mapping[str, float] = field(default_factory=dict)
    optimism: bool = True

    def __post_init__(self) -> None:
        if self.name not in RECIPES:
            raise ValueError(f"no recipe is called {self.name!r}; there are: {', '.join(RECIPES)}")
        known = {term.name for term in all_terms()}
        if unknown := sorted({*self.scales, *self.added} - known):
            raise ValueError(f"no loss term is called {unknown[0]!r}; there are: {', '.join(sorted(known))}")
        for term, value in (*self.scales.items(), *self.added.items()):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise ValueError(f"the weight of {term!r} must be a finite number, at least 0, not {value!r}")

    def coefficient(self, term: Term) -> float:
        """The weight of ``term`` in the total; 0 = switched off."""
        base = term.today if self.name == "today" else term.paper
        return self.added.get(term.name, base * self.scales.get(term.name, 1.0))


def all_terms() -> list[Term]:
    """Every term of every head, in the table's order."""
    return [term for head in HEADS.values() for term in head.terms]


@dataclass(frozen=True)
class LossResult:
    """What one batch gave: the total to differentiate, and sums for the metrics (detached, on the device)."""

    total: Tensor  #    [], summed over the rows
    sums: Tensor  #     [T], Σ row weight · term weight · formula, in the order of ``Losses.terms``
    weights: Tensor  #  [T], Σ row weight · term weight


class SekiScale:
    """The adaptive scale of the seki term: rare sekis weigh more. Its running pair belongs into checkpoints."""

    def __init__(self, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> None:
        self.total = torch.zeros((), dtype=dtype, device=device)
        self.weight = torch.zeros((), dtype=dtype, device=device)

    def update(self, share: Tensor) -> Tensor:
        """Scale s after a batch in which ``share`` [] of the board was unowned; changes the running pair."""
        self.total = self.total * _SEKI_DECAY + share
        self.weight = self.weight * _SEKI_DECAY + 1
        return self.value

    @property
    def value(self) -> Tensor:
        """s = 8·0.005 / (0.005 + running mean of the share)."""
        return _SEKI_STRENGTH * _SEKI_FRACTION / (_SEKI_FRACTION + self.total / self.weight)


class Losses:
    """The terms that a net and a recipe have, ready to be computed for batches."""

    def __init__(
        self,
        config: NetConfig,
        recipe: Recipe,
        *,
        device: torch.device | str = "cpu",
        trained: Collection[str] | None = None,
    ) -> None:
        """``trained`` None stands for all outputs; terms that read another one are left out."""
        pairs = [
            (head, term)
            for head in heads_of(config, training=True)
            for term in head.terms
            if recipe.coefficient(term) != 0 and (trained is None or _needed_heads([(head, term)]) <= set(trained))
        ]
        if not pairs:
            raise ValueError("every loss term is switched off")
        self.config, self.recipe = config, recipe
        self.heads = tuple(head for head, _ in pairs)
        self.terms = tuple(term for _, term in pairs)
        self.names = tuple(term.name for term in self.terms)
        self.needed = frozenset(_needed_heads(pairs))
        self._coefficients = torch.tensor([recipe.coefficient(term) for term in self.terms], device=device)
        self._kinds = list(dict.fromkeys(self._row_weight(term) for term in self.terms))
        self._kind_of_term = torch.tensor([self._kinds.index(self._row_weight(t)) for t in self.terms], device=device)

    def __call__(
        self, outputs: Mapping[str, Tensor], targets: Targets, seki_scale: Tensor | float = _SEKI_VALIDATION_SCALE
    ) -> LossResult:
        """The loss of raw ``outputs`` (by head name, as the module gives them). ``seki_scale`` is s of term 13."""
        values = self.formulas(outputs, targets, seki_scale)
        weights = self.term_weights(targets)
        sums = (torch.stack(values) * weights).sum(dim=1)
        total = sums @ self._coefficients.to(sums.dtype)
        return LossResult(total, sums.detach(), weights.sum(dim=1))

    def of_rows(
        self, outputs: Mapping[str, Tensor], targets: Targets, seki_scale: Tensor | float = _SEKI_VALIDATION_SCALE
    ) -> Tensor:
        """[N]: what each row adds to the total of ``__call__``."""
        terms = torch.stack(self.formulas(outputs, targets, seki_scale)) * self.term_weights(targets)
        return self._coefficients.to(terms.dtype) @ terms

    def term_weights(self, targets: Targets) -> Tensor:
        """[T, N]: row weight · term weight of each of ``terms``."""
        weights = torch.stack([targets.weight(kind) for kind in self._kinds]) * targets.row_weight
        return weights[self._kind_of_term]

    def formulas(
        self, outputs: Mapping[str, Tensor], targets: Targets, seki_scale: Tensor | float = _SEKI_VALIDATION_SCALE
    ) -> list[Tensor]:
        """[N] for each of ``terms``, without any weight."""
        view = _View(self.config, outputs, targets, seki_scale, self.recipe.optimism)
        view.prepare_policies([head.name for head in self.heads if head.shape is Shape.MOVES])
        return [_FORMULAS[term.loss](view, head, term) for head, term in zip(self.heads, self.terms, strict=True)]

    def _row_weight(self, term: Term) -> RowWeight:
        if not self.recipe.optimism and term.row_weight is RowWeight.POLICY_AND_OUTCOME:
            return RowWeight.POLICY
        return term.row_weight


def seki_share(targets: Targets) -> Tensor:
    """[]: u of training.md 1, the batch mean of c27 · Σ (1 - ownership²) / (1 + area)."""
    unowned = ((1 - targets[Target.OWNERSHIP] ** 2) * targets.mask).sum(dim=(1, 2)) / (1 + targets.area)
    return (targets.weight(RowWeight.OUTCOME) * unowned).mean()


def _needed_heads(pairs: list[tuple[Head, Term]]) -> set[str]:
    """Names of the outputs that the formulas of these terms read."""
    needed = {head.name for head, _ in pairs}
    for _, term in pairs:
        needed |= _ALSO_READ.get(term.loss, set())
    return needed


_ALSO_READ: Final[Mapping[Loss, set[str]]] = {
    Loss.LONG_OPTIMISTIC: {"score_mean", "score_stdev"},
    Loss.SHORT_OPTIMISTIC: {
        "td_value_short",
        "td_score_short",
        "short_term_value_error",
        "short_term_score_error",
    },
    Loss.BELIEF_MEAN: {"score_belief"},
    Loss.BELIEF_STDEV: {"score_belief"},
    Loss.VALUE_ERROR: {"td_value_short"},
    Loss.SCORE_ERROR: {"td_score_short"},
}


class _View:
    """One batch's raw outputs with the quantities that several formulas share, each computed once."""

    def __init__(
        self,
        config: NetConfig,
        outputs: Mapping[str, Tensor],
        targets: Targets,
        seki_scale: Tensor | float,
        optimism: bool,
    ) -> None:
        self.config, self.outputs, self.targets = config, outputs, targets
        self.seki_scale, self.optimism = seki_scale, optimism
        self._log_policies: dict[str, Tensor] = {}
        self._belief: tuple[Tensor, Tensor, Tensor] | None = None
        self._quantities: dict[str, Tensor] = {}

    def raw(self, name: str) -> Tensor:
        """The output ``name`` in the type that targets are computed in."""
        return self.outputs[name].to(self.targets.dtype)

    def prepare_policies(self, names: list[str]) -> None:
        """log-softmax of all the policies that are trained, at once."""
        logits = [name for name in names if HEADS[name].unit is Unit.LOGITS]
        if logits:
            stacked = F.log_softmax(torch.stack([self.raw(name) for name in logits]), dim=-1)
            self._log_policies = dict(zip(logits, stacked.unbind(), strict=True))

    def cross_entropy(self, name: str, target: Tensor) -> Tensor:
        """[N]: CE of a policy head with ``target`` [N, P]."""
        return -(target * self._log_policies[name]).sum(dim=-1)

    def quantity(self, name: str) -> Tensor:
        """[N] (or a map): the output in points, turns or squared errors; softplus has the floor of its gradient."""
        if name not in self._quantities:
            self._quantities[name] = self._decode(HEADS[name])
        return self._quantities[name]

    def _decode(self, head: Head) -> Tensor:
        raw = self.raw(head.name)
        multiplier = float(getattr(self.config.multipliers, head.multiplier)) if head.multiplier else 1.0
        if head.unit is Unit.SOFTPLUS:
            raw = _floored(F.softplus(raw), raw)
        elif head.unit is Unit.SQUARED_ERROR:
            formula = capabilities_of(self.config.version).error_formula
            if formula not in _SQUARED_ERRORS:
                raise ValueError(f"the error outputs of model version {self.config.version} cannot be trained")
            raw = _floored(_SQUARED_ERRORS[formula](raw), raw)
        return raw * multiplier

    def belief(self) -> tuple[Tensor, Tensor, Tensor]:
        """The score belief's probabilities [N, B], mean [N] and variance [N], in points."""
        if self._belief is None:
            probabilities = self.raw("score_belief").exp()
            bins = probabilities.shape[1]
            scores = torch.arange(bins, dtype=probabilities.dtype, device=probabilities.device) - (bins - 1) / 2
            mean = probabilities @ scores
            variance = (probabilities * (scores - mean[:, None]) ** 2).sum(dim=1)
            self._belief = (probabilities, mean, variance)
        return self._belief

    def short_value(self) -> Tensor:
        """[N]: v̂ = win - loss of the short horizon, without gradient."""
        chances = F.softmax(self.raw("td_value_short").detach(), dim=1)
        return chances[:, 0] - chances[:, 1]

    def short_value_target(self) -> Tensor:
        """[N]: win - loss of the short horizon's target."""
        target = self.targets[Target.TD_OUTCOME_SHORT]
        return target[:, 0] - target[:, 1]

    def board_mean(self, values: Tensor) -> Tensor:
        """[N]: mean of ``values`` [N, L, L] over the points on the board."""
        return (values * self.targets.mask).sum(dim=(1, 2)) / self.targets.area


_SQUARED_ERRORS: Final[Mapping[ErrorFormula, Callable[[Tensor], Tensor]]] = {
    ErrorFormula.SOFTPLUS: F.softplus,
    ErrorFormula.SQUARED_SOFTPLUS: lambda raw: F.softplus(raw / 2) ** 2,
}
"""From raw outputs to squared errors without their multiplier; the oldest formula is not of squares."""


def _floored(exact: Tensor, raw: Tensor) -> Tensor:
    """``exact`` forward; backward as if it were a function of ``raw`` with derivative 0.05 + 0.95·σ(raw)."""
    substitute = _GRADIENT_FLOOR * raw + (1 - _GRADIENT_FLOOR) * F.softplus(raw)
    return exact.detach() + (substitute - substitute.detach())


def _cross_entropy(view: _View, head: Head, term: Term) -> Tensor:
    target = view.targets[term.target]
    if head.shape is Shape.MOVES:
        return view.cross_entropy(head.name, target)
    return -(target * F.log_softmax(view.raw(head.name), dim=1)).sum(dim=1)


def _soft_cross_entropy(view: _View, head: Head, term: Term) -> Tensor:
    return view.cross_entropy(head.name, view.targets.soft(term.target))


def _long_optimistic(view: _View, head: Head, term: Term) -> Tensor:
    loss = view.cross_entropy(head.name, view.targets[term.target])
    return loss * (_long_optimism(view) if view.optimism else 0.5)


def _long_optimism(view: _View) -> Tensor:
    """w_L: how much better than expected the game ended for the player."""
    outcome, score = view.targets[Target.OUTCOME], view.targets[Target.SCORE]
    mean, stdev = view.quantity("score_mean").detach(), view.quantity("score_stdev").detach()
    z = (score - mean) / (stdev**2 + 0.25).sqrt()
    return ((outcome[:, 0] + outcome[:, 2] / 2) ** 2 + torch.sigmoid(3 * (z - 1.5))).clamp(0, 1)


def _short_optimistic(view: _View, head: Head, term: Term) -> Tensor:
    loss = view.cross_entropy(head.name, view.targets[term.target])
    return loss * (_short_optimism(view) if view.optimism else 0.5)


def _short_optimism(view: _View) -> Tensor:
    """w_S: how much better than expected the next turns went for the player."""
    value_error = view.quantity("short_term_value_error").detach()
    score_error = view.quantity("short_term_score_error").detach()
    score = view.targets[Target.TD_SCORE_SHORT] - view.quantity("td_score_short").detach()
    z_value = (view.short_value_target() - view.short_value()) / (value_error + 0.0001).sqrt()
    z_score = score / (score_error + 0.25).sqrt()
    return (torch.sigmoid(3 * (z_value - 1.5)) + torch.sigmoid(3 * (z_score - 1.5))).clamp(0, 1)


def _divergence(view: _View, head: Head, term: Term) -> Tensor:
    target = view.targets[term.target]
    return (torch.xlogy(target, target) - target * F.log_softmax(view.raw(head.name), dim=1)).sum(dim=1)


def _huber(view: _View, head: Head, term: Term) -> Tensor:
    return F.huber_loss(view.quantity(head.name), view.targets[term.target], reduction="none", delta=term.delta)


def _ownership(view: _View, head: Head, term: Term) -> Tensor:
    chance = (1 + view.targets[term.target]) / 2
    return view.board_mean(F.binary_cross_entropy_with_logits(2 * view.raw(head.name), chance, reduction="none"))


def _scoring(view: _View, head: Head, term: Term) -> Tensor:
    mean = view.board_mean((view.quantity(head.name) - view.targets[term.target]) ** 2)
    return 4 * ((mean / 2 + 1).sqrt() - 1)


def _future(view: _View, head: Head, term: Term) -> Tensor:
    squares = (view.raw(head.name).tanh() - view.targets[term.target]) ** 2
    both = (squares[:, 0] + 0.25 * squares[:, 1]) * view.targets.mask
    return both.sum(dim=(1, 2)) / view.targets.area.sqrt()


def _seki(view: _View, head: Head, term: Term) -> Tensor:
    raw, seki, owner = view.raw(head.name), view.targets[term.target], view.targets[Target.OWNERSHIP]
    kinds = torch.stack([1 - seki**2, seki.clamp(min=0), (-seki).clamp(min=0)], dim=1)
    loss = -(kinds * F.log_softmax(raw[:, :3], dim=1)).sum(dim=1)
    neutral = F.binary_cross_entropy_with_logits(raw[:, 3], 1 - owner**2, reduction="none")
    return view.board_mean(loss + 0.5 * neutral) * view.seki_scale


def _belief_cdf(view: _View, head: Head, term: Term) -> Tensor:
    difference = view.belief()[0] - view.targets[term.target]
    return (difference.cumsum(dim=1) ** 2).sum(dim=1)


def _belief_pdf(view: _View, head: Head, term: Term) -> Tensor:
    return -(view.targets[term.target] * view.raw(head.name)).sum(dim=1)


def _belief_mean(view: _View, head: Head, term: Term) -> Tensor:
    return F.huber_loss(view.quantity(head.name), view.belief()[1], reduction="none", delta=term.delta)


def _belief_stdev(view: _View, head: Head, term: Term) -> Tensor:
    stdev = (0.001 + view.belief()[2]).sqrt()
    return F.huber_loss(view.quantity(head.name), stdev, reduction="none", delta=term.delta)


def _value_error(view: _View, head: Head, term: Term) -> Tensor:
    error = (view.short_value() - view.short_value_target()) ** 2 + 1e-8
    return F.huber_loss(view.quantity(head.name), error, reduction="none", delta=term.delta)


def _score_error(view: _View, head: Head, term: Term) -> Tensor:
    error = (view.quantity("td_score_short").detach() - view.targets[term.target]) ** 2 + 1e-4
    return F.huber_loss(view.quantity(head.name), error, reduction="none", delta=term.delta)


def _q_win_loss(view: _View, head: Head, term: Term) -> Tensor:
    win_loss, _, visits = view.targets[term.target].unbind(dim=1)
    root = visits.sqrt()
    loss = F.binary_cross_entropy_with_logits(2 * view.raw(head.name), (1 + win_loss) / 2, reduction="none")
    return (root * loss).sum(dim=1) / (1 + root.sum(dim=1))


def _q_score(view: _View, head: Head, term: Term) -> Tensor:
    _, score, visits = view.targets[term.target].unbind(dim=1)
    loss = F.huber_loss(view.quantity(head.name), score, reduction="none", delta=term.delta)
    return (visits * loss).sum(dim=1) / (1 + visits.sqrt().sum(dim=1))


_FORMULAS: Final[Mapping[Loss, Callable[[_View, Head, Term], Tensor]]] = {
    Loss.CROSS_ENTROPY: _cross_entropy,
    Loss.SOFT_CROSS_ENTROPY: _soft_cross_entropy,
    Loss.LONG_OPTIMISTIC: _long_optimistic,
    Loss.SHORT_OPTIMISTIC: _short_optimistic,
    Loss.DIVERGENCE: _divergence,
    Loss.HUBER: _huber,
    Loss.OWNERSHIP: _ownership,
    Loss.SCORING: _scoring,
    Loss.FUTURE: _future,
    Loss.SEKI: _seki,
    Loss.BELIEF_CDF: _belief_cdf,
    Loss.BELIEF_PDF: _belief_pdf,
    Loss.BELIEF_MEAN: _belief_mean,
    Loss.BELIEF_STDEV: _belief_stdev,
    Loss.VALUE_ERROR: _value_error,
    Loss.SCORE_ERROR: _score_error,
    Loss.Q_WIN_LOSS: _q_win_loss,
    Loss.Q_SCORE: _q_score,
}
