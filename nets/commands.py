"""``python -m nets``: train, export, import, inspect, evaluate and compare nets on a folder of ``.npz``, no server.

Composition and printing only; every command is a few calls of the modules that do the work.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

import torch

from common.arguments import positive, threads, whole
from common.progress import Progress, announced
from common.rows import MAX_LENGTH, MIN_LENGTH, Rows
from nets import info
from nets.command_line import command, device_of
from nets.data.files import DataFolder, newest_rows
from nets.info import source_of
from nets.train_command import add_train
from nets.training.bad_batches import BadBatchesError
from nets.training.export import LoadedNet, export_net, load_net
from nets.training.losses import RECIPES, Recipe
from nets.training.optimizer import DivergedError
from nets.training.places import CHECKPOINTS, CURRENT, exit_code
from nets.training.validation import RowLosses, compare, joined, row_losses_in_parts, sound_in_both


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code is 0, or 1 with a message on standard error."""
    options = _parser().parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    return exit_code(lambda: _run(options))


def _run(options: argparse.Namespace) -> int:
    try:
        code: int = options.run(options)
    except DivergedError as error:
        print(
            f"error: {error}\nto go on, put an older checkpoint ({CHECKPOINTS}/checkpoint_prev3.safetensors, or one of "
            f"{CHECKPOINTS}/longterm) in the place of {CHECKPOINTS}/{CURRENT}, and lower --rate-scale",
            file=sys.stderr,
        )
        return 1
    except BadBatchesError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m nets", description="Train and handle nets without a server.")
    parser.add_argument("--threads", type=threads, help="processor threads (small nets are fastest with 1)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_train(commands)
    export = command(commands, "export", _export, "write a checkpoint's averaged net as .bin.gz or .safetensors")
    export.add_argument("source", type=Path, help="checkpoint or net file, or the output folder of a training")
    export.add_argument("target", type=Path)
    export.add_argument("--name", help="name in the file (default: the target's)")
    export.add_argument("--current", action="store_true", help="the present weights instead of the averaged ones")
    importing = command(commands, "import", _import, "turn a .bin.gz into a trainable .safetensors")
    importing.add_argument("source", type=Path)
    importing.add_argument("target", type=Path)
    info.add_arguments(command(commands, info.COMMAND, info.run, info.SUMMARY))
    evaluate = command(commands, "evaluate", _evaluate, "mean losses of a net on rows")
    evaluate.add_argument("net", type=Path)
    _add_rows(evaluate)
    comparing = command(commands, "compare", _compare, "losses of two nets on the same rows, with standard errors")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    _add_rows(comparing)
    return parser


def _add_rows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path, nargs="+", help="folders of .npz files")
    parser.add_argument("--recipe", choices=RECIPES, default="today")
    parser.add_argument("--max-rows", type=positive, default=50_000, help="the newest files up to this many rows")
    parser.add_argument(
        "--length", type=whole(MIN_LENGTH, MAX_LENGTH), help="edge of the rows' tensor (that of the newest file)"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def _export(options: argparse.Namespace) -> int:
    source = source_of(options.source)
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


def _evaluate(options: argparse.Namespace) -> int:
    device, found = device_of(options.device), load_net(source_of(options.net))
    rows = _rows(options)
    losses, left_out = _losses("evaluate", found, rows, Recipe(options.recipe), device).sound()
    count, means = _counted(rows, left_out), losses.means()
    if options.json:
        print(json.dumps({"rows": count, "left_out": left_out, "losses": means}))
        return 0
    print(f"{count:,} rows{_told(left_out)}")
    for name, value in means.items():
        print(f"{name:26} {value:10.4f}")
    return 0


def _rows(options: argparse.Namespace) -> Rows:
    with announced("reading the rows"):
        return newest_rows(DataFolder(options.data), options.max_rows, options.length)


def _counted(rows: Rows, left_out: int) -> int:
    """How many rows are left. ``ValueError`` if none is."""
    if left_out == rows.count:
        raise ValueError(
            f"the losses on all {rows.count:,} rows are not finite, or absurd: nothing can be said of them"
        )
    return rows.count - left_out


def _told(left_out: int) -> str:
    return f" ({left_out:,} more are left out, whose losses are not finite, or absurd)" if left_out else ""


def _losses(what: str, found: LoadedNet, rows: Rows, recipe: Recipe, device: torch.device) -> RowLosses:
    """Losses on ``rows`` of the outputs that the net was trained for; says how far it is."""
    parts, progress = [], Progress(what, rows.count, "rows")
    done = 0
    for part in row_losses_in_parts(found.net, rows, recipe, trained=found.trained, device=device):
        parts.append(part)
        done += part.values.shape[1]
        progress.at(done)
    progress.close()
    return joined(parts)


def _compare(options: argparse.Namespace) -> int:
    device, nets = device_of(options.device), [load_net(source_of(path)) for path in (options.first, options.second)]
    rows, recipe = _rows(options), Recipe(options.recipe)
    first, second = (
        _losses(f"net {number} of 2", found, rows, recipe, device) for number, found in enumerate(nets, start=1)
    )
    first, second, left_out = sound_in_both(first, second)
    count, table = _counted(rows, left_out), compare(first, second)
    if options.json:
        print(json.dumps({"rows": count, "left_out": left_out, "terms": [dataclasses.asdict(term) for term in table]}))
        return 0
    print(f"{count:,} rows{_told(left_out)}; the difference is second minus first, ± its standard error")
    print(f"{'':26} {'first':>10} {'second':>10} {'difference':>10}")
    for term in table:
        print(
            f"{term.name:26} {term.first:10.4f} {term.second:10.4f} "
            f"{term.difference:+10.4f} ± {term.standard_error:.4f}"
        )
    return 0
