"""Networks on disk: fetch, check, keep, and make room. Knows nothing of jobs or of what is inside a network.

What is wanted are the bytes as they are stored at the server, a ``.bin.gz``. We ask for them without any encoding, but
some servers call a stored ``.gz`` file encoded, and some proxies compress whatever comes by. So the bytes are taken as
they come, and only if they are not the file itself are they decoded, once; size and sha256 decide.

A network is named by the sha256 of its file, so a cached file can be trusted after one check per process, two servers
may share the cache, and a file that went bad on the disk is simply fetched again.
"""

from __future__ import annotations

import os
import re
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import requests
import urllib3

from client.contribute.exchange import LOGIN_PAGE_HINT, PROXY_LOGIN, explain
from common.files import sum_of

CHUNK_BYTES: Final = 1 << 16
CONNECT_TIMEOUT_S: Final = 15.0
READ_TIMEOUT_S: Final = 60.0
SLOW_WINDOW_S: Final = 300.0
MIN_WINDOW_BYTES: Final = 1 << 16
"""A transfer with less in a window is given up, and resumed by the next try on another connection."""
ENCODED_MARGIN: Final = 1.01
ENCODED_EXTRA_BYTES: Final = 1 << 16
"""Compressing what is compressed already makes it longer, by no more than this."""
ZLIB_OR_GZIP: Final = 47
"""zlib's number for: whichever of its two formats the first bytes say."""
PAGES: Final = ("text/html", "application/xhtml+xml")


class DownloadError(Exception):
    """The network could not be fetched now; the text says why. Trying again later may help."""


class _TooLongError(DownloadError):
    """What came so far is of no use."""


class DownloadStopped(Exception):
    """The client is being stopped; the part that was fetched is kept and resumed by the next start."""


@dataclass(frozen=True)
class NetworkFile:
    """Which file is wanted: as the server describes it (spec contribute-protocol.md 4.3)."""

    name: str
    url: str
    sha256: str
    size: int


class NetworkCache:
    """A folder of network files, bounded in size; the least recently used go first."""

    def __init__(
        self, folder: Path, max_bytes: int, session: requests.Session, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._session = session
        self._clock = clock
        self._checked: set[str] = set()
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def fetch(self, network: NetworkFile, stop: threading.Event, progress: Callable[[int, int], None]) -> Path:
        """Path of the network's file, downloaded unless it is here already.

        ``progress`` is called with (bytes so far, bytes in all).

        Raises:
            DownloadError: unreachable, wrong size or content, or no room on the disk.
            DownloadStopped: ``stop`` was set in between.
        """
        with self._lock:
            try:
                return self._fetch(network, stop, progress)
            # ValueError: what comes from an address that is none, e.g. in a redirect
            except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as error:
                raise DownloadError(f"network {network.name}: {explain(error, network.url)}") from error
            except OSError as error:
                raise DownloadError(
                    f"network {network.name} cannot be written to {self._folder}: {error.strerror or error};"
                    " free some disk space or choose another folder with --data-dir"
                ) from error

    def _fetch(self, network: NetworkFile, stop: threading.Event, progress: Callable[[int, int], None]) -> Path:
        target = self._folder / f"{network.sha256}.bin.gz"
        if self._is_good(target, network):
            os.utime(target)
            return target
        self._folder.mkdir(parents=True, exist_ok=True)
        self._make_room(network.size)
        part = target.with_suffix(".part")
        try:
            encoding = self._download(network, part, stop, progress)
        except _TooLongError:
            part.unlink(missing_ok=True)
            raise
        if encoding and sum_of(part) != (network.sha256.lower(), network.size):
            _decode(part, network.size)
        self._check(part, network, encoding)
        part.replace(target)
        self._checked.add(network.sha256)
        return target

    def _is_good(self, target: Path, network: NetworkFile) -> bool:
        if not target.is_file():
            return False
        if network.sha256 in self._checked:
            return True
        try:
            self._check(target, network)
        except DownloadError:
            return False  # _check removed it
        self._checked.add(network.sha256)
        return True

    def _download(
        self, network: NetworkFile, part: Path, stop: threading.Event, progress: Callable[[int, int], None]
    ) -> str:
        """Fetch what is missing of ``part``; returns the encoding that the answer tells, empty if none."""
        have = part.stat().st_size if part.exists() else 0
        if have >= network.size:
            part.unlink()
            have = 0
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        timeout = (CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
        # No credentials: the file may lie on another host, and the server wants none for it.
        with self._session.get(network.url, headers=headers, stream=True, timeout=timeout, auth=_no_auth) as answer:
            have = _starting_point(answer, network, part, have)
            encoding = answer.headers.get("Content-Encoding", "").strip().lower().replace("identity", "")
            limit = int(network.size * ENCODED_MARGIN) + ENCODED_EXTRA_BYTES if encoding else network.size
            with part.open("r+b" if have else "wb") as file:
                file.seek(have)
                file.truncate()
                for chunk in self._chunks(answer, network):
                    if stop.is_set():
                        raise DownloadStopped
                    have += len(chunk)
                    if have > limit:
                        raise _TooLongError(
                            f"network {network.name}: the file is longer than the {network.size} bytes told"
                        )
                    file.write(chunk)
                    progress(min(have, network.size), network.size)
                file.flush()
                os.fsync(file.fileno())
        return encoding

    def _chunks(self, answer: requests.Response, network: NetworkFile) -> Iterator[bytes]:
        """The bytes as sent, as soon as they come; a transfer that all but stands still is given up."""
        began, got = self._clock(), 0
        while chunk := answer.raw.read1(CHUNK_BYTES, decode_content=False):
            yield chunk
            got += len(chunk)
            if self._clock() - began > SLOW_WINDOW_S:
                if got < MIN_WINDOW_BYTES:
                    raise DownloadError(
                        f"network {network.name}: {got} bytes came in {SLOW_WINDOW_S:.0f} s; it is tried again later"
                    )
                began, got = self._clock(), 0

    def _check(self, path: Path, network: NetworkFile, encoding: str = "") -> None:
        found, size = sum_of(path)
        if size < network.size and path.suffix == ".part" and not encoding:
            raise DownloadError(f"network {network.name}: the transfer broke off after {size} of {network.size} bytes")
        if size != network.size or found != network.sha256.lower():
            path.unlink()
            encoded = f", with the Content-Encoding {encoding}," if encoding else ""
            raise DownloadError(
                f"network {network.name}: {size} bytes with sha256 {found}{encoded} came, but {network.size} bytes with"
                f" {network.sha256} were announced; it was thrown away. If this goes on, something between here and"
                f" {network.url} changes files (a proxy?), or the server's file is damaged"
            )

    def _make_room(self, needed: int) -> None:
        files = sorted(self._folder.glob("*.bin.gz"), key=lambda path: path.stat().st_mtime)
        total = sum(path.stat().st_size for path in files) + needed
        while files[:-1] and total > self._max_bytes:  # the newest may be in use
            oldest = files.pop(0)
            total -= oldest.stat().st_size
            oldest.unlink()


def _starting_point(answer: requests.Response, network: NetworkFile, part: Path, have: int) -> int:
    """The byte at which the answer begins.

    Raises:
        DownloadError: it is not the file or the wanted part of it; the part on disk is thrown away if that is why.
    """
    page = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower() in PAGES
    where = f"network {network.name}: the server answered {answer.status_code} for {network.url}"
    if answer.status_code == 407:
        raise DownloadError(f"network {network.name}: {PROXY_LOGIN.format(server=network.url)}")
    if answer.status_code in (200, 206) and page:
        raise DownloadError(f"{where} with a web page; {LOGIN_PAGE_HINT}")
    if answer.status_code == 200:
        return 0
    if answer.status_code == 206:
        found = re.match(r"bytes (\d{1,18})-", answer.headers.get("Content-Range", f"bytes {have}-"))
        if found and int(found[1]) == have:
            return have
    if answer.status_code in (206, 416):  # our part is of no use with this server
        part.unlink(missing_ok=True)
        raise DownloadError(f"{where} and not the part from byte {have}; the next try begins anew")
    raise DownloadError(where)


def _decode(part: Path, size: int) -> None:
    """Replace a file by what it decodes to if that may be ``size`` bytes; leave it as it is otherwise."""
    decoded = part.with_suffix(".decoded")
    try:
        with part.open("rb") as source, decoded.open("wb") as target:
            if not _inflate(source, target, size):
                return
            target.flush()
            os.fsync(target.fileno())
        decoded.replace(part)
    finally:
        decoded.unlink(missing_ok=True)


def _inflate(source: BinaryIO, target: BinaryIO, size: int) -> bool:
    """Whether ``source`` is a whole zlib or gzip stream of exactly ``size`` bytes, which are in ``target`` now."""
    inflater = zlib.decompressobj(ZLIB_OR_GZIP)
    written = 0
    try:
        while not inflater.eof and written <= size:
            chunk = inflater.unconsumed_tail or source.read(CHUNK_BYTES)
            if not chunk:
                return False
            written += target.write(inflater.decompress(chunk, CHUNK_BYTES))
    except zlib.error:
        return False
    return written == size


def _no_auth(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
