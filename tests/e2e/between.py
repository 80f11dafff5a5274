"""A proxy between a real client and a real server: it keeps what both say, and spoils answers when it is told to.

The address by which the client comes is kept (``Host``), so that the addresses in the server's answers are the proxy's
and everything goes through it.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

_OF_CONNECTION: Final = ("connection", "keep-alive", "transfer-encoding", "content-length")
"""Headers that are each connection's own."""


@dataclass(frozen=True)
class Said:
    """An answer. ``told_length`` is what its header says of its body, if that is not true."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    told_length: int | None = None


@dataclass(frozen=True)
class Exchange:
    """A request as it came, and the server's answer to it."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    said: Said


Fault = Callable[[Callable[[], Said]], Said]
"""Answers instead of the server, which it may ask."""


def late(seconds: float) -> Fault:
    """The server's answer, after a client that waits for five seconds has gone."""

    def answer(ask: Callable[[], Said]) -> Said:
        said = ask()
        time.sleep(seconds)
        return said

    return answer


def instead(status: int, *headers: tuple[str, str]) -> Fault:
    """Another answer; the server hears nothing of it."""
    return lambda ask: Said(status, headers, b"")


def unheard(status: int) -> Fault:
    """The server does what it is asked for, and the client is told of an error."""

    def answer(ask: Callable[[], Said]) -> Said:
        ask()
        return Said(status, (), b"")

    return answer


def cut(ask: Callable[[], Said]) -> Said:
    """Half of the answer, then the end of the connection."""
    said = ask()
    return Said(said.status, said.headers, said.body[: len(said.body) // 2], len(said.body))


@dataclass
class Between:
    """The proxy: its address, what went through, and the faults to come."""

    url: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    _faults: list[tuple[str, Fault]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def spoil(self, path: str, *faults: Fault) -> None:
        """Spoil the next answers to requests whose path begins like this, one by each fault."""
        with self._lock:
            self._faults += [(path, fault) for fault in faults]

    def faults_left(self) -> list[str]:
        """The paths of the faults that nobody has met yet."""
        with self._lock:
            return [path for path, _ in self._faults]

    def fault_for(self, path: str) -> Fault | None:
        """The next fault for a request, which is used up."""
        with self._lock:
            for number, (beginning, fault) in enumerate(self._faults):
                if path.startswith(beginning):
                    del self._faults[number]
                    return fault
        return None

    def keep(self, exchange: Exchange) -> None:
        """Note what the server was asked and said."""
        with self._lock:
            self.exchanges.append(exchange)


def _asked(port: int, method: str, path: str, headers: tuple[tuple[str, str], ...], body: bytes) -> Said:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers:
            if name.lower() not in _OF_CONNECTION:
                connection.putheader(name, value)
        if body or method == "POST":
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        kept = tuple((name, value) for name, value in answer.getheaders() if name.lower() not in _OF_CONNECTION)
        return Said(answer.status, kept, answer.read())
    finally:
        connection.close()


@contextmanager
def between(port: int) -> Iterator[Between]:
    """A proxy before the server of that port of this machine."""
    state = Between()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            headers = tuple(self.headers.items())
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))

            def ask() -> Said:
                said = _asked(port, self.command, self.path, headers, body)
                state.keep(Exchange(self.command, self.path, headers, body, said))
                return said

            fault = state.fault_for(self.path)
            try:
                self._say(ask() if fault is None else fault(ask))
            except ConnectionError:
                self.close_connection = True  # the client has gone, or the server has

        do_GET = do_HEAD = do_POST = answer  # noqa: N815 -- named by the base class

        def _say(self, said: Said) -> None:
            self.send_response(said.status)
            for name, value in said.headers:
                if name.lower() not in ("server", "date"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.body) if said.told_length is None else said.told_length))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(said.body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
