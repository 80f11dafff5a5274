"""Self-play on one core: rows, turns and evaluations per second, and where the time goes.

A net of two blocks (b2c32, untrained) on 7x7, and of six (b6c96) on 9x9 and 19x19, each with the visits below and a
quarter of the turns searched in full. Times are processor seconds of this process, so that other work on the machine
does not count; the evaluator has one thread. Compilation and loading happen before the clock starts.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from client.selfplay import stream as stream_module
from client.selfplay.orders import FinishedGame, GameOrder, Network
from client.selfplay.stream import StreamControl, StreamStats, play_stream
from common import config_text
from common.audit import audit_training_game
from common.parameters import default_text
from nets.config import named
from nets.evaluator import load_evaluator
from nets.exchange import record_of
from nets.katago_file import write_net
from nets.model import Net
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
            _play(network, selfplay_config(edge, full, cheap, 3), edge, games)  # compiles, loads and proves the net
            with timed_parts() as parts:
                start = time.process_time()
                finished, stats = _play(network, selfplay_config(edge, full, cheap, turns), edge, games)
                seconds = time.process_time() - start
            _print(f"{architecture} {edge}x{edge}, {full}/{cheap} visits", stats, seconds, parts)
            _audit(finished)


def _untrained(architecture: str, folder: Path) -> Network:
    path = folder / f"{architecture}.bin.gz"
    if not path.exists():
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


def _play(network: Network, text: str, edge: int, games: int) -> tuple[list[FinishedGame], StreamStats]:
    orders = iter([GameOrder(seed, text, network, network, edge) for seed in range(games)])
    stats, finished = StreamStats(), list[FinishedGame]()
    play_stream(
        lambda: next(orders, None),
        finished.append,
        games=games,
        load=lambda net, length: load_evaluator(net.path, length=length, device="cpu", threads=1),
        control=StreamControl(),
        stats=stats,
        until_empty=True,
    )
    return finished, stats


@contextmanager
def timed_parts(clock: Callable[[], float] = time.process_time) -> Iterator[dict[str, float]]:
    """Seconds of ``clock`` spent in the search's trees and features, and in the net, while this is open."""
    parts = new_parts()
    with patch.object(stream_module, "SearchPool", timed_pool(clock, parts)):
        yield parts


def _print(name: str, stats: StreamStats, seconds: float, parts: dict[str, float]) -> None:
    shares = ", ".join(f"{part} {100 * used / seconds:.0f} %" for part, used in parts.items())
    rest = 100 * (1 - sum(parts.values()) / seconds)
    print(
        f"{name}: {stats.rows / seconds:.1f} rows, {stats.moves / seconds:.0f} turns, {stats.evaluations / seconds:.0f}"
        f" evaluations per second ({stats.games} games); {shares}, moves and records {rest:.0f} %"
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
