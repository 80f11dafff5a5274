"""The trainer as a whole: it learns, measures, exports, and is the same in one process or in two."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from common.rows import read_npz, write_npz
from nets.architecture.config import named
from nets.architecture.layers import Conv
from nets.data.files import DataFolder
from nets.data.passes import Augmentation
from nets.data.targets import RowBatch, Targets, make_batch
from nets.data.window import BucketConfig, WindowConfig
from nets.training import optimizer as optimizer_module
from nets.training.averaging import AveragingConfig
from nets.training.checkpoint import CheckpointFolder
from nets.training.config import Arithmetic, TrainConfig, recipe_config
from nets.training.export import load_net
from nets.training.losses import Recipe, seki_share
from nets.training.metrics import JsonLines
from nets.training.optimizer import Kind, OptimizerConfig
from nets.training.trainer import SliceEnd, Trainer
from nets.training.validation import row_losses
from tests.nets.data.test_passes import spoil
from tests.nets.made_rows import made_rows
from tests.nets.trainings import NET, config_for, losses_of, trainer_for
from tests.oracles import oracle_path

pytestmark = pytest.mark.usefixtures("one_thread")


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


@pytest.mark.parametrize("precision", [Arithmetic.FLOAT32, Arithmetic.BFLOAT16, Arithmetic.FLOAT16])
def test_the_trunk_computes_in_the_precision_and_heads_and_gradients_in_full(
    data: Path, tmp_path: Path, precision: Arithmetic
) -> None:
    trainer = trainer_for(data, tmp_path / "a", config=config_for(precision=precision))
    exact = trainer_for(data, tmp_path / "b")
    found, expected = losses_of(trainer, 1), losses_of(exact, 3)  # the first compares with float32
    types: dict[str, set[torch.dtype]] = {"trunk": set(), "heads": set()}
    for name, module in trainer.net.named_modules():
        if isinstance(module, torch.nn.Conv2d | Conv):
            part = "trunk" if name.startswith("blocks") else "heads" if "head" in name else ""
            if part:
                module.register_forward_hook(lambda _m, _i, output, part=part: types[part].add(output.dtype))
    found += losses_of(trainer, 2)
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


def test_small_files_do_not_end_a_training(data: Path, tmp_path: Path) -> None:
    for index in range(4, 30):
        write_npz(made_rows(3, 5, seed=index), data / f"{index}.npz")
    trainer = trainer_for(data, tmp_path / "a", config=config_for(batch=16, bucket=BucketConfig(samples_per_epoch=80)))
    assert len(losses_of(trainer, 60)) == 60
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
    assert trainer.run(max_steps=5).outcome is SliceEnd.FEW_ROWS
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
    assert report.outcome is SliceEnd.EPOCH_DONE
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
    assert (interrupted.outcome, interrupted.validation) == (SliceEnd.EPOCH_DONE, {})
    for each in (trainer, again):
        each.close()


def test_a_changed_share_begins_a_new_pass(data: Path, tmp_path: Path) -> None:
    for share in (0.0, 0.3):  # 0.npz and 1.npz are for validation then
        settings = config_for(bucket=BucketConfig(samples_per_epoch=80), window=WindowConfig(min_rows=40))
        config = replace(settings, validation_share=share)
        folder = DataFolder([data], validation_share=share)
        trainer = Trainer(config, folder, CheckpointFolder(tmp_path / "state"))
        trainer.resume()
        losses_of(trainer, 1)
        assert trainer._batches is not None
        used = {Path(file.path).name for chunk in trainer._batches.plan.chunks for file in chunk}
        assert bool(used & {"0.npz", "1.npz"}) is not bool(share)
        trainer.save()
        trainer.close()


def test_validation_that_cannot_be_read_or_ends_does_not_end_a_training(
    data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sorted").mkdir()
    data.rename(tmp_path / "sorted" / "train")
    held = tmp_path / "sorted" / "val" / "0.npz"
    held.parent.mkdir()
    write_npz(made_rows(30, 5, seed=77), held)
    lines = JsonLines(tmp_path / "metrics.jsonl")
    trainer = trainer_for(tmp_path / "sorted", tmp_path / "state", metrics=lines)
    assert trainer.run(max_steps=10).validation_rows == 30
    assert lines.read()[-1]["validation_rows"] == 30
    trainer.run(max_steps=2)
    held.unlink()
    assert trainer.run(max_steps=10).outcome is SliceEnd.EPOCH_DONE
    assert "no validation at 96 samples: its rows are gone" in caplog.text

    def away(*_: object) -> None:
        raise FileNotFoundError("the data folder does not exist")

    monkeypatch.setattr("nets.training.trainer.validation_rows", away)
    assert trainer.run(max_steps=10).outcome is SliceEnd.EPOCH_DONE
    assert "no validation at 144 samples: the data folder" in caplog.text
    trainer.close()


def test_the_rows_that_a_shuffler_chose_from_fill_the_bucket(data: Path, tmp_path: Path) -> None:
    shuffles = tmp_path / "shuffles"
    for stamp, rows in (("20260101-000000", 1000), ("20260102-000000", 1030)):
        (shuffles / stamp).mkdir(parents=True)
        shutil.copytree(data, shuffles / stamp / "train")
        (shuffles / stamp / "train.json").write_text(json.dumps({"range": [rows - 80, rows]}))
        if rows == 1000:
            config = config_for(limit_reuse=True, bucket=BucketConfig(2, 48, 48), window=WindowConfig(min_rows=900))
            trainer = trainer_for(shuffles, tmp_path / "state", config=config)
            assert trainer.run(max_steps=10).outcome is SliceEnd.EPOCH_DONE
            assert trainer.run(max_steps=10).outcome is SliceEnd.BUCKET_EMPTY
    report = trainer.run(max_steps=10)
    assert (report.outcome, report.rows) == (SliceEnd.EPOCH_DONE, 1030)
    trainer.close()


def test_slices_say_why_they_end(data: Path, tmp_path: Path) -> None:
    bucket = BucketConfig(max_train_bucket_per_new_data=1, max_train_bucket_size=96, samples_per_epoch=96)
    config = config_for(bucket=bucket, limit_reuse=True)
    trainer = trainer_for(data, tmp_path / "state", config=config)
    assert trainer.run(max_steps=5).outcome is SliceEnd.STEPS_DONE
    assert trainer.run(max_steps=50, stop=lambda: True).outcome is SliceEnd.STOPPED
    assert trainer.run(max_steps=50, max_seconds=-1).outcome is SliceEnd.TIME_OVER
    done = trainer.run(max_steps=50)
    assert (done.outcome, done.steps, done.samples) == (SliceEnd.EPOCH_DONE, 7, 96)
    empty = trainer.run(max_steps=50)
    assert (empty.outcome, empty.steps, empty.losses) == (SliceEnd.BUCKET_EMPTY, 0, {})
    write_npz(made_rows(95, 5), data / "more.npz")
    assert trainer.run(max_steps=50).outcome is SliceEnd.BUCKET_EMPTY
    write_npz(made_rows(2, 5), data / "most.npz")
    assert trainer.run(max_steps=50).outcome is SliceEnd.EPOCH_DONE
    trainer.close()
    few = trainer_for(data, tmp_path / "few", config=config_for(window=WindowConfig(min_rows=10_000)))
    assert few.run(max_steps=1).outcome is SliceEnd.FEW_ROWS
    with pytest.raises(LookupError, match="too few rows"):
        few.step()


def test_low_precision_trains_too(data: Path, tmp_path: Path) -> None:
    for precision in (Arithmetic.BFLOAT16, Arithmetic.FLOAT16):
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
from nets.training.processes import join_processes, leave_processes
from tests.nets.trainings import config_for, losses_of, trainer_for
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
