"""``python -m nets``, as a researcher with a folder of ``.npz`` would use it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from filelock import FileLock

from common.precision import Precision
from common.rows import write_npz
from nets.architecture.config import named
from nets.commands import main
from nets.evaluation.evaluator import load_evaluator
from nets.training.config import recipe_config
from nets.training.export import load_net
from tests import FIXTURES
from tests.nets.made_rows import made_rows

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    for index in range(3):
        write_npz(made_rows(20, 5, seed=index, smallest=3), folder / f"{index}.npz")
    return folder


def train(data: Path, output: Path, samples: int, *more: str) -> int:
    options = ["--recipe", "paper", "--batch", "8", "--epoch", "32", "--min-rows", "10", "--slice-steps", "3"]
    options += ["--precision", "float32"]
    return main(["train", str(data), "--output", str(output), "--samples", str(samples), *options, *more])


def test_train_resume_export_import_and_go_on(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "run"
    assert train(data, output, 40, "--net", "b2c16-bn") == 0
    assert train(data, output, 72, "--net", "b2c16-bn") == 0
    assert "resumed at 40 samples" in capsys.readouterr().out
    names = sorted(path.name for path in (output / "nets").iterdir())
    assert names == ["b2c16-bn-s32-d60.bin.gz", "b2c16-bn-s64-d60.bin.gz"]
    checkpoint = output / "checkpoints" / "checkpoint.safetensors"
    net = output / "nets" / names[1]
    assert main(["export", str(checkpoint), str(tmp_path / "again.bin.gz"), "--name", "b2c16-bn-s64-d60"]) == 0
    assert main(["import", str(net), str(tmp_path / "net.safetensors")]) == 0
    imported, exported = load_net(tmp_path / "net.safetensors").net, load_net(net).net
    for name, tensor in exported.state_dict().items():
        if "training" not in name and "trunk" not in name and "belief" not in name:  # what no net file holds is new
            assert torch.equal(imported.state_dict()[name], tensor), name
    assert train(data, tmp_path / "more", 16, "--start-from", str(tmp_path / "net.safetensors")) == 0
    capsys.readouterr()
    for path, kind in ((checkpoint, "checkpoint"), (net, "net"), (tmp_path / "net.safetensors", "net")):
        assert main(["info", str(path)]) == 0
        assert json.loads(capsys.readouterr().out)["kind"] == kind
    assert main(["info", str(data / "0.npz")]) == 0
    assert json.loads(capsys.readouterr().out) == {"kind": "rows", "rows": 20, "length": 5}


def test_a_training_reports_losses_on_files_that_it_does_not_train_on(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(data, tmp_path / "run", 32, "--net", "b2c16-bn", "--validation", "0.3") == 0
    digits = [hashlib.md5(path.name.encode()).hexdigest()[:13] for path in data.iterdir()]
    kept = [number for number in digits if int(number, 16) / 2**52 >= 0.7]
    assert 0 < len(kept) < 3
    printed = capsys.readouterr().out
    assert re.search(r" 32 samples  validation policy \d\.\d+  value \d\.\d+  ownership", printed)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["rows"] == 60 - 20 * len(kept)
    assert lines[-1]["validation"]["policy"] > 0
    assert train(data, tmp_path / "other", 32, "--net", "b2c16-bn", "--validation", "1") == 1
    assert "validation_share must be at least 0 and less than 1" in capsys.readouterr().err
    assert train(data, tmp_path / "other", 32, "--net", "b2c16-bn", "--validation", "0.5") == 1
    assert "to train on: 3 files are for validation" in capsys.readouterr().err


def test_a_tensor_of_an_edge_that_no_file_has_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        train(data, tmp_path / "run", 8, "--net", "b2c16-bn", "--length", "40")
    assert "--length: must be a whole number from 2 to 39, not '40'" in capsys.readouterr().err


def test_a_training_that_cannot_begin_leaves_its_folder_free(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["train", str(data), "--output", str(tmp_path / "run"), "--samples", "8"]
    assert main([*arguments, "--net", "b2c16-bn"]) == 1
    assert "training begins with 250,000" in capsys.readouterr().out
    assert train(data, tmp_path / "run", 8, "--net", "b1c6nbt-fson-mish-rvgl-bnh") == 0


def test_a_net_is_written_before_the_checkpoint_that_ends_its_epoch(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a kill in between costs no net: the epoch ends again."""

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("nets.training.trainer.CheckpointFolder.save", killed)
        with pytest.raises(KeyboardInterrupt):
            train(data, tmp_path / "run", 32, "--net", "b2c16-bn")
    assert [path.name for path in (tmp_path / "run" / "nets").iterdir()] == ["b2c16-bn-s32-d60.bin.gz"]


def test_a_net_that_cannot_be_written_is_written_by_the_next_training(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("nets.training.trainer.export_net", full)
        assert train(data, tmp_path / "run", 64, "--net", "b2c16-bn") == 1
    assert train(data, tmp_path / "run", 64, "--net", "b2c16-bn") == 0
    assert len(list((tmp_path / "run" / "nets").iterdir())) == 2


def test_a_full_disk_leaves_no_half_of_a_net(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    source = FIXTURES / "nets" / "mini-nbt-fson-mish-rvgl-bnh.bin.gz"
    monkeypatch.setattr(os, "fsync", full)
    assert main(["export", str(source), str(tmp_path / "net.bin.gz")]) == 1
    assert f"cannot write {tmp_path / 'net.bin.gz'}: No space left" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_evaluate_and_compare(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "run"
    train(data, output, 64, "--net", "b2c16", "--rate-scale", "3")
    first, second = (str(output / "nets" / f"b2c16-s{samples}-d60.bin.gz") for samples in (32, 64))
    capsys.readouterr()
    assert main(["evaluate", first, str(data), "--json", "--recipe", "paper"]) == 0
    evaluated = json.loads(capsys.readouterr().out)
    assert evaluated["rows"] == 60
    assert main(["compare", first, second, str(data), "--json", "--recipe", "paper"]) == 0
    terms = {term["name"]: term for term in json.loads(capsys.readouterr().out)["terms"]}
    assert terms["policy"]["first"] == pytest.approx(evaluated["losses"]["policy"])
    policy = terms["policy"]
    assert policy["second"] - policy["first"] == pytest.approx(policy["difference"], abs=1e-9)
    assert policy["standard_error"] > 0
    assert main(["compare", first, second, str(data)]) == 0
    assert "±" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nowhere.bin.gz"], "there is no file nowhere.bin.gz"),
        (["evaluate", "nowhere", "."], "there is no file nowhere"),
        (["import", "a.bin.gz", "b.bin.gz"], "must end in .safetensors"),
        (["train", "nowhere", "--output", "out", "--samples", "1", "--net", "b2c16"], "does not exist"),
        (["train", ".", "--output", "out", "--samples", "1", "--net", "b2c17", "--length", "9"], "b2c17"),
        (["export", "tests", "x.bin.gz"], "the folder tests holds neither checkpoint.safetensors nor checkpoints/"),
        (["evaluate", "net.bin.gz", ".", "--device", "gpu"], "--device gpu cannot be used here"),
    ],
)
def test_mistakes_get_a_message(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["mini-v09", "mini-nbt-fson-mish-rvgl-bnh"])
def test_only_what_a_file_holds_is_measured_and_exported(
    name: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a net file lacks has fresh weights when it is loaded: nobody may take them for the net's opinion."""
    net = str(next((FIXTURES / "nets").glob(f"{name}*.bin.gz")))
    imported = str(tmp_path / "net.safetensors")
    assert main(["import", net, imported]) == 0
    found = []
    for source in (net, net, imported):
        capsys.readouterr()
        assert main(["evaluate", source, str(data), "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out)["losses"])
    assert found[0] == found[1] == found[2]
    assert {"policy", "value", "score_mean", "lead", "ownership"} <= found[0].keys()
    assert not {"opponent_policy", "soft_policy", "td_value_short", "scoring", "seki"} & found[0].keys()
    assert main(["compare", net, imported, str(data)]) == 0
    table = capsys.readouterr().out.splitlines()[2:]
    assert len(table) == len(found[0])
    assert all("+0.0000 ± 0.0000" in line for line in table)
    exports = []
    for number in range(2):
        target = tmp_path / str(number) / "net.bin.gz"
        target.parent.mkdir()
        assert main(["export", net, str(target)]) == 0
        exports.append(target.read_bytes())
    assert exports[0] == exports[1]
    rows = made_rows(4, 5)
    outputs = load_evaluator(tmp_path / "0" / "net.bin.gz", length=5, precision=Precision.FLOAT32)
    original = load_evaluator(net, length=5, precision=Precision.FLOAT32)
    batches = [evaluator.new_batch(4) for evaluator in (outputs, original)]
    for batch, evaluator in zip(batches, (outputs, original), strict=True):
        batch.planes[:] = rows.planes()
        batch.global_inputs[:] = rows.global_inputs
        evaluator.run(batch, 4)
    np.testing.assert_allclose(batches[0].lead, batches[1].lead, rtol=1e-4, atol=1e-4)
    if name == "mini-v09":  # its errors were defined in another way: what stands in claims 0.2 and 5 points
        np.testing.assert_allclose(batches[0].short_term_win_loss_error, 0.2, rtol=1e-4)
        np.testing.assert_allclose(batches[0].short_term_score_error, 5.0, rtol=1e-4)
    else:
        np.testing.assert_allclose(batches[0].short_term_score_error, batches[1].short_term_score_error, rtol=1e-3)


def test_a_training_from_a_file_follows_from_the_seed(data: Path, tmp_path: Path) -> None:
    net = str(FIXTURES / "nets" / "mini-nbt-fson-mish-rvgl-bnh.bin.gz")
    lines = []
    for number, seed in enumerate((1, 1, 2)):
        assert train(data, tmp_path / str(number), 16, "--start-from", net, "--seed", str(seed)) == 0
        lines.append((tmp_path / str(number) / "metrics.jsonl").read_text().split('"samples_per_second"')[0])
    assert lines[0] == lines[1] != lines[2]


def test_info_tells_the_version_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    for version in (9, 13):
        path = next((FIXTURES / "nets").glob(f"mini-v{version:02d}*.bin.gz"))
        assert main(["info", str(path)]) == 0
        about = json.loads(capsys.readouterr().out)
        assert about["model_version"] == about["net"]["version"] == version
        assert "opponent_policy" not in about["trained_outputs"]


def test_a_training_that_is_done_is_left_alone(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert train(data, tmp_path, 16, "--net", "b2c16") == 0
        written = (tmp_path / "checkpoints" / "checkpoint.safetensors").stat().st_mtime_ns
    assert "nothing to do: --samples 16 includes what is trained already" in capsys.readouterr().out
    assert train(data, tmp_path, 8, "--net", "b2c16") == 0
    assert (tmp_path / "checkpoints" / "checkpoint.safetensors").stat().st_mtime_ns == written


def test_two_trainings_do_not_share_a_folder(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").mkdir()
    with FileLock(tmp_path / "out" / "lock"):
        assert train(data, tmp_path / "out", 8, "--net", "b2c16") == 1
    assert "another process trains in" in capsys.readouterr().err
    assert train(data, tmp_path / "out", 8, "--net", "b2c16") == 0


def test_sigterm_saves_and_a_long_training_saves_as_it_goes(data: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    command = [sys.executable, "-m", "nets", "--threads", "1", "train", str(data), "--output", str(output)]
    options = ["--net", "b2c16", "--samples", str(10**9), "--batch", "8", "--min-rows", "10", "--reuse", "0"]
    quick = ["--slice-steps", "1", "--checkpoint-seconds", "1"]
    with subprocess.Popen([*command, *options, *quick], stdout=subprocess.PIPE, text=True) as training:
        assert training.stdout is not None
        while not (output / "checkpoints" / "checkpoint_prev0.safetensors").exists():  # it saves though no epoch ends
            assert training.stdout.readline()
        training.send_signal(signal.SIGTERM)
        said = training.stdout.read()
    assert training.returncode == 0
    assert "stopped; run again to go on" in said
    assert "checkpoint at" in said


@pytest.mark.parametrize(
    "option",
    [
        *("--samples", "--batch", "--epoch", "--min-rows", "--slice-steps", "--checkpoint-seconds", "--average-every"),
        *("--length", "--reuse", "--rate-scale"),
    ],
)
@pytest.mark.parametrize("number", ["-5", "1" + "0" * 400])
def test_numbers_that_cannot_be_are_refused_before_anything_happens(
    option: str, number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", str(tmp_path), "--output", "out", "--net", "b2c16", "--samples", "8", option, number])
    assert ended.value.code == 2
    assert re.search(f"argument {option}: must be a .*number from [012].*, not '{number[:40]}", capsys.readouterr().err)


def test_a_batch_beyond_all_memory_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", str(tmp_path), "--output", "out", "--net", "b2c16", "--samples", "8", "--batch", "65537"])
    assert "argument --batch: must be a whole number from 1 to 65,536, not '65537'" in capsys.readouterr().err
    with pytest.raises(ValueError, match="batch must be 1 to 65,536, not 65537"):
        recipe_config("today", named("b2c16"), batch=65_537)


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_a_gpu_that_is_not_there_is_said(
    command: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    if command == "train":
        assert train(data, tmp_path, 8, "--net", "b2c16", "--device", "cuda") == 1
    else:
        assert main(["evaluate", "net.bin.gz", str(data), "--device", "cuda"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: --device cuda cannot be used here: torch")
    assert error.endswith("finds 0 GPUs; --device cpu uses the processor\n")


def test_a_training_says_what_it_leaves_and_its_folder_can_be_exported(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "my run"
    checkpoint = output / "checkpoints" / "checkpoint.safetensors"
    assert train(data, output, 24, "--net", "b2c16-bn") == 0
    said = capsys.readouterr().out
    assert f"checkpoint at 24 samples: {checkpoint}\n" in said
    command = shlex.split(said.splitlines()[-1].partition("to write one: ")[2])
    assert command == ["python", "-m", "nets", "export", str(checkpoint), str(output / "b2c16-bn-s24.bin.gz")]
    assert main(command[3:]) == 0
    for number, folder in enumerate((output, checkpoint.parent)):
        target = tmp_path / f"{number}.bin.gz"
        assert main(["export", str(folder), str(target), "--name", "b2c16-bn-s24"]) == 0
        assert target.read_bytes() == Path(command[-1]).read_bytes()
    capsys.readouterr()
    assert train(data, output, 32, "--net", "b2c16-bn") == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"net: {output / 'nets' / 'b2c16-bn-s32-d60.bin.gz'}"


def cut_short(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes()[:-200])


def test_a_damaged_file_is_left_out_with_one_warning(
    data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = tmp_path / "rows"
    shutil.copytree(data, rows)
    cut_short(data / "1.npz", rows / "1.npz")
    assert train(rows, tmp_path / "run", 48, "--net", "b2c16-bn") == 0  # two epochs: it looks several times
    net = tmp_path / "run" / "nets" / "b2c16-bn-s32-d40.bin.gz"
    (warning,) = [record.getMessage() for record in caplog.records if record.name == "nets.data.files"]
    assert warning.startswith(f"left out: {rows / '1.npz'}: not a readable zip archive")
    caplog.clear()
    assert main(["evaluate", str(net), str(rows), "--recipe", "paper"]) == 0
    assert [record.getMessage() for record in caplog.records if record.name == "nets.data.files"] == [warning]


@pytest.mark.parametrize("length", [[], ["--length", "5"]])
def test_where_no_file_can_be_read_the_error_names_the_damage(
    length: list[str], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(5):
        cut_short(data / "0.npz", tmp_path / f"{number}.npz")
    assert train(tmp_path, tmp_path / "run", 8, "--net", "b2c16", *length) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith(f"error: there are no rows in {tmp_path}; of its files, these cannot be read: ")
    assert error.count("not a readable zip archive of arrays, perhaps cut short") == 3
    assert f"{tmp_path / '0.npz'}: " in error
    assert error.endswith("; and 2 more")
    net = FIXTURES / "nets" / "mini-nbt-fson-mish-rvgl-bnh.bin.gz"
    assert main(["evaluate", str(net), str(tmp_path)]) == 1
    assert "these cannot be read" in capsys.readouterr().err
