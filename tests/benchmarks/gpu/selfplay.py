"""Self-play: streams of games in processes of their own, alone and side by side.

`python -m tests.benchmarks.gpu.selfplay NET DEVICE GAMES BEGIN SECONDS` is one of them.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from nets.evaluation.evaluator import load_evaluator
from nets.files.exchange import record_of
from nets.files.katago_file import write_net
from tests.benchmarks.gpu.nets import Record, lively


def selfplay() -> Iterator[Record]:
    """Self-play of b6c96 on 19×19, 100 and 20 visits: streams of 128 games each, alone and side by side."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "b6c96.bin.gz")
        write_net(record_of(lively("b6c96"), "b6c96"), path)
        list(streams(path, "cpu-uniform", 1, 4, 0.1))  # compiles what has not been compiled yet
        for count, games in ((1, 128), (1, 512), (4, 128), (8, 128)):
            yield from streams(path, "cuda", count, games, 8.0)


def streams(path: Path, device: str, count: int, games: int, window: float) -> Iterator[Record]:
    """Run streams in processes of their own, measured over the same seconds; one record of their sums."""
    begin = time.time() + 20.0
    command = [sys.executable, "-m", "tests.benchmarks.gpu.selfplay", str(path), device, str(games)]
    command += [str(begin), str(window)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    found = [json.loads(process.communicate()[0].splitlines()[-1]) for process in running]
    shares = {key: round(sum(each[key] for each in found) / count, 3) for key in found[0] if key.endswith("_share")}
    totals = {key: round(sum(each[key] for each in found)) for key in found[0] if key.endswith("_per_second")}
    yield {"device": device, "streams": count, "games_each": games} | totals | shares


def stream(path: Path, device: str, games: int, begin: float, window: float) -> Record:
    """Play in this process, and measure ``window`` seconds from ``begin`` (of the clock on the wall) on."""
    from client.games.kinds import SELFPLAY
    from client.games.orders import GameOrder
    from client.games.stream import StreamControl, StreamStats, play_stream
    from client.networks import Network
    from common import config_text
    from common.parameters import default_text
    from tests.benchmarks.selfplay import timed_parts

    changes = {
        "bSizes": "19",
        "bSizeRelProbs": "1",
        "maxVisits": "100",
        "cheapSearchVisits": "20",
        "reducedVisitsMin": "20",
        "maxMovesPerGame": "60",
    }
    text = config_text.overlay(default_text("selfplay", "7x7"), config_text.write(changes))
    network = Network("b6c96", path)
    orders = (
        GameOrder(seed=seed, kind=SELFPLAY, config=text, black=network, white=network, length=19)
        for seed in itertools.count(int(begin) + os.getpid())
    )
    stats, control, found = StreamStats(), StreamControl(), Record()

    uniform = device == "cpu-uniform"

    def measure(parts: dict[str, float]) -> None:
        while time.time() < begin or (uniform and not stats.games):  # a whole game, so that all is compiled
            time.sleep(0.05)
        start, before, spent = time.perf_counter(), stats.evaluations, dict(parts)
        time.sleep(window)
        seconds = time.perf_counter() - start
        found["evaluations_per_second"] = (stats.evaluations - before) / seconds
        for name, value in parts.items():
            found[f"{name.replace(' ', '_')}_share"] = (value - spent[name]) / seconds
        control.stop_now.set()

    with timed_parts(time.perf_counter) as parts:
        watch = threading.Thread(target=measure, args=(parts,), daemon=True)
        watch.start()
        play_stream(
            lambda: next(orders),
            lambda game: None,
            games=games,
            load=lambda net, length: load_evaluator(None if uniform else net.path, length=length, device=device),
            control=control,
            stats=stats,
        )
        watch.join()
    return found


def _command() -> None:
    path, device, games, begin, window = sys.argv[1:]
    print(json.dumps(stream(Path(path), device, int(games), float(begin), float(window))))


if __name__ == "__main__":
    _command()
