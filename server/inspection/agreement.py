"""What a net says of rows, and whether their columns agree with it: pure functions over arrays.

A client evaluates a position once, under a symmetry of its own choice, in some precision, perhaps from a cache that
ignores earlier moves. So the net is asked under all eight symmetries, and a recorded number has to lie within what it
says, plus a margin (`MARGINS`, how they were measured: docs/trust-audit.md). What lies outside is a *misfit*: one
proves little, most of a game's rows prove that this net did not make them. What agrees more or less well is a
*figure*, for `server.trust` to compare between contributors.
Knows nothing of games, jobs or the database. Specification: training-data.md 2, 3; columns 16 to 19, 57 to 59.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from common.go.symmetry import NUM_SYMMETRIES
from common.rows import Q_WIN_LOSS_SCALE, GlobalInput, GlobalTarget, PolicyTarget, QTarget, Rows
from nets.evaluation.batch import Evaluator

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
_G = GlobalTarget
_LEAST: Final = 1e-9
"""A probability below it counts as this one, so that no divergence is endless."""


class Margins(NamedTuple):
    """How far a recorded number may lie outside what the net says under the eight symmetries."""

    win_loss: float
    score: float
    """Points; and so much more for each point of the net's own score."""
    score_share: float
    entropy: float
    """Nats."""
    q_gap: float
    """Between the search's win - loss and the visits' average of its moves'."""


MARGINS: Final = Margins(win_loss=0.15, score=0.5, score_share=0.03, entropy=0.12, q_gap=0.5)
"""More than twice what rounding to bfloat16 did to any of 900 positions, three times what it did to 99.9 % of them."""


class NetView(NamedTuple):
    """What a net says of k positions in each of m ways, its symmetries among them; the player to move's view."""

    win_loss: Floats  # [k, m]
    score_mean: Floats  # [k, m] points
    policy: Floats  # [k, m, P] probabilities of the legal moves; all 0 where these are not known


class Agreement(NamedTuple):
    """By row ``[k]``: what does not fit, and how well the search goes with the net."""

    win_loss_excess: Floats
    score_excess: Floats
    """Points beyond the net's, less the share that the score allows."""
    entropy_excess: Floats
    """0 where legal moves are not known."""
    unsearched: Floats
    """Share of the policy target on moves without a visit; 0 where no visits are told."""
    q_gap: Floats
    divergence: Floats
    """Of the policy target from the net's policy, nats; NaN where legal moves are not known."""
    shift: Floats
    """Between the search's win - loss and the net's."""
    score_shift: Floats
    """Between the search's score and the net's, points."""
    preference: Floats
    """Mean win - loss of the target's moves less that of all searched moves alike; NaN where fewer than two were."""

    def misfits(self, margins: Margins = MARGINS) -> Flags:
        """``[k]`` rows of which a number is not this net's."""
        return np.asarray(
            (self.win_loss_excess > margins.win_loss)
            | (self.score_excess > margins.score)
            | (self.entropy_excess > margins.entropy)
            | (self.unsearched > 0)
            | (self.q_gap > margins.q_gap)
        )


def ask(evaluator: Evaluator, rows: Rows, legal: npt.NDArray[np.int8], optimism: float = 0.0) -> NetView:
    """What the net says of ``rows``, whose legal moves are ``legal`` ``[k, P]`` (0 everywhere: not known).

    Where playouts were shared out unevenly, KataGo's columns are those of the position without that (measured: all 60
    such rows of the oracles): then all rows are asked about in both ways, ``[k, 16]``.
    """
    view = _ask(evaluator, rows, rows.global_inputs, legal, optimism)
    doubling = [GlobalInput.HAS_PLAYOUT_DOUBLING, GlobalInput.PLAYOUT_DOUBLING]
    if not rows.global_inputs[:, doubling].any():
        return view
    even = rows.global_inputs.copy()
    even[:, doubling] = 0.0
    other = _ask(evaluator, rows, even, legal, optimism)
    pairs = zip(view, other, strict=True)
    return NetView(*(np.concatenate([one, another], axis=1) for one, another in pairs))


def _ask(
    evaluator: Evaluator,
    rows: Rows,
    global_inputs: npt.NDArray[np.float32],
    legal: npt.NDArray[np.int8],
    optimism: float,
) -> NetView:
    count, moves = rows.count, rows.length**2 + 1
    batch = evaluator.new_batch(count * NUM_SYMMETRIES, ownership=False)
    batch.planes[:] = np.repeat(rows.planes().astype(np.float32), NUM_SYMMETRIES, axis=0)
    batch.global_inputs[:] = np.repeat(global_inputs, NUM_SYMMETRIES, axis=0)
    batch.symmetry[:] = np.tile(np.arange(NUM_SYMMETRIES, dtype=np.int8), count)
    batch.optimism[:] = optimism
    evaluator.run(batch, len(batch.symmetry))
    logits = batch.policy.reshape(count, NUM_SYMMETRIES, moves).astype(np.float64)
    allowed = (legal == 1)[:, np.newaxis]
    logits = np.where(allowed, logits, -np.inf)
    highest = np.where(allowed.any(axis=-1, keepdims=True), logits.max(axis=-1, keepdims=True), 0.0)
    policy = np.exp(logits - highest)
    policy /= np.maximum(policy.sum(axis=-1, keepdims=True), _LEAST)
    shape = (count, NUM_SYMMETRIES)
    return NetView(
        win_loss=batch.win_loss.reshape(shape).astype(np.float64),
        score_mean=batch.score_mean.reshape(shape).astype(np.float64),
        policy=policy,
    )


def compare(rows: Rows, net: NetView, margins: Margins = MARGINS) -> Agreement:
    """How the columns of ``rows`` go with what the net says of them."""
    columns = rows.global_targets.astype(np.float64)
    known = net.policy[:, 0].sum(axis=1) > 0.5
    search = columns[:, _G.SEARCH_WIN] - columns[:, _G.SEARCH_LOSS]
    target = rows.policy_targets[:, PolicyTarget.OWN].astype(np.float64)
    target /= np.maximum(target.sum(axis=1, keepdims=True), 1.0)
    visits = rows.q_values[:, QTarget.VISITS].astype(np.float64)
    worth = rows.q_values[:, QTarget.WIN_LOSS].astype(np.float64) / Q_WIN_LOSS_SCALE
    has_visits = visits.sum(axis=1) > 0
    net_score = np.abs(net.score_mean).max(axis=1)
    return Agreement(
        win_loss_excess=_outside(columns[:, _G.NET_WIN_LOSS], net.win_loss),
        score_excess=_outside(columns[:, _G.NET_SCORE_MEAN], net.score_mean) - margins.score_share * net_score,
        entropy_excess=np.where(known, _outside(columns[:, _G.NET_POLICY_ENTROPY], _entropies(net.policy)), 0.0),
        unsearched=np.where(has_visits, (target * (visits == 0)).sum(axis=1), 0.0),
        q_gap=np.where(has_visits, np.abs(search - _mean_worth(visits, worth, columns[:, _G.NET_WIN_LOSS])), 0.0),
        divergence=np.where(known, _divergence(target, net.policy.mean(axis=1)), np.nan),
        shift=np.abs(search - net.win_loss.mean(axis=1)),
        score_shift=np.abs(columns[:, _G.SEARCH_SCORE] - net.score_mean.mean(axis=1)),
        preference=_preference(target, visits, worth),
    )


def _outside(told: Floats, possible: Floats) -> Floats:
    """By how much ``told`` ``[k]`` lies outside the range of ``possible`` ``[k, m]``; 0 inside."""
    return np.asarray(np.maximum(np.maximum(possible.min(axis=1) - told, told - possible.max(axis=1)), 0.0))


def _entropies(policy: Floats) -> Floats:
    """Entropies ``[k, m + 1]`` of the net's policies and of their mean, which has more than an average of some."""
    together = np.concatenate([policy, policy.mean(axis=1, keepdims=True)], axis=1)
    return np.asarray(-(together * np.log(np.maximum(together, _LEAST))).sum(axis=-1))


def _divergence(target: Floats, policy: Floats) -> Floats:
    ratio = np.log(np.maximum(target, _LEAST)) - np.log(np.maximum(policy, _LEAST))
    return np.asarray((target * ratio).sum(axis=1))


def _mean_worth(visits: Floats, worth: Floats, own: Floats) -> Floats:
    """Average of the moves' win - loss by their visits, with the root's own as one visit more."""
    return np.asarray(((visits * worth).sum(axis=1) + own) / (visits.sum(axis=1) + 1.0))


def _preference(target: Floats, visits: Floats, worth: Floats) -> Floats:
    searched = visits > 0
    count = searched.sum(axis=1)
    plain = (worth * searched).sum(axis=1) / np.maximum(count, 1)
    return np.where(count >= 2, (target * worth).sum(axis=1) - plain, np.nan)
