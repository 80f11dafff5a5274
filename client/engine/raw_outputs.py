"""What a net says of one position, without search. Knows no protocol."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from client.search.tree import Outputs, arrays_of
from client.search.values import NUM_VALUES, Values, write_evaluation
from common.features import FeatureOptions, encode, new_scratch
from common.go import play
from common.go.game import Game
from common.go.points import NUM_POINTS, WHITE, position_of
from common.go.start import PlayerView
from common.go.state import History, State
from nets.evaluation.batch import Evaluator


@dataclass(frozen=True)
class RawOutputs:
    """What the net says of one position, White's view; tensor of edge L, maps by position."""

    values: Values[float]
    variance_time: float  # -1 where the net does not tell, as the next two
    win_loss_error: float
    score_error: float
    policy: npt.NDArray[np.float64]  # [L * L + 1] probabilities, NaN where illegal
    ownership: npt.NDArray[np.float64]  # [L * L] +1 White's


def raw_outputs(evaluator: Evaluator, game: Game, colour: int, symmetry: int, optimism: float) -> RawOutputs:
    """Evaluate the position once in one symmetry; ``game`` is not changed.

    Args:
        evaluator: of a tensor that the board fits in.
        game: ends with the position.
        colour: who moves; where it is not that one's turn, the past is forgotten.
        symmetry: code of `common.go.symmetry`.
        optimism: the share of the optimistic policy, in nets that have one, in [0, 1].
    """
    state, history = game.position(colour, PlayerView(pass_alive_suicide=evaluator.pass_alive_suicide))
    batch = evaluator.new_batch(1)
    encode(
        state,
        history,
        evaluator.length,
        FeatureOptions(),
        batch.planes[0],
        batch.global_inputs[0],
        new_scratch(),
    )
    batch.symmetry[0] = symmetry
    batch.optimism[0] = optimism
    evaluator.run(batch, 1)
    sign = 1.0 if colour == WHITE else -1.0
    values = np.zeros(NUM_VALUES)
    write_evaluation(values, arrays_of(Outputs, batch), 0, sign)
    return RawOutputs(
        values=Values(*values.tolist()),
        variance_time=float(batch.variance_time[0]),
        win_loss_error=float(batch.short_term_win_loss_error[0]),
        score_error=float(batch.short_term_score_error[0]),
        policy=_legal_policy(state, history, batch.policy[0].astype(np.float64), evaluator.length),
        ownership=sign * batch.ownership[0].astype(np.float64),
    )


def _legal_policy(
    state: State, history: History, logits: npt.NDArray[np.float64], length: int
) -> npt.NDArray[np.float64]:
    """Probabilities [L * L + 1] over the legal moves, NaN elsewhere."""
    legal = np.zeros(NUM_POINTS, np.int8)
    play.legal_points(state, history, legal)
    positions = [position_of(int(point), length) for point in np.flatnonzero(legal)]
    policy = np.full(length * length + 1, np.nan)
    weights = np.exp(logits[positions] - logits[positions].max())
    policy[positions] = weights / weights.sum()
    return policy
