"""What the techniques of today's search are worth in Elo: each switched off against all of them on, the same network.

`python -m tests.benchmarks.techniques --net FILE --output DIR [--games 300] [--visits 100] [--only NAME …]` plays one
match for each technique by ``client match``, tells what the technique costs in time, and, where that is more than
``WORTH_SCALING``, plays a second match in which the side without it has as many more visits as the time allows. Matches
lie in folders under DIR: the same command goes on where it was stopped, and says at once what is finished.

The cost of a technique is that of a search with it over one without, processor seconds for each visit, in turns on the
same positions in one thread, medians; `techniques.jsonl` keeps it, so that a match that goes on is the same match.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from client.matches.score import Score
from client.search.parameters import to_record
from client.search.pool import SearchPool
from common.arguments import positive
from common.go.game import Game
from common.go.rules import Rules
from common.go.start import GameStart
from common.parameters import CONFIGS, SearchParameters, completed, parse_match
from common.precision import Precision
from nets.evaluation.evaluator import load_evaluator

WORTH_SCALING: Final = 0.03
TEXT: Final = CONFIGS / "gating_today.cfg"
EDGE: Final = 9
KOMI: Final = 7.0
SLOTS: Final = 16
TURNS: Final = 11
"""Searches of either kind that are timed, after one that is not."""


class Technique(NamedTuple):
    """A technique of the text, and how it is switched off."""

    name: str
    without: str  # keys and values, as --override takes them
    what: str


TECHNIQUES: Final = (
    Technique("graph", "useGraphSearch=false", "positions reached in two ways are one node"),
    Technique("bias", "subtreeValueBiasFactor=0", "errors of evaluations corrected by those of like moves"),
    Technique("noise-pruning", "useNoisePruning=false", "visits that found nothing count less"),
    Technique("lcb", "useLcbForSelection=false", "the move with the best lower bound is played"),
    Technique("value-weights", "valueWeightExponent=0", "children of better value weigh more"),
    Technique("utility-stdev", "cpuctUtilityStdevScale=0", "exploration follows the spread of values"),
    Technique("cpuct-log", "cpuctExplorationLog=0", "exploration grows with visits"),
    Technique("fpu-policy", "fpuParentWeightByVisitedPolicy=false", "first-play value by the policy visited"),
    Technique(
        "score-utility",
        "staticScoreUtilityFactor=0,dynamicScoreUtilityFactor=0",
        "points count beside winning",
    ),
    Technique("endings", "rootEndingBonusPoints=0,rootPruneUselessMoves=false", "no useless moves, passes in time"),
)
"""The ten that matter most to every network: uncertainty weights and optimism need heads that most networks lack."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, and print a line for each technique; returns the exit code."""
    parser = argparse.ArgumentParser(description="what each technique of the search is worth")
    parser.add_argument("--net", type=Path, required=True, metavar="FILE", help="network of both sides")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="matches; goes on there")
    parser.add_argument("--games", type=positive, default=300, help="of each match (default 300)")
    parser.add_argument("--visits", type=positive, default=100, help="of each move (default 100)")
    names = [technique.name for technique in TECHNIQUES]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    costs = _Costs(options.output / "techniques.jsonl", options.net, options.visits)
    for technique in TECHNIQUES:
        if technique.name not in options.only:
            continue
        cost = costs.of(technique)
        print(f"{technique.name} ({technique.what}): a visit takes {cost:.3f} of what it takes without", flush=True)
        _tell("at equal visits", _match(options, technique, options.visits))
        if cost > 1.0 + WORTH_SCALING:
            visits = round(options.visits * cost)
            _tell(f"against {visits} visits without, equal time", _match(options, technique, visits))
    return 0


def _tell(how: str, score: Score) -> None:
    print(f"    {how}, {score.games} games: {score.describe()}", flush=True)


def _match(options: argparse.Namespace, technique: Technique, visits: int) -> Score:
    """The match of the technique against a search without it that has ``visits``."""
    without = [part.replace("=", "1=", 1) for part in technique.without.split(",")]
    output = options.output / f"{technique.name}-{options.visits}-{visits}"
    command = [
        *(sys.executable, "-m", "client", "match", "--models", str(options.net), str(options.net)),
        *("--names", "with", "without", "--config", str(TEXT)),
        *("--override", ",".join([f"maxVisits0={options.visits}", f"maxVisits1={visits}", *without])),
        *("--size", str(EDGE), "--rules", "tromp-taylor", "--komi", str(KOMI), "--games", str(options.games)),
        *("--output", str(output), "--gpus", "cpu"),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return _score(output / "results.jsonl")


def _score(results: Path) -> Score:
    score = Score()
    for line in results.read_text().splitlines():
        result = json.loads(line)
        score.add(result["number"], result["points"])
    return score


class _Costs:
    """What techniques cost, kept in a file of one JSON object a line."""

    def __init__(self, path: Path, net: Path, visits: int) -> None:
        self._path, self._net, self._visits = path, net, visits
        lines = path.read_text().splitlines() if path.exists() else []
        rows = map(json.loads, lines)
        self._known = {(row["net"], row["name"], row["visits"]): float(row["cost"]) for row in rows}

    def of(self, technique: Technique) -> float:
        """Processor seconds per visit with it over those without."""
        key = self._net.name, technique.name, self._visits
        if key not in self._known:
            self._known[key] = _measure(self._net, technique, self._visits)
            row = {"net": self._net.name, "name": technique.name, "visits": self._visits, "cost": self._known[key]}
            with self._path.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return self._known[key]


def _measure(net: Path, technique: Technique, visits: int) -> float:
    pool = SearchPool(
        load_evaluator(net, length=EDGE, threads=1, precision=Precision.FASTEST), slots=SLOTS, max_visits=visits
    )
    games = [_game(seed) for seed in range(SLOTS)]
    sides = [_search_parameters(""), _search_parameters(technique.without)]
    seconds: list[list[float]] = [[], []]
    for turn in range(TURNS + 1):
        for side in (0, 1) if turn % 2 else (1, 0):
            taken = _search(pool, games, sides[side], visits)
            if turn:
                seconds[side].append(taken)
    return float(np.median(np.array(seconds[0]) / np.array(seconds[1])))


def _search_parameters(overrides: str) -> SearchParameters:
    text, _ = completed("gating", TEXT.read_text())
    return parse_match(text, overrides=overrides).bots[0]


def _search(pool: SearchPool, games: list[Game], search: SearchParameters, visits: int) -> float:
    parameters = to_record(search)
    start = time.thread_time()
    for slot, game in enumerate(games):
        pool.start(slot, game.state, game.history, parameters=parameters, visits=visits, seed=slot)
    while pool.running():
        pool.descend()
        pool.expand()
    return time.thread_time() - start


def _game(seed: int) -> Game:
    """A position of some random moves under the rules of the matches."""
    random = np.random.default_rng(seed)
    game = Game(GameStart(EDGE, EDGE, rules=replace(Rules.parse("tromp-taylor"), komi=KOMI)))
    for _ in range(int(random.integers(4, 40))):
        game.play(int(random.choice([move for move in game.legal_moves() if move > 0])))
    return game


if __name__ == "__main__":
    raise SystemExit(main())
