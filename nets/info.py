"""``python -m nets info``: what a net, a checkpoint or a file of rows holds.

Files of rows and net files are read without torch, which takes longer to load than the answer.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from common.npz import RowsError
from common.progress import announced
from common.rows import read_npz
from nets.files.descriptions import config_of, outputs_in
from nets.files.katago_file import read_net
from nets.training.places import CHECKPOINTS, CURRENT, exit_code

COMMAND: Final = "info"
SUMMARY: Final = "say what a net, checkpoint, or file of rows holds"
_TENSORS: Final = ".safetensors"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("path", type=Path, help="net, checkpoint, file of rows, or the output folder of a training")


def run(options: argparse.Namespace) -> int:
    """Print what the file holds, as JSON; ``ValueError`` and ``OSError`` say why it cannot be read."""
    print(json.dumps(about(source_of(options.path)), indent=2))
    return 0


def main(words: list[str]) -> int:
    """The command alone, without the others and what they load; returns the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m nets {COMMAND}", description=SUMMARY)
    add_arguments(parser)
    options = parser.parse_args(words)
    return exit_code(lambda: run(options))


def source_of(path: Path) -> Path:
    """The file at ``path``; of a training's folder, its newest checkpoint."""
    if not path.is_dir():
        return path
    for found in (path / CURRENT, path / CHECKPOINTS / CURRENT):
        if found.is_file():
            return found
    raise FileNotFoundError(
        f"the folder {path} holds neither {CURRENT} nor {CHECKPOINTS}/{CURRENT}; "
        "give the output folder of a training, a checkpoint (.safetensors) or a net file (.bin.gz)"
    )


def about(path: Path) -> dict[str, Any]:
    """What the file holds, ready for JSON. Errors as in `run`."""
    if path.suffix == ".npz":
        try:
            rows = read_npz(path)
        except RowsError as error:
            raise ValueError(f"{path}: {error}") from error
        return {"kind": "rows", "rows": rows.count, "length": rows.length}
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.suffix == _TENSORS:
        return _about_tensors(path)
    record = read_net(path)
    return {
        "kind": "net",
        "name": record.name,
        "parameters": _numbers_in(record),
        "trained_outputs": sorted(outputs_in(record)),
        "net": config_of(record).to_json(),
        "model_version": record.version,
    }


def _numbers_in(part: Any) -> int:
    """All numbers of the arrays in a record."""
    if isinstance(part, np.ndarray):
        return part.size
    if isinstance(part, list):
        return sum(map(_numbers_in, part))
    if dataclasses.is_dataclass(part):
        return sum(_numbers_in(getattr(part, field.name)) for field in dataclasses.fields(part))
    return 0


def _about_tensors(path: Path) -> dict[str, Any]:
    with announced("loading torch"):
        from nets.training.checkpoint import read
        from nets.training.export import load_net
    found = load_net(path)
    data = read(path).data
    return {
        "kind": data.get("kind", "checkpoint"),
        "name": found.net.config.name,
        "parameters": sum(parameter.numel() for parameter in found.net.parameters()),
        "trained_outputs": sorted(found.trained),
        "net": found.net.config.to_json(),
        **{key: value for key, value in data.items() if key not in ("pass", "net", "trained", "kind")},
    }
