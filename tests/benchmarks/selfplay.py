"""Self-play on one core: rows, turns and evaluations per second, made and found, and where the time goes.

A net of two blocks (b2c32, untrained) on 7x7, and of six (b6c96) on 9x9 and 19x19, each with the visits below and a
quarter of the turns searched in full. Rates are per processor second of this process, so that other work on the machine
does not count, and beside them per second of wall-clock; the evaluator has one thread. A first, short stream compiles;
the evaluator that the clocks see has been loaded, and has proved the net for every batch that it may be given, before
they start.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from client.games import table as table_module
from client.games.kinds import SELFPLAY
from client.games.orders import FinishedGame, GameOrder
from client.games.stream import StreamControl, StreamStats, play_stream
from client.networks import Network
from common import config_text
from common.audit import audit_training_game
from common.parameters import default_text
from nets.architecture.config import named
from nets.architecture.model import Net
from nets.evaluation.batch import Evaluator
from nets.evaluation.evaluator import load_evaluator
from nets.files.exchange import record_of
from nets.files.katago_file import write_net
from tests.benchmarks import PRECISION
from tests.benchmarks.timed_pool import new_parts, timed_pool

CASES = (  # architecture, edge, visits of full and cheap searches, games (all at once), turns of each at most
    ("b2c32", 7, 100, 20, 64, 98),
    ("b6c96", 9, 100, 20, 16, 30),
    ("b6c96", 19, 50, 10, 8, 20),
)


def main() -> None:
    """Print a line per board size."""
    with tempfile.TemporaryDirectory() as folder:
        for architecture, edge, full, cheap, games, turns in CASES:
            network = _untrained(architecture, Path(folder))
            evaluator = KeptEvaluator(
                load_evaluator(network.path, length=edge, device="cpu", threads=1, precision=PRECISION)
            )
            _prove(evaluator, games)
            _play(evaluator, network, selfplay_config(edge, full, cheap, 3), edge, games)  # compiles
            with timed_parts() as parts:
                begin, start = time.perf_counter(), time.process_time()
                text = selfplay_config(edge, full, cheap, turns)
                finished, stats = _play(evaluator, network, text, edge, games)
                seconds, wall = time.process_time() - start, time.perf_counter() - begin
            evaluator.end()
            _print(f"{architecture} {edge}x{edge}, {full}/{cheap} visits", stats, seconds, wall, parts)
            _audit(finished)


class KeptEvaluator:
    """An evaluator that a stream's end does not close, so that the next stream finds it loaded and proved."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evaluator, name)

    def close(self) -> None:
        """Do nothing: `end` closes it."""

    def end(self) -> None:
        """Free what it holds."""
        self._evaluator.close()


def _prove(evaluator: KeptEvaluator, games: int) -> None:
    """Have the evaluator prove itself on batches of every size that ``games`` boards can ask for."""
    batch = evaluator.new_batch(games)
    batch.planes[:, 0] = 1.0
    for count in range(1, games + 1):
        evaluator.run(batch, count)


def _untrained(architecture: str, folder: Path) -> Network:
    path = folder / f"{architecture}.bin.gz"
    if not path.exists():
        torch.manual_seed(0)  # two runs play the same games
        write_net(record_of(Net(named(architecture)), architecture), path)
    return Network(architecture, path)


def selfplay_config(edge: int, full: int, cheap: int, turns: int) -> str:
    """A configuration for boards of one size, games of ``turns`` at most."""
    values = {
        "bSizes": str(edge),
        "bSizeRelProbs": "1",
        "maxVisits": str(full),
        "cheapSearchVisits": str(cheap),
        "reducedVisitsMin": str(cheap),
        "maxMovesPerGame": str(turns),
    }
    return config_text.overlay(default_text("selfplay", "7x7"), config_text.write(values))


def _play(
    evaluator: KeptEvaluator, network: Network, text: str, edge: int, games: int
) -> tuple[list[FinishedGame], StreamStats]:
    orders = iter(
        [
            GameOrder(seed=seed, kind=SELFPLAY, config=text, black=network, white=network, length=edge)
            for seed in range(games)
        ]
    )
    stats, finished = StreamStats(), list[FinishedGame]()
    play_stream(
        lambda: next(orders, None),
        finished.append,
        games=games,
        load=lambda net, length: evaluator,
        control=StreamControl(),
        stats=stats,
        until_empty=True,
    )
    return finished, stats


@contextmanager
def timed_parts(clock: Callable[[], float] = time.process_time) -> Iterator[dict[str, float]]:
    """Seconds of ``clock`` spent in the search's trees and features, and in the net, while this is open."""
    parts = new_parts()
    with patch.object(table_module, "SearchPool", timed_pool(clock, parts)):
        yield parts


def _print(name: str, stats: StreamStats, seconds: float, wall: float, parts: dict[str, float]) -> None:
    shares = ", ".join(f"{part} {100 * used / seconds:.0f} %" for part, used in parts.items())
    rest = 100 * (1 - sum(parts.values()) / seconds)
    print(
        f"{name}: {stats.rows / seconds:.1f} rows, {stats.moves / seconds:.0f} turns, {stats.evaluations / seconds:.0f}"
        f" evaluations per second, {stats.found / seconds:.0f} more found in the cache"
        f" ({stats.games} games); {shares}, moves and records {rest:.0f} %; by the wall-clock"
        f" {stats.rows / wall:.1f} rows, {stats.evaluations / wall:.0f} evaluations per second"
    )


def _audit(games: list[FinishedGame]) -> None:
    with_rows = [game for game in games if game.rows is not None]
    start = time.process_time()
    for game in with_rows:
        assert game.rows is not None
        findings = audit_training_game(game.sgf, game.rows, game.facts)
        if not findings.ok:
            raise RuntimeError(f"the audit refuses a game: {findings}")
    seconds = time.process_time() - start
    if with_rows:
        print(f"  audit: {1000 * seconds / len(with_rows):.1f} ms a game")
