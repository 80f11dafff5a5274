"""Compiled kernels of other sources are never used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common import kernel_cache


def test_the_folder_follows_from_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in kernel_cache._SOURCES:
        (tmp_path / folder).mkdir(parents=True)
    kernel, light = tmp_path / "common" / "kernel.py", tmp_path / "nets" / "light.py"
    kernel.write_text("from numba import njit\n")
    light.write_text("x = 1\n")
    monkeypatch.setattr(kernel_cache, "_ROOT", tmp_path)
    before = kernel_cache._state()
    light.write_text("x = 2\n")
    assert kernel_cache._state() == before
    kernel.write_text("from numba import njit  # changed\n")
    assert kernel_cache._state() != before


def test_old_states_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("TENGEN_CACHE_DIR", str(tmp_path))
    for number in range(8):
        old = tmp_path / "kernels" / f"old{number}"
        old.mkdir(parents=True)
        os.utime(old, (number, number))
    kernel_cache.use()
    kept = {path.name for path in (tmp_path / "kernels").iterdir()}
    assert kept == {kernel_cache._state(), "old5", "old6", "old7"}
    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / "kernels" / kernel_cache._state())


def test_every_way_in_settles_it_before_a_kernel_is_declared(tmp_path: Path) -> None:
    code = (
        "import numba, {module}; import pathlib, os;"
        "print(numba.config.CACHE_DIR == os.environ['NUMBA_CACHE_DIR'], os.environ['NUMBA_CACHE_DIR'])"
    )
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment["TENGEN_CACHE_DIR"] = str(tmp_path)
    for module in ("common.go.points", "nets.evaluation.outputs", "client.search.rng"):
        command = [sys.executable, "-W", "ignore", "-c", code.format(module=module)]
        found = subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
        assert found.startswith(f"True {tmp_path}"), module
