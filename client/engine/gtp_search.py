"""What the GTP engine asks of a network: a move, an estimate of the score, raw outputs.

Evaluators are made when a board size first needs one, and kept. Knows nothing of GTP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from client.networks import Loader, Network
from client.search.parameters import to_record
from client.search.pool import SearchPool, SearchResult
from client.search.tree import Outputs, arrays_of
from client.search.values import NUM_VALUES, Values, write_evaluation
from common.features import FeatureOptions, encode, new_scratch
from common.go import play
from common.go.game import Game
from common.go.points import NUM_POINTS, WHITE, position_of
from common.go.start import PlayerView
from common.go.state import History, State
from common.parameters import SearchParameters
from common.progress import announced
from nets.evaluation.batch import Evaluator

ESTIMATE_VISITS: Final = 50
"""Visits of the search that estimates a score (engine.md 6)."""


@dataclass(frozen=True)
class Choice:
    """What a search decided."""

    point: int
    result: SearchResult


@dataclass(frozen=True)
class RawOutputs:
    """What the net says of one position, White's view; tensor of edge L, maps by position."""

    values: Values[float]
    variance_time: float  # -1 where the net does not tell, as the next two
    win_loss_error: float
    score_error: float
    policy: npt.NDArray[np.float64]  # [L * L + 1] probabilities, NaN where illegal
    ownership: npt.NDArray[np.float64]  # [L * L] +1 White's


class EngineSearch:
    """Searches and evaluates single positions with one network.

    Args:
        network: plays both sides.
        load: gives an evaluator of a network for tensors of an edge.
        parameters: of every search; ``num_search_threads`` is the number of positions evaluated at once.
        seed: of all random draws.
    """

    def __init__(
        self,
        network: Network,
        load: Loader,
        parameters: SearchParameters,
        seed: int,
    ) -> None:
        self.network = network
        self.parameters = parameters
        self._load = load
        self._record = to_record(parameters)
        self._random = np.random.default_rng(seed)
        self._evaluators: dict[int, Evaluator] = {}
        self._pools: dict[int, SearchPool] = {}

    def choose(self, game: Game, colour: int, visits: int | None = None) -> Choice:
        """Search the position for ``colour``; ``visits`` None are those of the parameters.

        A colour that is not to move is given the turn first. ``game`` is not changed.
        """
        state, history = self._position(game, colour)
        with announced("loading the network and compiling, which takes a minute or two at the first start"):
            pool = self._pool(max(game.x_size, game.y_size))
        pool.start(
            0,
            state,
            history,
            parameters=self._record,
            visits=visits or self.parameters.max_visits,
            seed=int(self._random.integers(1 << 63)),
            first_turn=game.start.first_turn,
        )
        try:
            while not pool.step():
                pass
            return Choice(pool.choose_move(0), pool.result(0))
        except Exception:
            self._pools.clear()  # its slot may be stuck in the search that failed
            raise

    def estimate_score(self, game: Game) -> float:
        """Points that White is ahead, komi included, by a search (not by counting the board)."""
        return self.choose(game, game.to_move, ESTIMATE_VISITS).result.mean.lead

    def evaluate(self, game: Game, colour: int, symmetry: int, optimism: float) -> RawOutputs:
        """Evaluate the position for ``colour`` once in one symmetry, without search; ``game`` is not changed.

        ``optimism`` in [0, 1] is the share of the optimistic policy, in nets that have one.
        """
        state, history = self._position(game, colour)
        evaluator = self.evaluator(max(game.x_size, game.y_size))
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

    def evaluator(self, length: int) -> Evaluator:
        """The evaluator for tensors of edge ``length``."""
        if length not in self._evaluators:
            self._evaluators[length] = self._load(self.network, length)
        return self._evaluators[length]

    def _position(self, game: Game, colour: int) -> tuple[State, History]:
        """Copies of the position with ``colour`` to move, and pass-alive areas as the net learned them."""
        evaluator = self.evaluator(max(game.x_size, game.y_size))
        return game.position(colour, PlayerView(pass_alive_suicide=evaluator.pass_alive_suicide))

    def _pool(self, length: int) -> SearchPool:
        if length not in self._pools:
            self._pools[length] = SearchPool(
                self.evaluator(length),
                slots=1,
                max_visits=max(self.parameters.max_visits, ESTIMATE_VISITS),
                leaves=self.parameters.num_search_threads,
            )
        return self._pools[length]

    def close(self) -> None:
        """Give every evaluator back."""
        self._pools.clear()
        for evaluator in self._evaluators.values():
            evaluator.close()
        self._evaluators.clear()


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
