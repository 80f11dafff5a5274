"""Ctrl-C and SIGTERM on the real program while a server withholds its answers; the spool stays whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

import pytest

from client.contribute.spool import Spool
from client.contribute.warmup import MARK
from common import wire
from common.parameters import default_text
from tests import ROOT
from tests.client.contribute.test_sending import RUN

STARTED_WITHIN_S = 150.0
"""For a start on a busy machine."""
WITHIN_S = 40.0
"""For an end on a busy machine; no time-out of a request is as short (`client.contribute.exchange`)."""


@dataclass
class Server:
    """A game server whose answers can be withheld, path by path."""

    url: str = ""
    silent: set[str] = field(default_factory=set)
    task: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, threading.Event] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)

    def event(self, path: str) -> threading.Event:
        """Set once the path was asked for."""
        return self.asked.setdefault(path, threading.Event())


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(RUN)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(state.task)

        def answer(self, content: object) -> None:
            state.event(self.path).set()
            if self.path in state.silent:
                state.over.wait()
                return
            self.send_response(200)
            if self.path == "/net.bin.gz":
                self.drip()
                return
            body = json.dumps(content).encode()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def drip(self) -> None:
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            while not state.over.wait(0.1):
                try:
                    self.wfile.write(b"x")
                    self.wfile.flush()
                except OSError:
                    return

        def log_message(self, *_: object) -> None: ...

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{listening.server_port}"
    for path in (wire.PATH_CURRENT_RUN, wire.PATH_TASKS, wire.PATH_TRAINING_GAMES, "/net.bin.gz"):
        state.event(path)
    network = {
        "name": "net",
        "url": f"{state.url}/api/networks/net/",
        "model_file": f"{state.url}/net.bin.gz",
        "model_file_bytes": 1_000_000,
        "model_file_sha256": "0" * 64,
        "is_random": False,
    }
    run = {"name": RUN["name"], "url": RUN["url"]}
    state.task = {"kind": "selfplay", "run": run, "config": default_text("selfplay", "7x7"), "network": network}
    thread = threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield state
    state.over.set()
    listening.shutdown()
    thread.join()
    listening.server_close()


@contextmanager
def client(server: Server, folder: Path, *, compiled: bool = True) -> Iterator[subprocess.Popen[str]]:
    """The real program, which believes that everything is compiled, if it shall; what it leaves is ended."""
    (folder / "kernels").mkdir(exist_ok=True)
    if compiled:
        (folder / "kernels" / MARK).touch()
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment |= {
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "TENGEN_SERVER_URL": server.url,
        "TENGEN_USERNAME": "anna",
        "TENGEN_PASSWORD": "secret",
        "TENGEN_DATA_DIR": str(folder / "data"),
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, "-m", "client", "--gpus", "cpu", "--cpu-streams", "1"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def wait_for_line(output: IO[str] | None, text: str) -> None:
    assert output is not None
    seen = []
    for line in output:
        seen.append(line)
        if text in line:
            return
    raise AssertionError(seen)


def press(process: subprocess.Popen[str], number: int) -> None:
    """Ctrl-C reaches the whole group, and so may a service manager's SIGTERM."""
    os.killpg(process.pid, number)


def fill(folder: Path, url: str) -> list[str]:
    """Games that wait; their uids."""
    spool = Spool(folder / "data" / "spool")
    uids = [f"{number:032X}" for number in range(3)]
    for uid in uids:
        spool.add("training", url, {"kg_game_uid": uid}, {"sgf_file": (f"{uid}.sgf", b"(;)" * 1000)})
    return uids


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_before_games_are_played_one_signal_ends_it(server: Server, tmp_path: Path, number: int) -> None:
    server.silent = {wire.PATH_CURRENT_RUN}
    with client(server, tmp_path) as process:
        assert server.event(wire.PATH_CURRENT_RUN).wait(STARTED_WITHIN_S)
        press(process, number)
        assert process.wait(WITHIN_S) in (130, -number)
        told = process.communicate()[0].splitlines()
    assert all("logs in by a password" in line for line in told)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_while_it_compiles_one_signal_ends_it_with_its_child(server: Server, tmp_path: Path, number: int) -> None:
    with client(server, tmp_path, compiled=False) as process:
        wait_for_line(process.stdout, "compiling for the first time")
        process.send_signal(number)  # it alone, as a service manager may
        assert process.wait(WITHIN_S) == -number
        assert process.communicate(timeout=WITHIN_S)[0] == ""  # once nobody has the output any more
    assert not (tmp_path / "kernels" / MARK).exists()


@pytest.mark.parametrize("path", [wire.PATH_TASKS, "/net.bin.gz"])
def test_the_first_signal_does_not_wait_for_a_silent_server(server: Server, tmp_path: Path, path: str) -> None:
    """No game runs and none waits, so there is nothing to finish."""
    server.silent = {wire.PATH_TASKS} & {path}
    with client(server, tmp_path) as process:
        assert server.event(path).wait(STARTED_WITHIN_S)
        press(process, signal.SIGINT)
        assert process.wait(WITHIN_S) == 0
        last = process.communicate()[0]
    assert "finishing the running games" in last
    assert "0 sent" in last


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_leaves_an_upload_that_is_never_answered(server: Server, tmp_path: Path, number: int) -> None:
    server.silent = {wire.PATH_TASKS, wire.PATH_TRAINING_GAMES}
    uids = fill(tmp_path, server.url)
    with client(server, tmp_path) as process:
        assert server.event(wire.PATH_TRAINING_GAMES).wait(STARTED_WITHIN_S)
        press(process, number)
        wait_for_line(process.stdout, "sending the finished games")
        press(process, number)
        assert process.wait(WITHIN_S) == 0
        last = process.communicate()[0]
    assert "3 to send, 0 sent" in last
    assert "3 finished games wait" in last
    spool = Spool(tmp_path / "data" / "spool")
    assert [game.uid for game in spool.pending()] == uids
    assert all(game.files["sgf_file"].stat().st_size == 3000 for game in spool.pending())


def test_a_second_client_in_the_folder_is_refused(server: Server, tmp_path: Path) -> None:
    server.silent = {wire.PATH_CURRENT_RUN}
    with client(server, tmp_path) as first:
        assert server.event(wire.PATH_CURRENT_RUN).wait(STARTED_WITHIN_S)
        with client(server, tmp_path) as second:
            told, _ = second.communicate(timeout=STARTED_WITHIN_S)
        assert second.returncode == 2
        assert "another client is running with the folder" in told
        first.kill()
        first.wait()
        server.event(wire.PATH_CURRENT_RUN).clear()
        with client(server, tmp_path):
            assert server.event(wire.PATH_CURRENT_RUN).wait(STARTED_WITHIN_S)


STUCK = """
import os, signal, sys, threading, time
from client.stopping import StopSignals
with StopSignals() as stops:
    print("ready", flush=True)
    {wait}
print("over", flush=True)
"""


@pytest.mark.parametrize(
    "wait",
    [
        "lock = threading.Lock(); lock.acquire(); lock.acquire()",
        "stops._over.wait()",
        "import ctypes; ctypes.CDLL(None).sleep(1000); ctypes.CDLL(None).sleep(1000); time.sleep(1000)",
        "while True: stops.now.wait(); time.sleep(0.01)",
    ],
    ids=["lock", "event", "C", "loop"],
)
def test_the_second_signal_ends_a_program_that_is_stuck(wait: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK.format(wait=wait)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with process:
        wait_for_line(process.stdout, "ready")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        assert process.wait(WITHIN_S) == 130
        process.kill()


def test_the_handlers_are_put_back() -> None:
    code = (
        "import signal; from client.stopping import StopSignals\n"
        "with StopSignals() as stops: pass\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
        "assert signal.set_wakeup_fd(-1) == -1\n"
        "with StopSignals() as stops:\n"
        "    signal.raise_signal(signal.SIGTERM); stops.finish.wait(); assert not stops.now.is_set()\n"
        "    signal.raise_signal(signal.SIGINT); stops.now.wait()\n"
        "print('fine')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=WITHIN_S
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "fine\n", "")
