"""Networks arrive whole or not at all; from a real HTTP server on this machine that misbehaves on demand."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests

from client.contribute.downloads import DownloadError, DownloadStopped, NetworkCache, NetworkFile

CONTENT = bytes(range(256)) * 2000
SHA = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Host:
    """What the server sends and what it was asked."""

    content: bytes = CONTENT
    break_after: int | None = None
    status: int | None = None
    asked: list[str | None] = field(default_factory=list)
    logins: list[str | None] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def host() -> Iterator[Host]:
    state = Host()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.headers.get("Range"))
            state.logins.append(self.headers.get("Authorization"))
            if state.status is not None:
                self.send_response(state.status)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            start = int(found[1]) if found else 0
            body = state.content[start:]
            self.send_response(206 if found else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if state.break_after is None else body[: state.break_after])

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/net.bin.gz"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        session.auth = ("name", "secret")
        yield session


def wanted(host: Host, **changes: Any) -> NetworkFile:
    facts: dict[str, Any] = {"name": "net", "url": host.url, "sha256": SHA, "size": len(CONTENT)}
    return NetworkFile(**facts | changes)


def fetch(cache: NetworkCache, network: NetworkFile, stop: threading.Event | None = None) -> Path:
    return cache.fetch(network, stop or threading.Event(), lambda have, total: None)


def test_fetched_once_without_credentials(tmp_path: Path, host: Host, session: requests.Session) -> None:
    cache = NetworkCache(tmp_path, 10**9, session)
    assert fetch(cache, wanted(host)).read_bytes() == CONTENT
    fetch(cache, wanted(host))
    fetch(NetworkCache(tmp_path, 10**9, session), wanted(host))
    assert host.asked == [None]
    assert host.logins == [None]


def test_a_broken_transfer_is_resumed(tmp_path: Path, host: Host, session: requests.Session) -> None:
    cache = NetworkCache(tmp_path, 10**9, session)
    host.break_after = 100_000
    with pytest.raises(DownloadError):
        fetch(cache, wanted(host))
    host.break_after = None
    assert fetch(cache, wanted(host)).read_bytes() == CONTENT
    assert host.asked[1] is not None
    assert host.asked[1].startswith("bytes=")
    assert host.asked[1] != "bytes=0-"


def test_a_stop_keeps_the_part(tmp_path: Path, host: Host, session: requests.Session) -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(DownloadStopped):
        fetch(NetworkCache(tmp_path, 10**9, session), wanted(host), stop)


@pytest.mark.parametrize("content", [CONTENT[:-1] + b"x", CONTENT + b"more"])
def test_wrong_content_is_thrown_away(tmp_path: Path, host: Host, session: requests.Session, content: bytes) -> None:
    cache = NetworkCache(tmp_path, 10**9, session)
    host.content = content
    with pytest.raises(DownloadError, match=r"net: .*(thrown away|longer than)"):
        fetch(cache, wanted(host))
    host.content = CONTENT
    assert fetch(cache, wanted(host)).read_bytes() == CONTENT


def test_a_file_that_went_bad_on_disk_is_fetched_again(tmp_path: Path, host: Host, session: requests.Session) -> None:
    path = fetch(NetworkCache(tmp_path, 10**9, session), wanted(host))
    path.write_bytes(b"damaged")
    assert fetch(NetworkCache(tmp_path, 10**9, session), wanted(host)).read_bytes() == CONTENT


def test_an_error_names_the_status(tmp_path: Path, host: Host, session: requests.Session) -> None:
    host.status = 404
    with pytest.raises(DownloadError, match="answered 404"):
        fetch(NetworkCache(tmp_path, 10**9, session), wanted(host))
    assert not list(tmp_path.glob("*.bin.gz"))


def test_room_is_made_by_dropping_the_least_recently_used(
    tmp_path: Path, host: Host, session: requests.Session
) -> None:
    cache = NetworkCache(tmp_path, 2 * len(CONTENT) + 10, session)
    for number in range(3):
        host.content = CONTENT[:-1] + bytes([number])
        fetch(cache, wanted(host, sha256=hashlib.sha256(host.content).hexdigest()))
    assert len(list(tmp_path.glob("*.bin.gz"))) == 2


def test_unreachable(tmp_path: Path, session: requests.Session) -> None:
    network = NetworkFile("net", "http://127.0.0.1:9/net", SHA, len(CONTENT))
    with pytest.raises(DownloadError, match="net: "):
        fetch(NetworkCache(tmp_path, 10**9, session), network)
