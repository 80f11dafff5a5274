"""The kernels of the game in other processes: with bounds checks, and as plain Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT


def run(arguments: list[str], **environment: str) -> str:
    """Output of a Python process with ``environment`` added; a failure shows what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow  # compiles the whole game anew
def test_illegal_input_with_bounds_checks(tmp_path: Path) -> None:
    # The cache's key does not tell checked code from unchecked code, so this process gets a folder of its own.
    output = run(
        ["-m", "tests.common.fuzz_game", "200", "120"], NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path / "cache")
    )
    assert "refused" in output


def test_illegal_input_as_plain_python() -> None:
    assert "refused" in run(["-m", "tests.common.fuzz_game", "6", "40"], NUMBA_DISABLE_JIT="1")
