"""The precision of a training: chosen without a trace, told, kept, watched, and as good as float32."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from nets.architecture.config import named
from nets.architecture.model import Net
from nets.commands import main
from nets.data.targets import make_batch
from nets.data.window import BucketConfig, WindowConfig
from nets.training import precision as precision_module
from nets.training.averaging import AveragingConfig
from nets.training.checkpoint import read
from nets.training.config import Arithmetic
from nets.training.losses import Losses, Recipe
from nets.training.metrics import JsonLines
from nets.training.optimizer import Kind, OptimizerConfig
from nets.training.precision import Trial, choose, type_with_units
from tests.nets.made_rows import made_rows
from tests.nets.trainings import config_for, losses_of, trainer_for
from tests.oracles import oracle_path

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
AUTO, FLOAT32, BFLOAT16, FLOAT16 = Arithmetic.AUTO, Arithmetic.FLOAT32, Arithmetic.BFLOAT16, Arithmetic.FLOAT16


@pytest.fixture
def units(monkeypatch: pytest.MonkeyPatch) -> None:
    """A processor with units for bfloat16."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")


def gain(monkeypatch: pytest.MonkeyPatch, times: float) -> None:
    """Steps in 16 bits are so many times as fast."""
    monkeypatch.setattr(Trial, "seconds", lambda trial, precision: 1.0 if precision is FLOAT32 else 1.0 / times)


@pytest.mark.parametrize(
    ("capability", "machine", "expected"),
    [
        ("AVX2", "x86_64", None),
        ("NO AVX", "AMD64", None),
        ("DEFAULT", "x86_64", None),
        ("AVX512", "x86_64", BFLOAT16),
        ("AMX", "x86_64", BFLOAT16),
        ("DEFAULT", "aarch64", BFLOAT16),
        ("SVE256", "arm64", BFLOAT16),
    ],
)
def test_processors_without_units_are_known(
    capability: str, machine: str, expected: Arithmetic | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr("nets.training.precision.platform.machine", lambda: machine)
    assert type_with_units(CPU)[0] is expected


@pytest.mark.parametrize(
    ("capability", "expected"), [((9, 0), BFLOAT16), ((8, 6), BFLOAT16), ((7, 5), FLOAT16), ((6, 1), None)]
)
def test_gpus_take_what_they_have_units_for(
    capability: tuple[int, int], expected: Arithmetic | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert type_with_units(torch.device("cuda"))[0] is expected


def chosen(rows_seed: int = 1) -> precision_module.Choice | None:
    config = config_for()
    torch.manual_seed(1)
    return choose(Net(config.net), Losses(config.net, config.recipe), make_batch(made_rows(40, 5, seed=rows_seed)))


@pytest.mark.parametrize(("times", "expected"), [(2.7, BFLOAT16), (1.4, BFLOAT16), (1.05, FLOAT32), (0.3, FLOAT32)])
def test_what_is_measured_as_faster_is_chosen(
    units: None, times: float, expected: Arithmetic, monkeypatch: pytest.MonkeyPatch
) -> None:
    gain(monkeypatch, times)
    choice = chosen()
    assert choice is not None
    assert choice.precision is expected
    assert f"bfloat16 are {times:.2f} times as fast, with a loss 0." in choice.reason


def test_times_are_those_of_real_steps_and_the_best_of_several(units: None, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {FLOAT32: iter([90.0, 4.0, 2.0, 3.0]), BFLOAT16: iter([90.0, 9.0, 1.0, 9.0])}
    asked = []

    def seconds(trial: Trial, precision: Arithmetic) -> float:
        asked.append(precision)
        assert real(trial, precision) > 0
        return next(taken[precision])

    real = Trial.seconds
    monkeypatch.setattr(Trial, "seconds", seconds)
    choice = chosen()
    assert choice is not None
    assert "2.00 times as fast" in choice.reason
    assert asked == [FLOAT32, BFLOAT16] * 4


def test_what_fails_or_is_wrong_in_16_bits_is_not_chosen(units: None, monkeypatch: pytest.MonkeyPatch) -> None:
    gain(monkeypatch, 3.0)
    real = Trial.loss
    for factor, reason in ((1.2, "is 20.0% from float32's"), (float("nan"), "is nan% from float32's")):
        monkeypatch.setattr(Trial, "loss", lambda trial, p, factor=factor: 10.0 * (1 if p is FLOAT32 else factor))
        choice = chosen()
        assert choice is not None
        assert choice.precision is FLOAT32
        assert reason in choice.reason

    def fails(trial: Trial, precision: Arithmetic) -> float:
        if precision is BFLOAT16:
            raise RuntimeError("not implemented for 'BFloat16'\nand more")
        return real(trial, precision)

    monkeypatch.setattr(Trial, "loss", fails)
    choice = chosen()
    assert choice is not None
    assert choice == precision_module.Choice(FLOAT32, "bfloat16 fails here: not implemented for 'BFloat16'")
    monkeypatch.setattr(Trial, "loss", lambda trial, precision: float("inf"))
    assert chosen() is None, "by a bad batch nothing can be said"


@pytest.mark.parametrize("killed_after", [1, 7])
def test_a_choice_leaves_no_trace_and_is_kept(
    data: Path, tmp_path: Path, units: None, killed_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State, generators and data are those of a training whose precision was named; a resumption does not choose."""
    gain(monkeypatch, 2.0)
    named_one = trainer_for(data, tmp_path / "a", config=config_for(precision=BFLOAT16))
    said: list[str] = []
    lines = JsonLines(tmp_path / "metrics.jsonl")
    auto = trainer_for(data, tmp_path / "b", config=config_for(precision=AUTO), say=said.append, metrics=lines)
    random = torch.get_rng_state(), np.random.get_state(legacy=False)["state"]["key"].copy()
    expected, found = losses_of(named_one, 10), losses_of(auto, killed_after)
    assert torch.equal(random[0], torch.get_rng_state())
    assert np.array_equal(random[1], np.random.get_state(legacy=False)["state"]["key"])
    assert len(said) == 1
    assert said[0].startswith("trains in bfloat16: steps in bfloat16 are 2.00 times as fast")
    path = auto.save()
    auto.close()
    assert path is not None
    kept = read(path).data
    assert kept["config"]["precision"] == "bfloat16"
    assert kept["precision_reason"] in said[0]
    gain(monkeypatch, 0.1)
    second = trainer_for(data, tmp_path / "b", config=config_for(precision=AUTO), say=said.append, metrics=lines)
    assert second.resume()
    assert (second.changes, len(said)) == ([], 1)
    found += losses_of(second, 10 - killed_after)
    assert found == expected
    tensors = named_one._tensors()
    for name, tensor in second._tensors().items():
        assert torch.equal(tensor, tensors[name]), name
    left_out = ("precision_reason",)
    ours, theirs = (
        {key: value for key, value in each._data().items() if key not in left_out} for each in (second, named_one)
    )
    assert ours == theirs
    second.run(max_steps=1)
    assert lines.read()[-1]["precision"] == "bfloat16"
    for trainer in (named_one, second):
        trainer.close()


def test_a_named_precision_replaces_what_was_chosen(data: Path, tmp_path: Path, units: None) -> None:
    first = trainer_for(data, tmp_path / "a", config=config_for(precision=FLOAT16))
    losses_of(first, 2)
    first.precision.scale.value = 1024.0
    first.save()
    second = trainer_for(data, tmp_path / "a", config=config_for(precision=FLOAT32))
    assert second.resume()
    assert second.changes == ["precision: float16 -> float32"]
    assert second._data()["config"]["precision"] == "float32"
    assert not second.precision.scale.used
    losses_of(second, 1)
    second.save()
    third = trainer_for(data, tmp_path / "a", config=config_for(precision=FLOAT16))
    third.resume()
    assert third.precision.scale.value == 256.0, "begins anew"
    for trainer in (first, second, third):
        trainer.close()


def test_a_checkpoint_of_before_there_was_a_choice_goes_on_as_it_was(
    data: Path, tmp_path: Path, units: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    gain(monkeypatch, 9.0)
    old = trainer_for(data, tmp_path / "a")
    losses_of(old, 3)
    path = old.save()
    assert path is not None
    checkpoint = read(path)
    assert isinstance(checkpoint.data, dict)
    for name in ("precision_reason", "overflows", "set_aside"):
        del checkpoint.data[name]
    new = trainer_for(data, tmp_path / "b", config=config_for(precision=AUTO))
    new.take_up(checkpoint, "old.safetensors")
    assert new.changes == []
    assert losses_of(new, 3) == losses_of(old, 3)
    assert new._data()["config"]["precision"] == "float32"
    for trainer in (old, new):
        trainer.close()


def test_a_machine_without_units_says_so_and_goes_on(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = trainer_for(data, tmp_path / "a", config=config_for(precision=BFLOAT16))
    losses_of(first, 1)
    first.save()
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.setattr("nets.training.precision.platform.machine", lambda: "x86_64")
    said: list[str] = []
    second = trainer_for(data, tmp_path / "a", config=config_for(precision=AUTO), say=said.append)
    second.resume()
    assert losses_of(second, 1) == losses_of(first, 1)
    assert said == [
        "goes on in bfloat16, as before, though this processor (AVX2) has no units for bfloat16: naming float32 may be "
        "faster"
    ]
    for trainer in (first, second):
        trainer.close()


def test_a_running_training_compares_its_losses_once_an_epoch(
    data: Path,
    tmp_path: Path,
    units: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A precision that was chosen is left where it has become unsound; of one that was named, a warning is given."""
    gain(monkeypatch, 2.0)
    said: list[str] = []
    auto, fixed = (
        trainer_for(data, tmp_path / name, config=config_for(precision=name), say=said.append)
        for name in (AUTO, BFLOAT16)
    )
    for trainer in (auto, fixed):
        losses_of(trainer, 7)  # an epoch has six
        assert trainer.precision.deviation is not None
        assert 0 < trainer.precision.deviation < 0.02
    monkeypatch.setattr(Trial, "deviation", lambda trial, precision: 0.3)
    for trainer in (auto, fixed):
        losses_of(trainer, 7)
    assert said[1:] == ["trains in float32: after 96 samples the loss in bfloat16 is 30.0% from float32's"]
    assert "at 96 samples the loss in bfloat16 is 30.0% from float32's; float32 would be sound" in caplog.text
    assert (auto.precision.now, fixed.precision.now) == (FLOAT32, BFLOAT16)
    assert auto._data()["config"]["precision"] == "float32"
    for trainer in (auto, fixed):
        trainer.close()


def test_the_command_says_what_it_chose(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", str(data), "--output", str(tmp_path / "run"), "--net", "b2c16", "--batch", "8"]
    command += ["--min-rows", "10", "--samples"]
    assert main([*command, "8"]) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("trains in ")]
    assert len(told) == 1
    assert main(["info", str(tmp_path / "run")]) == 0
    about = json.loads(capsys.readouterr().out)
    assert told == [f"trains in {about['config']['precision']}: {about['precision_reason']}"]
    assert main([*command, "16"]) == 0
    assert "trains in" not in capsys.readouterr().out


# ------------------------------------------------------------------------------------------- as good as float32


def curve(folder: Path, precision: Arithmetic, seed: int, *, parts: int, steps: int) -> list[dict[str, float]]:
    """Mean losses of each of ``parts`` of a training on rows of real 9×9 games, ``steps`` a part."""
    config = config_for(
        net=named("b1c6nbt-bn"),
        recipe=Recipe("paper"),
        length=9,
        batch=8,
        seed=seed,
        precision=precision,
        optimizer=OptimizerConfig(Kind.ADAMW, base_rate=2e-3, warmup=False, head_factor=1.0),
        window=WindowConfig(min_rows=50),
        bucket=BucketConfig(samples_per_epoch=10**6),
        averaging=AveragingConfig(period_samples=10**6),
    )
    trainer = trainer_for(oracle_path("vectors/selfplay"), folder / f"{precision} {seed}", config=config)
    found = [trainer.run(max_steps=steps).losses for _ in range(parts)]
    trainer.close()
    print(precision, "seed", seed, [{term: round(part[term], 4) for term in TERMS} for part in found])
    return found


TERMS = ("total", "policy", "value", "ownership")


def test_the_first_steps_in_bfloat16_are_those_of_float32(tmp_path: Path) -> None:
    exact, rounded = (curve(tmp_path, each, 1, parts=2, steps=30) for each in (FLOAT32, BFLOAT16))
    for ours, theirs in zip(rounded, exact, strict=True):
        for term in TERMS:
            assert ours[term] == pytest.approx(theirs[term], rel=0.01), term
    assert exact != rounded
    assert exact[1]["total"] < 0.99 * exact[0]["total"], "it learns"


@pytest.mark.slow
def test_after_2000_steps_losses_in_bfloat16_are_within_the_noise_of_float32(tmp_path: Path) -> None:
    """The noise is what another seed changes: the first weights, the order of rows and their symmetries."""
    parts = {seed: curve(tmp_path, FLOAT32, seed, parts=8, steps=250) for seed in (1, 2, 3)}
    rounded = curve(tmp_path, BFLOAT16, 1, parts=8, steps=250)
    for term in TERMS:
        ends = [float(np.mean([part[term] for part in found[-2:]])) for found in parts.values()]
        ours = float(np.mean([part[term] for part in rounded[-2:]]))
        print(f"{term}: float32 {ends}, bfloat16 {ours}")
        assert abs(ours - ends[0]) < max(ends) - min(ends), term
        assert ends[0] < 0.95 * parts[1][0][term], f"{term} has been learned"
