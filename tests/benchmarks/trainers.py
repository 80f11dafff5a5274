"""Our trainer beside KataGo's own: the same rows, net, batch, precision and losses, in turns of a few steps.

``TENGEN_KATAGO_SOURCE`` names a checkout of KataGo. Its ``python/train.py`` runs unchanged as a process of its own, and
must find what it imports in this interpreter. Only the function that gives it batches is wrapped: there its steps are
counted, timed and paced. Each program has the machine for itself during its turn (the others are stopped by signal);
ratios are of neighbouring turns. "Waiting" is the share of a turn until the next batch was there.

KataGo's bfloat16 asks for CUDA's autocast, which does nothing on a processor; here it is given the processor's.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, Self

import torch

from common.rows import write_npz
from nets.architecture.config import named
from nets.architecture.model import Net
from nets.data.files import DataFolder
from nets.data.window import BucketConfig, WindowConfig
from nets.training.checkpoint import CheckpointFolder
from nets.training.config import Arithmetic, recipe_config
from nets.training.trainer import Trainer
from tests.benchmarks.training import forward_flops, matrix_rate
from tests.nets.made_rows import made_rows

SOURCE: Final = "TENGEN_KATAGO_SOURCE"
OURS: Final = "ours"
COMPILED: Final = "KataGo's, compiled"
PLAIN: Final = "KataGo's, -no-compile"
LENGTH: Final = 19
WARM_STEPS: Final = 2
FILE_BATCHES: Final = 8
"""Rows of a file, in batches: theirs are read ahead file by file."""


@dataclass(frozen=True)
class Case:
    """One net in one precision: ``rounds`` of turns of ``steps`` each, boards of ``smallest`` to 19 points a side."""

    net: str
    precision: Arithmetic
    batch: int
    steps: int
    rounds: int
    smallest: int = LENGTH
    others: tuple[str, ...] = (PLAIN, COMPILED)


CASES: Final = (
    Case("b6c96-bn", Arithmetic.FLOAT32, 64, 6, 5),
    Case("b10c128-bn", Arithmetic.FLOAT32, 64, 3, 4),
    Case("b6c96-bn", Arithmetic.FLOAT32, 64, 4, 5, smallest=9),
    # emulated on processors without units for it: enough to see that it does not pay
    Case("b6c96-bn", Arithmetic.BFLOAT16, 64, 2, 3, others=(PLAIN,)),
    Case("b10c128-bn", Arithmetic.BFLOAT16, 64, 1, 3, others=(PLAIN,)),
)


# -------------------------------------------------------------------------------------------------- the programs' side


def serve(turn: Callable[[int], tuple[float, float]], reply: Any) -> None:
    """Do the turns that standard input asks for, one number of steps a line; answer seconds and seconds of waiting."""
    for line in sys.stdin:
        seconds, waited = turn(int(line))
        print(json.dumps([seconds, waited]), file=reply, flush=True)


def private_reply() -> Any:
    """Standard output for the answers alone; whatever else is printed goes to standard error from here on."""
    reply = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return reply


def run_ours(case: Case, folder: Path) -> None:
    """The child that trains with our trainer."""
    reply = private_reply()
    config = recipe_config(
        "today",
        named(case.net),
        length=LENGTH,
        batch=case.batch,
        precision=case.precision,
        limit_reuse=False,
        window=WindowConfig(min_rows=case.batch),
        bucket=BucketConfig(samples_per_epoch=10**9),
    )
    trainer = Trainer(config, DataFolder([folder / "data" / "train"]), CheckpointFolder(folder / "ours"))
    print(f"Total trainable params: {sum(parameter.numel() for parameter in trainer.net.parameters())}")

    def turn(steps: int) -> tuple[float, float]:
        begin = time.perf_counter()
        report = trainer.run(max_steps=steps)
        seconds = time.perf_counter() - begin
        return seconds, report.waiting_share * seconds

    serve(turn, reply)
    trainer.close()


def run_theirs(case: Case, folder: Path, *, compiled: bool) -> None:
    """The child that runs KataGo's train.py, whose batches come through `paced`."""
    reply = private_reply()
    source = Path(os.environ[SOURCE], "python")
    sys.path.insert(0, str(source))
    reading: Any = importlib.import_module("katago.train.data_processing_pytorch")
    read = reading.read_npz_training_data
    reading.read_npz_training_data = lambda *args, **kwargs: paced(read(*args, **kwargs), reply)
    rows = json.loads((folder / "data" / "train.json").read_text())["range"][1]
    sizes = ["-pos-len", str(LENGTH), "-batch-size", str(case.batch), "-samples-per-epoch", str(rows)]
    train = folder / ("compiled" if compiled else "plain")
    sys.argv = ["train.py", "-traindir", str(train), "-datadir", str(folder / "data"), "-no-export"]
    sys.argv += ["-model-kind", case.net, "-swa-period-samples", "500000", *sizes]
    sys.argv += [] if compiled else ["-no-compile"]
    if case.precision is Arithmetic.BFLOAT16:
        sys.argv.append("-use-bf16")
        torch.amp.autocast = ProcessorAutocast  # type: ignore[assignment,misc]
    runpy.run_path(str(source / "train.py"), run_name="__main__")


class ProcessorAutocast(torch.amp.autocast):
    """Autocast on the processor, for whatever device it is asked."""

    def __init__(self, device_type: str, **kwargs: Any) -> None:
        super().__init__("cpu", **kwargs)


def paced(batches: Iterator[Any], reply: Any) -> Iterator[Any]:
    """``batches`` in turns: as many as a line of standard input says, then the answer once the last step is done."""
    for line in sys.stdin:
        begin, waited = time.perf_counter(), 0.0
        for _ in range(int(line)):
            asked = time.perf_counter()
            batch = next(batches)
            waited += time.perf_counter() - asked
            yield batch
        print(json.dumps([time.perf_counter() - begin, waited]), file=reply, flush=True)
    os._exit(0)  # whoever asked has gone: no validation, no checkpoint


# ------------------------------------------------------------------------------------------------- the measurer's side


class Program:
    """One trainer as a process, stopped whenever it has no turn."""

    def __init__(self, name: str, case: Case, folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        arguments = json.dumps([name, dataclasses.asdict(case), str(folder)])
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.benchmarks.trainers", arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                bufsize=1,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def turn(self, steps: int) -> tuple[float, float]:
        """Seconds of ``steps``, and of these the seconds of waiting for batches."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.send_signal(signal.SIGCONT)
        with contextlib.suppress(BrokenPipeError):
            print(steps, file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.name} ended:\n" + "\n".join(self.log.read_text().splitlines()[-5:]))
        self._process.send_signal(signal.SIGSTOP)
        seconds, waited = json.loads(answer)
        return float(seconds), float(waited)

    @property
    def parameters(self) -> int:
        """How many weights it trains, by what it has printed."""
        found = re.search(r"Total trainable params: (\d+)", self.log.read_text())
        return int(found.group(1)) if found else 0


def write_rows(case: Case, folder: Path) -> None:
    """Rows enough for each program to go over them once, in the layout that KataGo's trainer expects."""
    train = folder / "data" / "train"
    train.mkdir(parents=True)
    batches = WARM_STEPS + case.rounds * case.steps
    files = -(-batches // FILE_BATCHES) + 1
    for index in range(files):
        rows = made_rows(FILE_BATCHES * case.batch, LENGTH, seed=index, smallest=case.smallest)
        write_npz(rows, train / f"data{index}.npz")
        (train / f"data{index}.json").write_text(json.dumps({"num_rows": FILE_BATCHES * case.batch}))
    last = files * FILE_BATCHES * case.batch
    (folder / "data" / "train.json").write_text(json.dumps({"range": [0, last]}))


def measure(case: Case) -> None:
    """Run the case and print what came out."""
    dtype = torch.bfloat16 if case.precision is Arithmetic.BFLOAT16 else torch.float32
    names = [OURS, *(other for other in case.others if other != COMPILED or shutil.which("g++"))]
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        write_rows(case, folder)
        programs = []
        for program in names:
            programs.append(stack.enter_context(Program(program, case, folder)))
            programs[-1].turn(WARM_STEPS)
        turns: dict[str, list[tuple[float, float]]] = {program: [] for program in names}
        floors = []
        for _ in range(case.rounds):
            floors.append(matrix_rate(dtype))
            for each in programs:
                turns[each.name].append(each.turn(case.steps))
        weights = {each.name: each.parameters for each in programs}
    report(case, turns, median(floors), weights)


def report(case: Case, turns: dict[str, list[tuple[float, float]]], floor: float, weights: dict[str, int]) -> None:
    """One line per program: rate, waiting, part of the matrix rate, ratio of ours to it with its extremes."""
    flops = 3 * forward_flops(Net(named(case.net)), LENGTH)
    sizes = f"{LENGTH}×{LENGTH}" if case.smallest == LENGTH else f"boards of {case.smallest} to {LENGTH} points a side"
    print(f"{case.net} {case.precision}, {sizes}, batch {case.batch}, {case.rounds} rounds of {case.steps} steps")
    print(f"  weights: {weights}; load of the machine: {os.getloadavg()[0]:.1f}")
    for name, pairs in turns.items():
        rate = median(case.steps * case.batch / seconds for seconds, _ in pairs)
        waiting = sum(waited for _, waited in pairs) / sum(seconds for seconds, _ in pairs)
        ratios = [theirs / ours for (ours, _), (theirs, _) in zip(turns[OURS], pairs, strict=True)]
        print(
            f"  {name:22} {rate:6.1f} samples/s  waiting {waiting:5.1%}  {rate * flops / 1e9:5.0f} of "
            f"{floor / 1e9:.0f} GFLOP/s ({rate * flops / floor:.0%})  ours is {median(ratios):.2f} times as fast "
            f"({min(ratios):.2f} to {max(ratios):.2f})",
            flush=True,
        )


def main() -> None:
    """Measure all cases, or say what is wanting."""
    source = os.environ.get(SOURCE, "")
    if not Path(source, "python", "train.py").is_file():
        print(f"skipped: {SOURCE} must name a checkout of KataGo; there is no {Path(source, 'python', 'train.py')}")
        return
    for case in CASES:
        measure(case)


def child(arguments: str) -> None:
    """One of the programs, as `Program` starts it."""
    name, fields, folder = json.loads(arguments)
    case = Case(**{**fields, "precision": Arithmetic(fields["precision"])})
    if name == OURS:
        run_ours(case, Path(folder))
    else:
        run_theirs(case, Path(folder), compiled=name == COMPILED)


if __name__ == "__main__":
    child(sys.argv[1]) if len(sys.argv) > 1 else main()
