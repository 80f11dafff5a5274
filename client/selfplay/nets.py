"""Which net new games are played by: one that was named, or the newest in a folder that somebody else fills.

A folder has ``NAME.bin.gz`` or ``NAME.bin``, or folders ``NAME`` with ``model.bin.gz`` or ``model.bin`` in them, as
KataGo's programs leave them. The newest by time is taken, once it is whole; a net that cannot be used is passed over
until its file changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from client.networks import Network, name_of_file

SUFFIXES: Final = (".bin.gz", ".bin")
WHOLE_AFTER_S: Final = 10.0
"""A file that was written to so long ago is whole; a newer one is if the next look finds it as it was."""

_Stamp = tuple[int, int]
"""As in `Network.stamp`: a file that is written anew is another net, whatever its name."""


@dataclass(frozen=True)
class _Candidate:
    network: Network
    path: Path
    stamp: _Stamp


@dataclass
class NetFolder:
    """The newest net of a folder, and nets that turned out unusable.

    Args:
        directory: that nets appear in; it need not exist yet.
        before: what is played until the first one appears; None: nothing.
        clock: seconds since 1970.
    """

    directory: Path
    before: Network | None = None
    clock: Callable[[], float] = time.time
    _refused: dict[Path, _Stamp] = field(default_factory=dict)
    _seen: dict[Path, _Stamp] = field(default_factory=dict)

    def newest(self) -> Network | None:
        """The net for new games; None: there is none yet. Between two calls files get whole, so leave some time."""
        found = sorted(self._candidates(), key=lambda each: (each.stamp[0], each.network.name), reverse=True)
        seen, self._seen = self._seen, {each.path: each.stamp for each in found}
        for each in found:
            is_whole = seen.get(each.path) == each.stamp or self.clock() - each.stamp[0] / 1e9 >= WHOLE_AFTER_S
            if is_whole and self._refused.get(each.path) != each.stamp:
                return each.network
        return self.before

    def refuse(self, network: Network) -> bool:
        """Pass a net over until its file changes; returns whether anything else can be hoped for."""
        if network.path is None or network == self.before:
            return False
        self._refused[network.path] = network.stamp or (0, 0)
        return True

    def _candidates(self) -> Iterator[_Candidate]:
        try:
            entries = sorted(entry for entry in self.directory.iterdir() if not entry.name.startswith("."))
        except OSError:  # it does not exist yet, or is away for a while
            return
        for entry in entries:
            files = [entry / f"model{suffix}" for suffix in SUFFIXES] if entry.is_dir() else [entry]
            for path in files:
                file = name_of_file(path)
                stem = next((file.removesuffix(end) for end in SUFFIXES if file.endswith(end)), "")
                stamp = _stamp(path)
                if stem and stamp is not None:
                    name = name_of_file(entry) if entry.is_dir() else stem
                    yield _Candidate(Network(name, path, stamp), path, stamp)


@dataclass(frozen=True)
class OneNet:
    """The net that was named, for all games."""

    network: Network

    def newest(self) -> Network:
        """That net."""
        return self.network

    def refuse(self, network: Network) -> bool:
        """There is no other one."""
        return False


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size) if path.is_file() else None
