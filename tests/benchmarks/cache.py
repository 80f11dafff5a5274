"""The evaluation cache: what share of self-play's evaluations it answers in each of its forms, and what a miss costs.

Games of trained nets with the paper's settings (trees cleared between full searches). Beside the two forms there is a
count of what a third would find: names without history, but only those of the same game, for which every game would
need a table of its own. The cost of a miss: searches from a middle game on 7x7 with a table that finds next to nothing,
against none, in turns; processor seconds, the least of several runs.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import numpy as np

from client.games import table as table_module
from client.games.kinds import SELFPLAY
from client.games.orders import GameOrder
from client.games.stream import StreamControl, StreamStats, play_stream
from client.networks import Network, evaluator_loader
from client.search.cache import NO_CACHE, CacheForm, CacheSettings
from client.search.parameters import to_record
from client.search.pool import SearchPool
from common import config_text
from common.go.game import Game
from common.go.start import GameStart
from common.parameters import SearchParameters, default_text
from common.rows import GlobalInput, InputPlane
from nets.evaluation.batch import Evaluator
from nets.evaluation.evaluator import load_evaluator
from tests.benchmarks import PRECISION
from tests.oracles import oracle_root

SMALL: Final = Path(__file__).parent.parent / "fixtures" / "katago" / "trained-b2c32-bn.bin.gz"
LARGE: Final = oracle_root() / "nets" / "g170-b6c96-s175395328-d26788732.bin.gz"
ROOM: Final = 1 << 29
_RUNS: Final = 24


class Case(NamedTuple):
    edge: int
    net: Path
    visits: tuple[int, int]  # of full and cheap searches
    games: int
    turns: int  # searched, at most


CASES: Final = (
    Case(7, SMALL, (60, 12), 24, 98),
    Case(7, SMALL, (600, 100), 6, 98),
    Case(9, LARGE, (600, 100), 2, 24),
    Case(19, LARGE, (300, 50), 1, 16),
)
FORMS: Final = (CacheForm.OFF, CacheForm.INPUTS, CacheForm.SITUATION)


def main() -> None:
    """Print a line per case and form, then the cost of a miss."""
    for case in CASES:
        for form in FORMS:
            _play(case, form)
    _cost_of_a_miss()


class _Asked(SearchPool):
    """Counts the rows whose inputs but for history have been asked for before in the same game."""

    met = 0
    rows = 0

    def __init__(self, evaluator: Evaluator, **options: Any) -> None:
        super().__init__(evaluator, **options)
        self._seen: dict[int, set[int]] = {}  # by slot

    def forget(self, slot: int) -> None:
        self._seen[slot] = set()
        super().forget(slot)

    def descend(self) -> int:
        rows = super().descend()
        for row in range(rows):
            planes, inputs = self.batch.planes[row].copy(), self.batch.global_inputs[row].copy()
            planes[InputPlane.MOVE_1_AGO : InputPlane.MOVE_1_AGO + 5] = 0
            planes[[InputPlane.LADDERED_1_AGO, InputPlane.LADDERED_2_AGO]] = 0
            inputs[GlobalInput.PASS_1_AGO : GlobalInput.PASS_1_AGO + 5] = 0
            name, seen = hash(planes.tobytes() + inputs.tobytes()), self._seen[int(self.playouts.slots[row])]
            _Asked.met += name in seen
            seen.add(name)
        _Asked.rows += rows
        return rows


def _play(case: Case, form: CacheForm) -> None:
    full, cheap = case.visits
    values = {"bSizes": case.edge, "bSizeRelProbs": 1, "maxVisits": full, "cheapSearchVisits": cheap}
    values |= {"reducedVisitsMin": cheap, "maxMovesPerGame": case.turns}
    text = default_text("selfplay", "7x7" if case.edge == 7 else "9-19")
    text = config_text.overlay(text, config_text.write({key: str(value) for key, value in values.items()}))
    net = Network("net", case.net)
    orders = iter(
        GameOrder(seed=seed, kind=SELFPLAY, config=text, black=net, white=net, length=case.edge)
        for seed in range(case.games)
    )
    stats, start = StreamStats(), time.process_time()
    _Asked.met = _Asked.rows = 0
    with patch.object(table_module, "SearchPool", _Asked if form == CacheForm.OFF else SearchPool):
        play_stream(
            lambda: next(orders, None),
            lambda game: None,
            games=case.games,
            load=evaluator_loader("cpu", 1, PRECISION),
            control=StreamControl(),
            stats=stats,
            cache=CacheSettings(form, ROOM),
            until_empty=True,
        )
    asked, spent = stats.evaluations + stats.found, time.process_time() - start
    print(
        f"{case.edge}x{case.edge}, {full}/{cheap} visits, {stats.games} games of {stats.moves} turns,"
        f" {form.name.lower()}: {asked} evaluations, {100 * stats.found / asked:.1f} % found; {spent:.0f} s"
        + (f"; by situation within a game {100 * _Asked.met / _Asked.rows:.1f} %" if _Asked.rows else ""),
        flush=True,
    )


def _cost_of_a_miss() -> None:
    games = [_middle_game(seed) for seed in range(64)]
    evaluator = load_evaluator(SMALL, length=7, device="cpu", threads=1, precision=PRECISION)
    parameters = to_record(SearchParameters(max_visits=100, root_noise_enabled=True))
    settings = {"none": NO_CACHE, "inputs": CacheSettings(CacheForm.INPUTS, ROOM)}
    settings["situation"] = CacheSettings(CacheForm.SITUATION, ROOM)
    pools = {
        name: SearchPool(evaluator, slots=len(games), max_visits=100, cache=each) for name, each in settings.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in pools}
    rows = dict.fromkeys(pools, 0)
    for run in range(_RUNS + 1):  # the first compiles
        for name, pool in pools.items():
            pool.clear_cache()
            start = time.thread_time()
            rows[name] = _search(pool, games, parameters, run)
            seconds[name].append(time.thread_time() - start)
    for name, spent in seconds.items():
        least = min(spent[1:]) / rows[name]
        print(f"7x7 b2c32, 100 visits, cache {name}: {1e6 * least:.2f} µs per evaluation; {pools[name].hits} found")


def _middle_game(seed: int) -> Game:
    random, game = np.random.default_rng(seed), Game(GameStart(7, 7))
    for _ in range(16):
        game.play(int(random.choice([move for move in game.legal_moves() if move > 0])))
    return game


def _search(pool: SearchPool, games: list[Game], parameters: Any, seed: int) -> int:
    """Search all games; the number of rows evaluated."""
    for slot, game in enumerate(games):
        pool.start(slot, game.state, game.history, parameters=parameters, visits=100, seed=seed)
    rows = 0
    while pool.running():
        rows += pool.descend()
        pool.expand()
    return rows
