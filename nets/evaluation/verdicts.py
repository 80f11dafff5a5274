"""What trials in child processes found out, remembered: on disk for this user, else for as long as this process lives.

A verdict holds for the facts that it was found under; what is not a whole verdict of just these facts is none. Where it
cannot be written, it is asked for again by the next process. Knows what a processor and a library are, and no nets.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import json
import platform
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from common.cache_folder import ROOT, folder, state_of
from common.files import LockedError, lock, written_whole

PASSING_S: Final = 24 * 3600.0
"""So long a verdict holds whose cause may pass, such as too little memory at that moment."""
KEPT: Final = 200
"""Verdicts that stay on disk, the newest."""
_LIBRARIES: Final = ("torch", "openvino")
_RELEVANT_FLAGS: Final = re.compile(r"(s?sse|avx|amx|fma|f16c|bmi|asimd|sve|sme|neon|bf16|i8mm|fp)")
_NOTE: Final = ".attempt-"
"""In the names of notes."""


@dataclass(frozen=True)
class Verdict:
    """Whether a way to compute can be gone without the process ending there."""

    survives: bool
    lasting: bool
    """Whether it holds until a fact changes, or for `PASSING_S` only."""
    reason: str
    """For people; empty if there is nothing to say."""
    at: float
    """When it was found, in seconds since 1970."""

    def holds(self, now: float) -> bool:
        """Whether it need not be asked for again; one from the future is of a clock that was wrong."""
        return self.lasting or 0.0 <= now - self.at < PASSING_S


Facts = Mapping[str, str]


class Verdicts:
    """The verdicts of one folder, which need not exist; ``None`` keeps them in this process only."""

    def __init__(self, folder: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._here: dict[str, Verdict] = {}

    def recall(self, facts: Facts) -> Verdict | None:
        """The verdict under these facts, if there is one that holds."""
        key = _key(facts)
        if key not in self._here and self._folder is not None:
            found = _read(self._folder / f"{key}.json", facts)
            if found is not None:
                self._here[key] = found
        verdict = self._here.get(key)
        if verdict is None or verdict.holds(self._clock()):
            return verdict
        del self._here[key]
        return None

    def remember(self, facts: Facts, *, survives: bool, lasting: bool, reason: str) -> Verdict:
        """The verdict found now; on disk as well, if it can be written there."""
        verdict = Verdict(survives, lasting, reason, self._clock())
        self._here[_key(facts)] = verdict
        if self._folder is not None:
            with contextlib.suppress(OSError):
                self._folder.mkdir(parents=True, exist_ok=True)
                _write(self._folder / f"{_key(facts)}.json", facts, verdict)
                for note in self._left(facts):
                    note.unlink(missing_ok=True)
                _forget_old(self._folder)
        return verdict

    @contextlib.contextmanager
    def one_at_a_time(self, patience_s: float) -> Iterator[None]:
        """Within, no other process of this user finds out anything; not so where files cannot be locked.

        After ``patience_s`` it is not waited for the others any longer.
        """
        with contextlib.ExitStack() as held:
            if self._folder is not None:
                with contextlib.suppress(OSError, LockedError):
                    self._folder.mkdir(parents=True, exist_ok=True)
                    held.enter_context(lock(self._folder / "lock", patience_s=patience_s))
            yield

    @contextlib.contextmanager
    def attempt(self, facts: Facts) -> Iterator[None]:
        """Within, a note on disk says that this process tries what may end it; not so where none can be written."""
        with contextlib.ExitStack() as held:
            if self._folder is not None:
                note = self._folder / f"{_key(facts)}{_NOTE}{uuid.uuid4().hex}"
                with contextlib.suppress(OSError, LockedError):
                    self._folder.mkdir(parents=True, exist_ok=True)
                    held.enter_context(lock(note))
                    held.callback(_remove, note)
            yield

    def was_broken_off(self, facts: Facts) -> bool:
        """Whether a process has ended in an `attempt` of which no verdict was found since then."""
        return bool(self._left(facts))

    def _left(self, facts: Facts) -> list[Path]:
        """Notes of processes that live no more."""
        if self._folder is None:
            return []
        return [path for path in self._folder.glob(f"{_key(facts)}{_NOTE}*") if _is_free(path)]


def of_this_user() -> Verdicts:
    """The verdicts in the user's cache folder."""
    return _of(folder("verdicts"))


@functools.cache
def _of(place: Path | None) -> Verdicts:
    return Verdicts(place)


def circumstances() -> dict[str, str]:
    """Facts of this machine and installation on which every verdict depends."""
    return {**processor(), **library_versions(), "sources": _sources()}


@functools.cache
def _sources() -> str:
    return state_of(sorted((ROOT / "nets").rglob("*.py")))


@functools.cache
def library_versions() -> dict[str, str]:
    """Versions of what computes; of a library that is not there, ``none``."""
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "none"
    return found


@functools.cache
def processor() -> dict[str, str]:
    """Model of the processor, and those of its flags that libraries choose their code by."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        text = ""
    return processor_of(text)


def processor_of(cpuinfo: str) -> dict[str, str]:
    """As `processor`, from the text that Linux tells; what is lacking there is asked of Python."""
    lines = (line.partition(":") for line in cpuinfo.split("\n\n")[0].splitlines())
    first = {name.strip().lower(): value.strip() for name, _, value in lines}
    parts = [first.get(name, "") for name in ("vendor_id", "cpu family", "model", "model name", "stepping")]
    parts += [first.get(f"cpu {name}", "") for name in ("implementer", "architecture", "variant", "part", "revision")]
    model = " ".join(part for part in parts if part) or platform.processor()
    flags = sorted(
        flag for flag in first.get("flags", first.get("features", "")).split() if _RELEVANT_FLAGS.match(flag)
    )
    return {"processor": f"{platform.machine()} {model}", "flags": " ".join(flags)}


def _key(facts: Facts) -> str:
    return hashlib.sha256(json.dumps(dict(facts), sort_keys=True).encode()).hexdigest()[:24]


def _read(path: Path, facts: Facts) -> Verdict | None:
    try:
        said: Any = json.loads(path.read_bytes())
        found = said["verdict"]
        verdict = Verdict(found["survives"], found["lasting"], found["reason"], found["at"])
        kinds = [type(value) for value in (verdict.survives, verdict.lasting, verdict.reason, verdict.at)]
        return verdict if kinds == [bool, bool, str, float] and said["facts"] == dict(facts) else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _write(path: Path, facts: Facts, verdict: Verdict) -> None:
    """Whole or not at all."""
    text = json.dumps({"facts": dict(facts), "verdict": vars(verdict)}, indent=1)
    with written_whole(path, beside=path.with_name(f".new{uuid.uuid4().hex}"), durable=False) as beside:
        beside.write_text(text)


def _forget_old(folder: Path) -> None:
    """Keep the newest verdicts; others of a kind that a killed process left go with them."""
    files = [path for pattern in ("*.json", f"*{_NOTE}*", ".new*") for path in folder.glob(pattern)]
    files.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[KEPT:]:
        path.unlink(missing_ok=True)


def _is_free(path: Path) -> bool:
    """Whether no process holds the lock of a file; False where that cannot be told."""
    try:
        with lock(path) as held:
            return held
    except (LockedError, OSError):
        return False


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
