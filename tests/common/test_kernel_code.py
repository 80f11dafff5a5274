"""Machine code of a kernel is made once: callers refer to it, in this process and, brought along, in later ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import ROOT

KERNELS = """
import sys

import numpy as np

from common import kernel_code
from common.kernels import njit

@njit(cache=True)
def low(values, number):
    for repeat in range(3):
        for i in range(values.shape[0]):
            if values[i] > number:
                values[i] = values[i] // number + repeat
            elif values[i] % 7 == repeat:
                values[i] = (values[i] + number * values[i - 1]) % 1000
            else:
                values[i] ^= values[(i * i) % values.shape[0]]
    return values.sum() % 1000

@njit(cache=True)
def middle(values, number):
    return low(values, number) + low(values, number + 1) * low(values, 3)

@njit(cache=True)
def high(values):
    return middle(values, 5) - middle(values, values[0] + 2)

@njit(cache=True)
def beside(values):
    return middle(values, 2)

def numbers(first=4):
    return np.arange(first, first + 40)
"""


def run(folder: Path, code: str, **environment: str) -> str:
    """What a process of its own prints that has the kernels above."""
    script = folder / "some_kernels.py"
    script.write_text(KERNELS)
    variables = os.environ | {"NUMBA_CACHE_DIR": str(folder / "kernels"), "PYTHONPATH": f"{ROOT}:{folder}"}
    done = subprocess.run(
        [sys.executable, "-c", f"from some_kernels import *\n{code}"],
        capture_output=True,
        text=True,
        check=False,
        env=variables | environment,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.strip()


DEFINED = """
def defined(kernel):
    (compiled,) = kernel.overloads.values()
    return [each.name for each in compiled.library.get_defined_functions() if "some_kernels" in each.name]

high(numbers())
for kernel in (low.inner, middle.inner):
    print(len(defined(kernel)), end=" ")
print(sum("3low" in name or "6middle" in name for name in defined(high)))
"""


def test_a_kernel_has_no_code_of_what_it_calls(tmp_path: Path) -> None:
    assert run(tmp_path, DEFINED) == "1 1 0"


def test_one_signature_for_literals_and_widths(tmp_path: Path) -> None:
    code = """
@njit(cache=False)
def calls(values, narrow):
    return low(values, 3) + low(values, narrow[0]) + low(values, narrow[1] + 1)

narrow = np.array([3, 4], np.int8)
print(calls(numbers(), narrow) == calls.py_func(numbers(), narrow), len(low.inner.signatures))
"""
    assert run(tmp_path, code) == "True 1"


def test_kept_kernels_bring_along_what_they_call(tmp_path: Path) -> None:
    expected = run(tmp_path, "print(high(numbers()), beside(numbers()))", NUMBA_DISABLE_JIT="1")
    first, second = expected.split()
    assert run(tmp_path, "print(high(numbers()))") == first
    kept = sorted((tmp_path / "kernels").rglob("*.nbc"))
    assert len(kept) == 3
    # another process compiles a caller of a kernel that it reads, and keeps that
    assert run(tmp_path, "print(beside(numbers()))") == second
    for path in kept:
        if ".inner" in path.name:
            path.unlink()
    alone = "print(high(numbers()), beside(numbers()), len(middle.inner.signatures), len(low.inner.signatures))"
    assert run(tmp_path, alone) == f"{expected} 0 0"


def test_errors_come_through_kept_kernels(tmp_path: Path) -> None:
    code = """
try:
    middle(numbers(), 0)
except ZeroDivisionError as error:
    print(error)
"""
    told = run(tmp_path, code)
    assert "division" in told or "modulo" in told
    assert run(tmp_path, code) == told


def test_without_what_is_used_of_numba_it_compiles_in_its_way(tmp_path: Path) -> None:
    code = f"kernel_code._USED = (*kernel_code._USED, 'gone')\n{DEFINED}"
    assert run(tmp_path, code) == "1 2 2"
    assert run(tmp_path, "print(high(numbers()))") == run(tmp_path, "print(high(numbers()))", NUMBA_DISABLE_JIT="1")
