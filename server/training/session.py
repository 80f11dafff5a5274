"""The trainer of one size of a run in this process: made or taken up from a checkpoint, run in slices, saved, exported.

Knows the trainer, the shards and the storage; who may train, and what the database says, is the services' business.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from django.conf import settings
from django.core.files import File

from common.files import UNFINISHED, sum_of, written_whole
from nets.architecture.model import Net
from nets.data.files import DataFolder
from nets.files.exchange import trainable_module_of
from nets.files.katago_file import read_net
from nets.training import checkpoint as checkpoints
from nets.training.checkpoint import CheckpointFolder
from nets.training.places import CURRENT
from nets.training.trainer import SliceEnd, SliceReport, Trainer
from server.networks.models import Network
from server.runs.models import Run
from server.storage import content_name, load, store_as
from server.training.models import TrainingState
from server.training.plan import TrainingPlan, plan_of
from server.training.shards import ShardFolder
from server.training.sizes import TrainedNet

SUFFIX = ".safetensors"
MAX_STEPS = 1 << 30


@dataclass
class Session:
    """A trainer and where its data lie. ``checkpoint`` is the storage name of what it went on from or saved last."""

    ordered: TrainingPlan
    """As the run's settings have it; in `plan` the net may be that of a seed's file."""
    plan: TrainingPlan
    trainer: Trainer
    shards: ShardFolder
    folder: Path
    checkpoint: str
    saved_at: float
    unsaved: bool = False

    def run(self, stop: Callable[[], bool]) -> SliceReport:
        """Train for at most a slice."""
        report = self.trainer.run(max_steps=MAX_STEPS, max_seconds=self.plan.slice_seconds, stop=stop)
        self.unsaved |= report.steps > 0
        return report

    def save_due(self, report: SliceReport) -> bool:
        """Whether to save now: at the end of an epoch, when enough time has passed, and whenever it was stopped."""
        ended = report.outcome in (SliceEnd.EPOCH_DONE, SliceEnd.STOPPED)
        return self.unsaved and (ended or time.monotonic() - self.saved_at >= self.plan.checkpoint_seconds)

    def save(self) -> str:
        """Write a checkpoint to the disk and the storage; its name there."""
        path = self.trainer.save()
        assert path is not None, "a session trains in one process"
        name = content_name("checkpoints", sum_of(path)[0], SUFFIX)
        with path.open("rb") as stream:
            self.checkpoint = store_as(name, File(stream, name=path.name))
        self.saved_at = time.monotonic()
        self.unsaved = False
        return self.checkpoint

    @property
    def candidate_due(self) -> bool:
        """Whether the training stands at the end of an epoch."""
        return self.trainer.samples > 0 and self.trainer.epoch_left <= 0

    def export(self, name: str) -> Path:
        """Write the averaged net as a network file; its path."""
        path = self.folder / "export" / f"{name}.bin.gz"
        path.parent.mkdir(exist_ok=True)
        self.trainer.export(path, name=name)
        return path

    def is_outdated(self, plan: TrainingPlan) -> bool:
        """Whether the run's settings have become others since this session was opened with them."""
        return plan != self.ordered

    def close(self) -> None:
        """End the trainer's threads."""
        self.trainer.close()


def open_session(net: TrainedNet, state: TrainingState) -> Session:
    """A trainer that goes on from the state's checkpoint, or begins with the run's first network or random weights.

    Raises:
        InvalidSettings: the run's training settings are wrong.
        CheckpointError: the checkpoint cannot be read, or belongs to other settings.
        OSError: the storage failed.
    """
    run, checkpoint = net.run, state.checkpoint
    ordered = plan = plan_of(run, net.architecture)
    folder = Path(settings.DATA_DIR) / "training" / run.name
    shards = ShardFolder(folder / "rows", run.pk, run.data_board_len, plan.shard_rows)
    shards.prepare()
    local = CheckpointFolder(folder / "checkpoints" / net.architecture)
    first = _first_net(run, folder) if state.from_seed else None
    if first is not None:
        plan = dataclasses.replace(plan, config=dataclasses.replace(plan.config, net=first.config))
    trainer = Trainer(
        plan.config,
        DataFolder([shards.folder], validation_share=plan.config.validation_share),
        local,
        device="cuda" if torch.cuda.is_available() else "cpu",
        initial=first,
    )
    if checkpoint:
        path = _fetch(checkpoint, local.folder)
        trainer.take_up(checkpoints.read(path), checkpoint)
    return Session(ordered, plan, trainer, shards, folder, checkpoint, time.monotonic())


def _first_net(run: Run, folder: Path) -> Net | None:
    """The net that a run starts from: its newest seed with a file, or None for random weights."""
    seed = Network.objects.filter(run=run, state="seed", is_random=False).order_by("-pk").first()
    if seed is None:
        return None
    path = folder / "seed.bin.gz"
    path.write_bytes(load(seed.file))
    return trainable_module_of(read_net(path))


def _fetch(checkpoint: str, folder: Path) -> Path:
    """The checkpoint of that storage name on this disk: the local one if it is the same, else a copy."""
    current = folder / CURRENT
    wanted = Path(checkpoint).stem
    if current.is_file() and sum_of(current)[0] == wanted:
        return current
    folder.mkdir(parents=True, exist_ok=True)
    with written_whole(current, beside=folder / f"fetched{UNFINISHED}") as fetched:
        fetched.write_bytes(load(checkpoint))
        if sum_of(fetched)[0] != wanted:
            raise checkpoints.CheckpointError(f"the stored checkpoint {checkpoint} is damaged")
    return current
