"""The one table of a net's outputs: what each is called, how it looks, what it learns, what it means.

The module builds its layers from it (`nets.architecture.head_layers`), the losses loop over it
(`nets.training.losses`), `nets.evaluation.outputs` turns raw numbers into winrate and points by it, the net file's
columns follow it. Needs neither torch nor numpy.

Everything is seen from the player to move. Shapes, for a tensor of edge L: P = L·L + 1 moves (the pass last),
B = 2·(L·L + 60) score bins; the batch axis comes first. Sources: spec architectures.md 4 and 5, training.md 1.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from common.rows import score_bins
from nets.architecture.config import NetConfig


class Source(enum.Enum):
    """Which layer of the net an output is read from."""

    POLICY = enum.auto()
    """1×1 convolution of the policy map, and the pass logit."""
    VALUE = enum.auto()
    """Linear layer on the value head's hidden vector: the three outcome logits."""
    MISC = enum.auto()
    """Linear layer on the value head's hidden vector: everything else that is one number, and the TD outcomes."""
    MAP = enum.auto()
    """1×1 convolution of the value head's map."""
    TRUNK = enum.auto()
    """1×1 convolution of the trunk's end."""
    BELIEF = enum.auto()
    """The score belief's own layers on the value head's pooled vector."""


class Shape(enum.Enum):
    """Shape of an output without the batch axis."""

    MOVES = enum.auto()
    """[P]"""
    OUTCOME = enum.auto()
    """[3]: win, loss, no result."""
    SCALAR = enum.auto()
    """[]"""
    MAP = enum.auto()
    """[L, L]"""
    TWO_MAPS = enum.auto()
    """[2, L, L]"""
    FOUR_MAPS = enum.auto()
    """[4, L, L]"""
    SCORE_BINS = enum.auto()
    """[B]: bin i is the final score i - B/2 + 0.5."""


class Unit(enum.Enum):
    """How a raw output x becomes the quantity it stands for; m is the head's multiplier."""

    LOGITS = enum.auto()
    """softmax over the last axis (moves: over board and pass)."""
    LOG_PROBABILITIES = enum.auto()
    """exp(x)"""
    LINEAR = enum.auto()
    """x · m"""
    SOFTPLUS = enum.auto()
    """softplus(x) · m"""
    SQUARED_ERROR = enum.auto()
    """The expected squared error, softplus(x/2)² · m (older formulas: `nets.files.grammar.ErrorFormula`)."""
    TANH = enum.auto()
    """tanh(x)"""
    SEKI = enum.auto()
    """Maps 0..2: softmax over (nobody's, own, opponent's seki point); map 3: logit of "neutral"."""


class WhiteView(enum.Enum):
    """What becomes of a quantity when White's view is wanted and Black is to move."""

    SAME = enum.auto()
    NEGATE = enum.auto()
    SWAP = enum.auto()
    """Win and loss (own and opponent) change places."""
    REVERSE = enum.auto()
    """Score bins in reverse order."""


class Loss(enum.Enum):
    """Formula of a loss term; the numbers are the rows of training.md 1."""

    CROSS_ENTROPY = enum.auto()
    """1, 2, 7: CE(target, logits)."""
    SOFT_CROSS_ENTROPY = enum.auto()
    """3, 4: CE(soft(target), logits), soft(π) ∝ ((π + 1e-7)·m)^(1/4)."""
    LONG_OPTIMISTIC = enum.auto()
    """5: CE(target, logits) · w_L."""
    SHORT_OPTIMISTIC = enum.auto()
    """6: CE(target, logits) · w_S."""
    DIVERGENCE = enum.auto()
    """8: KL(target || prediction)."""
    HUBER = enum.auto()
    """9, 14, 18, 19: H_delta(prediction, target)."""
    OWNERSHIP = enum.auto()
    """10: mean over the board of BCE((1 + target)/2, 2·raw)."""
    SCORING = enum.auto()
    """11: 4·(√(m/2 + 1) - 1), m the board mean of squared differences in points."""
    FUTURE = enum.auto()
    """12: Σ [(tanh f₁ - t₁)² + 0.25·(tanh f₂ - t₂)²] / √area."""
    SEKI = enum.auto()
    """13: adaptive scale · board mean of (CE₃ + 0.5·CE₂)."""
    BELIEF_CDF = enum.auto()
    """15: Σ (cdf of prediction - cdf of target)²."""
    BELIEF_PDF = enum.auto()
    """16: CE(target, belief)."""
    BELIEF_MEAN = enum.auto()
    """17, the paper's second half: H_delta(prediction, mean of the net's own score belief)."""
    BELIEF_STDEV = enum.auto()
    """17: H_delta(prediction, √(0.001 + variance of the net's own score belief))."""
    VALUE_ERROR = enum.auto()
    """20: H_delta(squared error, (v̂ - target)² + 1e-8), v̂ = win - loss of td_value_short without gradient."""
    SCORE_ERROR = enum.auto()
    """21: H_delta(squared error, (ŝ - target)² + 1e-4), ŝ = td_score_short without gradient."""
    Q_WIN_LOSS = enum.auto()
    """22: Σ_a √n·BCE((1 + q)/2, 2·raw) / (1 + Σ√n)."""
    Q_SCORE = enum.auto()
    """23: Σ_a n·H_delta(prediction, target) / (1 + Σ√n)."""


class Target(enum.Enum):
    """What a term compares with; columns are those of training-data.md 2 and 3."""

    POLICY = enum.auto()
    """[P] this turn's search policy, sum 1."""
    REPLY = enum.auto()
    """[P] next turn's search policy, sum 1."""
    OUTCOME = enum.auto()
    """[3] columns 0-2."""
    TD_OUTCOME_LONG = enum.auto()
    """[3] columns 4-6."""
    TD_OUTCOME_MID = enum.auto()
    """[3] columns 8-10."""
    TD_OUTCOME_SHORT = enum.auto()
    """[3] columns 12-14."""
    TD_SCORE_LONG = enum.auto()
    """[] column 7."""
    TD_SCORE_MID = enum.auto()
    """[] column 11."""
    TD_SCORE_SHORT = enum.auto()
    """[] column 15."""
    SCORE = enum.auto()
    """[] column 3."""
    LEAD = enum.auto()
    """[] column 21."""
    VARIANCE_TIME = enum.auto()
    """[] column 22 + 1e-5."""
    OWNERSHIP = enum.auto()
    """[L, L] value target 0."""
    SEKI = enum.auto()
    """[L, L] value target 1 (the term also reads the ownership)."""
    FUTURE = enum.auto()
    """[2, L, L] value targets 2, 3."""
    SCORING = enum.auto()
    """[L, L] value target 4 / 120."""
    SCORE_DISTRIBUTION = enum.auto()
    """[B] scoreDistrN / 100."""
    OWN_BELIEF = enum.auto()
    """Nothing recorded: the net's own score belief."""
    Q_VALUES = enum.auto()
    """[3, P] win-loss, score, visits of each move searched."""


class RowWeight(enum.Enum):
    """Factor of a term for one row, besides the row weight of column 25."""

    ONE = enum.auto()
    POLICY = enum.auto()
    """Column 26."""
    REPLY = enum.auto()
    """Column 28."""
    POLICY_AND_OUTCOME = enum.auto()
    """Column 26 · column 27."""
    OUTCOME = enum.auto()
    """Column 27."""
    VALUE = enum.auto()
    """1 - column 35."""
    TD_VALUE = enum.auto()
    """1 - column 24."""
    LEAD = enum.auto()
    """Column 29."""
    FUTURE = enum.auto()
    """Column 33."""
    SCORING = enum.auto()
    """Column 34."""


@dataclass(frozen=True)
class Term:
    """One summand of the loss: weight · row weight · formula; ``today`` and ``paper`` are the two recipes' weights."""

    name: str
    loss: Loss
    target: Target
    row_weight: RowWeight
    today: float
    paper: float = 0.0
    delta: float = 0.0
    """Where the Huber loss turns linear; 0 for terms that have none."""


class Presence(enum.Enum):
    """Which nets have a head."""

    ALWAYS = enum.auto()
    WITH_Q_VALUES = enum.auto()
    """Those whose ``NetConfig.q_values`` is set."""
    IF_NAMED = enum.auto()
    """Those whose ``NetConfig.extra_heads`` names it: nets that are there already stay what they are."""


@dataclass(frozen=True)
class Head:
    """One output. ``column`` is its place among the exported outputs of its source, None for training-only outputs.

    ``since`` is the first model version with this output in the file. ``multiplier`` is a field of
    `nets.architecture.config.Multipliers`, or None for 1.
    """

    name: str
    shape: Shape
    source: Source
    unit: Unit
    white_view: WhiteView
    terms: tuple[Term, ...]
    column: int | None = None
    since: int = 8
    multiplier: str | None = None
    presence: Presence = Presence.ALWAYS

    @property
    def exported(self) -> bool:
        """Whether net files hold this output; others are for training only."""
        return self.column is not None

    @property
    def channels(self) -> int:
        """How many numbers of its source's last layer it takes (per point for maps, per move for policies)."""
        return {Shape.OUTCOME: 3, Shape.TWO_MAPS: 2, Shape.FOUR_MAPS: 4}.get(self.shape, 1)


def _policy(name: str, loss: Loss, target: Target, weight: RowWeight, today: float, paper: float = 0.0) -> Head:
    term = Term(name, loss, target, weight, today, paper)
    return Head(name, Shape.MOVES, Source.POLICY, Unit.LOGITS, WhiteView.SAME, (term,))


def _td_value(name: str, target: Target) -> Head:
    term = Term(name, Loss.DIVERGENCE, target, RowWeight.TD_VALUE, 0.72)
    return Head(name, Shape.OUTCOME, Source.MISC, Unit.LOGITS, WhiteView.SWAP, (term,))


def _td_score(name: str, target: Target) -> Head:
    term = Term(name, Loss.HUBER, target, RowWeight.OUTCOME, 0.0004, delta=12.0)
    unit, view = Unit.LINEAR, WhiteView.NEGATE
    return Head(name, Shape.SCALAR, Source.MISC, unit, view, (term,), multiplier="td_score")


_TABLE: Final = (
    Head(
        "policy",
        Shape.MOVES,
        Source.POLICY,
        Unit.LOGITS,
        WhiteView.SAME,
        (Term("policy", Loss.CROSS_ENTROPY, Target.POLICY, RowWeight.POLICY, today=0.93, paper=1.0),),
        column=0,
    ),
    _policy("opponent_policy", Loss.CROSS_ENTROPY, Target.REPLY, RowWeight.REPLY, today=0.15, paper=0.15),
    _policy("soft_policy", Loss.SOFT_CROSS_ENTROPY, Target.POLICY, RowWeight.POLICY, today=8.0),
    _policy("soft_opponent_policy", Loss.SOFT_CROSS_ENTROPY, Target.REPLY, RowWeight.REPLY, today=1.2),
    _policy("long_optimistic_policy", Loss.LONG_OPTIMISTIC, Target.POLICY, RowWeight.POLICY_AND_OUTCOME, today=0.10),
    Head(
        "short_optimistic_policy",
        Shape.MOVES,
        Source.POLICY,
        Unit.LOGITS,
        WhiteView.SAME,
        (
            Term(
                "short_optimistic_policy",
                Loss.SHORT_OPTIMISTIC,
                Target.POLICY,
                RowWeight.POLICY_AND_OUTCOME,
                today=0.20,
            ),
        ),
        column=1,
        since=12,
    ),
    Head(
        "q_win_loss",
        Shape.MOVES,
        Source.POLICY,
        Unit.TANH,
        WhiteView.NEGATE,
        (Term("q_win_loss", Loss.Q_WIN_LOSS, Target.Q_VALUES, RowWeight.ONE, today=1.5),),
        column=2,
        since=16,
        presence=Presence.WITH_Q_VALUES,
    ),
    Head(
        "q_score",
        Shape.MOVES,
        Source.POLICY,
        Unit.LINEAR,
        WhiteView.NEGATE,
        (Term("q_score", Loss.Q_SCORE, Target.Q_VALUES, RowWeight.ONE, today=0.0008, delta=12.0),),
        column=3,
        since=16,
        multiplier="score_mean",
        presence=Presence.WITH_Q_VALUES,
    ),
    Head(
        "value",
        Shape.OUTCOME,
        Source.VALUE,
        Unit.LOGITS,
        WhiteView.SWAP,
        (Term("value", Loss.CROSS_ENTROPY, Target.OUTCOME, RowWeight.VALUE, today=0.72, paper=1.5),),
        column=0,
    ),
    Head(
        "score_mean",
        Shape.SCALAR,
        Source.MISC,
        Unit.LINEAR,
        WhiteView.NEGATE,
        (
            Term("score_mean", Loss.HUBER, Target.SCORE, RowWeight.OUTCOME, today=0.0015, delta=12.0),
            Term("score_mean_belief", Loss.BELIEF_MEAN, Target.OWN_BELIEF, RowWeight.ONE, 0.0, 0.004, delta=10.0),
        ),
        column=0,
        multiplier="score_mean",
    ),
    Head(
        "score_stdev",
        Shape.SCALAR,
        Source.MISC,
        Unit.SOFTPLUS,
        WhiteView.SAME,
        (Term("score_stdev", Loss.BELIEF_STDEV, Target.OWN_BELIEF, RowWeight.ONE, 0.001, 0.004, delta=10.0),),
        column=1,
        multiplier="score_stdev",
    ),
    Head(
        "lead",
        Shape.SCALAR,
        Source.MISC,
        Unit.LINEAR,
        WhiteView.NEGATE,
        (Term("lead", Loss.HUBER, Target.LEAD, RowWeight.LEAD, today=0.0060, delta=8.0),),
        column=2,
        multiplier="lead",
    ),
    Head(
        "variance_time",
        Shape.SCALAR,
        Source.MISC,
        Unit.SOFTPLUS,
        WhiteView.SAME,
        (Term("variance_time", Loss.HUBER, Target.VARIANCE_TIME, RowWeight.OUTCOME, today=0.0003, delta=50.0),),
        column=3,
        multiplier="variance_time",
    ),
    Head(
        "short_term_value_error",
        Shape.SCALAR,
        Source.MISC,
        Unit.SQUARED_ERROR,
        WhiteView.SAME,
        (
            Term(
                "short_term_value_error",
                Loss.VALUE_ERROR,
                Target.TD_OUTCOME_SHORT,
                RowWeight.OUTCOME,
                today=2.0,
                delta=0.4,
            ),
        ),
        column=4,
        since=9,
        multiplier="value_error",
    ),
    Head(
        "short_term_score_error",
        Shape.SCALAR,
        Source.MISC,
        Unit.SQUARED_ERROR,
        WhiteView.SAME,
        (
            Term(
                "short_term_score_error",
                Loss.SCORE_ERROR,
                Target.TD_SCORE_SHORT,
                RowWeight.OUTCOME,
                today=2e-5,
                delta=100.0,
            ),
        ),
        column=5,
        since=9,
        multiplier="score_error",
    ),
    _td_value("td_value_long", Target.TD_OUTCOME_LONG),
    _td_value("td_value_mid", Target.TD_OUTCOME_MID),
    _td_value("td_value_short", Target.TD_OUTCOME_SHORT),
    _td_score("td_score_long", Target.TD_SCORE_LONG),
    _td_score("td_score_mid", Target.TD_SCORE_MID),
    _td_score("td_score_short", Target.TD_SCORE_SHORT),
    Head(
        "ownership",
        Shape.MAP,
        Source.MAP,
        Unit.TANH,
        WhiteView.NEGATE,
        (Term("ownership", Loss.OWNERSHIP, Target.OWNERSHIP, RowWeight.OUTCOME, today=1.5, paper=1.5),),
        column=0,
    ),
    Head(
        "scoring",
        Shape.MAP,
        Source.MAP,
        Unit.LINEAR,
        WhiteView.NEGATE,
        (Term("scoring", Loss.SCORING, Target.SCORING, RowWeight.SCORING, today=0.25),),
    ),
    Head(
        "future_position",
        Shape.TWO_MAPS,
        Source.TRUNK,
        Unit.TANH,
        WhiteView.NEGATE,
        (Term("future_position", Loss.FUTURE, Target.FUTURE, RowWeight.FUTURE, today=0.25),),
    ),
    Head(
        "seki",
        Shape.FOUR_MAPS,
        Source.TRUNK,
        Unit.SEKI,
        WhiteView.SWAP,
        (Term("seki", Loss.SEKI, Target.SEKI, RowWeight.OUTCOME, today=1.0),),
    ),
    Head(
        "score_belief",
        Shape.SCORE_BINS,
        Source.BELIEF,
        Unit.LOG_PROBABILITIES,
        WhiteView.REVERSE,
        (
            Term("score_belief_cdf", Loss.BELIEF_CDF, Target.SCORE_DISTRIBUTION, RowWeight.OUTCOME, 0.020, 0.02),
            Term("score_belief_pdf", Loss.BELIEF_PDF, Target.SCORE_DISTRIBUTION, RowWeight.OUTCOME, 0.020, 0.02),
        ),
    ),
)


HEADS: Final[dict[str, Head]] = {head.name: head for head in _TABLE}
"""The table, by name. All that nets, losses, metrics and files know of outputs is asked of it when it is needed."""


def heads_of(config: NetConfig, *, training: bool) -> tuple[Head, ...]:
    """The outputs that a net of ``config`` has, in table order; ``training`` adds those that files do not hold.

    ValueError if it names a head that is none.
    """
    if unknown := sorted(set(config.extra_heads) - HEADS.keys()):
        raise ValueError(f"{config.name}: no head is called {unknown[0]!r}")
    present = [head for head in HEADS.values() if _is_in(config, head)]
    return tuple(head for head in present if (config.version >= head.since if head.exported else training))


def _is_in(config: NetConfig, head: Head) -> bool:
    return {
        Presence.ALWAYS: True,
        Presence.WITH_Q_VALUES: config.q_values,
        Presence.IF_NAMED: head.name in config.extra_heads,
    }[head.presence]


def output_shape(head: Head, length: int) -> tuple[int, ...]:
    """Shape of the raw output without the batch axis, for a tensor of edge ``length``."""
    area = length * length
    return {
        Shape.MOVES: (area + 1,),
        Shape.OUTCOME: (3,),
        Shape.SCALAR: (),
        Shape.MAP: (length, length),
        Shape.TWO_MAPS: (2, length, length),
        Shape.FOUR_MAPS: (4, length, length),
        Shape.SCORE_BINS: (score_bins(length),),
    }[head.shape]
