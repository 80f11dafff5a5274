"""Playouts per second on one core, and what share of the time the tree, the features and the net take.

Many games at once, one leaf each, from an empty board and from a middle game of random moves, with the paper's settings
of self-play. The evaluators: one that answers at once and alike ("uniform"), and untrained nets. Times are processor
seconds of this thread, so other work on the machine counts little; a netless playout's features are timed apart, on the
same positions. Then, each beside its baseline in turns: the settings of today's text beside the paper's, per playout;
and one game with many leaves under evaluation beside the evaluator alone. Last the memory of a node.
"""

from __future__ import annotations

import statistics
import time
from typing import Any, Final, NamedTuple

import numpy as np
from numba import njit

from client.search.grow import new_forest
from client.search.parameters import to_record
from client.search.pool import SearchPool
from common.features import FEATURE_SCRATCH, FeatureOptions, encode
from common.go.game import Game
from common.go.start import GameStart
from common.go.state import NUM_RECENT
from common.parameters import CONFIGS, SearchParameters, completed, parse_selfplay
from nets.architecture.config import named
from nets.architecture.model import Net
from nets.evaluation.batch import Evaluator
from nets.evaluation.evaluator import load_evaluator, make_evaluator
from tests.benchmarks import PRECISION
from tests.benchmarks.evaluator import rate
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


TODAY_CASES = (Case(7, None, 100, 20), Case(9, None, 600, 30), Case(19, None, 600, 120))
ONE_GAME = Case(19, "b6c96", 800, 120)
LEAVES: Final = 16
TURNS: Final = 8


def main() -> None:
    """Print a line per case."""
    for case in CASES:
        _measure(case)
    for case in TODAY_CASES:
        _compare_with_today(case)
    _one_game(ONE_GAME)
    _memory()


def _paper(visits: int) -> Any:
    return to_record(
        SearchParameters(
            max_visits=visits, root_noise_enabled=True, root_desired_per_child_visits_coeff=2.0,
            root_policy_temperature=1.1, root_policy_temperature_early=1.5, cpuct_exploration=1.1,
            cpuct_exploration_log=0.0, fpu_parent_weight_by_visited_policy=True, value_weight_exponent=0.0,
            root_ending_bonus_points=0.0, root_prune_useless_moves=False, subtree_value_bias_factor=0.0,
        )
    )  # fmt: skip


def _today() -> Any:
    """The search of the text `selfplay_today.cfg`."""
    text, _ = completed("selfplay", (CONFIGS / "selfplay_today.cfg").read_text())
    return to_record(parse_selfplay(text, to_be_played=False).search)


def _measure(case: Case) -> None:
    evaluator = _evaluator(case)
    parts = new_parts()
    pool = timed_pool(time.thread_time, parts)(evaluator, slots=SLOTS, max_visits=case.visits)
    games = [_game(case, seed) for seed in range(SLOTS)]
    parameters = _paper(case.visits)
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


def _compare_with_today(case: Case) -> None:
    """What a playout takes with all of today's techniques beside the paper's; median of neighbouring turns.

    Each turn has positions of its own, of which no memo knows more than in games, and each side a pool of its own.
    """
    pools = [SearchPool(_evaluator(case), slots=SLOTS, max_visits=case.visits) for _ in range(2)]
    sides = _paper(case.visits), _today()
    seconds: list[list[float]] = [[], []]
    for turn in range(TURNS + 1):  # the first is not timed
        games = [_game(case, turn * SLOTS + slot) for slot in range(SLOTS)]
        for side in (0, 1) if turn % 2 else (1, 0):
            start = time.thread_time()
            _search(pools[side], games, sides[side], case.visits)
            spent = time.thread_time() - start
            if turn:
                seconds[side].append(spent / sum(pools[side].playouts_done(slot) for slot in range(SLOTS)))
    ratio = statistics.median(today / paper for paper, today in zip(*seconds, strict=True))
    print(
        f"{case.edge}x{case.edge} uniform, {case.visits} visits: a playout takes {1e6 * min(seconds[0]):.1f} µs with "
        f"the paper's settings, {1e6 * min(seconds[1]):.1f} µs with today's; {ratio:.2f} times that, {TURNS} turns",
        flush=True,
    )


def _one_game(case: Case) -> None:
    """One search with many leaves at once beside the evaluator alone with full batches of as many rows."""
    evaluator = _evaluator(case)
    pool = SearchPool(evaluator, slots=1, max_visits=case.visits, leaves=LEAVES)
    games, parameters = [_game(case, SEED)], _today()
    _search(pool, games, parameters, 2 * LEAVES)  # compiles
    shares = []
    for _ in range(TURNS // 2):
        alone = rate(evaluator, LEAVES, time.process_time)
        start = time.process_time()
        rows = _search(pool, games, parameters, case.visits)
        shares.append(rows / (time.process_time() - start) / alone)
    print(
        f"one game on {case.edge}x{case.edge}, {case.net}, {case.visits} visits, {LEAVES} leaves at once: "
        f"{100 * statistics.median(shares):.0f} % of the {alone:,.0f} evaluations per second of the evaluator alone",
        flush=True,
    )


def _memory() -> None:
    for length in (7, 9, 19):
        forest = new_forest(1, 1000, length)
        nodes = forest.nodes.shape[1]
        of_nodes = (array.nbytes for array in forest if array.ndim > 1 and array.shape[1] >= nodes)
        print(f"a node of a pool for {length}x{length}: {sum(of_nodes) / nodes:,.0f} bytes, with edges and tables")


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
