"""``pip install .``: the command ``tengen`` works in an environment of its own, from any folder."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

PACKAGED = ("common", "nets", "client", "pyproject.toml", "LICENSE", "README.md")
SECONDS = 600.0


@pytest.fixture(scope="module")
def tengen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in a new environment, which has the packages of the tests' one and nothing of the checkout."""
    folder = tmp_path_factory.mktemp("packaging")
    for name in PACKAGED:
        source, target = ROOT / name, folder / "source" / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    run(sys.executable, "-m", "venv", "--without-pip", str(folder / "env"))
    python = folder / "env" / "bin" / "python"
    packages = next((folder / "env").rglob("site-packages"))
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()), encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python))
    run(*pip, "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", str(folder / "source"))
    return python.with_name("tengen")


def run(*words: str, text: str = "", folder: Path | None = None, **variables: str) -> str:
    """What a program prints, from ``folder`` and with more ``variables`` of the environment."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= variables
    result = subprocess.run(
        words, input=text, capture_output=True, text=True, cwd=folder, env=environment, timeout=SECONDS, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_its_commands_are_told_by_its_name(tengen: Path, tmp_path: Path) -> None:
    text = run(str(tengen), "--help", folder=tmp_path)
    assert text.startswith("usage: tengen [COMMAND]")
    for command in ("contribute", "selfplay", "match", "gtp", "analysis"):
        assert f"\n  {command} " in text
        assert run(str(tengen), command, "--help", folder=tmp_path).startswith(f"usage: tengen {command}")


def test_it_finds_its_texts_and_answers_from_any_folder(tengen: Path, tmp_path: Path) -> None:
    requests = [{"id": "a", "action": "query_models"}, {"id": "b", "boardXSize": 1}]
    text = "".join(f"{json.dumps(request)}\n" for request in requests)
    plain = {"NUMBA_DISABLE_JIT": "1"}  # what was compiled for the checkout would be compiled again for another folder
    answers = run(str(tengen), "analysis", "-model", "random", text=text, folder=tmp_path, **plain)
    models, refused = [json.loads(line) for line in answers.splitlines()]
    assert models["models"][0]["name"] == "random"
    assert (refused["id"], refused["field"]) == ("b", "boardXSize")
    assert run(str(tengen), "--version", folder=tmp_path).startswith("tengen client ")
