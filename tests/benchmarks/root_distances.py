"""How far our root lies from KataGo's, beside how far two runs of KataGo lie from each other with other symmetries.

`python -m tests.benchmarks.root_distances --katago PROGRAM --net FILE --games SGFS` asks both analysis engines about
positions of a file of games (of any match), with the same settings, one thread, no noise, and several seeds each. Told
are the mean distances over positions and pairs of runs: half the sum of absolute differences of the visit shares at the
root (total variation), of winrate and lead, and how often both have the same first move.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from common import sgf
from common.arguments import positive
from common.game_record import moves_of, start_of
from common.go.points import WHITE, to_vertex

Answers = dict[str, dict[str, Any]]
"""An engine's answer about each position, by its id."""

_CONFIG: Final = """
logFile = /dev/null
logToStderr = false
logAllRequests = false
logAllResponses = false
numAnalysisThreads = 1
numSearchThreadsPerAnalysisThread = 1
nnMaxBatchSize = 1
nnCacheSizePowerOfTwo = 18
nnMutexPoolSizePowerOfTwo = 14
numNNServerThreadsPerModel = 1
nnRandomize = true
maxVisits = 1000
wideRootNoise = 0
reportAnalysisWinratesAs = WHITE
"""


class Distance(NamedTuple):
    """Means over positions."""

    visits: float  # total variation, in [0, 1]
    winrate: float
    lead: float  # points
    same_move: float  # share


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, and print a line for each kind of pair; returns the exit code."""
    parser = argparse.ArgumentParser(description="how far our root lies from KataGo's")
    parser.add_argument("--katago", type=Path, required=True, metavar="PROGRAM")
    parser.add_argument("--net", type=Path, required=True, metavar="FILE", help="network of both")
    parser.add_argument("--games", type=Path, required=True, metavar="SGFS", help="games with the positions")
    parser.add_argument("--positions", type=positive, default=30, help="how many (default 30)")
    parser.add_argument("--visits", type=positive, default=1000, help="of each search (default 1000)")
    parser.add_argument("--runs", type=positive, default=3, help="of each engine, with other symmetries (default 3)")
    options = parser.parse_args(arguments)
    queries = _queries(options.games, options.positions, options.visits)
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "analysis.cfg"
        edge = max(queries[0]["boardXSize"], queries[0]["boardYSize"])
        buffer = f"maxBoardXSizeForNNBuffer = {edge}\nmaxBoardYSizeForNNBuffer = {edge}\n"
        config.write_text(f"{_CONFIG}homeDataDir = {folder}\n{buffer}")
        shared = ["analysis", "-model", str(options.net), "-config", str(config)]
        katago = [str(options.katago), *shared, "-override-config"]
        tengen = [sys.executable, "-m", "client", *shared, "--device", "cpu", "--threads", "1", "--seed"]
        theirs = [_ask([*katago, f"nnRandSeed=run{run}"], queries) for run in range(options.runs)]
        ours = [_ask([*tengen, str(run)], queries) for run in range(options.runs)]
    _tell("KataGo from KataGo", list(itertools.combinations(theirs, 2)))
    _tell("ours from KataGo", list(itertools.product(ours, theirs)))
    _tell("ours from ours", list(itertools.combinations(ours, 2)))
    return 0


def _queries(games: Path, count: int, visits: int) -> list[dict[str, Any]]:
    """A position of each of ``count`` games, later in each further one, none so late that little is left to play."""
    records = list(itertools.islice(sgf.read_all(games.read_bytes()), count))
    if len(records) < count:
        raise SystemExit(f"{games} has only {len(records)} games: give --positions {len(records)}")
    queries = []
    for number, record in enumerate(records):
        start, moves = start_of(record), moves_of(record)
        height = start.y_size
        until = max(0, min(2 + number, len(moves) - 10))
        queries.append(
            {
                "id": str(number),
                "moves": [
                    ["W" if colour == WHITE else "B", to_vertex(point, height)] for colour, point in moves[:until]
                ],
                "rules": "tromp-taylor",
                "komi": start.rules.komi,
                "boardXSize": start.x_size,
                "boardYSize": height,
                "maxVisits": visits,
            }
        )
    return queries


def _ask(command: list[str], queries: list[dict[str, Any]]) -> Answers:
    lines = "".join(json.dumps(query) + "\n" for query in queries)
    result = subprocess.run(command, input=lines, capture_output=True, text=True)
    answers = {answer.get("id"): answer for answer in map(json.loads, result.stdout.splitlines())}
    if any("rootInfo" not in answers.get(query["id"], {}) for query in queries):
        raise SystemExit(f"{command[0]} did not answer all: {(result.stdout + result.stderr)[-1000:]}")
    return answers


def _tell(what: str, pairs: list[tuple[Answers, Answers]]) -> None:
    each = np.array([_distance(one, other) for one, other in pairs])
    mean = each.mean(axis=0)
    error = each.std(axis=0, ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.full(len(mean), np.nan)
    told = ", ".join(
        f"{name} {mean[index]:.3f} ± {error[index]:.3f}"
        for index, name in enumerate(("visits", "winrate", "lead", "same first move"))
    )
    print(f"{what}, {len(pairs)} pairs of runs: {told}", flush=True)


def _distance(one: Answers, other: Answers) -> Distance:
    rows = []
    for key, answer in one.items():
        first, second = _shares(answer), _shares(other[key])
        apart = sum(abs(first.get(move, 0.0) - second.get(move, 0.0)) for move in first.keys() | second.keys())
        roots = answer["rootInfo"], other[key]["rootInfo"]
        rows.append(
            Distance(
                apart / 2,
                abs(roots[0]["winrate"] - roots[1]["winrate"]),
                abs(roots[0]["scoreLead"] - roots[1]["scoreLead"]),
                float(max(first, key=first.__getitem__) == max(second, key=second.__getitem__)),
            )
        )
    return Distance(*np.array(rows).mean(axis=0))


def _shares(answer: dict[str, Any]) -> dict[str, float]:
    """Of the visits at the root, by move."""
    visits = {move["move"]: move["edgeVisits"] for move in answer["moveInfos"]}
    return {move: count / sum(visits.values()) for move, count in visits.items()}


if __name__ == "__main__":
    raise SystemExit(main())
