"""The parts by name, each run in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from tests.benchmarks.gpu.exactness import exactness, failures, padding, recorded
from tests.benchmarks.gpu.nets import Record
from tests.benchmarks.gpu.rates import card, evaluation
from tests.benchmarks.gpu.selfplay import selfplay
from tests.benchmarks.gpu.training import resuming, training


@dataclass(frozen=True)
class Part:
    """A group of measurements and the seconds that it may take."""

    run: Callable[[], Iterator[Record]]
    seconds: int


PARTS = {
    "card": Part(card, 60),
    "exactness": Part(exactness, 180),
    "recorded": Part(recorded, 90),
    "padding": Part(padding, 40),
    "failures": Part(failures, 60),
    "evaluation": Part(evaluation, 120),
    "training": Part(training, 150),
    "resuming": Part(resuming, 60),
    "selfplay": Part(selfplay, 240),
}


def run_part(name: str, output: Path | None) -> None:
    """Run a part in a process of its own; print and keep each record as it comes."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "tests.benchmarks.gpu", "--inside", name]
    environment = os.environ | {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}  # what deterministic products need
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    timer = threading.Timer(PARTS[name].seconds, process.kill)
    timer.start()
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{"):
            fields = json.loads(line)
            print(f"{name}: " + " ".join(f"{key}={value}" for key, value in fields.items()), flush=True)
            if output is not None:
                with (output / "gpu.jsonl").open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"part": name} | fields) + "\n")
    timer.cancel()
    print(f"{name}: exit code {process.wait()} after {time.monotonic() - begun:.0f} s", flush=True)


def run(names: list[str], output: Path | None) -> None:
    """Run the parts, or say that there is no GPU."""
    if not torch.cuda.is_available():
        print("no CUDA GPU here (or torch is built without CUDA): nothing to measure")
        return
    for name in names:
        run_part(name, output)


def main() -> None:
    """All parts, printed only."""
    run(list(PARTS), None)
