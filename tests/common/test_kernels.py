"""Kernels compile wherever nothing can be written or read: each place that fails costs one line, never the program."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

USES_A_KERNEL = """
import os
{before}
from common.go.bitrows import __name__ as name
from common.kernels import njit

@njit(cache=True)
def double(x):
    return x + x

print(double(21), os.environ.get("NUMBA_CACHE_DIR", "nowhere"))
"""


def run(tmp_path: Path, before: str = "", **environment: str) -> tuple[str, list[str]]:
    """Runs a kernel in a process of its own; gives what it printed and the lines on stderr."""
    script = tmp_path / "uses_a_kernel.py"
    script.write_text(USES_A_KERNEL.format(before=before))
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in ("NUMBA_CACHE_DIR", "TENGEN_CACHE_DIR", "XDG_CACHE_HOME", "HOME", "TMPDIR")
    }
    temporary = tmp_path / "tmp"
    temporary.mkdir(exist_ok=True)
    settings = {"HOME": str(tmp_path), "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)} | environment
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, env=kept | settings
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.splitlines()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A place below which nobody can make a folder, root included."""
    path = tmp_path / "file"
    path.write_text("")
    return path


def test_the_users_cache_folder(tmp_path: Path) -> None:
    printed, said = run(tmp_path)
    assert printed.startswith(f"42 {tmp_path}/.cache/tengen/kernels/")
    assert said == []


@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME", "TENGEN_CACHE_DIR", "NUMBA_CACHE_DIR"])
def test_a_place_that_cannot_be_used(tmp_path: Path, file: Path, variable: str) -> None:
    printed, said = run(tmp_path, **{"HOME": str(file / "home"), variable: str(file / "below")})
    assert printed.startswith(f"42 {tmp_path}/tmp/tengen-{os.getuid()}/kernels/")
    assert len(said) == 1
    assert said[0].startswith(f"compiled code is kept in {tmp_path}/tmp/tengen-")
    assert "below" in said[0]


def test_nowhere_at_all(tmp_path: Path, file: Path) -> None:
    before = "import tempfile; tempfile.tempdir = os.environ['HOME']"
    printed, said = run(tmp_path, before, HOME=str(file / "home"))
    assert printed == "42 nowhere"
    assert len(said) == 1
    assert said[0].startswith("compiled code cannot be kept (")
    assert said[0].endswith("by TENGEN_CACHE_DIR")


def test_a_user_without_a_home(tmp_path: Path) -> None:
    before = (
        "from pathlib import Path\n"
        "def no_home(): raise RuntimeError('Could not determine home directory.')\n"
        "Path.home = no_home"
    )
    printed, said = run(tmp_path, before)
    assert printed.startswith(f"42 {tmp_path}/tmp/tengen-")
    assert "this user has no home folder" in said[0]


def test_a_temporary_folder_of_somebody_else_is_not_trusted(tmp_path: Path, file: Path) -> None:
    own = tmp_path / "tmp" / f"tengen-{os.getuid()}"
    own.mkdir(parents=True)
    own.chmod(0o777)
    printed, said = run(tmp_path, HOME=str(file / "home"))
    assert printed == "42 nowhere"
    assert "others may write there" in said[0]


FAILING_WRITES = """
import errno
from numba.core import caching
def full(self, *arguments):
    raise OSError(errno.{error}, os.strerror(errno.{error}))
caching.IndexDataCacheFile.{method} = full
"""


@pytest.mark.parametrize("error", ["ENOSPC", "EROFS"])
@pytest.mark.parametrize("method", ["_save_index", "_save_data"])
def test_a_disk_that_is_full_or_fails(tmp_path: Path, error: str, method: str) -> None:
    printed, said = run(tmp_path, FAILING_WRITES.format(error=error, method=method))
    assert printed.startswith("42 ")
    assert len(said) == 1
    assert os.strerror(getattr(errno, error)) in said[0]


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("content", [b"", None])
def test_a_damaged_file_is_made_anew(tmp_path: Path, suffix: str, content: bytes | None) -> None:
    place = tmp_path / "kernels"
    run(tmp_path, NUMBA_CACHE_DIR=str(place))
    (damaged,) = place.rglob(f"uses_a_kernel.double*.{suffix}")
    good = damaged.read_bytes()
    damaged.write_bytes(good[: len(good) // 2] if content is None else content)
    printed, said = run(tmp_path, NUMBA_CACHE_DIR=str(place))
    assert (printed, said) == (f"42 {place}", [])
    assert len(damaged.read_bytes()) > len(good) // 2


CALLS_A_KERNEL = """
from common.kernels import njit

@njit(cache=True)
def double(x):
    return x + x

@njit(cache=True)
def quadruple(x):
    return double(double(x))

print(quadruple(10), double(21), len(quadruple.signatures), len(double.signatures), len(double.inner.signatures))
"""


def test_for_kernels_and_for_python_it_is_compiled_and_kept_separately(tmp_path: Path) -> None:
    script = tmp_path / "calls_a_kernel.py"
    script.write_text(CALLS_A_KERNEL)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": str(ROOT)}
    written = []
    for called_inside in (1, 0):  # the second process finds all that it needs in the files of its own calls
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=False, env=environment
        )
        assert (done.stdout, done.stderr) == (f"40 42 1 1 {called_inside}\n", "")
        written.append({path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")})
    assert len(written[0]) == 3
    assert written[0] == written[1]


def test_every_kernel_is_declared_by_ours() -> None:
    wrong = [
        str(path.relative_to(ROOT))
        for folder in ("common", "client", "nets")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "import njit" in path.read_text(encoding="utf-8").replace("from common.kernels import njit", "")
    ]
    assert wrong == []
