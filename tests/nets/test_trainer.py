"""The trainer as a whole: it learns, stops and resumes exactly, exports, and is the same in one process or in two."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import SafetensorError

from common.rows import read_npz, write_npz
from nets import optimizer as optimizer_module
from nets.averaging import AveragingConfig
from nets.checkpoint import CheckpointError, CheckpointFolder, read, write
from nets.config import named
from nets.data import Augmentation, DataFolder
from nets.export import export_net, load_net
from nets.layers import Conv
from nets.losses import Recipe, seki_share
from nets.metrics import JsonLines
from nets.optimizer import DivergedError, Kind, OptimizerConfig
from nets.targets import RowBatch, Targets, make_batch
from nets.trainer import Outcome, Trainer
from nets.training_config import Precision, TrainConfig, recipe_config
from nets.validation import row_losses
from nets.window import BucketConfig, WindowConfig
from tests.nets.made_rows import made_rows
from tests.nets.test_data import spoil
from tests.oracles import oracle_path

QUICK = OptimizerConfig(warmup=False, rate_scale=4.0)
NET = named("b2c16-fson-mish-rvgl-bnh")


def config_for(**changes: Any) -> TrainConfig:
    base = TrainConfig(
        NET,
        length=5,
        batch=8,
        optimizer=QUICK,
        averaging=AveragingConfig(period_samples=40),
        window=WindowConfig(min_rows=10),
        bucket=BucketConfig(samples_per_epoch=48),
        limit_reuse=False,
    )
    return replace(base, **changes)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Nets this small are slower with more threads than one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for index in range(4):
        write_npz(made_rows(20, 5, seed=index, smallest=3), folder / f"{index}.npz")
    return folder


def trainer_for(data: Path, state: Path, **options: Any) -> Trainer:
    config = options.pop("config", None) or config_for()
    return Trainer(config, DataFolder([data]), CheckpointFolder(state), **options)


def losses_of(trainer: Trainer, steps: int) -> list[float]:
    return [float(trainer.step().total.detach()) for _ in range(steps)]


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
    config = config_for(precision=Precision.FLOAT16, limit_reuse=True)
    first = trainer_for(data, tmp_path / "a", config=config)
    losses_of(first, 3)
    first.loss_scale.value, first.loss_scale.good_steps = 512.0, 77
    for norm in (1.0, math.inf, math.inf, math.inf, math.inf, math.inf, math.inf, math.inf):
        first.optimizer.guard.see(norm, 100.0)
    first.save()
    second = trainer_for(data, tmp_path / "a", config=config)
    assert second.resume()
    assert second._data() == first._data()
    assert (second.loss_scale.value, second.loss_scale.good_steps) == (512.0, 77)
    assert second.bucket is not None
    with pytest.raises(DivergedError):  # the eighth in a row
        second.optimizer.guard.see(math.inf, 100.0)
    for trainer in (first, second):
        trainer.close()


def test_rates_follow_warm_up_and_schedule_while_it_trains(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """training.md 3: re-evaluated every 5 batches, for the samples trained before."""
    monkeypatch.setattr(optimizer_module, "WARMUP", ((40.0, 0.05), (100.0, 0.3), (float("inf"), 1.0)))
    config = config_for(optimizer=OptimizerConfig(schedule=((80.0, 6.0), (float("inf"), 2.0))))
    trainer = trainer_for(data, tmp_path / "a", config=config)
    found = []
    for _ in range(20):
        losses_of(trainer, 1)
        found.append(trainer.optimizer.rates()["normal"] / (3e-5 / 0.5))
    # 8 samples a batch: decided at samples 0, 40, 80 and 120
    assert found == pytest.approx([6 * 0.05] * 5 + [6 * 0.3] * 5 + [2 * 0.3] * 5 + [2 * 1.0] * 5)
    trainer.close()


def test_the_total_is_made_of_two_head_sets_and_the_scaled_seki_term(data: Path, tmp_path: Path) -> None:
    """training.md 1: 0.2 of the exported heads and 0.8 of the batch-normed ones; seki by its running share."""
    trainer = trainer_for(data, tmp_path / "a")
    losses_of(trainer, 3)
    batch = make_batch(made_rows(8, 5, seed=9))
    targets = Targets(batch)
    heads = trainer.net(batch.planes.float(), batch.global_inputs, full=batch.full, places=batch.places)
    assert len(heads) == 2
    share = seki_share(targets)
    total, weight = trainer.seki.total * 0.998 + share, trainer.seki.weight * 0.998 + 1
    scale = 8 * 0.005 / (0.005 + total / weight)
    _, found = trainer._loss(heads, targets)
    exported, second = (trainer.losses(outputs, targets, scale).total for outputs in heads)
    assert not torch.isclose(exported, second, rtol=1e-3)
    torch.testing.assert_close(found, 0.2 * exported + 0.8 * second)
    without = trainer.losses(heads[0], targets, 0.0).total
    assert not torch.isclose(exported, without)
    trainer.close()


@pytest.mark.parametrize("precision", list(Precision))
def test_the_trunk_computes_in_the_precision_and_heads_and_gradients_in_full(
    data: Path, tmp_path: Path, precision: Precision
) -> None:
    trainer = trainer_for(data, tmp_path / "a", config=config_for(precision=precision))
    exact = trainer_for(data, tmp_path / "b")
    types: dict[str, set[torch.dtype]] = {"trunk": set(), "heads": set()}
    for name, module in trainer.net.named_modules():
        if isinstance(module, torch.nn.Conv2d | Conv):
            part = "trunk" if name.startswith("blocks") else "heads" if "head" in name else ""
            if part:
                module.register_forward_hook(lambda _m, _i, output, part=part: types[part].add(output.dtype))
    found, expected = losses_of(trainer, 3), losses_of(exact, 3)
    half = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(precision, torch.float32)
    assert types == {"trunk": {half}, "heads": {torch.float32}}
    assert found == pytest.approx(expected, rel=0.02)
    assert trainer._gradient_norm == pytest.approx(exact._gradient_norm, rel=0.1)
    for one in (trainer, exact):
        one.close()


def test_averages_and_epochs_take_the_slow_weights(data: Path, tmp_path: Path) -> None:
    """training.md 2 and 5: snapshots only where fast and slow weights agree; an epoch ends on the slow ones."""
    config = config_for(averaging=AveragingConfig(period_samples=8), bucket=BucketConfig(samples_per_epoch=80))
    trainer = trainer_for(data, tmp_path / "a", config=config)
    snapshots = []
    for step in range(1, 11):
        before = trainer.averager.snapshots
        losses_of(trainer, 1)
        if trainer.averager.snapshots > before:
            snapshots.append(step)
        agree = [
            torch.equal(fast, slow)
            for fast, slow in zip(trainer.optimizer.parameters, trainer.optimizer._slow, strict=True)
        ]
        assert all(agree) is (step in (6, 10)), step  # a sync every six steps, and the end of the epoch
    assert snapshots == [6]
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
    del incomplete.data["samples"]  # type: ignore[attr-defined]
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
    other = trainer_for(data, tmp_path / "a", config=config_for(batch=4, seed=2, precision=Precision.BFLOAT16))
    assert other.resume()
    assert set(other.changes) == {"batch: 8 -> 4", "seed: 1 -> 2", "precision: float32 -> bfloat16"}
    assert other._batches is None
    losses_of(other, 2)
    for one in (first, same, other):
        one.close()


def test_small_files_do_not_end_a_training(data: Path, tmp_path: Path) -> None:
    for index in range(4, 30):
        write_npz(made_rows(3, 5, seed=index), data / f"{index}.npz")
    trainer = trainer_for(data, tmp_path / "a", config=config_for(batch=16, bucket=BucketConfig(samples_per_epoch=80)))
    assert len(losses_of(trainer, 60)) == 60
    trainer.close()


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
    monkeypatch.setattr("nets.checkpoint.shutil.copyfile", half)
    with pytest.raises(OSError, match="No space"):
        trainer.save()
    monkeypatch.setattr("nets.checkpoint.save_file", full)
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
        del checkpoint.data["optimizer"][name]  # type: ignore[attr-defined]
    del checkpoint.data["config"]["averaging"]["snapshots_per_epoch"]  # type: ignore[attr-defined]
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
    del checkpoint.data["optimizer"]["norms"]  # type: ignore[attr-defined]
    with pytest.raises(CheckpointError, match=r"old\.safetensors does not fit this training, or is incomplete.*norms"):
        trainer.take_up(checkpoint, "old.safetensors")
    trainer.close()


def test_a_damaged_file_and_one_that_goes_do_not_end_a_training(
    data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(data / "2.npz")
    config = config_for(chunk_bytes=1)
    trainer = trainer_for(data, tmp_path / "a", config=config)
    expected = losses_of(trainer, 3)
    trainer.save()
    (data / "1.npz").unlink()
    expected += losses_of(trainer, 20)
    assert "2.npz: not a readable zip archive" in caplog.text
    trainer.close()
    (data / "2.npz").unlink()
    other = trainer_for(data, tmp_path / "b", config=config)
    assert len(losses_of(other, 10)) == 10
    other.close()


def test_where_all_files_are_damaged_there_is_nothing_to_train_on(data: Path, tmp_path: Path) -> None:
    for path in data.iterdir():
        spoil(path)
    trainer = trainer_for(data, tmp_path / "a")
    assert trainer.run(max_steps=5).outcome is Outcome.FEW_ROWS
    assert len(trainer.folder.refused) == 4
    trainer.close()


def real_config(**changes: Any) -> TrainConfig:
    base = config_for(
        length=9,
        batch=64,
        bucket=BucketConfig(samples_per_epoch=64 * 40),
        window=WindowConfig(min_rows=50),
        optimizer=OptimizerConfig(Kind.ADAMW, base_rate=6e-3, warmup=False, head_factor=1.0),
    )
    return replace(base, **changes)


@pytest.mark.parametrize("name", ["today", "paper"])
def test_training_on_real_rows_lowers_every_term(name: str, tmp_path: Path) -> None:
    config = real_config(net=named("b2c16-fs-mish"), recipe=Recipe(name))
    trainer = trainer_for(oracle_path("vectors/selfplay"), tmp_path, config=config)
    first = trainer.run(max_steps=4)
    while trainer.samples < 64 * 160:
        last = trainer.run(max_steps=40)
    trainer.close()
    assert set(first.losses) == {*trainer.losses.names, "total"}
    assert len(trainer.losses.names) == {"today": 25, "paper": 8}[name]
    for term, before in first.losses.items():
        assert last.losses[term] < before, term


def test_a_hundred_real_rows_are_learned_by_heart(tmp_path: Path) -> None:
    rows = read_npz(oracle_path("vectors/selfplay/clean/9743EDBE9FA406E4.npz")).take(slice(0, 96))
    (tmp_path / "data").mkdir()
    write_npz(rows, tmp_path / "data" / "rows.npz")
    config = real_config(
        net=named("b2c16-fs-mish"),
        batch=48,
        recipe=Recipe("paper"),
        augmentation=Augmentation(symmetries=False, history_dropout=False),
    )
    trainer = trainer_for(tmp_path / "data", tmp_path / "state", config=config)
    while trainer.samples < 48 * 300:
        report = trainer.run(max_steps=100)
    trainer.close()
    policy = torch.from_numpy(rows.policy_targets[:, 0].astype("float64"))
    policy = policy / policy.sum(dim=1, keepdim=True)
    floor = float(-torch.special.xlogy(policy, policy).sum(dim=1).mean())
    assert report.losses["policy"] < floor + 0.15
    assert report.losses["value"] < 0.05


def test_what_is_for_validation_is_measured_after_an_epoch_and_not_trained_on(data: Path, tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "metrics.jsonl")
    (tmp_path / "sorted").mkdir()
    data.rename(tmp_path / "sorted" / "train")
    held = tmp_path / "sorted" / "val"
    held.mkdir()
    rows = made_rows(300, 5, seed=77)
    rows.policy_targets[:, 0] = 0
    rows.policy_targets[:, 0, 7] = 1  # what is found nowhere in the other rows
    write_npz(rows, held / "0.npz")
    trainer = trainer_for(tmp_path / "sorted", tmp_path / "state", metrics=lines)
    assert trainer.run(max_steps=2).validation == {}
    report = trainer.run(max_steps=10)
    assert report.outcome is Outcome.EPOCH_DONE
    expected = row_losses(trainer.averager.averaged_net(), rows, trainer.config.recipe).means()
    assert report.validation == pytest.approx(expected)
    assert report.rows == 80
    assert [line.get("validation") for line in lines.read()] == [None, report.validation]
    again = trainer_for(tmp_path / "sorted" / "train", tmp_path / "other")
    again.run(max_steps=2)
    other = again.run(max_steps=10)
    assert (other.losses, other.validation) == (report.losses, {})
    stops = iter([False] * 7)
    interrupted = trainer.run(max_steps=10, stop=lambda: next(stops, True))  # asked before each step, then between
    assert (interrupted.outcome, interrupted.validation) == (Outcome.EPOCH_DONE, {})
    for each in (trainer, again):
        each.close()


def test_slices_say_why_they_end(data: Path, tmp_path: Path) -> None:
    bucket = BucketConfig(max_train_bucket_per_new_data=1, max_train_bucket_size=96, samples_per_epoch=96)
    config = config_for(bucket=bucket, limit_reuse=True)
    trainer = trainer_for(data, tmp_path / "state", config=config)
    assert trainer.run(max_steps=5).outcome is Outcome.STEPS_DONE
    assert trainer.run(max_steps=50, stop=lambda: True).outcome is Outcome.STOPPED
    assert trainer.run(max_steps=50, max_seconds=-1).outcome is Outcome.TIME_OVER
    done = trainer.run(max_steps=50)
    assert (done.outcome, done.steps, done.samples) == (Outcome.EPOCH_DONE, 7, 96)
    empty = trainer.run(max_steps=50)
    assert (empty.outcome, empty.steps, empty.losses) == (Outcome.BUCKET_EMPTY, 0, {})
    write_npz(made_rows(95, 5), data / "more.npz")
    assert trainer.run(max_steps=50).outcome is Outcome.BUCKET_EMPTY
    write_npz(made_rows(2, 5), data / "most.npz")
    assert trainer.run(max_steps=50).outcome is Outcome.EPOCH_DONE
    trainer.close()
    few = trainer_for(data, tmp_path / "few", config=config_for(window=WindowConfig(min_rows=10_000)))
    assert few.run(max_steps=1).outcome is Outcome.FEW_ROWS
    with pytest.raises(LookupError, match="too few rows"):
        few.step()


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


def test_low_precision_trains_too(data: Path, tmp_path: Path) -> None:
    for precision in (Precision.BFLOAT16, Precision.FLOAT16):
        trainer = trainer_for(data, tmp_path / precision, config=config_for(precision=precision))
        report = trainer.run(max_steps=6)
        trainer.close()
        assert report.steps == 6
        assert 0 < report.losses["total"] < 1000


def test_averaged_net_is_exported_and_read_again(data: Path, tmp_path: Path) -> None:
    trainer = trainer_for(data, tmp_path / "state")
    losses_of(trainer, 12)
    trainer.save()
    trainer.export(tmp_path / "net.bin.gz", name="test-net")
    trainer.export(tmp_path / "net.safetensors", name="test-net")
    trainer.close()
    batch = first_batch(data)
    expected = trainer.averager.averaged_net().eval().infer(batch.planes.float(), batch.global_inputs)
    for path in (tmp_path / "net.bin.gz", tmp_path / "net.safetensors", tmp_path / "state" / "checkpoint.safetensors"):
        outputs = load_net(path).net.eval().infer(batch.planes.float(), batch.global_inputs)
        for name, value in expected.items():
            torch.testing.assert_close(outputs[name], value, rtol=1e-4, atol=1e-4, msg=f"{path.name} {name}")


def first_batch(data: Path) -> RowBatch:
    return make_batch(read_npz(data / "0.npz"))


def test_outputs_that_the_paper_does_not_train_are_replaced(data: Path, tmp_path: Path) -> None:
    """model-format.md 6: an engine must find a copy of the policy, and errors that are constant."""
    trainer = trainer_for(data, tmp_path / "state", config=config_for(net=named("b2c16-bn"), recipe=Recipe("paper")))
    losses_of(trainer, 6)
    trainer.export(tmp_path / "net.bin.gz", name="paper-net")
    trainer.close()
    batch = first_batch(data)
    outputs = load_net(tmp_path / "net.bin.gz").net.eval().infer(batch.planes.float(), batch.global_inputs)
    torch.testing.assert_close(outputs["short_optimistic_policy"], outputs["policy"])
    torch.testing.assert_close(outputs["lead"], outputs["score_mean"])
    squared = torch.nn.functional.softplus(outputs["short_term_value_error"] / 2) ** 2 * 0.25
    torch.testing.assert_close(squared.sqrt(), torch.full((20,), 0.2))
    squared = torch.nn.functional.softplus(outputs["short_term_score_error"] / 2) ** 2 * 150
    torch.testing.assert_close(squared.sqrt(), torch.full((20,), 5.0))
    assert not outputs["variance_time"].any()


def test_descriptions_survive_json() -> None:
    for name in ("paper", "today"):
        config = recipe_config(name, NET, optimizer=OptimizerConfig(schedule=((1e6, 2.0), (float("inf"), 1.0))))
        assert TrainConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    with pytest.raises(ValueError, match="unknown field 'colour'"):
        TrainConfig.from_json(config.to_json() | {"colour": 1})
    with pytest.raises(ValueError, match="no recipe"):
        recipe_config("tomorrow", NET)


TWO_PROCESSES = """
import sys
from pathlib import Path
import torch
from nets.processes import join_processes, leave_processes
from tests.nets.test_trainer import config_for, losses_of, trainer_for
torch.set_num_threads(1)
processes = join_processes(torch.device("cpu"))
trainer = trainer_for(Path(sys.argv[1]), Path(sys.argv[2]), processes=processes)
losses_of(trainer, 14)
trainer.save()
trainer.close()
leave_processes()
"""


def two_processes(data: Path, tmp_path: Path) -> None:
    """Train under torchrun into the folder ``two``."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd()}
    (tmp_path / "two.py").write_text(TWO_PROCESSES)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*launch, str(tmp_path / "two.py"), str(data), str(tmp_path / "two")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr


def test_two_processes_leave_out_a_damaged_file(data: Path, tmp_path: Path) -> None:
    spoil(data / "2.npz")
    two_processes(data, tmp_path)
    two = trainer_for(data, tmp_path / "two")
    assert two.resume()
    assert two.samples == 112
    two.close()


def test_two_processes_make_the_update_of_one(data: Path, tmp_path: Path) -> None:
    two_processes(data, tmp_path)
    one = trainer_for(data, tmp_path / "one")
    losses_of(one, 14)
    two = trainer_for(data, tmp_path / "two")
    assert two.resume()
    assert two.samples == one.samples == 112
    for name, tensor in one.net.state_dict().items():
        torch.testing.assert_close(two.net.state_dict()[name], tensor, rtol=1e-4, atol=1e-6, msg=name)
    torch.testing.assert_close(two.seki.value, one.seki.value)
    for trainer in (one, two):
        trainer.close()
