"""gunicorn's threaded worker, in which a request takes a thread only when it has arrived.

gunicorn's own gives a thread to a connection whose head has begun, and that thread then waits for the rest for as long
as the client likes: a few silent uploads stop a server that has no nginx in front. Here the worker's main loop reads
every request, as nginx would, within a time and a size. Writing has a limit too: a client that takes nothing of its
answer for `STALL_S` is cut off; one that is merely slow holds its thread, so a public server has nginx in front. Nor
does the loop wait, as gunicorn's would, for a client to hang up after its last answer.

`gunicorn.conf.py` names this class. Where gunicorn itself ends TLS its own way is kept.
"""

# mypy: allow-untyped-calls
# gunicorn has no types.

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from errno import ECONNRESET
from functools import partial
from typing import Any, Final, TypeVar, cast

from gunicorn import http
from gunicorn.workers.gthread import ThreadWorker

from common.wire import MAX_BODY_BYTES
from server.arrival import TOO_SLOW, Arrival, Next, Refusal

SILENT_S: Final = 15.0
"""How long a client may send nothing in the middle of a request, or before it."""
ARRIVES_WITHIN_S: Final = 60.0
"""How long a request may take to arrive: 35 KiB/s for the largest, 1 KiB/s for an ordinary upload."""
REFUSED_S: Final = 10.0
"""How long the rest of a refused request is taken and thrown away, so that the client gets to read the answer."""
STOPPING_S: Final = 2.0
LINGER_S: Final = 2.0
"""How long a client is left to close a connection that has ended; closed at once, it might lose the answer."""
STALL_S: Final = 20.0
MAX_WAITING_BYTES: Final = 32 * MAX_BODY_BYTES
"""Of all requests together that are arriving at one worker; above it the one that has taken longest is dropped."""
_PIECE: Final = 64 * 1024

_R = TypeVar("_R")


class StallingSocket(socket.socket):
    """A socket for gunicorn's threads: blocking means `STALL_S` at most, and then the connection counts as lost."""

    def setblocking(self, flag: bool) -> None:
        """Block for a while only."""
        self.settimeout(STALL_S if flag else 0.0)

    def recv(self, *args: Any) -> bytes:
        """As a socket's."""
        return _lost_if_stalled(partial(super().recv, *args))

    def sendall(self, *args: Any) -> None:
        """As a socket's."""
        _lost_if_stalled(partial(super().sendall, *args))

    def sendfile(self, *args: Any, **kwargs: Any) -> int:
        """As a socket's."""
        return _lost_if_stalled(partial(super().sendfile, *args, **kwargs))


def _lost_if_stalled(call: Callable[[], _R]) -> _R:
    try:
        return call()
    except TimeoutError:
        raise ConnectionResetError(ECONNRESET, "the client neither sends nor takes anything") from None


@dataclass(eq=False)
class _Waiting:
    """A connection whose request is arriving. Times are those of `time.monotonic`."""

    connection: Any
    arrival: Arrival = field(default_factory=Arrival)
    began: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    refused: bool = False

    def too_slow(self, now: float) -> bool:
        limit = REFUSED_S if self.refused else ARRIVES_WITHIN_S
        return now - self.began > limit or (now - self.heard > SILENT_S and not self.refused)


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """See the module. Everything here runs in the worker's main thread."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting: set[_Waiting] = set()

    def enqueue_req(self, conn: Any) -> None:
        """Called where gunicorn would give the connection a thread for its next request: read the request first."""
        if self.cfg.is_ssl:
            super().enqueue_req(conn)
            return
        if not isinstance(conn.sock, StallingSocket):
            conn.sock = StallingSocket(fileno=conn.sock.detach())
        conn.sock.setblocking(False)
        waiting = _Waiting(conn)
        self._waiting.add(waiting)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._read, waiting))
        if conn.parser is not None and (sent_ahead := conn.parser.unreader.take_buffered()):
            self._take(waiting, sent_ahead)

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Called when a thread is done: a connection that ends is left to the client to close, as after a refusal.

        gunicorn waits two seconds for that in this thread, and meanwhile nobody is read or answered.
        """
        ends = not fs.cancelled() and fs.exception() is None and not fs.result()
        if self.cfg.is_ssl or not ends:
            super().finish_request(conn, fs)
            return
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            conn.sock.setblocking(False)
            waiting = _Waiting(conn, began=time.monotonic() - REFUSED_S + LINGER_S, refused=True)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._read, waiting))
        except (OSError, ValueError):  # it is closed already
            self.nr_conns -= 1
            conn.close()
        else:
            self._waiting.add(waiting)

    def murder_pending(self) -> None:
        """Called every second: end the connections of which too little arrives."""
        super().murder_pending()
        now = time.monotonic()
        for waiting in [waiting for waiting in self._waiting if waiting.too_slow(now)]:
            if waiting.arrival.data and not waiting.refused:
                _send(waiting.connection.sock, TOO_SLOW.to_bytes())
            self._drop(waiting)

    def _cap_keepalive(self, deadline: float) -> None:
        """Called when the worker is to stop: give the port back, and do not wait for those who have sent nothing.

        If the master was killed, the next one finds the port free while the last requests are still answered here.
        """
        super()._cap_keepalive(deadline)
        for listener in self.sockets:
            listener.close()
        for waiting in self._waiting:
            if not waiting.arrival.data:
                waiting.heard = min(waiting.heard, time.monotonic() + STOPPING_S - SILENT_S)

    def _read(self, waiting: _Waiting, sock: StallingSocket) -> None:
        if waiting not in self._waiting:  # dropped for another one, of which the loop heard in the same moment
            return
        try:
            piece = sock.recv(_PIECE)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self._drop(waiting)
        elif not waiting.refused:
            self._take(waiting, piece)

    def _take(self, waiting: _Waiting, piece: bytes) -> None:
        waiting.heard = time.monotonic()
        match waiting.arrival.add(piece):
            case Next.ANSWER:
                self._answer(waiting)
            case Next.CONTINUE:
                _send(waiting.connection.sock, b"HTTP/1.1 100 Continue\r\n\r\n")
            case Refusal() as refusal:
                self._refuse(waiting, refusal)
            case Next.WAIT:
                if sum(other.arrival.waiting_bytes() for other in self._waiting) > MAX_WAITING_BYTES:
                    self._drop(min(self._waiting, key=lambda other: other.began))

    def _answer(self, waiting: _Waiting) -> None:
        """Give the request to a thread, whose parser reads what has arrived."""
        connection = waiting.connection
        self._forget(waiting)
        if connection.parser is None:
            connection.parser = http.get_parser(self.cfg, connection.sock, connection.client)
        connection.parser.unreader.unread(bytes(waiting.arrival.data))
        connection.data_ready = True
        super().enqueue_req(connection)

    def _refuse(self, waiting: _Waiting, refusal: Refusal) -> None:
        _send(waiting.connection.sock, refusal.to_bytes())
        with contextlib.suppress(OSError):
            waiting.connection.sock.shutdown(socket.SHUT_WR)
        waiting.refused, waiting.began = True, time.monotonic()
        waiting.arrival = Arrival()

    def _drop(self, waiting: _Waiting) -> None:
        self._forget(waiting)
        self.nr_conns -= 1
        waiting.connection.close()

    def _forget(self, waiting: _Waiting) -> None:
        self._waiting.discard(waiting)
        with contextlib.suppress(KeyError, ValueError):
            self.poller.unregister(waiting.connection.sock)


def _send(sock: StallingSocket, answer: bytes) -> None:
    """Send some bytes if the client takes them now; it is not waited for."""
    with contextlib.suppress(OSError):
        cast(socket.socket, sock).send(answer)
