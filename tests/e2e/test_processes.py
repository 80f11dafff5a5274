"""The supervisor's children: restarted, stopped in time, killed with all that they started."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from deploy.installation import SetupError, check_port
from deploy.processes import MAX_RESTARTS, Child, ProcessFailedError, Program, end_leftovers
from tests.e2e.services import free_port


def child(tmp_path: Path, code: str, **options: Any) -> Child:
    program = Program("child", [sys.executable, "-c", code], **options)
    return Child(program, tmp_path, os.environ)


def wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 20
    while not (path.exists() and text in path.read_text()):
        assert time.monotonic() < deadline, f"{text!r} never came"
        os.sched_yield()


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 20
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, f"process {pid} lives on"
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
    wait_for_end(grandchild)


def test_a_child_that_keeps_failing_is_reported_with_its_log(tmp_path: Path) -> None:
    failing = child(tmp_path, "print('no database', flush=True); raise SystemExit(3)")
    for _ in range(MAX_RESTARTS):
        assert failing.wait(20)
        assert failing.keep_alive()
    assert failing.wait(20)
    with pytest.raises(ProcessFailedError, match=r"(?s)exit code 3.*no database"):
        failing.keep_alive()


PORT_HOLDER = (
    "import os, socket, subprocess, sys, threading, time\n"
    "listener = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
    "if not os.fork(): time.sleep(600)\n"  # a worker that shares its master's socket, and does not look after it
    "print('listening', os.getpid(), flush=True); time.sleep(600)"
)


def port_holder(folder: Path, port: int) -> Child:
    return Child(Program("holder", [sys.executable, "-c", PORT_HOLDER, str(port)]), folder, os.environ)


def test_a_killed_master_comes_back_on_the_port_that_its_workers_held(tmp_path: Path) -> None:
    running = port_holder(tmp_path, free_port())
    for starts in range(1, 4):
        wait_for(running.log_path, "listening")
        running.signal(signal.SIGKILL)
        assert running.wait(20)
        running.log_path.write_text("")
        assert running.keep_alive(), f"after {starts} starts"
    wait_for(running.log_path, "listening")
    assert "Error" not in running.log_path.read_text()
    running.kill()


def test_what_a_killed_supervisor_left_is_found_and_ended(tmp_path: Path) -> None:
    """Also a child whose master is gone, in a folder with an odd name; nothing of another folder."""
    ours, others = tmp_path / "a b;c", tmp_path / "other"
    for folder in (ours, others):
        folder.mkdir()
    left, other = port_holder(ours, port := free_port()), port_holder(others, free_port())
    for one in (left, other):
        wait_for(one.log_path, "listening")
    (worker,) = psutil.Process(left.pid).children()
    left.signal(signal.SIGKILL)
    assert left.wait(20)
    with pytest.raises(SetupError, match="is taken"):
        check_port(port)
    assert len(end_leftovers(ours)) == 1
    wait_for_end(worker.pid)
    check_port(port)
    assert other.running()
    assert end_leftovers(ours) == []
    other.kill()


def test_a_leftover_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
    )
    left = child(tmp_path, code)
    wait_for(left.log_path, "deaf")
    end_leftovers(tmp_path, patience_s=0.2)
    assert not left.running()
