"""``python -m nets``: train, export, import, inspect, evaluate and compare nets on a folder of ``.npz``, no server.

Composition and printing only; every command is a few calls of the modules that do the work.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final

import torch
from filelock import FileLock, Timeout

from common.arguments import positive
from common.npz import RowsError
from common.rows import Rows, read_npz
from nets.checkpoint import CURRENT, CheckpointFolder
from nets.checkpoint import read as read_checkpoint
from nets.config import base_names, named, suffix_names
from nets.data import DataFolder, any_rows, newest_rows, no_rows
from nets.exchange import config_of
from nets.export import export_net, load_net
from nets.katago_file import read_net
from nets.losses import RECIPES, Recipe, all_terms
from nets.metrics import JsonLines
from nets.model import Net
from nets.optimizer import SCHEDULES, DivergedError, Kind
from nets.processes import Processes, join_processes, leave_processes
from nets.trainer import Outcome, SliceReport, Trainer
from nets.training_config import Precision, TrainConfig, recipe_config
from nets.validation import RowLosses, compare, row_losses

_CHECKPOINTS: Final = "checkpoints"
"""Folder of the checkpoints in a training's output."""
_MOST_THREADS: Final = 1024
_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code is 0, or 1 with a message on standard error."""
    options = _parser().parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    try:
        code: int = options.run(options)
    except (ValueError, OSError, DivergedError, LookupError) as error:
        print(f"error: {error}", file=sys.stderr)
        if isinstance(error, DivergedError):
            print(
                f"to go on, put an older checkpoint ({_CHECKPOINTS}/checkpoint_prev3.safetensors, or one of "
                f"{_CHECKPOINTS}/longterm) in the place of {_CHECKPOINTS}/{CURRENT}, and lower --rate-scale",
                file=sys.stderr,
            )
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m nets", description="Train and handle nets without a server.")
    parser.add_argument("--threads", type=_threads, help="processor threads (small nets are fastest with 1)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_train(commands)
    export = _command(commands, "export", _export, "write a checkpoint's averaged net as .bin.gz or .safetensors")
    export.add_argument("source", type=Path, help="checkpoint or net file, or the output folder of a training")
    export.add_argument("target", type=Path)
    export.add_argument("--name", help="name in the file (default: the target's)")
    export.add_argument("--current", action="store_true", help="the present weights instead of the averaged ones")
    importing = _command(commands, "import", _import, "turn a .bin.gz into a trainable .safetensors")
    importing.add_argument("source", type=Path)
    importing.add_argument("target", type=Path)
    info = _command(commands, "info", _info, "say what a net, checkpoint, or file of rows holds")
    info.add_argument("path", type=Path)
    evaluate = _command(commands, "evaluate", _evaluate, "mean losses of a net on rows")
    evaluate.add_argument("net", type=Path)
    _add_rows(evaluate)
    comparing = _command(commands, "compare", _compare, "losses of two nets on the same rows, with standard errors")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    _add_rows(comparing)
    return parser


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Tells defaults where there are any."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return super()._get_help_string(action) if action.default not in (None, False, []) else action.help


def _command(commands: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, formatter_class=_Help)
    parser.set_defaults(run=run)
    return parser


def _add_rows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, nargs="+", help="folders of .npz files")
    parser.add_argument("--recipe", choices=RECIPES, default="today")
    parser.add_argument("--max-rows", type=positive, default=50_000, help="the newest files up to this many rows")
    parser.add_argument("--length", type=positive, help="edge of the rows' tensor (that of the newest file)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def _add_train(commands: Any) -> None:
    train = _command(commands, "train", _train, "train a net on folders of .npz until --samples are trained")
    train.epilog = (
        f"Sizes of nets: {', '.join(base_names())}. Suffixes: {', '.join(suffix_names())}. "
        f"Loss terms: {', '.join(term.name for term in all_terms())}."
    )
    train.add_argument("data", type=Path, nargs="+", help="folders of .npz files, ours or KataGo's")
    train.add_argument("--output", type=_folder, required=True, help="folder for checkpoints, metrics and nets")
    start = train.add_mutually_exclusive_group(required=True)
    start.add_argument("--net", help="architecture of a new net, e.g. b6c96-fson-mish-rvgl-bnh")
    start.add_argument("--start-from", type=Path, help="a net file to go on from")
    train.add_argument("--recipe", choices=RECIPES, default="today", help="losses, optimiser and window together")
    train.add_argument("--samples", type=positive, required=True, help="train until this many, earlier runs included")
    train.add_argument("--length", type=positive, help="edge of the tensor (that of the oldest file)")
    train.add_argument("--batch", type=positive, default=256, help="joint batch of all processes")
    train.add_argument("--seed", type=_seed, default=1, help="of the first weights and of the order of rows")
    train.add_argument("--optimizer", type=Kind, choices=list(Kind), help="the recipe's, which is sgd")
    train.add_argument("--rate-scale", type=_share, default=1.0, help="multiplies the learning rate")
    train.add_argument(
        "--schedule", choices=list(SCHEDULES), help="of the learning rate over the samples (the recipe's)"
    )
    train.add_argument("--no-warmup", action="store_true", help="the full learning rate from the start")
    train.add_argument(
        "--precision", type=Precision, choices=list(Precision), default=Precision.FLOAT32, help="of the trunk"
    )
    train.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cpu, cuda or cuda:N")
    train.add_argument("--epoch", type=positive, help="samples per epoch (1000000); a net is exported after each")
    train.add_argument(
        "--average-every",
        type=positive,
        help="samples between snapshots of the averaged weights (half an epoch, paper: a quarter)",
    )
    train.add_argument("--min-rows", type=positive, help="rows before training begins, and the window's start (250000)")
    train.add_argument("--reuse", type=_share, help="samples per new row, 0 = no limit (4, paper: no limit)")
    train.add_argument("--without", nargs="*", default=[], metavar="TERM", help="loss terms to switch off")
    train.add_argument("--slice-steps", type=positive, default=200, help="steps between reports")
    train.add_argument(
        "--checkpoint-seconds",
        type=positive,
        default=300,
        help="a checkpoint is written so often, and at the end of each epoch",
    )


def _share(text: str) -> float:
    """A finite number of at least 0, of the command line."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number from 0, not {text!r}")
    return number


def _seed(text: str) -> int:
    """A whole number that every random generator takes."""
    if not (text.isascii() and text.isdecimal() and int(text) < 1 << 63):
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to 2^63 - 1, not {text!r}")
    return int(text)


def _threads(text: str) -> int:
    """A number of threads that torch survives."""
    if positive(text) > _MOST_THREADS:
        raise argparse.ArgumentTypeError(f"must be at most {_MOST_THREADS}, not {text!r}")
    return int(text)


def _folder(text: str) -> Path:
    """A folder to write to."""
    if not text.strip():
        raise argparse.ArgumentTypeError("must name a folder")
    return Path(text)


def _device(name: str) -> torch.device:
    """The device of that name. Raises ``ValueError`` where there is none here."""
    try:
        device = torch.device(name)
        if device.type == "meta":
            raise RuntimeError("it computes nothing")
        if device.type != "cuda":  # trying a GPU would take memory of the first one in every process
            torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).split("\n")[0]
        raise ValueError(f"--device {name} cannot be used here: {reason}") from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        build = "" if torch.version.cuda or torch.version.hip else " (it is a build for processors alone)"
        raise ValueError(
            f"--device {name} cannot be used here: torch {torch.__version__}{build} finds "
            f"{torch.cuda.device_count()} GPUs; --device cpu uses the processor"
        )
    return device


def _train(options: argparse.Namespace) -> int:
    device = _device(options.device)
    processes = join_processes(device)
    if options.device == "cuda":
        device = torch.device("cuda", processes.rank % torch.cuda.device_count())
        torch.cuda.set_device(device)  # NCCL sends plain data through the current device
    try:
        trainer = _trainer(options, device, processes)
        with closing(trainer), _alone(options.output) if processes.is_first else nullcontext():
            return _train_on(trainer, options, processes)
    finally:
        leave_processes()


def _trainer(options: argparse.Namespace, device: torch.device, processes: Processes) -> Trainer:
    initial = load_net(options.start_from, seed=options.seed).net if options.start_from else None
    config, folder = _train_config(options, initial), DataFolder(options.data)
    length = processes.from_first(_length(options, folder) if processes.is_first else None)
    return Trainer(
        dataclasses.replace(config, length=length),
        folder,
        CheckpointFolder(options.output / _CHECKPOINTS),
        device=device,
        processes=processes,
        initial=initial,
        metrics=JsonLines(options.output / "metrics.jsonl"),
    )


@contextmanager
def _alone(output: Path) -> Iterator[None]:
    """Hold the folder of a training, which two at once would spoil. ``ValueError`` where another process has it."""
    if output.exists() and not output.is_dir():
        raise NotADirectoryError(f"--output {output} is a file; give a folder")
    output.mkdir(parents=True, exist_ok=True)
    lock = FileLock(output / "lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise ValueError(f"another process trains in {output}; give another --output, or wait for its end") from None
    try:
        yield
    finally:
        lock.release()


def _train_config(options: argparse.Namespace, initial: Net | None) -> TrainConfig:
    """The recipe with the command line's changes, but for the length."""
    config = recipe_config(options.recipe, initial.config if initial else named(options.net), batch=options.batch)
    update: dict[str, Any] = {"rate_scale": options.rate_scale}
    if options.optimizer:
        update["kind"] = options.optimizer
    if options.schedule:
        update["schedule"] = options.schedule
    if options.no_warmup:
        update["warmup"] = False
    bucket, window, averaging = config.bucket, config.window, config.averaging
    if options.epoch:
        bucket = dataclasses.replace(bucket, samples_per_epoch=options.epoch)
    if options.average_every:
        averaging = dataclasses.replace(averaging, period_samples=options.average_every)
    if options.min_rows:
        window = dataclasses.replace(window, min_rows=options.min_rows)
    if options.reuse:
        bucket = dataclasses.replace(bucket, max_train_bucket_per_new_data=options.reuse)
    return dataclasses.replace(
        config,
        seed=options.seed,
        precision=options.precision,
        recipe=dataclasses.replace(config.recipe, scales=dict.fromkeys(options.without, 0.0)),
        optimizer=dataclasses.replace(config.optimizer, **update),
        bucket=bucket,
        window=window,
        averaging=averaging,
        limit_reuse=config.limit_reuse if options.reuse is None else options.reuse > 0,
    )


def _length(options: argparse.Namespace, folder: DataFolder) -> int:
    """Edge of the tensor: as asked for, else that of the oldest readable file."""
    if not options.length:
        return any_rows(folder).length
    if not folder.scan() and folder.refused:
        raise LookupError(no_rows(folder))
    return int(options.length)


def _train_on(trainer: Trainer, options: argparse.Namespace, processes: Processes) -> int:
    """Slices, checkpoints and exports until all samples are trained or data is wanting.

    Ctrl-C and SIGTERM save and end.
    """
    stopped: list[bool] = []
    enough = True
    previous = {number: signal.signal(number, lambda *_: stopped.append(True)) for number in _STOP_SIGNALS}
    say: Callable[..., None] = print if processes.is_first else lambda *_, **__: None
    try:
        if trainer.resume():
            say(f"resumed at {trainer.samples:,} samples")
            for change in trainer.changes:
                say(f"changed since then: {change}")
        elif processes.is_first and trainer.metrics is not None:
            trainer.metrics.cut_after(0)  # lines of a training that ended before its first checkpoint
        saved = time.monotonic()
        while trainer.samples < options.samples:
            wanted = -(-(options.samples - trainer.samples) // options.batch)
            report = trainer.run(
                max_steps=min(options.slice_steps, wanted),
                max_seconds=options.checkpoint_seconds,
                stop=lambda: bool(stopped),
            )
            if report.steps:
                say(_line(report), flush=True)
            if report.outcome is Outcome.EPOCH_DONE or time.monotonic() - saved >= options.checkpoint_seconds:
                trainer.save()
                saved = time.monotonic()
            if report.outcome is Outcome.EPOCH_DONE:
                name = f"{trainer.config.net.name}-s{trainer.samples}-d{trainer.rows}"
                (options.output / "nets").mkdir(parents=True, exist_ok=True)
                trainer.export(options.output / "nets" / f"{name}.bin.gz", name=name)
            elif report.outcome in (Outcome.FEW_ROWS, Outcome.BUCKET_EMPTY):
                say(f"{report.outcome}: {_what_is_wanting(trainer, report)}; add rows and run again")
                enough = report.outcome is not Outcome.FEW_ROWS
                break
            elif report.outcome is Outcome.STOPPED:
                say("stopped; run again to go on")
                break
        checkpoint = trainer.save()
        if checkpoint is not None:
            say(_where(trainer, checkpoint, options.output))
    except (OSError, RowsError):  # such as a network disk that is away: what was trained is not lost
        with suppress(OSError):
            trainer.save()
        raise
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 0 if enough else 1


def _what_is_wanting(trainer: Trainer, report: SliceReport) -> str:
    config = trainer.config
    if report.outcome is Outcome.BUCKET_EMPTY:
        times = config.bucket.max_train_bucket_per_new_data
        return f"{report.rows:,} rows have been used as often as --reuse {times:g} allows"
    return (
        f"there are {report.rows:,} rows of edge {config.length}; training begins with {config.window.min_rows:,} "
        f"(--min-rows), and a batch takes {config.batch:,}"
    )


def _where(trainer: Trainer, checkpoint: Path, output: Path) -> str:
    """What the training leaves: its checkpoint, and the net of these samples or how to export it."""
    text = f"checkpoint at {trainer.samples:,} samples: {checkpoint}"
    name = f"{trainer.config.net.name}-s{trainer.samples}"
    written = sorted((output / "nets").glob(f"{name}-d*.bin.gz"))
    if written:
        return f"{text}\nnet: {written[-1]}"
    if not trainer.samples:
        return text
    command = shlex.join(["python", "-m", "nets", "export", str(checkpoint), str(output / f"{name}.bin.gz")])
    return f"{text}\nno net file holds these samples yet; to write one: {command}"


def _line(report: SliceReport) -> str:
    shown = [name for name in ("total", "policy", "value", "ownership") if name in report.losses]
    losses = "  ".join(f"{name} {report.losses[name]:.4f}" for name in shown)
    return f"{report.samples:>12,} samples  {losses}  {report.samples_per_second:,.0f}/s"


def _source(path: Path) -> Path:
    """The file at ``path``; of a training's folder, its newest checkpoint."""
    if not path.is_dir():
        return path
    for found in (path / CURRENT, path / _CHECKPOINTS / CURRENT):
        if found.is_file():
            return found
    raise FileNotFoundError(
        f"the folder {path} holds neither {CURRENT} nor {_CHECKPOINTS}/{CURRENT}; "
        "give the output folder of a training, a checkpoint (.safetensors) or a net file (.bin.gz)"
    )


def _export(options: argparse.Namespace) -> int:
    source = _source(options.source)
    found = load_net(source, averaged=not options.current)
    name = options.name or options.target.name.split(".")[0]
    export_net(found.net, options.target, name=name, trained=found.trained)
    print(f"wrote {options.target}")
    return 0


def _import(options: argparse.Namespace) -> int:
    if options.target.suffix != ".safetensors":
        raise ValueError(f"{options.target}: the target of an import must end in .safetensors")
    found = load_net(options.source)
    export_net(found.net, options.target, name=options.source.name.split(".")[0], trained=found.trained)
    print(f"wrote {options.target}")
    return 0


def _info(options: argparse.Namespace) -> int:
    path = _source(options.path)
    if path.suffix == ".npz":
        rows = read_npz(path)
        print(json.dumps({"kind": "rows", "rows": rows.count, "length": rows.length}, indent=2))
        return 0
    found = load_net(path)
    about: dict[str, Any] = {
        "kind": "net",
        "name": found.net.config.name,
        "parameters": sum(parameter.numel() for parameter in found.net.parameters()),
        "trained_outputs": sorted(found.trained),
        "net": found.net.config.to_json(),
    }
    if path.suffix == ".safetensors":
        data = read_checkpoint(path).data
        about |= {key: value for key, value in data.items() if key not in ("pass", "net", "trained")}
        about["kind"] = data.get("kind", "checkpoint")
    else:
        record = read_net(path)
        about |= {"name": record.name, "model_version": record.version, "net": config_of(record).to_json()}
    print(json.dumps(about, indent=2))
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    device, rows = _device(options.device), newest_rows(DataFolder(options.data), options.max_rows, options.length)
    means = _losses(options.net, rows, Recipe(options.recipe), device).means()
    if options.json:
        print(json.dumps({"rows": rows.count, "losses": means}))
        return 0
    print(f"{rows.count:,} rows")
    for name, value in means.items():
        print(f"{name:26} {value:10.4f}")
    return 0


def _losses(path: Path, rows: Rows, recipe: Recipe, device: torch.device) -> RowLosses:
    """Losses on ``rows`` of the outputs that the net at ``path`` was trained for."""
    found = load_net(_source(path))
    return row_losses(found.net, rows, recipe, trained=found.trained, device=device)


def _compare(options: argparse.Namespace) -> int:
    device, rows = _device(options.device), newest_rows(DataFolder(options.data), options.max_rows, options.length)
    recipe = Recipe(options.recipe)
    first, second = (_losses(path, rows, recipe, device) for path in (options.first, options.second))
    table = compare(first, second)
    if options.json:
        print(json.dumps({"rows": rows.count, "terms": [dataclasses.asdict(term) for term in table]}))
        return 0
    print(f"{rows.count:,} rows; the difference is second minus first, ± its standard error")
    print(f"{'':26} {'first':>10} {'second':>10} {'difference':>10}")
    for term in table:
        print(
            f"{term.name:26} {term.first:10.4f} {term.second:10.4f} "
            f"{term.difference:+10.4f} ± {term.standard_error:.4f}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
