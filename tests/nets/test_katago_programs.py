"""KataGo's own shuffler and trainer take our files of rows as they are, and ours take theirs; asked for by

    TENGEN_KATAGO_SOURCE=CHECKOUT TENGEN_KATAGO=PROGRAM pytest tests/nets/test_katago_programs.py

where CHECKOUT is one of KataGo's source, whose ``python`` folder must find what it imports in this interpreter.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from common.rows import read_npz
from tests import ROOT
from tests.katago import katago_program
from tests.katago_selfplay import KataGoRun, command, whole_text

SOURCE = "TENGEN_KATAGO_SOURCE"
CHANGES = [
    "maxVisits=12,cheapSearchVisits=10,reducedVisitsMin=10,maxAsymmetricRatio=2",
    "maxRowsPerTrainFile=200,sidePositionProb=0.1",
]
LENGTH = 7
BATCH = 16
COMPLAINT = re.compile(r"warn|error|traceback|exception|skip|\bnan\b", re.IGNORECASE)
HARMLESS = ("WARNING: No GPU, using CPU",)


def python_folder() -> Path:
    """KataGo's programs; skips where no source is named."""
    name = os.environ.get(SOURCE)
    if not name:
        pytest.skip(f"no source of KataGo: set {SOURCE} to a checkout")
    folder = Path(name, "python")
    if not (folder / "shuffle.py").is_file():
        pytest.fail(f"{SOURCE}={name} has no python/shuffle.py")
    return folder


def called(*arguments: object, where: Path = ROOT) -> str:
    """What a program says; it must end well."""
    words = [str(argument) for argument in arguments]
    result = subprocess.run(words, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    assert result.returncode == 0, result.stdout[-3000:]
    return result.stdout


def complaints(said: str) -> list[str]:
    """Lines of KataGo's programs that tell of something wrong."""
    return [line for line in said.splitlines() if COMPLAINT.search(line) and line not in HARMLESS]


def rows_in(folder: Path) -> int:
    return sum(read_npz(path).count for path in folder.rglob("*.npz"))


@pytest.fixture(scope="module")
def our_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Games of ours, as `client selfplay` writes them."""
    folder = tmp_path_factory.mktemp("ours")
    said = [
        "--config",
        "today_7x7",
        *(word for change in CHANGES for word in ("--override", change)),
        "--games",
        "40",
        "--parallel-games",
        "20",
    ]
    called(sys.executable, "-m", "client", "selfplay", "--model", "random", "--gpus", "cpu", "--output", folder, *said)
    return folder


@pytest.fixture(scope="module")
def katago_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Games of KataGo's without a net, by the same text."""
    run = KataGoRun(katago_program(), tmp_path_factory.mktemp("katago"))
    called(*command(run, whole_text(["today_7x7"], CHANGES), LENGTH, games=40))
    return run.folder / "games"


def shuffled(games: Path, folder: Path) -> str:
    """Have KataGo's shuffler lay out the rows of ``games``; the trainer is to be validated on the same."""
    arguments: list[object] = ["-expand-window-per-row", 0.4, "-taper-window-exponent", 0.65, "-min-rows", 100]
    arguments += ["-keep-target-rows", "all", "-num-processes", 1, "-approx-rows-per-out-file", 500]
    arguments += ["-out-dir", folder / "train", "-out-tmp-dir", folder / "scratch"]
    (folder / "scratch").mkdir(parents=True)
    said = called(sys.executable, "shuffle.py", games, *arguments, where=python_folder())
    shutil.copytree(folder / "train", folder / "val")
    return said


def trained(shuffles: Path, folder: Path) -> str:
    """Have KataGo's trainer go once over what its shuffler wrote."""
    arguments: list[object] = ["-traindir", folder, "-datadir", shuffles, "-pos-len", LENGTH, "-batch-size", BATCH]
    arguments += ["-model-kind", "b1c6nbt", "-samples-per-epoch", 10 * BATCH, "-max-epochs-this-instance", 1]
    return called(sys.executable, "train.py", *arguments, "-no-compile", "-no-export", where=python_folder())


def test_katagos_shuffler_and_trainer_take_our_files(our_games: Path, tmp_path: Path) -> None:
    said = shuffled(our_games, tmp_path)
    assert complaints(said) == []
    assert 100 <= rows_in(tmp_path / "train") <= rows_in(our_games)
    learned = trained(tmp_path, tmp_path / "training")
    assert complaints(learned) == []
    losses = re.search(r"nsamp = .*?p0loss = ([0-9.]+).*?vloss = ([0-9.]+)", learned)
    assert losses is not None
    assert all(np.isfinite(float(loss)) for loss in losses.groups())


def test_our_trainer_takes_katagos_files_and_those_its_shuffler_made_of_ours(
    our_games: Path, katago_games: Path, tmp_path: Path
) -> None:
    shuffled(our_games, tmp_path / "shuffled")
    for number, folder in enumerate((katago_games, tmp_path / "shuffled" / "train")):
        options = ["--net", "b2c16", "--samples", 5 * BATCH, "--batch", BATCH, "--min-rows", 100, "--reuse", 0]
        said = called(sys.executable, "-m", "nets", "train", folder, "--output", tmp_path / str(number), *options)
        assert "left out" not in said
        assert f"checkpoint at {5 * BATCH} samples" in said
