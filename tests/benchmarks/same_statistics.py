"""Do our games of self-play have the numbers of KataGo's? Both play the same text with the same network.

`python -m tests.benchmarks.same_statistics --katago PROGRAM --net FILE --output DIR` plays, for boards of 7x7 and 9x9
and for 60 and 15 visits, 2,000 games of ours and 500 of KataGo's, and prints a table for each: every number with its
standard error, and how many standard errors the two are apart. Of some 150 numbers that agree, seven are expected
beyond 2 and none beyond 4. Games stay below DIR: the same command goes on where it was stopped (a KataGo that was
stopped begins anew), and prints the tables at once when all is there.

The text is KataGo's main run of today on small boards, with more forks, side rows and rectangles than that has, so that
their shares can be told.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from client.selfplay.statistics import statistics_of
from client.selfplay.statistics_table import table
from common.arguments import positive
from tests.katago_selfplay import KataGoRun, command, whole_text

TEXTS: Final = {7: "today_7x7", 9: "today_9x9"}
MORE: Final = (
    "earlyForkGameProb=0.1,forkGameProb=0.05,sekiForkHackProb=0.05,sidePositionProb=0.1,allowRectangleProb=0.3"
)
VISITS: Final = {
    60: "maxVisits=60,cheapSearchVisits=12,reducedVisitsMin=12,maxAsymmetricRatio=4",
    15: "maxVisits=15,cheapSearchVisits=10,reducedVisitsMin=10,maxAsymmetricRatio=2",
}
"""Of a full search, and what goes with them: no side may be left fewer than 5 visits."""
_DONE: Final = "all played"
"""Marks a folder of KataGo's."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what is missing and print the tables; returns the exit code."""
    parser = argparse.ArgumentParser(description="numbers of our self-play beside those of KataGo's")
    parser.add_argument("--katago", type=Path, required=True, metavar="PROGRAM")
    parser.add_argument("--net", type=Path, required=True, metavar="FILE", help="network of both, KataGo's format")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="games; goes on there")
    parser.add_argument("--games", type=positive, default=2000, help="of ours (default 2000)")
    parser.add_argument("--katago-games", type=positive, default=500, help="of KataGo's (default 500)")
    parser.add_argument("--sizes", type=_numbers, default=list(TEXTS), metavar="7,9")
    parser.add_argument("--visits", type=_numbers, default=list(VISITS), metavar="60,15")
    options = parser.parse_args(arguments)
    for size in options.sizes:
        for visits in options.visits:
            folder = options.output / f"{size}-{visits}"
            changes = [MORE, VISITS[visits]]
            _play_theirs(folder / "katago", TEXTS[size], changes, size, options)
            _play_ours(folder / "ours", TEXTS[size], changes, options)
            print(f"== {size}x{size}, {visits} visits, {options.net.name}")
            print(
                table({"ours": statistics_of(folder / "ours"), "KataGo's": statistics_of(folder / "katago" / "games")})
            )
    return 0


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _play_theirs(folder: Path, name: str, changes: list[str], size: int, options: argparse.Namespace) -> None:
    if (folder / _DONE).exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    run = KataGoRun(options.katago, folder, options.net, threads=len(os.sched_getaffinity(0)))
    subprocess.run(command(run, whole_text([name], changes), size, options.katago_games), check=True)
    (folder / _DONE).touch()


def _play_ours(folder: Path, name: str, changes: list[str], options: argparse.Namespace) -> None:
    called = [
        sys.executable,
        "-m",
        "client",
        "selfplay",
        "--gpus",
        "cpu",
        "--model",
        str(options.net),
        "--config",
        name,
    ]
    called += [word for change in changes for word in ("--override", change)]
    subprocess.run([*called, "--games", str(options.games), "--output", str(folder)], check=True)


if __name__ == "__main__":
    raise SystemExit(main())
