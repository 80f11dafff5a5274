"""The first signal ends a program in which nothing has begun, whatever its main thread is doing."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests import ROOT

WITHIN_S = 60.0
PROGRAM = """
import ctypes, os, signal, sys
from common.interrupts import interrupts_end_the_program
signal.signal(signal.SIGTERM, {before})
with interrupts_end_the_program():
    print("ready", flush=True)
    {wait}
print(signal.getsignal(signal.SIGTERM) == {before}, signal.set_wakeup_fd(-1))
"""
LONG_IN_C = "ctypes.CDLL(None).sleep(1000); ctypes.CDLL(None).sleep(1000)"


def begun(wait: str, before: str = "signal.SIG_DFL") -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(wait=wait, before=before)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def rest_of(process: subprocess.Popen[str]) -> tuple[str, str]:
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout.read(), process.stderr.read()


@pytest.mark.parametrize(
    ("number", "code", "line"),
    [(signal.SIGINT, 130, "ended by Ctrl-C\n"), (signal.SIGTERM, 143, "ended by SIGTERM\n")],
)
@pytest.mark.parametrize("wait", [LONG_IN_C, "while True: pass"], ids=["C", "Python"])
def test_one_signal_ends_it_with_a_line(wait: str, number: signal.Signals, code: int, line: str) -> None:
    with begun(wait) as process:
        process.send_signal(number)
        assert process.wait(WITHIN_S) == code
        assert rest_of(process) == ("", line)


def test_what_is_ignored_stays_ignored() -> None:
    with begun("signal.raise_signal(signal.SIGTERM)", "signal.SIG_IGN") as process:
        assert rest_of(process) == ("True -1\n", "")
    assert process.returncode == 0


def test_afterwards_everything_is_as_before() -> None:
    with begun("pass") as process:
        assert rest_of(process) == ("True -1\n", "")
    assert process.returncode == 0
