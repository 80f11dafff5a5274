"""Our self-play beside KataGo's: the same text and network, both on the same cores, in turns of some seconds each.

`python -m tests.benchmarks.beside_katago --katago PROGRAM --net FILE` plays 7x7 (a trained b2c32 of the tests' unless
``--small-net`` names another), 9x9 and 19x19 (``--net``). Both programs run all the time, and whichever has no turn is
stopped by signal, with all its processes, so both see the same minutes of the machine. What is told is of the turns
after a first one, which lasts until as many games are finished as are played at once: loading, compiling and the time
without finished games are not counted. Rows are counted in the files, turns and visits in the records, which both
write when a game ends or a file is full; evaluations are those that the programs tell. Seconds are of wall-clock.

19x19 games end by the text after ``MOST_MOVES``, as whole ones take longer than a measurement; so do KataGo's.

Of KataGo's Eigen program each thread evaluates two positions at a time, whatever its configuration says, so it has one
thread for each core and games enough for two batches of each; ``--katago-games`` and ``--katago-threads`` give it
others. Ours has its own choice: a process for each core.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, Self

from client.devices import GAMES_PER_CPU_STREAM
from common.arguments import positive
from common.rows import read_npz
from tests import FIXTURES
from tests.katago_selfplay import KataGoRun, command, whole_text

SMALL_NET: Final = FIXTURES / "katago" / "trained-b2c32-bn.bin.gz"
MOST_MOVES: Final = 40
FIRST_TURN_S: Final = 1800.0
"""A program that has not finished enough games by then is not measured; kernels may have to be compiled first."""
_POLL_S: Final = 0.5
_VISITS: Final = re.compile(rb"[ \[]v=(\d+)")
_SMALL_FILES: Final = "maxRowsPerTrainFile=64,firstFileRandMinProp=1"


class Case(NamedTuple):
    """A size of boards, its text, and how many times as many rows as KataGo's ours are to be, with and without
    bfloat16 units."""

    edge: int
    configs: tuple[str, ...]
    changes: str
    bars: tuple[float, float]
    games: int = GAMES_PER_CPU_STREAM  # at once in each of our processes
    longer: int = 1  # turns, times as long


CASES: Final = (
    Case(7, ("7x7",), "", (9.0, 3.0)),
    Case(9, ("7x7",), "bSizes=9,komiMean=7", (18.0, 3.0)),
    # games of one length end together: few at once, and long turns, so that a turn sees many ends
    Case(19, ("7x7",), f"bSizes=19,komiMean=7,maxMovesPerGame={MOST_MOVES}", (6.0, 1.5), games=8, longer=4),
)


class Counts(NamedTuple):
    """What a program has made, or made in some time."""

    rows: int = 0
    games: int = 0
    turns: int = 0
    visits: int = 0

    def since(self, before: Counts) -> Counts:
        """What was made after ``before``."""
        return Counts(*(now - then for now, then in zip(self, before, strict=True)))


class Tally:
    """Counts what lies in a folder of games that grows; each file of rows and each line of records is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: dict[Path, int] = {}
        self._read: dict[Path, int] = {}
        self._counts = Counts()

    def counts(self) -> Counts:
        """All that is there now."""
        for path in self._folder.rglob("*.npz"):
            if path not in self._rows:
                self._rows[path] = read_npz(path).count
        for path in self._folder.rglob("*.sgfs"):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                whole, newline, _ = file.read().rpartition(b"\n")
            self._read[path] = self._read.get(path, 0) + len(whole) + len(newline)
            visits = [int(found) for found in _VISITS.findall(whole)]
            self._counts = Counts(
                0,
                self._counts.games + sum(1 for line in whole.splitlines() if line),
                self._counts.turns + len(visits),
                self._counts.visits + sum(visits),
            )
        return self._counts._replace(rows=sum(self._rows.values()))


@dataclass
class Program:
    """One of the two, as a group of processes that is stopped whenever it has no turn."""

    name: str
    called: list[str]
    games: Path
    log: Path
    running_s: float = 0.0
    made: Counts = field(default_factory=Counts)  # in the turns that count
    counted_s: float = 0.0

    def __post_init__(self) -> None:
        self.tally = Tally(self.games)
        self.told_before = 0
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                self.called, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        self._send(signal.SIGSTOP)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._send(signal.SIGCONT)
            self._send(signal.SIGKILL)
        self._process.wait()

    def _send(self, number: signal.Signals) -> None:
        os.killpg(self._process.pid, number)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        begin = time.perf_counter()
        self._send(signal.SIGCONT)
        try:
            yield
        finally:
            self._send(signal.SIGSTOP)
            self.running_s += time.perf_counter() - begin
        if self._process.poll() is not None:
            raise SystemExit(f"{self.name} ended:\n" + "\n".join(self.log.read_text().splitlines()[-5:]))

    def start(self, games: int) -> None:
        """The turn that does not count: until so many games are finished."""
        with self._turn():
            deadline = time.perf_counter() + FIRST_TURN_S
            while self.tally.counts().games < games:
                if time.perf_counter() > deadline or self._process.poll() is not None:
                    break
                time.sleep(_POLL_S)
        self.told_before = len(self.log.read_text())
        finished = self.tally.counts().games
        if finished < games:
            raise SystemExit(f"{self.name} finished {finished} games in {self.running_s:.0f} s; {games} are waited for")

    def turn(self, seconds: float) -> Counts:
        """A turn that counts."""
        before, ran = self.tally.counts(), self.running_s
        with self._turn():
            time.sleep(seconds)
        made = self.tally.counts().since(before)
        self.made = Counts(*(old + new for old, new in zip(self.made, made, strict=True)))
        self.counted_s += self.running_s - ran
        return made

    def stop(self, seconds: float = 120.0) -> None:
        """End it as a person does, so that it says what it did."""
        self._send(signal.SIGCONT)
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)


class Rates(NamedTuple):
    """Evaluations per second."""

    ours: float  # in the turns that count
    katagos: float  # since its start, as it tells one number at its end


_OUR_LINE: Final = re.compile(r"(\d+) rows in (\d+) s.*\(([\d,]+) rows per hour, ([\d,]+) evaluations per second")


def our_evaluations(log: str) -> list[float]:
    """How many we had made, by each line about it so far; its rates are exact, its seconds are rounded."""
    counts = []
    for rows, seconds, per_hour, rate in _OUR_LINE.findall(log):
        hourly = _number(per_hour)
        exact = int(rows) * 3600 / hourly if hourly else float(seconds)
        counts.append(_number(rate) * exact)
    return counts


def katago_evaluations(log: str) -> float:
    """How many KataGo had made when it ended; 0 if it does not say so."""
    found = re.search(r"Final NN rows: (\d+)", log)
    return float(found[1]) if found else 0.0


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, and print what both made; returns the exit code."""
    options = _options(arguments)
    has_units = "amx_bf16" in Path("/proc/cpuinfo").read_text()
    print(f"bfloat16 matrix units: {'yes' if has_units else 'no'}; load of the machine: {os.getloadavg()[0]:.1f}")
    for case in CASES:
        if case.edge not in options.sizes:
            continue
        net = options.small_net if case.edge == 7 else options.net
        if net is None:
            print(f"{case.edge}x{case.edge}: skipped, name a network by --net")
            continue
        text = whole_text(
            options.config or case.configs, [*filter(None, [case.changes]), *options.override, _SMALL_FILES]
        )
        with tempfile.TemporaryDirectory() as name:
            measure(case, text, net, Path(name), options, case.bars[0 if has_units else 1])
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="our self-play beside KataGo's")
    parser.add_argument("--katago", type=Path, required=True, metavar="PROGRAM")
    parser.add_argument("--net", type=Path, metavar="FILE", help="network of 9x9 and 19x19, KataGo's format")
    parser.add_argument("--small-net", type=Path, default=SMALL_NET, metavar="FILE", help="network of 7x7")
    parser.add_argument(
        "--sizes", type=lambda text: [int(part) for part in text.split(",")], default=[7, 9, 19], metavar="7,9,19"
    )
    parser.add_argument("--turns", type=positive, default=3, help="that count, of each program (default 3)")
    parser.add_argument("--seconds", type=positive, default=30, help="of each turn (default 30; 19x19: four times)")
    parser.add_argument("--katago-games", type=positive, default=8, help="KataGo's games at once (default 8)")
    parser.add_argument("--katago-threads", type=positive, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--config", action="append", default=[], help="texts instead of the case's, as for selfplay")
    parser.add_argument("--override", action="append", default=[], metavar="K=V,…", help="put over the text")
    parser.add_argument("--parallel-games", type=positive, default=0, help="of each of our processes")
    return parser.parse_args(arguments)


def measure(case: Case, text: str, net: Path, folder: Path, options: argparse.Namespace, bar: float) -> None:
    """Play one size in turns and print what came out."""
    run = KataGoRun(options.katago, folder / "katago", net, options.katago_games, options.katago_threads)
    called = command(run, text, case.edge)
    config = folder / "text.cfg"
    config.write_text(text)
    ours = [sys.executable, "-m", "client", "selfplay", "--gpus", "cpu", "--model", str(net), "--config", str(config)]
    ours += ["--output", str(folder / "ours"), "--length", str(case.edge)]
    games = options.parallel_games or case.games
    ours += ["--parallel-games", str(games)]
    with (
        Program("ours", ours, folder / "ours", folder / "ours.log") as own,
        Program("KataGo's", called, run.folder / "games", folder / "katago.log") as theirs,
    ):
        theirs.start(options.katago_games)
        own.start(len(os.sched_getaffinity(0)) * games)
        ratios = []
        for _ in range(options.turns):
            first, second = theirs.turn(options.seconds * case.longer), own.turn(options.seconds * case.longer)
            ratios.append(second.rows / max(first.rows, 1))
        for each in (own, theirs):
            each.stop()
    said = our_evaluations(own.log.read_text()[own.told_before :])
    logs = "".join(path.read_text() for path in theirs.games.glob("log*.log"))
    rates = Rates(
        ours=(said[-1] - said[0]) / own.counted_s if said else math.nan,
        katagos=katago_evaluations(logs) / theirs.running_s,
    )
    report(case, net, own, theirs, rates, ratios, bar)


def report(case: Case, net: Path, own: Program, theirs: Program, rates: Rates, ratios: list[float], bar: float) -> None:
    """Rows per hour, turns, visits and evaluations per second of both, and the ratios."""
    print(f"{case.edge}x{case.edge}, {net.name}, {len(ratios)} turns each; load {os.getloadavg()[0]:.1f}")
    for each, rate in ((own, rates.ours), (theirs, rates.katagos)):
        made, seconds = each.made, each.counted_s
        print(
            f"  {each.name:8} {made.rows * 3600 / seconds:9,.0f} rows per hour, {made.games / seconds:.2f} games,"
            f" {made.turns / seconds:,.0f} turns, {made.visits / seconds:,.0f} visits, {rate:,.0f} evaluations per"
            f" second ({made.rows} rows of {made.games} games in {seconds:.0f} s)"
        )
    pairs = zip(own.made, theirs.made, strict=True)
    rows, _, turns, visits = (one / own.counted_s / max(other / theirs.counted_s, 1e-9) for one, other in pairs)
    print(
        f"  ours, times as many: rows {rows:.2f} (by turns {min(ratios):.2f} to {max(ratios):.2f}; the bar is {bar:g}),"
        f" turns {turns:.2f}, visits {visits:.2f}, evaluations {rates.ours / max(rates.katagos, 1e-9):.2f}",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
