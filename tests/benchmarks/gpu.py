"""Everything that only a GPU can show: exactness, evaluation, training and self-play on the first CUDA device.

`python -m tests.benchmarks.gpu [--output FOLDER] [PART ...]`. Each part runs in a process of its own under a time
limit, so that one that fails or hangs loses nothing of the others; what a part has measured is printed at once and
written to ``FOLDER/gpu.jsonl``. Needs neither Django nor OpenVINO. Without a GPU it says so and measures nothing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from nets.architecture.blocks import ResidualBlock
from nets.architecture.config import named
from nets.architecture.layers import Conv, Norm
from nets.architecture.model import Net
from nets.evaluation.backends import Backend, BatchShape, CudaBackend, Lane, Planes, Raw, TorchBackend
from nets.evaluation.batch import Batch, EvaluatorError, new_batch
from nets.evaluation.comparison import Comparison
from nets.evaluation.evaluator import NetEvaluator, load_evaluator, make_evaluator
from nets.evaluation.orientation import common_edge
from nets.files.exchange import module_of, record_of
from nets.files.katago_file import read_net, write_net
from tests.benchmarks.evaluator import operations
from tests.nets.made_rows import made_rows
from tests.nets.rawnet import compare
from tests.oracles import oracle_root, records

Record = dict[str, Any]
CUDA = torch.device("cuda", 0)
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
NBT, TRANSFORMER = "b5c192nbt-fson-mish-rvgl-bnh", "b7c96h3tfrs-fson-silu-rnh"
LARGE = "b18c384nbt-fson-mish-rvgl-bnh"
NETS = [("b2c32", 7), ("b6c96", 9), ("b6c96", 19), ("b10c128", 19), (NBT, 19), (LARGE, 19), (TRANSFORMER, 19)]
RECORDED_NET = "g170-b6c96-s175395328-d26788732.bin.gz"


@dataclass(frozen=True)
class Part:
    """A group of measurements and the seconds that it may take."""

    run: Callable[[], Iterator[Record]]
    seconds: int


def lively(name: str) -> Net:
    """A net of random weights in which every layer does something; fresh ones have many zeros."""
    torch.manual_seed(len(name))
    net = Net(named(name)).eval()
    with torch.no_grad():
        for module in net.modules():
            if isinstance(module, Conv) and not module.weight.any():
                nn.init.normal_(module.weight, std=(2.0 * len(net.blocks) * module.weight[0].numel()) ** -0.5)
            if isinstance(module, Norm):
                module.beta.normal_(0.0, 0.2)
                if module.gamma is not None:
                    module.gamma.normal_(0.0, 0.2)
                if module.statistics:
                    module.running_mean.normal_(0.0, 0.2)
                    module.running_std.uniform_(0.7, 1.4)
    return net


def positions(rows: int, length: int, *, edges: Sequence[int] = (), ownership: bool = True) -> Batch:
    """Scattered stones and marks on boards of ``edges`` in turn (none: the tensor's) under all symmetries."""
    edges = edges or (length,)
    random = np.random.default_rng(edges)
    batch = new_batch(rows, length, ownership=ownership)
    for first, edge in enumerate(edges):
        board = batch.planes[first :: len(edges), :, :edge, :edge]
        board[:] = random.random(board.shape) < 0.15
        board[:, 0] = 1.0
    batch.global_inputs[:, 5] = random.normal(0.0, 0.5, rows)
    batch.global_inputs[:, 6] = np.arange(rows) % 2
    batch.symmetry[:] = np.arange(rows) % 8
    return batch


class Unjudged(Comparison):
    """Runs the known positions, and finds nothing wrong."""

    def judge(self, found: Batch, shape: BatchShape, backend: Backend) -> None:
        """Pass."""


class Unchecked(NetEvaluator):
    """Uses what would fail the self-test as well, and cuts boards out at once."""

    def __init__(self, net: Net, backend: Backend, length: int) -> None:
        super().__init__(net, backend, length)
        self._comparison = Unjudged(net)

    def _edge_for(self, on_board: Planes) -> int:
        return common_edge(on_board)


def on_cuda(net: Net, length: int, dtype: str) -> NetEvaluator:
    """An evaluator that has no test to pass before it is measured."""
    return Unchecked(net, CudaBackend(net, length, CUDA, DTYPES[dtype]), length)


def differences(mine: Batch, other: Batch, where: Any = np.s_[:]) -> Record:
    """Largest differences by quantity; scores relative above 1 point."""

    def shares(batch: Batch) -> np.ndarray:
        logits = batch.policy[where]
        powers = np.exp(logits - logits.max(1, keepdims=True))
        chances: np.ndarray = powers / powers.sum(1, keepdims=True)
        return chances

    relative = np.abs(mine.scalars - other.scalars)[where] / np.maximum(1.0, np.abs(other.scalars[where]))
    parts = {
        "policy": np.abs(shares(mine) - shares(other)),
        "win": np.abs(mine.win_loss - other.win_loss)[where] / 2,
        "no_result": np.abs(mine.no_result - other.no_result)[where],
        "ownership": np.abs(mine.ownership - other.ownership)[where],
        "scores": relative,
    }
    return {name: float(f"{part.max():.2g}") for name, part in parts.items()}


# -- parts ----------------------------------------------------------------------------------------------------------


def seconds_of(work: Callable[[], object], times: int) -> float:
    """Seconds of device time per call: the best of three rounds."""
    work()
    rounds: list[float] = []
    for _ in range(3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        begin.record()
        for _ in range(times):
            work()
        end.record()
        end.synchronize()
        rounds.append(begin.elapsed_time(end) / 1000 / times)
    return min(rounds)


def matrix_rates() -> dict[str, float]:
    """Operations per second of an 8192³ matrix product on random data, by precision."""
    rates, size = {}, 8192
    for name, dtype in DTYPES.items():
        a, b = (torch.randn(size, size, device=CUDA).to(dtype) for _ in range(2))
        rates[name] = 2 * size**3 / seconds_of(partial(torch.matmul, a, b), 3 if name == "float32" else 10)
    return rates


def card() -> Iterator[Record]:
    """What the device is, and its ceilings."""
    facts = torch.cuda.get_device_properties(CUDA)
    yield {
        "card": facts.name,
        "memory_gb": round(facts.total_memory / 1e9),
        "torch": torch.__version__,
        "cpus": os.cpu_count(),
    }
    yield {"matrix_tflops": {name: round(rate / 1e12, 1) for name, rate in matrix_rates().items()}}
    source = torch.empty(1 << 30, dtype=torch.float32, device=CUDA)
    target = torch.empty_like(source)
    yield {"copy_tb_per_s": round(2 * source.nbytes / seconds_of(lambda: target.copy_(source), 5) / 1e12, 2)}
    host = torch.empty(1 << 26, dtype=torch.float32, pin_memory=True)
    upload = seconds_of(lambda: source[: 1 << 26].copy_(host, non_blocking=True), 3)
    yield {"host_to_device_gb_per_s": round(host.nbytes / upload / 1e9, 1)}


def exactness() -> Iterator[Record]:
    """Outputs on CUDA against float32 on the CPU: full boards, smaller ones in the same tensor, and both mixed."""
    for (name, length), boards in itertools.product(NETS, ("full", "smaller", "mixed")):
        edges = {"full": (length,), "smaller": (length - 2,), "mixed": (length, length - 2, 2)}[boards]
        net, rows = lively(name), 16
        expected, mine = positions(rows, length, edges=edges), positions(rows, length, edges=edges)
        NetEvaluator(net, TorchBackend(net, length, os.cpu_count() or 1), length).run(expected, rows)
        for dtype in DTYPES:
            evaluator = on_cuda(net, length, dtype)
            evaluator.run(mine, rows)
            evaluator.close()
            yield {"net": name, "boards": edges, "length": length, "dtype": dtype} | differences(mine, expected)
    yield {"two_batches_under_way": "largest difference"} | _under_way_and_alone()


def _under_way_and_alone() -> Record:
    """Batches of several sizes, submitted while others are under way, against the same one after the other."""
    evaluator = on_cuda(lively("b6c96"), 19, "float16")
    shapes = [(256, (19,)), (40, (13,)), (1500, (19,)), (16, (19, 9)), (256, (13, 7))] * 4
    alone, together = ([positions(rows, 19, edges=edges) for rows, edges in shapes] for _ in range(2))
    for batch in alone:
        evaluator.run(batch, len(batch.symmetry))
    for wait in [evaluator.submit(batch, len(batch.symmetry)) for batch in together]:
        wait()
    evaluator.close()
    found = [differences(mine, other) for mine, other in zip(together, alone, strict=True)]
    return {name: max(record[name] for record in found) for name in found[0]}


def recorded() -> Iterator[Record]:
    """Trained and random nets on positions of real games in a 19×19 tensor, against what KataGo said of them."""
    if not have_records():
        yield {"left_out": "no folder of recorded outputs; set TENGEN_ORACLES"}
        return
    for dtype in DTYPES:
        for name, set_of in ((RECORDED_NET, "rawnet"), ("", "rawnet_nets")):

            def evaluator(net: str, length: int, dtype: str = dtype) -> NetEvaluator:
                return on_cuda(recorded_net(net), length, dtype)

            compared, found = compare(records(set_of), evaluator, name, length=19)
            yield {"records": set_of, "compared": compared, "dtype": dtype} | {
                quantity: float(f"{value:.2g}") for quantity, value in found.items()
            }


def have_records() -> bool:
    """Whether the folder of recorded outputs is there."""
    return oracle_root().is_dir()


def recorded_net(name: str) -> Net:
    """A net of the folder of recorded outputs."""
    return module_of(read_net(next((oracle_root() / "nets").rglob(name))))


def padding() -> Iterator[Record]:
    """A 9×9 position alone in its tensor, in a 19×19 one, and beside 19×19 boards in a batch of another size."""
    net = lively("b6c96-bn")
    for dtype in DTYPES:
        alone, padded, mixed = positions(4, 9), new_batch(4, 19), positions(40, 19)
        for batch in (padded, mixed):
            batch.planes[:4] = 0.0
            batch.planes[:4, :, :9, :9] = alone.planes
            batch.global_inputs[:4], batch.symmetry[:4] = alone.global_inputs, alone.symmetry
        small, large = on_cuda(net, 9, dtype), on_cuda(net, 19, dtype)
        small.run(alone, 4)
        large.run(padded, 4)
        large.run(mixed, 40)
        cut = new_batch(4, 9)
        for whole, part in ((padded.policy[:, :-1], cut.policy[:, :-1]), (padded.ownership, cut.ownership)):
            part[:] = whole.reshape(4, 19, 19)[:, :9, :9].reshape(4, 81)
        cut.policy[:, -1] = padded.policy[:, -1]
        cut.win_loss[:], cut.no_result[:], cut.scalars[:] = padded.win_loss, padded.no_result, padded.scalars
        yield {"dtype": dtype, "beside": "9×9 tensor"} | differences(cut, alone)
        first = new_batch(4, 19)
        for name in ("policy", "win_loss", "no_result", "scalars", "ownership"):
            getattr(first, name)[:] = getattr(mixed, name)[:4]
        yield {"dtype": dtype, "beside": "19×19 boards"} | differences(first, padded)


def failures() -> Iterator[Record]:
    """Too little memory, numbers that are none, and a net that overflows in float16."""
    net = lively(LARGE)
    whole, pieces = positions(1024, 19), positions(1024, 19)
    free = on_cuda(net, 19, "float16")
    free.run(whole, 1024)
    yield {"memory_gb_of_graphs": round(torch.cuda.memory_reserved() / 1e9, 2)}
    free.close()
    del free
    torch.cuda.empty_cache()
    budget = 1.5e9
    torch.cuda.set_per_process_memory_fraction(budget / torch.cuda.get_device_properties(CUDA).total_memory)
    tight = on_cuda(net, 19, "float16")
    tight.run(pieces, 1024)
    yield {"budget_gb": budget / 1e9, "sizes_left": list(tight._sizes)} | differences(pieces, whole)
    tight.close()
    torch.cuda.set_per_process_memory_fraction(1.0)

    evaluator = make_evaluator(lively("b6c96-bn"), length=9, device="cuda")
    batch = positions(16, 9)
    evaluator.run(batch, 16)
    batch.global_inputs[3, 5] = np.nan
    yield {"nan_input": refusal(lambda: evaluator.run(batch, 16))}
    damaged = lively("b6c96-bn")
    with torch.no_grad():
        damaged.conv_planes.weight[0, 0, 0, 0] = np.nan
    yield {"nan_weight": refusal(lambda: make_evaluator(damaged, length=9, device="cuda"))}
    overflowing = lively("b6c96")
    with torch.no_grad():
        block = overflowing.blocks[0]
        assert isinstance(block, ResidualBlock)
        block.conv1.weight.mul_(1e6)
        block.norm2.beta.mul_(1e6)
        block.conv2.weight.mul_(1e-6)
    yield {"overflows_in_float16": make_evaluator(overflowing, length=9, device="cuda").description}


def refusal(work: Callable[[], object]) -> str:
    """The text of the error that ``work`` must end with."""
    try:
        work()
    except EvaluatorError as error:
        return str(error)
    raise AssertionError("there was no EvaluatorError")


def launched(lane: Lane, shape: BatchShape) -> Raw:
    """What a batch gives on the device alone."""
    lane.launch(shape)
    return lane.outputs()


def evaluation() -> Iterator[Record]:
    """Evaluations per second by net, batch, precision: whole calls, two batches in turn, the device's part alone.

    The device's part are copies and graph. As in a search, ownership is not asked for.
    """
    rates = matrix_rates()
    for name, length in NETS:
        net = lively(name)
        flops = operations(net, length)
        for dtype, sizes in (("float16", (16, 64, 256, 1024)), ("bfloat16", (256,)), ("float32", (256,))):
            begun = time.perf_counter()
            evaluator = on_cuda(net, length, dtype)
            lane = evaluator._backend.lanes[0]
            for rows in sizes:
                batch, other = positions(rows, length, ownership=False), positions(rows, length, ownership=False)
                evaluator.run(batch, rows)
                ready = time.perf_counter() - begun
                whole = rate_of(partial(evaluator.run, batch, rows)) * rows
                turns = InTurn(evaluator, batch, other)
                in_turn = rate_of(turns) * rows
                turns.end()
                shape = BatchShape(rows, length, full=True)
                device = rate_of(partial(launched, lane, shape)) * rows
                yield {
                    "net": name,
                    "length": length,
                    "mflop": round(flops / 1e6, 1),
                    "dtype": dtype,
                    "rows": rows,
                    "per_second": round(whole),
                    "in_turn_per_second": round(in_turn),
                    "device_per_second": round(device),
                    "of_matrix_rate": round(device * flops / rates[dtype], 4),
                    "ready_s": round(ready, 2),
                }
            evaluator.close()


class InTurn:
    """Full batches under way in turn, as of a stream's two tables; a call ends the oldest and begins it anew."""

    def __init__(self, evaluator: NetEvaluator, *batches: Batch) -> None:
        self._evaluator = evaluator
        self._waiting = deque((batch, evaluator.submit(batch, len(batch.symmetry))) for batch in batches)

    def __call__(self) -> None:
        batch, wait = self._waiting.popleft()
        wait()
        self._waiting.append((batch, self._evaluator.submit(batch, len(batch.symmetry))))

    def end(self) -> None:
        """Wait for all."""
        while self._waiting:
            self._waiting.popleft()[1]()


def rate_of(work: Callable[[], object], seconds: float = 0.5) -> float:
    """Calls per second."""
    work()
    begun, done = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        work()
        done += 1
    return done / (time.perf_counter() - begun)


def trainer_of(
    folder: Path, name: str, batch: int, precision: str, rows: int = 2048, copies: int = 12, state: str = "state"
) -> Any:
    """A trainer on made-up 19×19 rows of its recipe, which are written if the folder does not have them."""
    from common.rows import write_npz
    from nets.data.files import DataFolder
    from nets.data.window import BucketConfig, WindowConfig
    from nets.training.checkpoint import CheckpointFolder
    from nets.training.config import Arithmetic, recipe_config
    from nets.training.trainer import Trainer

    data = folder / "data"
    if not data.exists():
        data.mkdir()
        write_npz(made_rows(rows, 19), data / "0.npz")
        for number in range(1, copies):
            (data / f"{number}.npz").write_bytes((data / "0.npz").read_bytes())
    config = recipe_config(
        "paper" if "-bn" in name and "bnh" not in name else "today",
        named(name),
        batch=batch,
        precision=Arithmetic(precision),
        limit_reuse=False,
        window=WindowConfig(min_rows=batch),
        bucket=BucketConfig(samples_per_epoch=10**9),
    )
    return Trainer(config, DataFolder([data]), CheckpointFolder(folder / state), device=CUDA)


def training() -> Iterator[Record]:
    """Samples per second of whole steps, the share of waiting for rows, and three forward passes' share of the rate."""
    rates = matrix_rates()
    cases = [("float32", 256), ("float16", 256), ("bfloat16", 256), ("bfloat16", 1024)]
    with tempfile.TemporaryDirectory() as folder:
        for name, (precision, batch) in itertools.product(("b6c96-bn", "b10c128-bn", LARGE), cases):
            torch.cuda.reset_peak_memory_stats()
            trainer = trainer_of(Path(folder), name, batch, precision)
            trainer.run(max_steps=4)
            torch.cuda.synchronize()
            report = trainer.run(max_steps=10**9, max_seconds=3.0)
            flops = 3 * operations(Net(named(name)), 19)
            yield {
                "net": name,
                "dtype": precision,
                "batch": batch,
                "samples_per_second": round(report.samples_per_second),
                "waiting": round(report.waiting_share, 3),
                "of_matrix_rate": round(flops * report.samples_per_second / rates[precision], 4),
                "peak_memory_gb": round(torch.cuda.max_memory_allocated() / 1e9, 2),
                "total_loss": round(report.losses["total"], 3),
            }
            trainer.close()
            del trainer


def resuming() -> Iterator[Record]:
    """Losses of five steps after a checkpoint, and of the same steps by a trainer that took it up."""
    for deterministic, precision in itertools.product((False, True), ("float32", "bfloat16", "float16")):
        torch.use_deterministic_algorithms(deterministic)
        with tempfile.TemporaryDirectory() as folder:
            first = trainer_of(Path(folder), "b6c96-bn", 64, precision, rows=256, copies=3)
            for _ in range(5):
                first.step()
            first.save()
            wanted = [float(first.step().total.detach()) for _ in range(5)]
            second = trainer_of(Path(folder), "b6c96-bn", 64, precision)
            resumed = second.resume()
            found = [float(second.step().total.detach()) for _ in range(5)]
            first.close()
            second.close()
        apart = max(abs(a - b) / abs(a) for a, b in zip(wanted, found, strict=True))
        yield {
            "dtype": precision,
            "deterministic": deterministic,
            "resumed": resumed,
            "bit_equal": wanted == found,
            "relative_difference": apart,
            "losses": [round(value, 3) for value in wanted],
        }


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
    command = [sys.executable, "-m", "tests.benchmarks.gpu", "--stream", str(path), device, str(games)]
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


# -- running them ---------------------------------------------------------------------------------------------------


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


def main() -> None:
    """All parts, printed only."""
    run(list(PARTS), None)


def run(names: list[str], output: Path | None) -> None:
    """Run the parts, or say that there is no GPU."""
    if not torch.cuda.is_available():
        print("no CUDA GPU here (or torch is built without CUDA): nothing to measure")
        return
    for name in names:
        run_part(name, output)


def _command() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all of them without")
    parser.add_argument("--output", type=Path, help="folder for gpu.jsonl")
    parser.add_argument("--inside", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--stream", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        try:
            for record in PARTS[options.inside].run():
                print(json.dumps(record), flush=True)
        except Exception:
            print(json.dumps({"failed": traceback.format_exc()}), flush=True)
    elif options.stream:
        path, device, games, begin, window = options.stream
        print(json.dumps(stream(Path(path), device, int(games), float(begin), float(window))))
    else:
        run(options.parts or list(PARTS), options.output)


if __name__ == "__main__":
    _command()
