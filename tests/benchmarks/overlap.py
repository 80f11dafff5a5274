"""Self-play in one stream whose net runs beside it: with one lane, where they wait for each other, and with two.

The device is another core: OpenVINO with one thread, started by another thread of this process and waited for as a
GPU is. It shows what overlapping gives where the net and the rest of the work take comparable time, and needs two idle
cores. Wall time; the two take turns, and the ratio is of neighbouring turns.
"""

from __future__ import annotations

import statistics
import time
from concurrent.futures import Future, ThreadPoolExecutor

import torch

from client.games.kinds import SELFPLAY
from client.games.orders import GameOrder
from client.games.stream import StreamControl, StreamStats, play_stream
from client.networks import Network
from nets.architecture.config import named
from nets.architecture.model import Net
from nets.evaluation.backends import BatchShape, OpenVinoBackend, Raw
from nets.evaluation.evaluator import NetEvaluator
from tests.benchmarks.selfplay import selfplay_config

CASES = (("b2c32", 7, 100, 20, 128, 10), ("b2c32", 9, 100, 20, 128, 10))  # as in the benchmark of self-play
TURNS = 4


class Lane(OpenVinoBackend):
    """A batch that another thread evaluates."""

    def __init__(self, net: Net, length: int, other: ThreadPoolExecutor) -> None:
        super().__init__(net, length, 1, sixteen_bit=False)
        self._other = other
        self._running: Future[Raw] | None = None

    def launch(self, shape: BatchShape) -> None:
        self._running = self._other.submit(self.run, shape)

    def outputs(self) -> Raw:
        assert self._running is not None
        return self._running.result()


class OtherCore(OpenVinoBackend):
    """A device with some lanes."""

    def __init__(self, net: Net, length: int, lanes: int) -> None:
        super().__init__(net, length, 1, sixteen_bit=False)
        self._other = ThreadPoolExecutor(1)
        self._lanes = [Lane(net, length, self._other) for _ in range(lanes)]

    @property
    def lanes(self) -> list[Lane]:
        return self._lanes

    def close(self) -> None:
        self._other.shutdown()


def _evaluations_per_second(net: Net, text: str, edge: int, games: int, lanes: int) -> float:
    network = Network("untrained", None)
    orders = iter(
        [
            GameOrder(seed=seed, kind=SELFPLAY, config=text, black=network, white=network, length=edge)
            for seed in range(games)
        ]
    )
    stats = StreamStats()
    device = OtherCore(net, edge, lanes)
    evaluator = NetEvaluator(net, device, edge)
    for size in device.sizes:  # so that every lane has compiled them
        batches = [evaluator.new_batch(size) for _ in range(lanes)]
        for batch in batches:
            batch.planes[:, 0] = 1.0
        for wait in [evaluator.submit(batch, size) for batch in batches]:
            wait()
    start = time.perf_counter()
    play_stream(
        lambda: next(orders, None),
        lambda game: None,
        games=games,
        load=lambda network, length: evaluator,
        control=StreamControl(),
        stats=stats,
        until_empty=True,
    )
    return stats.evaluations / (time.perf_counter() - start)


def main() -> None:
    """Print a line per case."""
    torch.manual_seed(0)
    for architecture, edge, full, cheap, games, turns in CASES:
        net = Net(named(architecture)).eval()
        _evaluations_per_second(net, selfplay_config(edge, full, cheap, 3), edge, games, 2)  # compiles
        text = selfplay_config(edge, full, cheap, turns)
        rates = [[_evaluations_per_second(net, text, edge, games, lanes) for lanes in (1, 2)] for _ in range(TURNS)]
        ratios = [two / one for one, two in rates]
        one, two = (statistics.median(column) for column in zip(*rates, strict=True))
        print(
            f"{architecture} {edge}x{edge}, {full}/{cheap} visits, {games} games: {one:,.0f} evaluations per second "
            f"with one lane, {two:,.0f} with two: {statistics.median(ratios):.2f} times ({min(ratios):.2f} to "
            f"{max(ratios):.2f})",
            flush=True,
        )
