"""The supervisor's children: restarted, stopped in time, killed with all that they started."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from deploy.processes import MAX_RESTARTS, Child, ProcessFailedError, Program


def child(tmp_path: Path, code: str, **options: Any) -> Child:
    program = Program("child", [sys.executable, "-c", code], **options)
    return Child(program, tmp_path, os.environ)


def wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 20
    while not (path.exists() and text in path.read_text()):
        assert time.monotonic() < deadline, f"{text!r} never came"
        os.sched_yield()


def test_output_goes_to_the_log_and_the_child_leads_its_group(tmp_path: Path) -> None:
    running = child(tmp_path, "import os; print('group', os.getpgid(0) == os.getpid(), flush=True); input()")
    wait_for(running.log_path, "group True")
    running.kill()


def test_stop_waits_for_a_child_that_needs_a_moment(tmp_path: Path) -> None:
    code = (
        "import signal, sys, threading\n"
        "def end(*_): print('saved', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end); print('ready', flush=True); threading.Event().wait()"
    )
    running = child(tmp_path, code)
    wait_for(running.log_path, "ready")
    running.stop()
    assert "saved" in running.log_path.read_text()
    assert not running.running()


def test_a_child_that_does_not_listen_is_killed_with_its_children(tmp_path: Path) -> None:
    code = (
        "import signal, subprocess, sys, threading\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import threading; threading.Event().wait()'])\n"
        "print('grandchild', p.pid, flush=True); threading.Event().wait()"
    )
    running = child(tmp_path, code, stop_within_s=0.2)
    wait_for(running.log_path, "grandchild")
    grandchild = int(running.log_path.read_text().split()[1])
    running.stop()
    assert not running.running()
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{grandchild}") and "Z" not in Path(f"/proc/{grandchild}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline, "the grandchild lives on"


def test_a_child_that_keeps_failing_is_reported_with_its_log(tmp_path: Path) -> None:
    failing = child(tmp_path, "print('no database', flush=True); raise SystemExit(3)")
    for _ in range(MAX_RESTARTS):
        assert failing.wait(20)
        assert failing.keep_alive()
    assert failing.wait(20)
    with pytest.raises(ProcessFailedError, match=r"(?s)exit code 3.*no database"):
        failing.keep_alive()
