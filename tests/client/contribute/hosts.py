"""Hosts on this machine that do what a server should not: they hear a connection and answer in bytes, or never."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

Manner = Callable[[socket.socket, threading.Event], None]
"""What a host does with a connection, until the event says that the test is over."""


@contextlib.contextmanager
def host(manner: Manner) -> Iterator[int]:
    """The port of a host that treats every connection in this manner."""
    over = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            manner(connection, over)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield int(listening.getsockname()[1])
    finally:
        over.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def says(answer: bytes) -> Manner:
    """Hears the beginning of a request, answers with these bytes and hangs up."""

    def manner(connection: socket.socket, over: threading.Event) -> None:
        connection.recv(65536)
        connection.sendall(answer)

    return manner


def silent(connection: socket.socket, over: threading.Event) -> None:
    """Hears everything and never answers."""
    over.wait()


def drips(beginning: bytes) -> Manner:
    """Answers with these bytes and then one byte at a time, for ever."""

    def manner(connection: socket.socket, over: threading.Event) -> None:
        connection.recv(65536)
        connection.sendall(beginning)
        while not over.wait(0.05):
            connection.sendall(b"x")

    return manner


DRIPPING_HEAD = drips(b"HTTP/1.1 200 OK\r\nX-Long: ")
DRIPPING_BODY = drips(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
