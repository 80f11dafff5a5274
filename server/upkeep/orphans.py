"""Files that no row names: what a killed process, or a database that went away, left in the storage.

A file is stored just before its row is written, so one that is old and that no row names will never be named. Names of
new files are used once (`server.storage.NewFiles`), and a checkpoint that is stored again is written again, so nothing
that is about to be named can be old.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from django.core.files.storage import default_storage
from django.db.models import Q
from django.utils import timezone

from server.games.models import Game, GameKind
from server.networks.models import Network
from server.training.models import TrainingState

logger = logging.getLogger(__name__)

SAFE_AGE: Final = timedelta(days=1)
"""No request or trainer takes so long between a file and its row."""
FOLDERS: Final = ("sgfs", "rows", "networks", "checkpoints")
_CHUNK: Final = 1000
_PARTS: Final = 3
"""Of a name: sum, uid, random."""


@dataclass
class Orphans:
    """What was found (and removed)."""

    names: list[str] = field(default_factory=list)
    bytes: int = 0


def remove_orphans(*, age: timedelta = SAFE_AGE, dry_run: bool = False) -> Orphans:
    """Remove the files that are older than ``age`` and that no row names; with ``dry_run`` only tell them."""
    found = Orphans()
    before = timezone.now() - age
    for folder in FOLDERS:
        names = _files(folder)
        while chunk := list(itertools.islice(names, _CHUNK)):
            for name in sorted(set(chunk) - _named(folder, chunk)):
                try:
                    if default_storage.get_modified_time(name) >= before:
                        continue
                    size = default_storage.size(name)
                    if not dry_run:
                        default_storage.delete(name)
                except FileNotFoundError:  # another sweep was faster
                    continue
                found.names.append(name)
                found.bytes += size
    if found.names and not dry_run:
        logger.info("%d files that no row names are gone (%d bytes)", len(found.names), found.bytes)
    return found


def _files(folder: str) -> Iterator[str]:
    """Every file below a folder of the storage."""
    try:
        folders, files = default_storage.listdir(folder)
    except FileNotFoundError:
        return
    yield from (f"{folder}/{name}" for name in files)
    for name in folders:
        yield from _files(f"{folder}/{name}")


def _named(folder: str, names: Iterable[str]) -> set[str]:
    """Those of the files that a row names."""
    if folder == "networks":
        named = Network.objects.filter(Q(file__in=names) | Q(zip_file__in=names)).values_list("file", "zip_file")
        return {name for pair in named for name in pair}
    if folder == "checkpoints":
        pairs = TrainingState.objects.values_list("checkpoint", "previous_checkpoint")
        return {name for pair in pairs for name in pair}
    column = "sgf_file" if folder == "sgfs" else "rows_file"
    uids = {name: _uid_in(name) for name in names}
    # Games are many and have an index by uid only; names of an earlier version hold no uid and are asked for alone.
    fresh = Game.objects.filter(kind__in=GameKind.values, uid__in={uid for uid in uids.values() if uid})
    found = set(fresh.values_list(column, flat=True))
    older = [name for name, uid in uids.items() if not uid]
    if older:
        found |= set(Game.objects.filter(**{f"{column}__in": older}).values_list(column, flat=True))
    return found


def _uid_in(name: str) -> str:
    """The game's uid in the name of a stored file; empty if it holds none."""
    parts = name.rpartition("/")[2].partition(".")[0].split("-")
    return parts[1] if len(parts) == _PARTS else ""
