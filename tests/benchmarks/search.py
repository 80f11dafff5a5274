"""Playouts per second on one core, and what share of the time the tree, the features and the net take.

Many games at once, one leaf each, self-play's exploration, from an empty board and from a middle game of random moves.
The evaluators: one that answers at once and alike ("uniform"), and untrained nets. Times are processor seconds of this
thread, so other work on the machine counts little; a netless playout's features are timed apart, on the same positions.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from client.search.parameters import to_record
from client.search.pool import SearchPool
from common.features import FEATURE_SCRATCH, FeatureOptions, encode
from common.go.game import Game
from common.go.start import GameStart
from common.go.state import NUM_RECENT
from common.parameters import SearchParameters
from nets.architecture.config import named
from nets.architecture.model import Net
from nets.evaluation.batch import Evaluator
from nets.evaluation.evaluator import load_evaluator, make_evaluator
from tests.benchmarks import PRECISION
from tests.benchmarks.timed_pool import NET, TREE, new_parts, timed_pool

SLOTS = 64
SEED = 1


class Case(NamedTuple):
    edge: int
    net: str | None
    visits: int
    moves: int  # random moves before the search


CASES = (
    Case(7, None, 100, 0),
    Case(7, None, 100, 20),
    Case(7, None, 600, 20),
    Case(9, None, 600, 30),
    Case(19, None, 600, 120),
    Case(7, "b2c32", 100, 20),
    Case(9, "b6c96", 40, 30),
    Case(19, "b6c96", 8, 120),
)


def main() -> None:
    """Print a line per case."""
    for case in CASES:
        _measure(case)


def _measure(case: Case) -> None:
    evaluator = _evaluator(case)
    parts = new_parts()
    pool = timed_pool(time.thread_time, parts)(evaluator, slots=SLOTS, max_visits=case.visits)
    games = [_game(case, seed) for seed in range(SLOTS)]
    parameters = to_record(
        SearchParameters(
            max_visits=case.visits, root_noise_enabled=True, root_desired_per_child_visits_coeff=2.0,
            root_policy_temperature=1.1, root_policy_temperature_early=1.5, cpuct_exploration=1.1,
            cpuct_exploration_log=0.0, fpu_parent_weight_by_visited_policy=True, value_weight_exponent=0.0,
            root_ending_bonus_points=0.0, root_prune_useless_moves=False, subtree_value_bias_factor=0.0,
        )
    )  # fmt: skip
    _search(pool, games, parameters, 2)  # compiles
    parts.update(new_parts())
    rows = _search(pool, games, parameters, case.visits)
    features = _feature_seconds(pool) * rows
    tree = parts[TREE] - features
    total = sum(parts.values())
    print(
        f"{case.edge}x{case.edge} {case.net or 'uniform'}, {case.visits} visits, after {case.moves} moves: "
        f"{rows / total:,.0f} playouts per second; tree {1e6 * tree / rows:.1f} µs ({100 * tree / total:.0f} %), "
        f"features {1e6 * features / rows:.1f} µs ({100 * features / total:.0f} %), "
        f"net {1e6 * parts[NET] / rows:.1f} µs ({100 * parts[NET] / total:.0f} %)",
        flush=True,
    )


def _evaluator(case: Case) -> Evaluator:
    if case.net is None:
        return load_evaluator(None, length=case.edge)
    return make_evaluator(Net(named(case.net)), length=case.edge, threads=1, precision=PRECISION)


def _game(case: Case, seed: int) -> Game:
    random = np.random.default_rng((SEED, seed))
    game = Game(GameStart(case.edge, case.edge))
    for _ in range(case.moves):
        game.play(int(random.choice([move for move in game.legal_moves() if move > 0])))
    return game


def _search(pool: SearchPool, games: list[Game], parameters: Any, visits: int) -> int:
    """Search all games; the number of rows evaluated."""
    for slot, game in enumerate(games):
        pool.start(slot, game.state, game.history, parameters=parameters, visits=visits, seed=slot)
    rows = 0
    while pool.running():
        rows += pool.descend()
        pool.expand()
    return rows


@njit(nogil=True)
def _encode_all(
    states: Any, histories: Any, edge: int, options: Any, planes: Any, inputs: Any, scratch: Any, times: int
) -> None:
    for _ in range(times):
        for index in range(states.shape[0]):
            states[index]["ladder_known"][0] = 0
            encode(states[index], histories[index], edge, options, planes, inputs, scratch[0])


def _feature_seconds(pool: SearchPool) -> float:
    """Seconds to encode a root position of which the earlier ladder maps are known, as in a search."""
    edge = pool.length
    arrays = np.zeros((22, edge, edge), np.float32), np.zeros(19, np.float32), np.zeros(1, FEATURE_SCRATCH)
    options = FeatureOptions(0.0, False, False, NUM_RECENT)
    for times in (1, 20):
        start = time.thread_time()
        _encode_all(pool.forest.states, pool.forest.histories, edge, options, *arrays, times)
        seconds = time.thread_time() - start
    return seconds / (20 * pool.slots)
