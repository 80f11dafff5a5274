"""The trainer: composes data, net, losses and optimiser into steps, and steps into slices that can be stopped anywhere.

Knows the order of things within a step and an epoch; each thing itself is in a module of its own: rows and passes
(``data``), targets, losses, optimizer, averaging, checkpoint, metrics. Knows no server, signal or clock for waiting: a
caller runs slices and decides what to do between them. Specification: training.md.

A checkpoint holds all of it, so a training that was killed repeats the same steps with the same losses.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from nets.architecture.model import Net
from nets.data.files import DataFile, DataFolder, UnusableFile, validation_rows
from nets.data.passes import Batches, Plan, Position, in_window, make_plan, usable_batches, uses_to_remember
from nets.data.targets import RowBatch, Targets
from nets.data.window import TrainBucket, countable_rows
from nets.training.averaging import Averager
from nets.training.bad_batches import BadBatchesError, RecentBatches, is_sound, named_rows, unsound_rows
from nets.training.checkpoint import Checkpoint, CheckpointError, CheckpointFolder, OtherTrainingError, read
from nets.training.config import Arithmetic, TrainConfig, changes_between
from nets.training.export import export_net
from nets.training.losses import Losses, LossResult, SekiScale, seki_share
from nets.training.metrics import JsonLines, TermMeans
from nets.training.optimizer import Optimizer
from nets.training.precision import TrunkPrecision, forward, is_16_bit
from nets.training.processes import Processes
from nets.training.validation import RowLosses, joined, row_losses_in_parts

_log = logging.getLogger(__name__)

VALIDATION_ROWS: Final = 4096
"""Rows that losses are measured on after an epoch, at most."""


class SliceEnd(StrEnum):
    """Why a slice ended."""

    STEPS_DONE = "steps done"
    TIME_OVER = "time over"
    EPOCH_DONE = "epoch done"
    FEW_ROWS = "too few rows"
    BUCKET_EMPTY = "train bucket empty"
    STOPPED = "stopped"


@dataclass(frozen=True)
class SliceReport:
    """What a slice did. ``losses`` are means over its steps by term, and ``total``; empty without steps."""

    outcome: SliceEnd
    steps: int
    samples: int
    """Of the whole training so far."""
    rows: int
    """Rows of the data folder when it was last looked at, or of the run that they were shuffled from."""
    losses: dict[str, float]
    samples_per_second: float
    waiting_share: float
    """Share of the time spent waiting for batches."""
    validation: dict[str, float]
    """Mean losses of the averaged net on rows that are not trained on, by term; measured where an epoch ended."""
    validation_rows: int
    set_aside: int
    """Batches of the whole training so far that could not be trained on; they count neither as steps nor as samples."""


class Trainer:
    """One training in progress: made new, or taken up from a checkpoint by ``resume``.

    ``folder`` gives the rows, ``checkpoints`` is where state goes, ``say`` takes a line for people now and then. All
    processes of a distributed training do the same calls in the same order.
    """

    def __init__(
        self,
        config: TrainConfig,
        folder: DataFolder,
        checkpoints: CheckpointFolder,
        *,
        device: torch.device | str = "cpu",
        processes: Processes | None = None,
        initial: Net | None = None,
        metrics: JsonLines | None = None,
        say: Callable[[str], object] = _log.info,
    ) -> None:
        self.config, self.folder, self.checkpoints = config, folder, checkpoints
        self.device, self.processes = torch.device(device), processes or Processes()
        self.metrics = metrics
        if initial is None:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(config.seed)
                initial = Net(config.net)
        # Channels last is the faster layout on processors too: b2c32-bn on 7×7 took 0.7 of the time on one core.
        self.net = initial.to(self.device).to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
        self.processes.copy_from_first(list(self.net.state_dict().values()))
        self.losses = Losses(config.net, config.recipe, device=self.device)
        self.optimizer = Optimizer(self.net, config.optimizer, batch=config.batch)
        self.averager = Averager(self.net, config.averaging, epoch=config.bucket.samples_per_epoch)
        self.seki = SekiScale(self.device)
        self.precision = TrunkPrecision(config.precision, self.processes, say)
        self.set_aside = RecentBatches()
        self.means = TermMeans(self.losses.names, self.device)
        self.samples = 0
        self.epoch_left = 0
        self.passes = 0
        self.rows = 0
        self.recent: list[str] = []
        """Paths of the files that were used last, newest last."""
        self.bucket: TrainBucket | None = None
        self.changes: list[str] = []
        """What differs from the settings of the checkpoint that was taken up, for people."""
        self._batches: Batches | None = None
        self._has_validated = False

    # ------------------------------------------------------------------------------------------------------ slices

    def run(
        self,
        *,
        max_steps: int,
        max_seconds: float = float("inf"),
        stop: Callable[[], bool] = lambda: False,
    ) -> SliceReport:
        """Train until ``max_steps`` or ``max_seconds`` are over, an epoch ends, data is wanting, or ``stop`` says so.

        Does not save. Raises ``DivergedError``, ``BadBatchesError``, ``RowsError``, ``OSError``.
        """
        self.means.clear()
        begin, waited, steps = time.monotonic(), 0.0, 0
        outcome = SliceEnd.STEPS_DONE
        while steps < max_steps:
            if self.processes.any(stop(), self.device):
                outcome = SliceEnd.STOPPED
                break
            if self.processes.any(time.monotonic() - begin > max_seconds, self.device):
                outcome = SliceEnd.TIME_OVER
                break
            asked = time.monotonic()
            batch = self._next_batch()
            waited += time.monotonic() - asked
            if isinstance(batch, SliceEnd):
                outcome = batch
                break
            steps += self._step(batch) is not None
            if self.epoch_left <= 0:
                self._end_epoch()
                outcome = SliceEnd.EPOCH_DONE
                break
        seconds = time.monotonic() - begin
        validation = self._validated(stop) if outcome is SliceEnd.EPOCH_DONE else None
        return self._report(outcome, steps, seconds, waited, validation)

    def step(self) -> LossResult:
        """Train the next batch that can be trained on and return its losses.

        Raises ``LookupError`` where data is wanting, and as `run`.
        """
        result = None
        while result is None:
            batch = self._next_batch()
            if isinstance(batch, SliceEnd):
                raise LookupError(f"no batch to train on: {batch}")
            result = self._step(batch)
        if self.epoch_left <= 0:
            self._end_epoch()
        return result

    def _report(
        self, outcome: SliceEnd, steps: int, seconds: float, waited: float, validation: RowLosses | None
    ) -> SliceReport:
        self.processes.sum_(self.means.tensors())
        losses = self.means.means(self.processes.world) if steps else {}
        rate = steps * self.config.batch / seconds if seconds > 0 else 0.0
        waiting = waited / max(seconds, 1e-9)
        measured, rows = (validation.means(), validation.values.shape[1]) if validation else ({}, 0)
        report = SliceReport(
            outcome=outcome,
            steps=steps,
            samples=self.samples,
            rows=self.rows,
            losses=losses,
            samples_per_second=rate,
            waiting_share=waiting,
            validation=measured,
            validation_rows=rows,
            set_aside=self.set_aside.total,
        )
        if steps and self.metrics is not None and self.processes.is_first:
            self.metrics.append(
                {
                    "samples": self.samples,
                    "rows": self.rows,
                    "steps": self.optimizer.steps,
                    "losses": losses,
                    "gradient_norm": self._gradient_norm,
                    "gradient_cap": None if self.optimizer.cap == float("inf") else self.optimizer.cap,
                    "rates": self.optimizer.rates(),
                    "samples_per_second": round(rate, 1),
                    "waiting_share": round(waiting, 4),
                    "precision": self.precision.now,
                    "precision_deviation": self.precision.deviation,
                    "set_aside": self.set_aside.total,
                }
                | ({"validation": measured, "validation_rows": rows} if validation else {})
            )
        return report

    def _validated(self, stop: Callable[[], bool]) -> RowLosses | None:
        """Losses of the averaged net on rows for validation; None if there are none, or it is asked to stop.

        The first process measures, the others go on to wait for it. Where the rows cannot be read, training goes on.
        """
        if not self.processes.is_first:
            return None
        try:
            rows = validation_rows(self.folder, VALIDATION_ROWS, self.config.length)
        except OSError as error:
            _log.warning("no validation at %d samples: %s", self.samples, error)
            return None
        if rows is None:
            if self._has_validated:
                _log.warning("no validation at %d samples: its rows are gone", self.samples)
            return None
        self._has_validated = True
        net, recipe, parts = self.averager.averaged_net(), self.config.recipe, []
        for part in row_losses_in_parts(net, rows, recipe, trained=self.losses.needed, device=self.device):
            if stop():
                _log.warning("no validation at %d samples: stopped", self.samples)
                return None
            parts.append(part)
        measured, left_out = joined(parts).sound()
        if left_out:
            _log.warning(
                "validation at %d samples: %d of %d rows left out, whose losses are not finite",
                *(self.samples, left_out, rows.count),
            )
        return measured if measured.values.shape[1] else None

    # -------------------------------------------------------------------------------------------------------- steps

    def _step(self, batch: RowBatch) -> LossResult | None:
        """Forward, backward, update, average; None, with nothing changed, where the batch cannot be trained on."""
        batch = batch.to(self.device)
        new_epoch = self.epoch_left == self.config.bucket.samples_per_epoch
        self.precision.settle(self.net, self.losses, batch, new_epoch=new_epoch, samples=self.samples)
        differentiated = self._differentiate(batch, self.precision.now)
        if is_16_bit(self.precision.now):
            refused = differentiated is None
            differentiated = differentiated or self._differentiate(batch, Arithmetic.FLOAT32)
            self.precision.note(overflow=refused and differentiated is not None, samples=self.samples)
        self._note_soundness(batch, sound=differentiated is not None)
        if differentiated is None:
            return None
        result, total = differentiated
        self._gradient_norm, in_step = self._update()
        self.samples += self.config.batch
        self.epoch_left -= self.config.batch
        if in_step and self.averager.due(self.samples):
            self.averager.take(self.samples)
        self.means.add(result.sums, result.weights, total, batch.count)
        return result

    def _differentiate(self, batch: RowBatch, precision: Arithmetic) -> tuple[LossResult, Tensor] | None:
        """Gradients of the batch, its losses and total; None, and all as it was, where they are not sound."""
        buffers = list(self.net.buffers())
        before, seki = [buffer.clone() for buffer in buffers], (self.seki.total, self.seki.weight)
        result, total = self._loss(forward(self.net, batch, precision), Targets(batch))
        self.optimizer.zero_grad()
        torch.autograd.backward(total * self.precision.scale.value if self.precision.scale.used else total)
        sound = is_sound(result, total, self.seki.total, batch.count)  # the device has had all its work by now
        if not self.processes.any(not sound, self.device):
            return result, total.detach()
        self.optimizer.zero_grad()
        self.seki.total, self.seki.weight = seki
        with torch.no_grad():
            for buffer, value in zip(buffers, before, strict=True):
                buffer.copy_(value)
        return None

    def _note_soundness(self, batch: RowBatch, *, sound: bool) -> None:
        """Count the batch; of one that is not sound, name the rows. Raises ``BadBatchesError``."""
        nearly_all = self.set_aside.see(bad=not sound)
        if sound:
            return
        rows = unsound_rows(self.net, self.losses, batch)
        named = named_rows(self._batches.origin(rows) if self._batches else [], batch.count)
        if rows or self.processes.is_first:
            _log.warning(
                "set aside a batch at %d samples, since its loss is not finite or absurd; %s", self.samples, named
            )
        if nearly_all:
            raise BadBatchesError(
                f"of the last {RecentBatches.BATCHES} batches, {RecentBatches.NEARLY_ALL} or more could not be trained "
                f"on, since their losses were not finite or absurd; of the last one, {named}. Remove these files if "
                "they are few; else go on from an earlier checkpoint with a lower learning rate"
            )

    def _loss(self, heads: tuple[dict[str, Tensor], ...], targets: Targets) -> tuple[LossResult, Tensor]:
        """Losses of the exported heads, and the total over all head sets."""
        scale: Tensor | float = 1.0
        if "seki" in self.losses.names:
            scale = self.seki.update(self.processes.mean(seki_share(targets)))
        results = [self.losses(outputs, targets, scale) for outputs in heads]
        if len(results) == 1:
            return results[0], results[0].total
        shares = self.net.head_set_weights
        total = torch.stack([share * result.total for share, result in zip(shares, results, strict=True)]).sum()
        return results[0], total

    def _update(self) -> tuple[float, bool]:
        """Sum gradients over processes and let the optimiser step; its gradient norm, and whether weights agree."""
        gradients = [p.grad for p in self.optimizer.parameters if p.grad is not None]
        self.processes.sum_(gradients)
        if self.precision.scale.used:
            torch._foreach_mul_(gradients, 1 / self.precision.scale.value)
        norm, in_step = self.optimizer.step(self.samples)
        self.precision.scale.adapt(finite=norm < float("inf"))
        return norm, in_step

    def _end_epoch(self) -> None:
        self.optimizer.reset_to_slow()
        self._drop_pass()

    # --------------------------------------------------------------------------------------------------------- data

    def _next_batch(self) -> RowBatch | SliceEnd:
        """The next batch, or what is wanting where there is none to be had now."""
        if self.epoch_left <= 0:
            wanting = self._begin_epoch()
            if wanting is not None:
                return wanting
        while True:
            batches = self._begin_pass() if self._batches is None else self._batches
            if batches is None:
                return SliceEnd.FEW_ROWS
            batch = self._take_batch(batches)
            if batch is not None:
                return batch
            self._drop_pass()

    def _begin_pass(self) -> Batches | None:
        """Plan and start a pass over the rows there are now; None where they are fewer than a batch."""
        plan = self._plan_pass(self._look())
        if usable_batches(plan, self.config.batch) == 0:
            return None
        return self._start_pass(plan, Position())

    def _take_batch(self, batches: Batches) -> RowBatch | None:
        """The next batch of the pass; None at its end, or where a process cannot read a file, which is left out."""
        batch, unusable = None, None
        try:
            batch = next(batches, None)
        except UnusableFile as error:
            unusable = error
        if self.processes.any(unusable is not None, self.device):
            for each in filter(None, self.processes.from_all(unusable)):
                self.folder.leave_out(each)
            return None
        return batch

    def _begin_epoch(self) -> SliceEnd | None:
        """Start an epoch if there is data enough and the bucket allows it; else say what is wanting."""
        files = self._look()
        window, bucket = self.config.window, self.config.bucket
        randomly = sum(file.rows for file in files if file.is_random_play)
        countable = countable_rows(self.rows - randomly, randomly, window)
        if countable < window.min_rows:
            return SliceEnd.FEW_ROWS
        if self.config.limit_reuse:
            level = self.bucket or TrainBucket.new(self.rows, bucket)
            self.bucket = level.fill(self.rows, bucket)
            if not self.bucket.may_train(bucket):
                return SliceEnd.BUCKET_EMPTY
            self.bucket = self.bucket.take(bucket)
        self._drop_pass()
        self.epoch_left = bucket.samples_per_epoch
        return None

    def _look(self) -> list[DataFile]:
        """The data files now, as the first process sees them."""
        seen = (self.folder.scan(), self.folder.run_rows) if self.processes.is_first else None
        files: list[DataFile]
        files, self.rows = self.processes.from_first(seen)
        return files

    def _plan_pass(self, files: list[DataFile]) -> Plan:
        self.passes += 1
        config = self.config
        files = in_window(files, config.window)
        plan = make_plan(
            files,
            number=self.passes,
            seed=config.seed,
            length=config.length,
            max_rows=min(config.window.keep_target_rows, max(self.epoch_left, config.batch)),
            chunk_bytes=config.chunk_bytes,
            least_rows=config.batch,
            recent=self.recent,
        )
        used = [*self.recent, *(file.path for chunk in plan.chunks for file in chunk)]
        self.recent = used[max(0, len(used) - uses_to_remember(files)) :]
        return plan

    def _start_pass(self, plan: Plan, position: Position) -> Batches:
        self._batches = Batches(
            plan,
            batch=self.config.batch,
            seed=self.config.seed,
            position=position,
            augmentation=self.config.augmentation,
            rank=self.processes.rank,
            world=self.processes.world,
            pin_memory=self.device.type == "cuda",
        )
        return self._batches

    def _drop_pass(self) -> None:
        if self._batches is not None:
            self._batches.close()
            self._batches = None

    def close(self) -> None:
        """End the threads; the trainer can be dropped then."""
        self._drop_pass()

    # -------------------------------------------------------------------------------------------------------- state

    def export(self, path: Path, *, name: str) -> None:
        """Write the averaged net for engines, or as tensors; see ``nets.training.export.export_net``."""
        if self.processes.is_first:
            export_net(self.averager.averaged_net(), path, name=name, trained=self.losses.needed)

    def save(self) -> Path | None:
        """Write a checkpoint; its path in the first process, None in others."""
        if not self.processes.is_first:
            return None
        return self.checkpoints.save(Checkpoint(self._tensors(), self._data()), samples=self.samples)

    def resume(self) -> bool:
        """Take up the newest checkpoint that can be used; False where there is none at all.

        Raises ``CheckpointError`` where there are some, and none is readable and of this net.
        """
        problem: CheckpointError | None = None
        for path in self.checkpoints.paths():
            try:
                self.take_up(read(path), str(path))
                return True
            except OtherTrainingError:
                raise
            except CheckpointError as error:
                _log.warning("%s; trying the one before", error)
                problem = problem or error
        if problem is not None:
            raise problem
        return False

    def take_up(self, checkpoint: Checkpoint, origin: str) -> None:
        """Go on from ``checkpoint``, which came from ``origin``."""
        data = checkpoint.data
        if "config" not in data:
            raise CheckpointError(f"{origin} holds a net alone, not the state of a training")
        try:
            saved = TrainConfig.from_json(data["config"])
        except ValueError as error:
            raise CheckpointError(f"{origin} describes a training that this version does not know: {error}") from error
        if saved.net != self.config.net or saved.length != self.config.length:
            raise OtherTrainingError(
                f"{origin} is of the net {saved.net.name} for edge {saved.length}, this training of "
                f"{self.config.net.name} for edge {self.config.length}"
            )
        if saved.optimizer.kind is not self.config.optimizer.kind:
            raise OtherTrainingError(
                f"{origin} was trained by {saved.optimizer.kind}; it cannot go on with {self.config.optimizer.kind}"
            )
        try:
            self._restore(checkpoint)
            self.precision.restore(data, saved.precision, self.device)
        except (KeyError, RuntimeError) as error:
            raise CheckpointError(f"{origin} does not fit this training, or is incomplete: {error}") from error
        self._drop_pass()
        self.changes = changes_between(saved, self._present_config())
        same_batches = (saved.batch, saved.seed) == (self.config.batch, self.config.seed)
        same_files = saved.validation_share == self.config.validation_share
        if data["pass"] and same_batches and same_files:  # else its position would mean other rows
            self._start_pass(Plan.from_json(data["pass"]["plan"]), Position(**data["pass"]["position"]))
        if self.metrics is not None and self.processes.is_first:
            self.metrics.cut_after(self.samples)

    def _present_config(self) -> TrainConfig:
        """The settings with the precision that was chosen."""
        return replace(self.config, precision=self.precision.now)

    def _restore(self, checkpoint: Checkpoint) -> None:
        data = checkpoint.data
        self.net.load_state_dict(checkpoint.part("net"))
        self.optimizer.restore(checkpoint.part("optimizer"), data["optimizer"])
        self.averager.average = {name: value.to(self.device) for name, value in checkpoint.part("average").items()}
        self.averager.last_samples, self.averager.snapshots = data["averager"]
        seki = checkpoint.part("seki")
        self.seki.total, self.seki.weight = seki["total"].to(self.device), seki["weight"].to(self.device)
        if "set_aside" in data:  # not in those of older versions
            self.set_aside.restore(data["set_aside"])
        self.samples, self.epoch_left = data["samples"], data["epoch_left"]
        self.passes, self.rows, self.recent = data["passes"], data["rows"], list(data.get("recent", ()))
        self.bucket = TrainBucket(**data["bucket"]) if data["bucket"] else None

    def _tensors(self) -> dict[str, Tensor]:
        parts = {
            "net": self.net.state_dict(),
            "average": self.averager.average,
            "optimizer": self.optimizer.tensors(),
            "seki": {"total": self.seki.total, "weight": self.seki.weight},
        }
        return {f"{part}.{name}": tensor for part, members in parts.items() for name, tensor in members.items()}

    def _data(self) -> dict[str, Any]:
        position = None
        if self._batches is not None:
            where = self._batches.position
            position = {
                "plan": self._batches.plan.to_json(),
                "position": {"chunk": where.chunk, "batch": where.batch},
            }
        return {
            "config": self._present_config().to_json(),
            "samples": self.samples,
            "epoch_left": self.epoch_left,
            "passes": self.passes,
            "rows": self.rows,
            "recent": self.recent,
            "bucket": {"level": self.bucket.level, "rows_seen": self.bucket.rows_seen} if self.bucket else None,
            "averager": [self.averager.last_samples, self.averager.snapshots],
            "set_aside": self.set_aside.numbers(),
            **self.precision.numbers(),
            "optimizer": self.optimizer.numbers(),
            "pass": position,
        }
