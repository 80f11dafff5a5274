"""A batch that cannot be trained on costs nothing but itself: no weight, average or metric takes its numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from common.rows import GlobalInput, GlobalTarget, Rows, write_npz
from nets.architecture.model import Net
from nets.commands import main
from nets.data.targets import RowBatch
from nets.data.window import BucketConfig, WindowConfig
from nets.training.averaging import AveragingConfig
from nets.training.bad_batches import BadBatchesError, RecentBatches
from nets.training.config import Arithmetic, TrainConfig
from nets.training.export import export_net
from nets.training.metrics import JsonLines
from nets.training.precision import TrunkPrecision, forward
from nets.training.processes import Processes
from nets.training.trainer import SliceEnd, Trainer
from tests.nets.made_rows import made_rows
from tests.nets.trainings import QUICK, config_for, losses_of, trainer_for

pytestmark = pytest.mark.usefixtures("one_thread")

HUGE = 3.0e38


@pytest.fixture(autouse=True)
def rows_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the checks of rows refuse by now, here it gets through."""
    monkeypatch.setattr(Rows, "check", lambda rows: None)


def config(**changes: object) -> TrainConfig:
    """Passes of eleven batches that use all files."""
    return config_for(
        **{
            "optimizer": replace(QUICK, rate_scale=1.0),
            "bucket": BucketConfig(samples_per_epoch=88),
            "averaging": AveragingConfig(period_samples=8),
            "window": WindowConfig(min_rows=80),
        }
        | changes
    )


def target(column: GlobalTarget, value: float = HUGE) -> Callable[[Rows, int], None]:
    def change(rows: Rows, row: int) -> None:
        rows.global_targets[row, [column, GlobalTarget.OUTCOME_WEIGHT, GlobalTarget.LEAD_WEIGHT]] = value, 1, 1

    return change


def an_input(rows: Rows, row: int) -> None:
    rows.global_inputs[row, GlobalInput.SELF_KOMI] = HUGE


BAD = {
    "variance_time": target(GlobalTarget.VARIANCE_TIME),
    "negative lead": target(GlobalTarget.LEAD, -HUGE),
    "score": target(GlobalTarget.SCORE),
    "short score": target(GlobalTarget.SHORT_TD_SCORE),
    "finite but absurd": target(GlobalTarget.VARIANCE_TIME, 1e30),
    "row weight": target(GlobalTarget.ROW_WEIGHT),
    "policy weight": target(GlobalTarget.POLICY_WEIGHT),
    "input": an_input,
}


def write_data(folder: Path, change: Callable[[Rows, int], None] | None, bad_rows: range = range(7, 8)) -> Path:
    """Four files of 20 rows; some rows of 2.npz are bad."""
    folder.mkdir()
    for index in range(4):
        rows = made_rows(20, 5, seed=index, smallest=3)
        for row in bad_rows if index == 2 and change else ():
            change(rows, row)  # type: ignore[misc]
        write_npz(rows, folder / f"{index}.npz")
    return folder


def assert_all_finite(trainer: Trainer) -> None:
    for name, tensor in trainer._tensors().items():
        assert torch.isfinite(tensor).all(), name
        assert not tensor.is_floating_point() or tensor.abs().max() < 1e6, name
    json.dumps(trainer._data(), allow_nan=False)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_costs_its_batch_and_is_named(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data, lines = write_data(tmp_path / "data", BAD[name]), JsonLines(tmp_path / "metrics.jsonl")
    trainer = trainer_for(data, tmp_path / "state", config=config(), metrics=lines)
    report = trainer.run(max_steps=100)
    assert report.outcome is SliceEnd.EPOCH_DONE
    assert (report.steps, report.samples, trainer.optimizer.steps) == (11, 88, 11)
    assert 1 <= report.set_aside <= 3
    assert caplog.text.count("set aside a batch at") == report.set_aside
    assert f"1 of its 8 rows: {data / '2.npz'} row 7" in caplog.text
    assert 0 < report.losses["total"] < 1000
    assert trainer.averager.snapshots > 0
    assert_all_finite(trainer)
    assert lines.read()[-1]["set_aside"] == report.set_aside
    assert "Infinity" not in lines.path.read_text()
    assert "NaN" not in lines.path.read_text()
    trainer.close()


def test_what_is_set_aside_leaves_no_trace(tmp_path: Path) -> None:
    """Nothing but the position, and the count, differs from before."""
    trainer = trainer_for(write_data(tmp_path / "data", an_input), tmp_path / "state", config=config())
    while True:
        tensors = {name: tensor.clone() for name, tensor in trainer._tensors().items()}
        data = trainer._data()
        batch = trainer._next_batch()
        assert isinstance(batch, RowBatch)
        if trainer._step(batch) is None:
            break
    now = trainer._data()
    for key in data.keys() - {"pass", "set_aside", "epoch_left", "passes", "rows", "recent"}:
        assert now[key] == data[key], key
    for name, tensor in trainer._tensors().items():
        assert torch.equal(tensor, tensors[name]), name
    assert now["set_aside"]["total"] == data["set_aside"]["total"] + 1
    trainer.close()


@pytest.mark.parametrize("killed_after", range(1, 13, 3))
def test_a_killed_training_repeats_the_same_losses_around_bad_batches(tmp_path: Path, killed_after: int) -> None:
    data = write_data(tmp_path / "data", BAD["variance_time"], range(5, 8))
    unkilled = trainer_for(data, tmp_path / "a", config=config())
    expected = losses_of(unkilled, 16)
    assert unkilled.set_aside.total > 1
    first = trainer_for(data, tmp_path / "b", config=config())
    losses_of(first, killed_after)
    first.save()
    losses_of(first, 2)  # lost in the kill
    first.close()
    second = trainer_for(data, tmp_path / "b", config=config())
    assert second.resume()
    assert losses_of(second, 16 - killed_after) == expected[killed_after:]
    assert second.set_aside.numbers() == unkilled.set_aside.numbers()
    tensors = unkilled._tensors()
    for name, tensor in second._tensors().items():
        assert torch.equal(tensor, tensors[name]), name
    for trainer in (unkilled, second):
        trainer.close()


def test_where_nearly_all_batches_are_bad_the_training_ends_and_names_rows(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for index in range(4):
        rows = made_rows(20, 5, seed=index)
        rows.global_targets[:, [GlobalTarget.VARIANCE_TIME, GlobalTarget.OUTCOME_WEIGHT]] = HUGE, 1
        write_npz(rows, data / f"{index}.npz")
    trainer = trainer_for(data, tmp_path / "state", config=config())
    with pytest.raises(BadBatchesError, match=r"could not be trained on.*8 of its 8 rows: .*npz row \d+.* and 5 more"):
        trainer.run(max_steps=1)
    assert (trainer.samples, trainer.set_aside.total) == (0, RecentBatches.NEARLY_ALL)
    assert_all_finite(trainer)
    trainer.close()


def test_recent_batches_forgive_many_and_end_with_nearly_all() -> None:
    recent = RecentBatches()
    assert not any(recent.see(bad=number % 2 == 0) for number in range(1000))
    assert recent.total == 500
    copy = RecentBatches()
    copy.restore(json.loads(json.dumps(recent.numbers())))
    for each in (recent, copy):
        seen = [each.see(bad=True) for _ in range(60)]
        assert seen.index(True) == 2 * RecentBatches.NEARLY_ALL - RecentBatches.BATCHES - 1
        assert not each.see(bad=False)


def test_bad_rows_for_validation_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "sorted").mkdir()
    write_data(tmp_path / "sorted" / "train", None)
    rows = made_rows(30, 5, seed=77)
    BAD["variance_time"](rows, 3)
    BAD["finite but absurd"](rows, 4)
    (tmp_path / "sorted" / "val").mkdir()
    write_npz(rows, tmp_path / "sorted" / "val" / "0.npz")
    trainer = trainer_for(tmp_path / "sorted", tmp_path / "state", config=config())
    report = trainer.run(max_steps=20)
    assert report.validation_rows == 28
    assert max(report.validation.values()) < 1e5
    assert "2 of 30 rows left out" in caplog.text
    trainer.close()


def test_commands_leave_bad_rows_out_and_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nets = [str(tmp_path / f"{seed}.bin.gz") for seed in (1, 2)]
    for seed, path in enumerate(nets):
        torch.manual_seed(seed)
        export_net(Net(config_for().net), Path(path), name="net")
    good, bad = made_rows(30, 5, seed=77), made_rows(30, 5, seed=77)
    BAD["variance_time"](bad, 3)
    BAD["finite but absurd"](bad, 4)
    kept = np.delete(np.arange(30), [3, 4])
    for name, rows in (("bad", bad), ("good", good.take(kept)), ("all bad", bad.take(slice(3, 5)))):
        (tmp_path / name).mkdir()
        write_npz(rows, tmp_path / name / "0.npz")
    said = {}
    for name in ("bad", "good"):
        assert main(["evaluate", nets[0], str(tmp_path / name), "--json"]) == 0
        evaluated = json.loads(capsys.readouterr().out)
        assert main(["compare", *nets, str(tmp_path / name), "--json"]) == 0
        said[name] = evaluated, json.loads(capsys.readouterr().out)
    left_out = [
        {key: answer.pop(key) for key in ("rows", "left_out")} for answers in said.values() for answer in answers
    ]
    assert left_out == [{"rows": 28, "left_out": 2}] * 2 + [{"rows": 28, "left_out": 0}] * 2
    assert said["bad"][0]["losses"] == pytest.approx(said["good"][0]["losses"], rel=1e-5)
    for one, other in zip(said["bad"][1]["terms"], said["good"][1]["terms"], strict=True):
        assert one.pop("name") == other.pop("name")
        assert one == pytest.approx(other, rel=1e-3, abs=1e-6)
    for command in (["evaluate", nets[0]], ["compare", *nets]):
        assert main([*command, str(tmp_path / "bad")]) == 0
        assert "28 rows (2 more are left out, whose losses are not finite, or absurd)" in capsys.readouterr().out
        assert main([*command, str(tmp_path / "all bad")]) == 1
        assert "the losses on all 2 rows are not finite" in capsys.readouterr().err


def test_metrics_hold_null_for_what_json_cannot_hold(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "metrics.jsonl")
    lines.path.write_text('{"samples": 1, "gradient_norm": Infinity}\n{"samples": 9}\n')  # as older versions wrote it
    lines.append({"samples": 3, "norm": math.inf, "losses": {"a": math.nan, "b": [1.5, -math.inf]}})
    lines.cut_after(3)
    strict = [json.loads(line, parse_constant=pytest.fail) for line in lines.path.read_text().splitlines()]
    assert strict == [
        {"samples": 1, "gradient_norm": None},
        {"samples": 3, "norm": None, "losses": {"a": None, "b": [1.5, None]}},
    ]


def test_a_loss_that_overflows_16_bits_is_trained_in_float32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not the rows' fault, so they are not lost; what remains is a training in float32."""

    def overflowing(net: Net, batch: RowBatch, precision: Arithmetic) -> tuple[dict[str, torch.Tensor], ...]:
        factor = math.inf if precision is Arithmetic.FLOAT16 else 1.0
        return tuple(
            {name: output * factor for name, output in heads.items()} for heads in forward(net, batch, precision)
        )

    monkeypatch.setattr("nets.training.trainer.forward", overflowing)
    data = write_data(tmp_path / "data", None)
    exact = trainer_for(data, tmp_path / "a", config=config())
    trainer = trainer_for(data, tmp_path / "b", config=config(precision=Arithmetic.FLOAT16))
    assert losses_of(trainer, 3) == pytest.approx(losses_of(exact, 3), rel=1e-4)
    assert (trainer.set_aside.total, trainer.precision.overflows.total) == (0, 3)
    assert "is trained in float32: its loss overflows float16" in caplog.text
    assert_all_finite(trainer)
    for each in (exact, trainer):
        each.close()


def test_a_chosen_precision_in_which_nearly_all_losses_overflow_is_left() -> None:
    said: list[str] = []
    numbers = {"loss_scale": [256.0, 0]}
    chosen, fixed = (TrunkPrecision(name, Processes(), said.append) for name in (Arithmetic.AUTO, Arithmetic.FLOAT16))
    for precision in (chosen, fixed):
        precision.restore(numbers, Arithmetic.FLOAT16, torch.device("cpu"))
        said.clear()
        for _ in range(RecentBatches.NEARLY_ALL):
            precision.note(overflow=True, samples=800)
    assert (chosen.now, fixed.now) == (Arithmetic.FLOAT32, Arithmetic.FLOAT16)
    assert not chosen.scale.used
    assert fixed.scale.used
