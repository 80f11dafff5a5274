"""Checkpoints: everything a training needs to go on exactly where it was, in one ``.safetensors`` file.

Knows tensors by name and plain data, not what they are for (``nets/training/trainer.py`` gathers and takes them up).
The plain data is JSON in the file's own header, so that one rename makes both appear together. Specification:
training.md 7.
"""

from __future__ import annotations

import json
import shutil
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from common import json_text
from common.files import written_whole
from nets.training.places import CURRENT

_HEADER_KEY: Final = "tengen"
_SUM_KEY: Final = "crc32"
FORMAT: Final = 1


class CheckpointError(ValueError):
    """A checkpoint cannot be read, or does not belong to the run at hand."""


class OtherTrainingError(CheckpointError):
    """A checkpoint is sound, but of another net or optimiser; those before it will be too."""


@dataclass(frozen=True)
class Checkpoint:
    """State of a training."""

    tensors: Mapping[str, Tensor]
    data: Mapping[str, Any]
    """Plain data that JSON can hold."""

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors whose names begin with ``name.``, without that beginning."""
        start = name + "."
        return {key.removeprefix(start): tensor for key, tensor in self.tensors.items() if key.startswith(start)}


def write(checkpoint: Checkpoint, path: Path) -> None:
    """Write to ``path``; the file appears complete (``path.tmp``, synced, renamed) or not at all."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.tensors.items()}
    about = {"format": FORMAT, **checkpoint.data}
    header = {_HEADER_KEY: json.dumps(about, sort_keys=True), _SUM_KEY: str(_checksum(tensors))}
    try:
        with written_whole(path) as temporary:
            temporary.unlink(missing_ok=True)
            temporary.touch()
            mode = temporary.stat().st_mode  # the usual one of a file; the library would keep others from reading it
            save_file(tensors, temporary, header)
            temporary.chmod(mode)
    except SafetensorError as error:  # of the disk: what could be wrong with tensors is not
        raise OSError(f"cannot write {path}: {error}") from error


def _checksum(tensors: Mapping[str, Tensor]) -> int:
    """CRC-32 of all contents, in the order of their names."""
    total = 0
    for name in sorted(tensors):
        total = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, total)
    return total


def read(path: Path) -> Checkpoint:
    """Read a checkpoint. Raises ``CheckpointError`` for a file that is none, ``OSError`` where there is no file."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no checkpoint {path}")
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  it is no dict
        data = json_text.loads(header[_HEADER_KEY])
    except KeyError:
        raise CheckpointError(f"{path} holds tensors, but no training's state") from None
    except (SafetensorError, ValueError) as error:
        raise CheckpointError(f"{path} is not a readable checkpoint: {error}") from error
    if header.get(_SUM_KEY) not in (None, str(_checksum(tensors))):
        raise CheckpointError(f"{path} is damaged: its content is not what was written")
    if not isinstance(data, dict):
        raise CheckpointError(f"{path} holds tensors, but no training's state")
    if data.get("format") != FORMAT:
        raise CheckpointError(f"{path} has format {data.get('format')!r}; this version reads format {FORMAT}")
    return Checkpoint(tensors, data)


@dataclass(frozen=True)
class CheckpointFolder:
    """The checkpoints of one training: the current one, some previous ones, and archived ones."""

    folder: Path
    keep_previous: int = 4
    archive_seconds: float = 12 * 3600.0

    def _previous(self, number: int) -> Path:
        return self.folder / f"checkpoint_prev{number}.safetensors"

    def save(self, checkpoint: Checkpoint, *, samples: int) -> Path:
        """Write the current checkpoint; the older ones move on by one. Returns its path."""
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.folder / "checkpoint_new.safetensors"
        current = self.folder / CURRENT
        write(checkpoint, fresh)
        for number in range(self.keep_previous - 1, 0, -1):
            if self._previous(number - 1).exists():
                self._previous(number - 1).replace(self._previous(number))
        if self.keep_previous and current.exists():
            current.replace(self._previous(0))
        fresh.replace(current)
        self._archive(current, samples)
        return current

    def _archive(self, current: Path, samples: int) -> None:
        archive = self.folder / "longterm"
        archive.mkdir(exist_ok=True)
        newest = max((path.stat().st_mtime for path in archive.glob("*.safetensors")), default=None)
        if newest is None or time.time() - newest >= self.archive_seconds:
            target = archive / f"checkpoint-s{samples}.safetensors"
            with written_whole(target) as temporary:
                shutil.copyfile(current, temporary)

    def paths(self) -> list[Path]:
        """The checkpoints that there are, the newest first, without the archived ones."""
        candidates = [self.folder / CURRENT, *(self._previous(number) for number in range(self.keep_previous))]
        return [path for path in candidates if path.is_file()]
