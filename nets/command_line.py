"""What the commands of ``python -m nets`` share: how they are declared, and what their options may be."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import torch


class Help(argparse.ArgumentDefaultsHelpFormatter):
    """Tells defaults where there are any."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return super()._get_help_string(action) if action.default not in (None, False, []) else action.help


def command(commands: Any, name: str, run: Any, text: str) -> argparse.ArgumentParser:
    """Declare a command that ``run(options)`` carries out."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, formatter_class=Help)
    parser.set_defaults(run=run)
    return parser


def share(text: str) -> float:
    """A finite number of at least 0, of the command line."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number from 0, not {text!r}")
    return number


def output_folder(text: str) -> Path:
    """A folder to write to."""
    if not text.strip():
        raise argparse.ArgumentTypeError("must name a folder")
    return Path(text)


def device_of(name: str) -> torch.device:
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
