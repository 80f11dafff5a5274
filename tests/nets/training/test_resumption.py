"""A training that was killed, interrupted or changed goes on exactly, from checkpoints that prove their content."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import SafetensorError

from common.rows import write_npz
from nets.architecture.config import named
from nets.data.window import BucketConfig, WindowConfig
from nets.training import optimizer as optimizer_module
from nets.training.checkpoint import CheckpointError, read, write
from nets.training.config import Arithmetic, TrainConfig
from nets.training.export import export_net
from nets.training.metrics import JsonLines
from nets.training.optimizer import DivergedError, Kind, OptimizerConfig
from tests.nets.made_rows import made_rows
from tests.nets.trainings import QUICK, config_for, losses_of, trainer_for

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize(("kind", "killed_after"), [(Kind.SGD, 1), (Kind.SGD, 9), (Kind.ADAMW, 5), (Kind.MUON, 8)])
def test_a_killed_training_repeats_the_same_losses(data: Path, tmp_path: Path, killed_after: int, kind: Kind) -> None:
    """Bit by bit, across epochs, passes, lookahead and averaging."""
    config = config_for(optimizer=replace(QUICK, kind=kind, rate_scale=0.1 if kind is not Kind.SGD else 1.0))
    unkilled = trainer_for(data, tmp_path / "a", config=config)
    expected = losses_of(unkilled, 14)
    first = trainer_for(data, tmp_path / "b", config=config)
    losses_of(first, killed_after)
    first.save()
    losses_of(first, 2)  # lost in the kill
    first.close()
    second = trainer_for(data, tmp_path / "b", config=config)
    assert second.resume()
    assert losses_of(second, 14 - killed_after) == expected[killed_after:]
    for name, tensor in unkilled.averager.average.items():
        assert torch.equal(tensor, second.averager.average[name]), name
    assert unkilled.averager.snapshots == second.averager.snapshots > 1
    for trainer in (unkilled, second):
        trainer.close()


def test_files_that_were_used_before_a_kill_do_not_come_again_at_once(tmp_path: Path) -> None:
    for index in range(12):
        write_npz(made_rows(8, 5, seed=index), tmp_path / f"{index}.npz")
    epochs = BucketConfig(samples_per_epoch=16)  # two files each, and four are remembered
    config = config_for(bucket=epochs, window=WindowConfig(min_rows=96))
    first = trainer_for(tmp_path, tmp_path / "state", config=config)
    losses_of(first, 6)
    first.save()
    first.close()
    second = trainer_for(tmp_path, tmp_path / "state", config=config)
    second.resume()
    assert second.recent == first.recent
    assert len(set(second.recent)) == 4
    losses_of(second, 2)
    assert not set(second.recent[2:]) & set(first.recent)
    second.close()


def restless(kind: Kind) -> TrainConfig:
    """A training whose rates, decay and cap change all the time: warm-up, schedule, steering, clipping, lookahead."""
    schedule = ((56.0, 6.0), (112.0, 2.0), (144.0, 0.5), (float("inf"), 1.0))
    optimizer = OptimizerConfig(
        kind,
        schedule=schedule,
        rate_scale=30.0 if kind is Kind.SGD else 3.0,
        clip_factor=0.5 if kind is Kind.SGD else 0.03,
    )
    return config_for(optimizer=optimizer, bucket=BucketConfig(samples_per_epoch=104))


@pytest.mark.parametrize(("kind", "killed_after"), [(Kind.SGD, 3), (Kind.SGD, 13), (Kind.MUON, 6), (Kind.MUON, 19)])
def test_a_killed_training_goes_on_with_the_rates_that_it_had(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, killed_after: int
) -> None:
    monkeypatch.setattr(optimizer_module, "WARMUP", ((40.0, 0.05), (100.0, 0.3), (float("inf"), 1.0)))
    unkilled = trainer_for(data, tmp_path / "a", config=restless(kind))
    expected, rates = [], []
    for _ in range(24):
        expected += losses_of(unkilled, 1)
        rates.append((unkilled.optimizer.rates(), unkilled.optimizer.cap))
    assert len({str(each) for each in rates}) > 4
    first = trainer_for(data, tmp_path / "b", config=restless(kind))
    losses_of(first, killed_after)
    first.save()
    second = trainer_for(data, tmp_path / "b", config=restless(kind))
    assert second.resume()
    assert second._data() == first._data()
    tensors = first._tensors()
    for name, tensor in second._tensors().items():
        assert torch.equal(tensor, tensors[name]), name
    found = []
    for wanted in rates[killed_after:]:
        found += losses_of(second, 1)
        assert (second.optimizer.rates(), second.optimizer.cap) == wanted
    assert found == expected[killed_after:]
    for trainer in (unkilled, first, second):
        trainer.close()


def test_the_guard_and_the_scale_of_losses_go_on_too(data: Path, tmp_path: Path) -> None:
    config = config_for(precision=Arithmetic.FLOAT16, limit_reuse=True)
    first = trainer_for(data, tmp_path / "a", config=config)
    losses_of(first, 3)
    first.precision.scale.value, first.precision.scale.good_steps = 512.0, 77
    for norm in (1.0, math.inf, math.inf, math.inf, math.inf, math.inf, math.inf, math.inf):
        first.optimizer.guard.see(norm, 100.0)
    first.save()
    second = trainer_for(data, tmp_path / "a", config=config)
    assert second.resume()
    assert second._data() == first._data()
    assert (second.precision.scale.value, second.precision.scale.good_steps) == (512.0, 77)
    assert second.bucket is not None
    with pytest.raises(DivergedError):  # the eighth in a row
        second.optimizer.guard.see(math.inf, 100.0)
    for trainer in (first, second):
        trainer.close()


def test_lookahead_may_begin_and_end_with_a_resumption(data: Path, tmp_path: Path) -> None:
    with_it, without = config_for(), config_for(optimizer=replace(QUICK, lookahead_alpha=1.0))
    for number, configs in enumerate(((without, with_it), (with_it, without))):
        first = trainer_for(data, tmp_path / str(number), config=configs[0])
        losses_of(first, 3)
        first.save()
        first.close()
        second = trainer_for(data, tmp_path / str(number), config=configs[1])
        assert second.resume()
        assert all(map(np.isfinite, losses_of(second, 6)))
        second.close()


def test_a_checkpoint_that_is_damaged_or_foreign_gives_way_to_the_one_before(
    data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = trainer_for(data, tmp_path / "a")
    for _ in range(5):
        losses_of(trainer, 2)
        trainer.save()
    newest, second, third, fourth, fifth = trainer.checkpoints.paths()
    content = bytearray(newest.read_bytes())
    content[-len(content) // 4] ^= 1  # one bit of a weight
    newest.write_bytes(content)
    second.write_bytes(second.read_bytes()[:1000])
    export_net(trainer.net, third.with_name("net.safetensors"), name="net")
    third.with_name("net.safetensors").replace(third)
    incomplete = read(fourth)
    assert isinstance(incomplete.data, dict)
    del incomplete.data["samples"]
    write(incomplete, fourth)
    resumed = trainer_for(data, tmp_path / "a")
    assert resumed.resume()
    assert resumed.samples == 16
    for path, reason in (
        (newest, "is damaged: its content is not what was written"),
        (second, "is not a readable checkpoint"),
        (third, "holds a net alone"),
        (fourth, "does not fit this training, or is incomplete: 'samples'"),
    ):
        assert f"{path} {reason}" in caplog.text
    fifth.write_bytes(b"")
    with pytest.raises(CheckpointError, match="is damaged"):
        resumed.resume()
    for one in (trainer, resumed):
        one.close()


def test_changed_settings_are_told_and_another_batch_begins_a_new_pass(data: Path, tmp_path: Path) -> None:
    first = trainer_for(data, tmp_path / "a")
    losses_of(first, 2)
    first.save()
    same = trainer_for(data, tmp_path / "a")
    assert same.resume()
    assert same.changes == []
    assert same._batches is not None
    other = trainer_for(data, tmp_path / "a", config=config_for(batch=4, seed=2, precision=Arithmetic.BFLOAT16))
    assert other.resume()
    assert set(other.changes) == {"batch: 8 -> 4", "seed: 1 -> 2", "precision: float32 -> bfloat16"}
    assert other._batches is None
    losses_of(other, 2)
    for one in (first, same, other):
        one.close()


def test_others_may_read_a_checkpoint_as_far_as_the_mask_allows(data: Path, tmp_path: Path) -> None:
    trainer = trainer_for(data, tmp_path / "state")
    (tmp_path / "usual").touch()
    paths = [trainer.save() for _ in range(2)]
    trainer.close()
    assert all(path is not None and path.stat().st_mode == (tmp_path / "usual").stat().st_mode for path in paths)


def test_a_full_disk_is_told_and_leaves_nothing_half_written(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    def half(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes()[:100])
        raise OSError(28, "No space left on device")

    trainer = trainer_for(data, tmp_path / "a")
    losses_of(trainer, 1)
    monkeypatch.setattr("nets.training.checkpoint.shutil.copyfile", half)
    with pytest.raises(OSError, match="No space"):
        trainer.save()
    monkeypatch.setattr("nets.training.checkpoint.save_file", full)
    with pytest.raises(OSError, match=r"cannot write .*No space left"):
        trainer.save()
    files = [str(path.relative_to(tmp_path / "a")) for path in (tmp_path / "a").rglob("*") if path.is_file()]
    assert files == ["checkpoint.safetensors"]
    trainer.close()


def test_a_checkpoint_of_before_rates_were_kept_goes_on(data: Path, tmp_path: Path) -> None:
    trainer = trainer_for(data, tmp_path / "a")
    losses_of(trainer, 3)
    path = trainer.save()
    assert path is not None
    checkpoint = read(path)
    for name in ("rates", "cap", "guard"):
        del checkpoint.data["optimizer"][name]
    del checkpoint.data["config"]["averaging"]["snapshots_per_epoch"]
    trainer.take_up(checkpoint, "old.safetensors")
    assert trainer.samples == 24
    assert np.isfinite(losses_of(trainer, 2)).all()
    trainer.close()


def test_a_checkpoint_that_lacks_something_is_refused_by_name(data: Path, tmp_path: Path) -> None:
    trainer = trainer_for(data, tmp_path / "a")
    losses_of(trainer, 3)
    path = trainer.save()
    assert path is not None
    checkpoint = read(path)
    del checkpoint.data["optimizer"]["norms"]
    with pytest.raises(CheckpointError, match=r"old\.safetensors does not fit this training, or is incomplete.*norms"):
        trainer.take_up(checkpoint, "old.safetensors")
    trainer.close()


def test_checkpoints_fall_back_and_refuse_what_is_not_theirs(data: Path, tmp_path: Path) -> None:
    trainer = trainer_for(data, tmp_path / "state")
    assert not trainer.resume()
    for _ in range(3):
        losses_of(trainer, 2)
        trainer.save()
    trainer.close()
    assert sorted(path.name for path in (tmp_path / "state").glob("*.safetensors")) == [
        "checkpoint.safetensors",
        "checkpoint_prev0.safetensors",
        "checkpoint_prev1.safetensors",
    ]
    assert len(list((tmp_path / "state" / "longterm").iterdir())) == 1
    current = tmp_path / "state" / "checkpoint.safetensors"
    current.write_bytes(current.read_bytes()[:1000])
    again = trainer_for(data, tmp_path / "state")
    assert again.resume()
    assert again.samples == 32
    again.close()
    other = trainer_for(data, tmp_path / "state", config=config_for(net=named("b2c16")))
    with pytest.raises(CheckpointError, match="of the net b2c16-fson"):
        other.resume()
    for path in (tmp_path / "state").glob("*.safetensors"):
        path.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="not a readable checkpoint"):
        again.resume()


def test_metrics_lines_of_lost_steps_are_dropped(data: Path, tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "metrics.jsonl")
    trainer = trainer_for(data, tmp_path / "state", metrics=lines)
    trainer.run(max_steps=3)
    trainer.save()
    trainer.run(max_steps=3)
    trainer.close()
    assert [line["samples"] for line in lines.read()] == [24, 48]
    with lines.path.open("a") as file:
        file.write('{"samples": 7')  # a kill in the middle of a line
    again = trainer_for(data, tmp_path / "state", metrics=lines)
    again.resume()
    again.run(max_steps=3)
    again.close()
    assert [line["samples"] for line in lines.read()] == [24, 48]
    assert set(lines.read()[0]["losses"]) == {*trainer.losses.names, "total"}
