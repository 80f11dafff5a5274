"""gunicorn with our worker, under real clients: those who send or take nothing stop nobody else."""

from __future__ import annotations

import http.client
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from gunicorn.config import Config
from gunicorn.workers.gthread import TConn

from common.wire import MAX_BODY_BYTES, ErrorAnswer, ErrorCode
from deploy.installation import ROOT
from server.web_worker import StallingSocket, Worker, _Waiting
from tests.e2e.services import free_port

PATIENCE_S = 60.0
BIG = 64 * 2**20
"""Bytes that no system keeps for a client that does not read."""
APPLICATION = f"""
import pathlib, time
def application(environ, start_response):
    body = environ["wsgi.input"].read()
    while environ["PATH_INFO"] == "/held" and not pathlib.Path("HELD").exists():
        time.sleep(0.05)
    start_response("200 OK", [("X-Length", str(len(body)))])
    if environ["PATH_INFO"] == "/big":
        return [b"x" * 2**20] * {BIG // 2**20}
    return [body[:100]]
"""


@contextmanager
def served(folder: Path, **limits: float) -> Iterator[int]:
    """The port of a worker with two threads, and such limits instead of its own."""
    with started(folder, free_port(), **limits) as server:
        try:
            yield server.port
        finally:
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(PATIENCE_S)  # far below what it may wait for requests: silent ones are not waited for


class Started(NamedTuple):
    """A gunicorn that serves."""

    process: subprocess.Popen[bytes]
    port: int


@contextmanager
def started(folder: Path, port: int, **limits: float) -> Iterator[Started]:
    """gunicorn's master on a port, once its worker is there; it has to be ended within."""
    folder.mkdir(exist_ok=True)
    (folder / "application.py").write_text(APPLICATION.replace("HELD", str(folder / "release")))
    changes = "".join(f"web_worker.{name} = {value}\n" for name, value in limits.items())
    (folder / "conf.py").write_text(f"from server import web_worker\n{changes}")
    command = [sys.executable, "-m", "gunicorn", "application", "--config", str(folder / "conf.py")]
    command += ["--bind", f"127.0.0.1:{port}", "--threads", "2", "--no-control-socket"]
    command += ["--worker-class", "server.web_worker.Worker", "--graceful-timeout", "300"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, env=environment, stdout=log, stderr=log) as server,
    ):
        try:
            wait_until(lambda: "Booting worker" in (folder / "log").read_text())
            yield Started(server, port)
        finally:
            server.kill()


def wait_until(condition: Callable[[], bool]) -> None:
    """Ask for a condition until it holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # the pace at which it is asked for


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with served(tmp_path_factory.mktemp("web")) as port:
        yield port


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def head(length: int | str, *headers: str) -> bytes:
    return "\r\n".join(["POST / HTTP/1.1", "Host: x", f"Content-Length: {length}", *headers, "", ""]).encode()


def answer(sock: socket.socket) -> tuple[int, bytes]:
    """Status and body of the answer that comes, or that has come."""
    response = http.client.HTTPResponse(sock)
    response.begin()
    return response.status, response.read()


def assert_served(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    for body in (b"honest", b"x" * MAX_BODY_BYTES):
        connection.request("POST", "/", body=body)
        response = connection.getresponse()
        assert (response.status, response.headers["X-Length"]) == (200, str(len(body)))
        assert response.read() == body[:100]
    connection.close()


@pytest.mark.parametrize(
    "sent",
    [b"", b"PO", b"POST / HTTP/1.1\r\nHost: x\r\nContent-", head(30_000), head(30_000) + b"half of it" * 1000],
    ids=["nothing", "two letters", "half a head", "no body", "half a body"],
)
def test_silent_clients_take_no_thread(sent: bytes, port: int) -> None:
    with ExitStack() as silent:
        socks = [silent.enter_context(connect(port)) for _ in range(20)]
        for sock in socks:
            sock.sendall(sent)
        assert_served(port)
        for sock in socks:
            sock.setblocking(False)
            with pytest.raises(BlockingIOError):  # it still waits
                sock.recv(1)


def test_a_request_may_come_in_pieces_and_with_the_next_one(port: int) -> None:
    with connect(port) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in head(3) + b"one":
            sock.sendall(bytes([byte]))
        assert answer(sock) == (200, b"one")
        sock.sendall(head(3) + b"two" + head(5) + b"thr")
        assert answer(sock) == (200, b"two")
        sock.sendall(b"ee")
        assert answer(sock) == (200, b"three")


def test_a_client_that_asks_first_is_told_to_go_on(port: int) -> None:
    with connect(port) as sock:
        sock.sendall(head(4, "Expect: 100-continue"))
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"body")
        assert answer(sock) == (200, b"body")


def test_an_oversized_body_is_refused_and_the_client_gets_to_read_it(port: int) -> None:
    for length in (MAX_BODY_BYTES + 1, 3 * MAX_BODY_BYTES):
        with connect(port) as sock:
            sock.sendall(head(length) + b"x" * length)
            status, body = answer(sock)
        assert status == 400
        assert ErrorAnswer.from_json(body).code == ErrorCode.DROP_GAME
    with connect(port) as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc")
        sock.sendall(b"\r\n%X\r\n" % MAX_BODY_BYTES + b"x" * MAX_BODY_BYTES)
        status, body = answer(sock)
        assert (status, ErrorAnswer.from_json(body).code) == (400, ErrorCode.DROP_GAME)
    assert_served(port)


def test_a_body_may_come_in_chunks(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    for body in ([b"one", b"two"], [b"x" * 100_000] * 12, []):  # on one connection
        connection.request("POST", "/", body=iter(body), encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
        response = connection.getresponse()
        assert (response.status, response.headers["X-Length"]) == (200, str(sum(map(len, body))))
        assert response.read() == b"".join(body)[:100]
    connection.close()


def test_what_arrives_too_slowly_is_ended(tmp_path: Path) -> None:
    with served(tmp_path, SILENT_S=0.5, ARRIVES_WITHIN_S=2.0) as port:
        with connect(port) as silent, connect(port) as half:
            half.sendall(head(100) + b"half")
            assert silent.recv(1) == b""
            assert answer(half)[0] == 408
        with connect(port) as trickling:
            trickling.sendall(head(1_000_000))
            while not select.select([trickling], [], [], 0.1)[0]:  # never silent for long, and never done
                trickling.sendall(b"x")
            assert answer(trickling)[0] == 408
        assert_served(port)


def test_who_takes_nothing_of_an_answer_gives_the_thread_back(tmp_path: Path) -> None:
    with served(tmp_path, STALL_S=3.0) as port, ExitStack() as stalled:
        for _ in range(4):
            sock = stalled.enter_context(connect(port))
            sock.sendall(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
        assert_served(port)
    log = (tmp_path / "log").read_text()
    assert "Traceback" not in log


@pytest.mark.parametrize("sent", [b"", head(30_000) + b"half", b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_killed_master_leaves_the_port_to_the_next(tmp_path: Path, sent: bytes) -> None:
    """Within the few seconds for which gunicorn tries; what its worker had begun is answered all the same."""
    first = tmp_path / "first"
    with started(first, free_port()) as killed, connect(killed.port) as sock:
        sock.sendall(sent)
        assert_served(killed.port)  # so the connection before was taken, too
        killed.process.kill()
        killed.process.wait()
        with started(tmp_path / "second", killed.port) as server:
            assert_served(killed.port)
            (first / "release").touch()
            assert not sent.startswith(b"GET") or answer(sock) == (200, b"")
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(PATIENCE_S)


def test_nobody_waits_for_a_client_to_hang_up(port: int) -> None:
    begun = time.monotonic()
    with ExitStack() as held:
        for _ in range(20):
            sock = held.enter_context(connect(port))
            sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert answer(sock) == (200, b"")
        assert_served(port)
        assert time.monotonic() - begun < 20, "gunicorn waits two seconds for each"
        assert sock.recv(1) == b"", "the answer's end is told at once"


def test_more_than_may_wait_costs_those_who_have_taken_longest(tmp_path: Path) -> None:
    with served(tmp_path, MAX_WAITING_BYTES=3 * MAX_BODY_BYTES) as port, ExitStack() as held:
        for _ in range(8):
            sock = held.enter_context(connect(port))
            sock.sendall(head(MAX_BODY_BYTES) + b"x" * (MAX_BODY_BYTES // 2))
        assert_served(port)


def test_a_connection_that_was_dropped_for_another_counts_once() -> None:
    ours, theirs = socket.socketpair()
    sock = StallingSocket(fileno=ours.detach())
    worker = Worker.__new__(Worker)
    worker.poller, worker.nr_conns, worker._waiting = selectors.DefaultSelector(), 1, set()
    waiting = _Waiting(TConn(Config(), sock, ("", 0), ("", 0)))
    worker._waiting.add(waiting)
    worker.poller.register(sock, selectors.EVENT_READ)
    with theirs, worker.poller:
        worker._drop(waiting)
        worker._read(waiting, sock)  # the loop had heard of both
    assert worker.nr_conns == 0
