"""Networks on disk: fetch, check, keep, and make room. Knows nothing of jobs or of what is inside a network.

A network is named by the sha256 of its file, so a cached file can be trusted after one check per process, two servers
may share the cache, and a file that went bad on the disk is simply fetched again.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import requests

CHUNK_BYTES: Final = 1 << 16
CONNECT_TIMEOUT_S: Final = 15.0
READ_TIMEOUT_S: Final = 60.0


class DownloadError(Exception):
    """The network could not be fetched now; the text says why. Trying again later may help."""


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

    def __init__(self, folder: Path, max_bytes: int, session: requests.Session) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._session = session
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
            target = self._folder / f"{network.sha256}.bin.gz"
            if self._is_good(target, network):
                os.utime(target)
                return target
            self._make_room(network.size)
            part = target.with_suffix(".part")
            try:
                self._download(network, part, stop, progress)
                self._check(part, network)
                part.replace(target)
            except OSError as error:
                if isinstance(error, requests.RequestException):
                    raise DownloadError(f"network {network.name}: {error}") from error
                raise DownloadError(
                    f"network {network.name} cannot be written to {self._folder}: {error.strerror or error};"
                    " free some disk space or choose another folder with --data-dir"
                ) from error
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
    ) -> None:
        have = part.stat().st_size if part.exists() else 0
        if have >= network.size:
            part.unlink()
            have = 0
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        timeout = (CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
        # No credentials: the file may lie on another host, and the server wants none for it.
        with self._session.get(network.url, headers=headers, stream=True, timeout=timeout, auth=_no_auth) as answer:
            if answer.status_code not in (200, 206):
                raise DownloadError(
                    f"network {network.name}: the server answered {answer.status_code} for {network.url}"
                )
            if answer.status_code == 200:
                have = 0
            with part.open("r+b" if have else "wb") as file:
                file.seek(have)
                for chunk in answer.iter_content(CHUNK_BYTES):
                    if stop.is_set():
                        raise DownloadStopped
                    have += len(chunk)
                    if have > network.size:
                        raise DownloadError(
                            f"network {network.name}: the file is longer than the {network.size} bytes told"
                        )
                    file.write(chunk)
                    progress(have, network.size)
                file.flush()
                os.fsync(file.fileno())

    def _check(self, path: Path, network: NetworkFile) -> None:
        size = path.stat().st_size
        if size < network.size and path.suffix == ".part":
            raise DownloadError(f"network {network.name}: the transfer broke off after {size} of {network.size} bytes")
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if size != network.size or found != network.sha256.lower():
            path.unlink()
            raise DownloadError(
                f"network {network.name}: {size} bytes with sha256 {found} came, but {network.size} bytes with"
                f" {network.sha256} were announced; it was thrown away"
            )

    def _make_room(self, needed: int) -> None:
        files = sorted(self._folder.glob("*.bin.gz"), key=lambda path: path.stat().st_mtime)
        total = sum(path.stat().st_size for path in files) + needed
        while files[:-1] and total > self._max_bytes:  # the newest may be in use
            oldest = files.pop(0)
            total -= oldest.stat().st_size
            oldest.unlink()


def _no_auth(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
