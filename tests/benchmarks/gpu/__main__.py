"""The command line of `tests.benchmarks.gpu`."""

from __future__ import annotations

import argparse
import json
import traceback
from pathlib import Path

import tests.benchmarks.gpu
from tests.benchmarks.gpu.parts import PARTS, run


def _command() -> None:
    parser = argparse.ArgumentParser(description=tests.benchmarks.gpu.__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all of them without")
    parser.add_argument("--output", type=Path, help="folder for gpu.jsonl")
    parser.add_argument("--inside", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        try:
            for record in PARTS[options.inside].run():
                print(json.dumps(record), flush=True)
        except Exception:
            print(json.dumps({"failed": traceback.format_exc()}), flush=True)
    else:
        run(options.parts or list(PARTS), options.output)


if __name__ == "__main__":
    _command()
