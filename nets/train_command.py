"""``python -m nets train``: slices, checkpoints, exports and reports of a training on folders of rows."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final

import torch

from common.arguments import positive, seed, whole
from common.files import LockedError, lock
from common.npz import RowsError
from common.rows import MAX_LENGTH, MIN_LENGTH
from nets.architecture.config import base_names, named, suffix_names
from nets.architecture.model import Net
from nets.command_line import command, device_of, output_folder, share
from nets.data.files import DataFolder, any_rows, no_rows
from nets.training.checkpoint import CheckpointFolder
from nets.training.config import MAX_BATCH, Arithmetic, TrainConfig, recipe_config
from nets.training.export import load_net
from nets.training.losses import RECIPES, all_terms
from nets.training.metrics import JsonLines
from nets.training.optimizer import SCHEDULES, Kind
from nets.training.places import CHECKPOINTS
from nets.training.processes import Processes, join_processes, leave_processes
from nets.training.trainer import SliceEnd, SliceReport, Trainer

_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

Say = Callable[[str], None]
"""Shows a line to people."""


def add_train(commands: Any) -> None:
    """Declare the command."""
    train = command(commands, "train", _train, "train a net on folders of .npz until --samples are trained")
    train.epilog = (
        f"Sizes of nets: {', '.join(base_names())}. Suffixes: {', '.join(suffix_names())}. "
        f"Loss terms: {', '.join(term.name for term in all_terms())}."
    )
    train.add_argument("data", type=Path, nargs="+", help="folders of .npz files, ours or KataGo's")
    train.add_argument("--output", type=output_folder, required=True, help="folder for checkpoints, metrics and nets")
    start = train.add_mutually_exclusive_group(required=True)
    start.add_argument("--net", help="architecture of a new net, e.g. b6c96-fson-mish-rvgl-bnh")
    start.add_argument("--start-from", type=Path, help="a net file to go on from")
    train.add_argument("--recipe", choices=RECIPES, default="today", help="losses, optimiser and window together")
    train.add_argument("--samples", type=positive, required=True, help="train until this many, earlier runs included")
    train.add_argument(
        "--length", type=whole(MIN_LENGTH, MAX_LENGTH), help="edge of the tensor (that of the oldest file)"
    )
    train.add_argument("--batch", type=whole(1, MAX_BATCH), default=256, help="joint batch of all processes")
    train.add_argument("--seed", type=seed, default=1, help="of the first weights and of the order of rows")
    train.add_argument("--optimizer", type=Kind, choices=list(Kind), help="the recipe's, which is sgd")
    train.add_argument("--rate-scale", type=share, default=1.0, help="multiplies the learning rate")
    train.add_argument(
        "--schedule", choices=list(SCHEDULES), help="of the learning rate over the samples (the recipe's)"
    )
    train.add_argument("--no-warmup", action="store_true", help="the full learning rate from the start")
    train.add_argument(
        "--precision",
        type=Arithmetic,
        choices=list(Arithmetic),
        default=Arithmetic.AUTO,
        help="of the trunk; auto is what this device trains the net in faster, chosen at the first step and then kept",
    )
    train.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cpu, cuda or cuda:N")
    train.add_argument("--epoch", type=positive, help="samples per epoch (1000000); a net is exported after each")
    train.add_argument(
        "--average-every",
        type=positive,
        help="samples between snapshots of the averaged weights (half an epoch, paper: a quarter)",
    )
    train.add_argument("--min-rows", type=positive, help="rows before training begins, and the window's start (250000)")
    train.add_argument(
        "--reuse",
        type=share,
        help="samples that each new row allows beyond the first epoch, 0 = no limit (4, paper: no limit)",
    )
    train.add_argument(
        "--validation",
        type=share,
        default=0.0,
        metavar="SHARE",
        help="of the files, not to train on but to report losses on after each epoch, as on a shuffler's val (0)",
    )
    train.add_argument("--without", nargs="*", default=[], metavar="TERM", help="loss terms to switch off")
    train.add_argument("--slice-steps", type=positive, default=200, help="steps between reports")
    train.add_argument(
        "--checkpoint-seconds",
        type=positive,
        default=300,
        help="a checkpoint is written so often, and at the end of each epoch",
    )


def _train(options: argparse.Namespace) -> int:
    device = device_of(options.device)
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
    config = _train_config(options, initial)
    folder = DataFolder(options.data, validation_share=config.validation_share)
    length = processes.from_first(_length(options, folder) if processes.is_first else None)
    return Trainer(
        dataclasses.replace(config, length=length),
        folder,
        CheckpointFolder(options.output / CHECKPOINTS),
        device=device,
        processes=processes,
        initial=initial,
        metrics=JsonLines(options.output / "metrics.jsonl"),
        say=print,
    )


@contextmanager
def _alone(output: Path) -> Iterator[None]:
    """Hold the folder of a training, which two at once would spoil. ``ValueError`` where another process has it."""
    if output.exists() and not output.is_dir():
        raise NotADirectoryError(f"--output {output} is a file; give a folder")
    output.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(lock(output / "lock"))
        except LockedError:
            told = f"another process trains in {output}; give another --output, or wait for its end"
            raise ValueError(told) from None
        yield


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
        validation_share=options.validation,
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
    """Train until all samples are trained, data is wanting, or a signal says so; save, and tell what there is now.

    Returns the exit code, which is 1 where there are too few rows to train on.
    """
    say: Say = functools.partial(print, flush=True) if processes.is_first else lambda _: None
    with _stop_signals() as stopped, _saved_if_files_fail(trainer):
        _resume(trainer, say)
        if trainer.samples >= options.samples:
            say(f"nothing to do: --samples {options.samples:,} includes what is trained already")
            return 0
        end = _train_slices(trainer, options, stopped, say)
        checkpoint = trainer.save() if trainer.samples else None  # of nothing, it would only bind the folder to a net
        if checkpoint is not None:
            say(_where(trainer, checkpoint, options.output))
    return 1 if end is SliceEnd.FEW_ROWS else 0


@contextmanager
def _stop_signals() -> Iterator[Callable[[], bool]]:
    """Within, Ctrl-C and SIGTERM are heard only by what is given: whether there was one."""
    heard: list[int] = []
    previous = {number: signal.signal(number, lambda number, _: heard.append(number)) for number in _STOP_SIGNALS}
    try:
        yield lambda: bool(heard)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _saved_if_files_fail(trainer: Trainer) -> Iterator[None]:
    """What was trained is not lost if files fail, such as those of a network disk that is away."""
    try:
        yield
    except (OSError, RowsError):
        with suppress(OSError):
            if trainer.epoch_left > 0:  # an epoch that has ended is saved already, or its net is not written yet
                trainer.save()
        raise


def _resume(trainer: Trainer, say: Say) -> None:
    """Take up the training that is in the folder, if there is one."""
    if trainer.resume():
        say(f"resumed at {trainer.samples:,} samples")
        for change in trainer.changes:
            say(f"changed since then: {change}")
    elif trainer.processes.is_first and trainer.metrics is not None:
        trainer.metrics.cut_after(0)  # lines of a training that ended before its first checkpoint


def _train_slices(
    trainer: Trainer, options: argparse.Namespace, stopped: Callable[[], bool], say: Say
) -> SliceEnd | None:
    """Train, with checkpoints, and a net after each epoch; what ended it before all samples were trained, or None."""
    saved = time.monotonic()
    while trainer.samples < options.samples:
        wanted = -(-(options.samples - trainer.samples) // options.batch)
        report = trainer.run(
            max_steps=min(options.slice_steps, wanted), max_seconds=options.checkpoint_seconds, stop=stopped
        )
        _tell(report, say)
        if report.outcome is SliceEnd.EPOCH_DONE:  # the net first: after a kill in between, the epoch ends again
            _export(trainer, options.output / "nets")
        if report.outcome is SliceEnd.EPOCH_DONE or time.monotonic() - saved >= options.checkpoint_seconds:
            trainer.save()
            saved = time.monotonic()
        if report.outcome in (SliceEnd.FEW_ROWS, SliceEnd.BUCKET_EMPTY):
            say(f"{report.outcome}: {_what_is_wanting(trainer, report)}; add rows and run again")
            return report.outcome
        if report.outcome is SliceEnd.STOPPED:
            say("stopped; run again to go on")
            return report.outcome
    return None


def _export(trainer: Trainer, folder: Path) -> None:
    name = f"{trainer.config.net.name}-s{trainer.samples}-d{trainer.rows}"
    folder.mkdir(parents=True, exist_ok=True)
    trainer.export(folder / f"{name}.bin.gz", name=name)


def _what_is_wanting(trainer: Trainer, report: SliceReport) -> str:
    config = trainer.config
    if report.outcome is SliceEnd.BUCKET_EMPTY:
        level = trainer.bucket.level if trainer.bucket else 0.0
        return (
            f"of the {config.bucket.samples_per_epoch:,} samples of an epoch, {level:,.0f} may be trained; each row "
            f"above {report.rows:,} adds {config.bucket.max_train_bucket_per_new_data:g} (--reuse, where 0 is no limit)"
        )
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
    command = shlex.join(["python", "-m", "nets", "export", str(checkpoint), str(output / f"{name}.bin.gz")])
    return f"{text}\nno net file holds these samples yet; to write one: {command}"


def _tell(report: SliceReport, say: Say) -> None:
    if report.steps:
        rate = f"{report.samples_per_second:,.0f}/s"
        say(f"{report.samples:>12,} samples  {_shown(report.losses)}  {rate}")
    if report.validation:
        say(f"{report.samples:>12,} samples  validation {_shown(report.validation)}")


def _shown(losses: Mapping[str, float]) -> str:
    names = [name for name in ("total", "policy", "value", "ownership") if name in losses] or list(losses)[:3]
    return "  ".join(f"{name} {losses[name]:.4f}" for name in names)
