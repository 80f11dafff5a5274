"""Requests to hosts that are not what they should be: the words that send people to the right place, and bounds."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator

import pytest
import requests

from client.contribute import exchange
from client.contribute.calls import MAX_ABANDONED, CallCutError, Caller
from client.contribute.errors import OutageError
from client.contribute.exchange import Exchange, explain
from tests.client.contribute.hosts import DRIPPING_BODY, DRIPPING_HEAD, Manner, host, says, silent

NO_AUTH = requests.auth.HTTPBasicAuth("a", "b")
WITHIN_S = 30.0
"""Far less than the time-outs of sockets, far more than what is right takes."""


@pytest.fixture
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        yield session


def trouble(session: requests.Session, url: str, method: str = "GET", cut: threading.Event | None = None) -> str:
    """What a volunteer is told of a request."""
    with pytest.raises(OutageError) as caught:
        Exchange(session, url, NO_AUTH, {}, cut or threading.Event()).send(method, url + "/")
    return str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"220 mail ESMTP\r\n",
    ],
)
def test_https_to_a_port_that_does_not_speak_it(session: requests.Session, answer: bytes) -> None:
    with host(says(answer)) as port:
        told = trouble(session, f"https://127.0.0.1:{port}")
    assert "does not speak https there" in told
    assert "is it an http:// address" in told
    assert "certificate" not in told


@pytest.mark.parametrize("answer", [b"\x15\x03\x01\x00\x02\x02\x46", b"SSH-2.0-OpenSSH_9.6\r\n", b"\r\n\r\n"])
def test_http_to_a_port_that_does_not_speak_it(session: requests.Session, answer: bytes) -> None:
    with host(says(answer)) as port:
        told = trouble(session, f"http://127.0.0.1:{port}")
    assert "does not speak http there: is it an https:// address" in told


def test_a_bad_certificate_is_told_as_one() -> None:
    fault = ssl.SSLCertVerificationError(1, "certificate verify failed")
    fault.verify_message = "certificate has expired"
    try:
        raise requests.exceptions.SSLError("a long chain") from fault
    except requests.exceptions.SSLError as error:
        told = explain(error, "https://server")
    assert "the certificate of https://server cannot be verified: certificate has expired" in told


SOCKS = ("socks4", "socks5", "socks5h")
PROXY_REFUSAL = (
    b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n"
    b"Content-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"
)


def test_a_proxy_that_wants_a_login_is_told_as_one(session: requests.Session) -> None:
    with host(says(PROXY_REFUSAL)) as port:
        session.proxies = {"https": f"http://127.0.0.1:{port}"}
        told = trouble(session, "https://server.example")
    assert "proxy" in told
    assert "wants a login (status 407)" in told
    assert "HTTPS_PROXY=http://name:password@host:port" in told


def test_a_proxy_that_is_away_is_told_as_one(session: requests.Session) -> None:
    session.proxies = {"http": "http://127.0.0.1:9", "https": "http://127.0.0.1:9"}
    for url in ("http://server.example", "https://server.example"):
        told = trouble(session, url)
        assert "the proxy between this machine and" in told
        assert "HTTPS_PROXY" in told


@pytest.mark.parametrize("url", ["http://server.example", "https://server.example"])
@pytest.mark.parametrize(
    ("proxy", "words"),
    [
        *((f"{kind}://127.0.0.1:9", "SOCKS proxy, which cannot be used without the Python package") for kind in SOCKS),
        ("http://", "the address of the proxy to"),
        ("http://127.0.0.1:99999", "the address of the proxy to"),
        ("127.0.0.1:port", "the address of the proxy to"),
        ("http://name:pass#word@127.0.0.1:9", "the address of the proxy to"),
        ("ftp://127.0.0.1:9", "the address of the proxy to"),
        ("127.0.0.1:9", "does not help"),
    ],
)
def test_a_proxy_of_the_environment_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, url: str, proxy: str, words: str
) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with requests.Session() as session:
        told = trouble(session, url)
    assert words in told
    assert "see HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY" in told


def test_a_file_of_certificates_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere/bundle.pem")
    with requests.Session() as session:
        told = trouble(session, "https://127.0.0.1:9")
    assert "/nowhere/bundle.pem; see REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE in the environment" in told


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nhalf",
        b"HTTP/1.1 302 Found\r\nLocation: http://[bad/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://" + b"a" * 300 + b"/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: gopher://x/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
        b"HTTP/9.9 999 \xff\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
    ],
)
def test_whatever_is_answered_is_no_more_than_an_outage(session: requests.Session, answer: bytes) -> None:
    with host(says(answer)) as port, contextlib.suppress(OutageError):
        url = f"http://127.0.0.1:{port}"
        Exchange(session, url, NO_AUTH, {}, threading.Event()).send("GET", url + "/")


# -------------------------------------------------------------------------------------------------------------- bounds


@pytest.fixture
def cut() -> threading.Event:
    return threading.Event()


@pytest.mark.timeout(WITHIN_S)
@pytest.mark.parametrize("manner", [silent, DRIPPING_HEAD, DRIPPING_BODY], ids=["silent", "head", "body"])
def test_a_request_that_is_never_answered_is_cut(
    session: requests.Session, cut: threading.Event, manner: Manner
) -> None:
    connected = threading.Event()

    def watched(connection: socket.socket, over: threading.Event) -> None:
        connected.set()
        manner(connection, over)

    with host(watched) as port:
        threading.Thread(target=_set_after, args=(cut, connected), daemon=True).start()
        assert "the program is being stopped" in trouble(session, f"http://127.0.0.1:{port}", "POST", cut)


def _set_after(event: threading.Event, other: threading.Event) -> None:
    other.wait()
    event.set()


@pytest.mark.timeout(WITHIN_S)
def test_a_name_server_that_never_answers_is_cut(
    session: requests.Session, cut: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def resolve(*_: object, **__: object) -> list[object]:
        cut.set()
        over.wait()
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    try:
        assert "the program is being stopped" in trouble(session, "http://server.example", cut=cut)
    finally:
        over.set()


@pytest.mark.timeout(WITHIN_S)
def test_a_request_has_a_time_limit_though_a_byte_comes_now_and_then(
    session: requests.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "REQUEST_TIMEOUT_S", 0.3)
    with host(DRIPPING_HEAD) as port:
        assert "not come to an end" in trouble(session, f"http://127.0.0.1:{port}")


@pytest.mark.timeout(WITHIN_S)
def test_calls_without_an_end_do_not_pile_up(cut: threading.Event) -> None:
    over = threading.Event()
    caller = Caller(0.0, cut)
    for _ in range(MAX_ABANDONED):
        with pytest.raises(CallCutError, match="not come to an end"):
            caller.call(over.wait)
    with pytest.raises(CallCutError, match="earlier requests"):
        caller.call(lambda: None)
    over.set()


def test_a_call_gives_what_its_function_gives_or_raises(cut: threading.Event) -> None:
    caller = Caller(WITHIN_S, cut)
    assert caller.call(lambda: 7) == 7
    assert caller.call(lambda: None) is None
    with pytest.raises(ZeroDivisionError):
        caller.call(lambda: 1 // 0)
    for _ in range(3 * MAX_ABANDONED):  # places are given back
        caller.call(lambda: None)
