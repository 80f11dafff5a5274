"""Networks arrive whole or not at all; from a real HTTP server on this machine that misbehaves on demand."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import os
import random
import re
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests

from client.contribute.downloads import (
    MIN_WINDOW_BYTES,
    SLOW_WINDOW_S,
    DownloadError,
    DownloadStopped,
    NetworkCache,
    NetworkFile,
)

CONTENT = bytes(range(256)) * 2000
SHA = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Host:
    """What the server sends and what it was asked."""

    content: bytes = CONTENT
    break_after: int | None = None
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    ignores_ranges: bool = False
    shift: int = 0
    has_length: bool = True
    asked: list[str | None] = field(default_factory=list)
    encodings: list[str | None] = field(default_factory=list)
    logins: list[str | None] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def host() -> Iterator[Host]:
    state = Host()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.headers.get("Range"))
            state.encodings.append(self.headers.get("Accept-Encoding"))
            state.logins.append(self.headers.get("Authorization"))
            if state.status is not None:
                self.send_response(state.status)
                for name, value in state.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            found = None if state.ignores_ranges else re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            start = int(found[1]) + state.shift if found else 0
            body = state.content[start:]
            self.send_response(206 if found else 200)
            if found:
                self.send_header("Content-Range", f"bytes {start}-{len(state.content) - 1}/{len(state.content)}")
            for name, value in state.headers.items():
                self.send_header(name, value)
            if state.has_length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if state.break_after is None else body[: state.break_after])

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/net.bin.gz"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
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


NET = gzip.compress(random.Random(1).randbytes(300_000), mtime=0)
"""As networks are stored: a .gz file."""


def net(host: Host, **changes: Any) -> NetworkFile:
    return wanted(host, sha256=hashlib.sha256(NET).hexdigest(), size=len(NET), **changes)


ENCODED: dict[str, tuple[bytes, str]] = {
    "as it is": (NET, ""),
    "identity": (NET, "identity"),
    "stored, and called gzip": (NET, "gzip"),
    "stored, and called x-gzip": (NET, "X-GZip"),
    "stored, and called br": (NET, "br"),
    "compressed once more": (gzip.compress(NET), "gzip"),
    "compressed once more, fast": (gzip.compress(NET, 1), "gzip"),
    "deflated": (zlib.compress(NET), "deflate"),
}


@pytest.mark.parametrize("has_length", [True, False])
@pytest.mark.parametrize("form", ENCODED)
def test_the_stored_bytes_arrive_however_they_are_sent(
    tmp_path: Path, host: Host, session: requests.Session, form: str, has_length: bool
) -> None:
    host.content, encoding = ENCODED[form]
    host.headers = {"Content-Encoding": encoding} if encoding else {}
    host.has_length = has_length
    path = fetch(NetworkCache(tmp_path, 10**9, session), net(host))
    assert path.read_bytes() == NET
    assert host.encodings == ["identity"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_text_that_is_stored_plain_and_sent_compressed(tmp_path: Path, host: Host, session: requests.Session) -> None:
    host.content, host.headers = gzip.compress(CONTENT), {"Content-Encoding": "gzip"}
    assert len(host.content) < len(CONTENT) / 10
    assert fetch(NetworkCache(tmp_path, 10**9, session), wanted(host)).read_bytes() == CONTENT


@pytest.mark.parametrize("form", ENCODED)
@pytest.mark.parametrize("ignores_ranges", [True, False])
def test_a_transfer_of_any_form_is_resumed_or_begun_anew(
    tmp_path: Path, host: Host, session: requests.Session, form: str, ignores_ranges: bool
) -> None:
    cache = NetworkCache(tmp_path, 10**9, session)
    host.content, encoding = ENCODED[form]
    host.headers = {"Content-Encoding": encoding} if encoding else {}
    host.ignores_ranges = ignores_ranges
    host.break_after = 100_000
    with pytest.raises(DownloadError):
        fetch(cache, net(host))
    host.break_after = None
    assert fetch(cache, net(host)).read_bytes() == NET
    assert len(host.asked) == 2


def test_a_proxy_that_compresses_joins_in_halfway(tmp_path: Path, host: Host, session: requests.Session) -> None:
    cache = NetworkCache(tmp_path, 10**9, session)
    host.content, host.headers = gzip.compress(NET), {"Content-Encoding": "gzip"}
    host.break_after = 100_000
    with pytest.raises(DownloadError):
        fetch(cache, net(host))
    host.content, host.headers, host.break_after = NET, {}, None
    with pytest.raises(DownloadError, match=r"thrown away.*a proxy\?"):
        fetch(cache, net(host))
    assert fetch(cache, net(host)).read_bytes() == NET


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(NET[:-1] + b"x"),
        gzip.compress(NET + b"more"),
        gzip.compress(NET)[:-9],
        gzip.compress(NET[: len(NET) // 2]),
        gzip.compress(bytes(50_000_000)),  # a bomb
        b"\x1f\x8b" + bytes(100),
        b"",
    ],
)
def test_other_content_in_an_encoding_is_thrown_away(
    tmp_path: Path, host: Host, session: requests.Session, content: bytes
) -> None:
    cache = NetworkCache(tmp_path, 10**9, session)
    host.content, host.headers = content, {"Content-Encoding": "gzip"}
    with pytest.raises(DownloadError, match=r"net: .*Content-Encoding gzip.*thrown away"):
        fetch(cache, net(host))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [200, 206])
def test_a_web_page_is_no_network(tmp_path: Path, host: Host, session: requests.Session, status: int) -> None:
    cache = NetworkCache(tmp_path, 10**9, session)
    host.content, host.headers = b"<html>Welcome</html>", {"Content-Type": "text/html; charset=utf-8"}
    with pytest.raises(DownloadError, match="a web page; is there a proxy or a captive portal"):
        fetch(cache, wanted(host))
    assert list(tmp_path.iterdir()) == []
    host.content, host.headers = CONTENT, {}
    assert fetch(cache, wanted(host)).read_bytes() == CONTENT


@pytest.mark.parametrize(("shift", "status"), [(-1, None), (1, None), (0, 416)])
def test_a_part_that_cannot_be_continued_is_begun_anew(
    tmp_path: Path, host: Host, session: requests.Session, shift: int, status: int | None
) -> None:
    cache = NetworkCache(tmp_path, 10**9, session)
    host.break_after = 100_000
    with pytest.raises(DownloadError):
        fetch(cache, wanted(host))
    host.break_after, host.shift, host.status = None, shift, status
    with pytest.raises(DownloadError, match="begins anew"):
        fetch(cache, wanted(host))
    host.shift, host.status = 0, None
    assert fetch(cache, wanted(host)).read_bytes() == CONTENT
    assert host.asked[-1] is None


def test_a_page_that_a_portal_gave_in_the_middle_does_no_harm(
    tmp_path: Path, host: Host, session: requests.Session
) -> None:
    """Without a content type it cannot be told from the file; the sum can."""
    cache = NetworkCache(tmp_path, 10**9, session)
    host.content = b"<html>Welcome</html>"
    with pytest.raises(DownloadError, match="broke off"):
        fetch(cache, wanted(host))
    host.content = CONTENT
    with pytest.raises(DownloadError, match="thrown away"):
        fetch(cache, wanted(host))
    assert fetch(cache, wanted(host)).read_bytes() == CONTENT


@pytest.mark.parametrize("target", ["http://[bad/", "http://host:port/", "ftp://host/net", "http:///", "//", ""])
def test_a_redirect_to_no_address(tmp_path: Path, host: Host, session: requests.Session, target: str) -> None:
    host.status, host.headers = 302, {"Location": target}
    with pytest.raises(DownloadError, match="net: "):
        fetch(NetworkCache(tmp_path, 10**9, session), wanted(host))


@pytest.mark.parametrize("operation", ["write", "fsync", "utime"])
def test_a_full_disk_is_an_error_that_says_so(
    tmp_path: Path, host: Host, session: requests.Session, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    cache = NetworkCache(tmp_path, 10**9, session)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    if operation == "write":
        monkeypatch.setattr(Path, "open", full)
    elif operation == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        fetch(cache, wanted(host))
        monkeypatch.setattr(os, "utime", full)
    with pytest.raises(DownloadError, match=r"No space left on device; free some disk space"):
        fetch(cache, wanted(host))
    monkeypatch.undo()
    assert fetch(cache, wanted(host)).read_bytes() == CONTENT


def test_a_transfer_that_all_but_stands_still_is_given_up(
    tmp_path: Path, host: Host, session: requests.Session
) -> None:
    moments = itertools.count(step=2 * SLOW_WINDOW_S)
    host.content = CONTENT[: MIN_WINDOW_BYTES // 2]
    cache = NetworkCache(tmp_path, 10**9, session, clock=lambda: float(next(moments)))
    with pytest.raises(DownloadError, match=r"bytes came in 300 s; it is tried again"):
        fetch(cache, wanted(host))


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
