"""One request to the server and its answer, whoever gave it: bounded in time and size, its failures put into words.

Knows HTTP, TLS and what stands between a volunteer and a server (proxies, captive portals); no message of the protocol.
"""

from __future__ import annotations

import email.utils
import http.client
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import requests
import urllib3

from client.contribute.calls import CallCutError, Caller
from client.contribute.errors import OutageError
from client.contribute.loop import MAX_NAMED_PAUSE_S

CONNECT_TIMEOUT_S: Final = 60.0
"""Also for sending one upload, which on a slow line takes its time."""
READ_TIMEOUT_S: Final = 60.0
REQUEST_TIMEOUT_S: Final = 300.0
"""For a whole request, also where a byte comes now and then."""
MAX_ANSWER_BYTES: Final = 8 << 20
MAX_REDIRECTS: Final = 5
CHUNK_BYTES: Final = 1 << 16
KEEPING_REDIRECTS: Final = (307, 308)
"""Statuses that say: the same request, with its body, to another address."""
LOGIN_PAGE_HINT: Final = "is there a proxy or a captive portal (a network's login page) in between?"


@dataclass(frozen=True)
class Answer:
    """A whole answer."""

    status: int
    url: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def content_type(self) -> str:
        """The media type alone, e.g. ``text/html``; empty if none was told."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()


class Exchange:
    """Requests of one contributor to one server.

    Args:
        session: gives connections.
        server_url: where the server is; only it gets the login.
        cut: ends every request that is under way.
    """

    def __init__(
        self,
        session: requests.Session,
        server_url: str,
        auth: requests.auth.AuthBase,
        headers: Mapping[str, str],
        cut: threading.Event,
    ) -> None:
        self.server_url = server_url
        self._session = session
        self._auth = auth
        self._headers = dict(headers)
        self._caller = Caller(REQUEST_TIMEOUT_S, cut)

    def send(self, method: str, url: str, files: object = None) -> Answer:
        """The answer to one request, of whatever status.

        A POST follows only redirects that keep it a POST and stay with the server, others are the answer.

        Raises:
            OutageError: no answer; the text says what to look at.
        """
        try:
            return self._caller.call(lambda: self._follow(method, url, files))
        except CallCutError as error:
            raise OutageError(f"no answer from {self.server_url}: {error}") from error
        # ValueError: what comes from an address that is none, e.g. in a redirect
        except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError, OSError) as error:
            raise OutageError(explain(error, self.server_url)) from error

    def _follow(self, method: str, url: str, files: object) -> Answer:
        answer = self._request(method, url, files)
        for _ in range(MAX_REDIRECTS):
            target = urllib.parse.urljoin(answer.url, answer.headers.get("Location", ""))
            if answer.status not in KEEPING_REDIRECTS or not _same_server(answer.url, target):
                break
            answer = self._request(method, target, files)
        return answer

    def _request(self, method: str, url: str, files: object) -> Answer:
        with self._session.request(
            method,
            url,
            files=files,  # type: ignore[arg-type]  # requests' stubs know fewer forms of multipart than requests
            headers=self._headers,
            auth=self._auth,
            timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S),
            allow_redirects=method == "GET",  # a POST would become a GET
            stream=True,
        ) as answer:
            content = bytearray()
            for chunk in answer.iter_content(CHUNK_BYTES):
                content += chunk
                if len(content) > MAX_ANSWER_BYTES:
                    raise OutageError(f"the answer from {answer.url} has no end; {LOGIN_PAGE_HINT}")
            return Answer(answer.status_code, answer.url, answer.headers, bytes(content))


def _same_server(url: str, target: str) -> bool:
    """Whether a redirect stays with the host that has the login, and does not leave https."""
    here, there = urllib.parse.urlsplit(url), urllib.parse.urlsplit(target)
    return here.hostname == there.hostname and (here.scheme, there.scheme) in (
        ("http", "http"),
        ("http", "https"),
        ("https", "https"),
    )


def foreign(answer: Answer, server_url: str) -> str:
    """What to tell of an answer that is not the game server's own."""
    if answer.status == PROXY_LOGIN_WANTED:
        return PROXY_LOGIN.format(server=server_url)
    if answer.status == 400 and b"plain HTTP" in answer.content:
        return f"{answer.url} speaks https there: is the server's address https://… ?"
    shown = f"status {answer.status}, {answer.content_type or 'no content type'}, {len(answer.content)} bytes"
    if 300 <= answer.status < 400:
        target = urllib.parse.urljoin(answer.url, answer.headers.get("Location", ""))
        return (
            f"{answer.url} sends this request on to {target} (status {answer.status});"
            f" is the server's address {server_url} right, or {LOGIN_PAGE_HINT}"
        )
    return f"what came from {answer.url} is not the game server's answer ({shown}); {LOGIN_PAGE_HINT}"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds told by the ``Retry-After`` header, which holds a number or a date; within reason."""
    text = headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return min(float(text), MAX_NAMED_PAUSE_S)
    try:
        seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(0.0, seconds), MAX_NAMED_PAUSE_S)


# ---------------------------------------------------------------------------------------------------- failures in words

PROXY_LOGIN_WANTED: Final = 407
PROXY_EXAMPLE: Final = "HTTPS_PROXY=http://name:password@host:port (HTTP_PROXY for an http:// address)"
PROXY_LOGIN: Final = (
    "the proxy between this machine and {server} wants a login (status 407): give it in the environment, "
    + PROXY_EXAMPLE
)
PROXY_VARIABLES: Final = "see HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY in the environment"
SOCKS_PROXY: Final = (
    "the proxy to {server} is a SOCKS proxy, which cannot be used without the Python package PySocks: install it, or"
    " give a proxy for HTTP"
)


def explain(error: BaseException, server_url: str) -> str:
    """Why there was no answer, in words that send people to the right place."""
    chain = list(_causes(error))
    for rule in (_certificate, _certificates_file, _no_tls, _no_http, _proxy_address, _proxy):
        text = rule(chain, server_url)
        if text:
            return text
    return f"no answer from {server_url}: {str(chain[-1]) or type(chain[-1]).__name__}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from; the innermost, without urllib3's chain of pools and objects, comes last."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _certificate(chain: list[BaseException], server_url: str) -> str:
    for cause in chain:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f"the certificate of {server_url} cannot be verified: {cause.verify_message};"
                " is the clock of this machine right, and is nothing in between that opens connections?"
            )
    return ""


def _no_tls(chain: list[BaseException], server_url: str) -> str:
    """TLS failed otherwise than by a certificate: nearly always the other end does not speak it."""
    for cause in chain:
        if isinstance(cause, ssl.SSLError):
            return (
                f"{server_url} does not speak https there ({cause.reason or cause}):"
                " is it an http:// address, or is the port another one?"
            )
    return ""


def _no_http(chain: list[BaseException], server_url: str) -> str:
    """The first line is no HTTP: to a request in plain text a TLS server answers with an alert in bytes."""
    for cause in chain:
        if isinstance(cause, http.client.BadStatusLine) and not isinstance(cause, http.client.RemoteDisconnected):
            return f"{server_url} does not speak http there: is it an https:// address, or is the port another one?"
    return ""


def _certificates_file(chain: list[BaseException], server_url: str) -> str:
    """A file of certificates that the environment names is not there: requests raises a bare OSError."""
    text = str(chain[-1])
    if type(chain[-1]) is not OSError or "CA certificate" not in text:
        return ""
    return f"{text}; see REQUESTS_CA_BUNDLE and CURL_CA_BUNDLE in the environment"


def _proxy_address(chain: list[BaseException], server_url: str) -> str:
    """What the environment gives for a proxy cannot be used; requests does not say that it speaks of a proxy."""
    if not isinstance(chain[0], (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema)):
        return ""
    for proxy in requests.utils.get_environ_proxies(server_url).values():
        if proxy.lower().startswith("socks"):
            return f"{SOCKS_PROXY.format(server=server_url)}; {PROXY_VARIABLES}"
        if isinstance(chain[0], requests.exceptions.InvalidProxyURL) or not _is_proxy_address(proxy):
            return f"the address of the proxy to {server_url} is wrong: {chain[-1]}; {PROXY_VARIABLES}"
    return ""


def _is_proxy_address(text: str) -> bool:
    """Whether urllib3 takes it for one."""
    try:
        urllib3.proxy_from_url(text if "://" in text else f"http://{text}").clear()
    except (urllib3.exceptions.HTTPError, ValueError):
        return False
    return True


def _proxy(chain: list[BaseException], server_url: str) -> str:
    failed = [
        cause for cause in chain if isinstance(cause, (requests.exceptions.ProxyError, urllib3.exceptions.ProxyError))
    ]
    if not failed:
        return ""
    if " 407 " in f"{chain[-1]} ":
        return PROXY_LOGIN.format(server=server_url)
    return f"the proxy between this machine and {server_url} does not help: {chain[-1]}; {PROXY_VARIABLES}"
