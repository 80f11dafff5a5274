"""Finished games on disk until the server has answered for them. Knows nothing of HTTP or of Go.

A game is one folder with its files and a ``form.json``. It is written under a temporary name, flushed to the disk and
renamed, so that whatever happens a folder with a proper name is whole. A game leaves the spool in one of two ways:
`Spool.sent` removes it, `Spool.refuse` moves it, with the reason, to ``refused/`` where its player can look at it.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FORM_FILE: Final = "form.json"
REASON_FILE: Final = "reason.txt"
MAX_REFUSED: Final = 1000
"""Refused games kept for inspection; the oldest go first."""


class SpoolError(OSError):
    """A game could not be written, e.g. because the disk is full; nothing half-written remains."""


@dataclass(frozen=True)
class SpooledGame:
    """One game waiting: the form fields of its upload and the paths of its files by form field name."""

    folder: Path
    kind: str
    server_url: str
    fields: dict[str, str]
    files: dict[str, Path]

    @property
    def uid(self) -> str:
        """The game's id, which makes a repeated upload harmless."""
        return self.fields["kg_game_uid"]


class Spool:
    """The folder of unsent games; safe for several writers and one sender."""

    def __init__(self, root: Path) -> None:
        self.waiting = root / "waiting"
        self.refused = root / "refused"
        self._writing = root / "writing"
        for folder in (self.waiting, self.refused, self._writing):
            folder.mkdir(parents=True, exist_ok=True)

    def add(
        self, kind: str, server_url: str, fields: Mapping[str, str], files: Mapping[str, tuple[str, bytes]]
    ) -> Path:
        """Write a game durably.

        Args:
            kind: ``training`` or ``rating``.
            fields: the upload's form fields, with ``kg_game_uid``.
            files: form field -> (file name, content).

        Raises:
            SpoolError: the disk refused; the text says which folder and why.
        """
        uid = fields["kg_game_uid"]
        temporary = self._writing / f"{uid}-{uuid.uuid4().hex[:8]}"
        target = self.waiting / uid
        form = {
            "kind": kind,
            "server_url": server_url,
            "fields": dict(fields),
            "files": {field: name for field, (name, _) in files.items()},
        }
        try:
            temporary.mkdir()
            for name, content in files.values():
                _write_durably(temporary / name, content)
            _write_durably(temporary / FORM_FILE, json.dumps(form).encode())
            temporary.rename(target)
            _flush_folder(self.waiting)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            if target.exists():  # the same game was written before: the first copy stands
                return target
            raise SpoolError(
                f"cannot write the finished game {uid} to {self.waiting}: {error.strerror or error};"
                " free some disk space, the game is kept in memory and tried again"
            ) from error
        return target

    def pending(self) -> list[SpooledGame]:
        """Games that wait, the oldest first. A folder that cannot be read is set aside as refused."""
        games = []
        for folder in sorted(self.waiting.iterdir(), key=_modified):
            game = self._read(folder)
            if game is not None:
                games.append(game)
        return games

    def count(self) -> int:
        """How many games wait."""
        return sum(1 for _ in self.waiting.iterdir())

    def sent(self, game: SpooledGame) -> None:
        """The server has the game: forget it."""
        aside = self._writing / f"{game.folder.name}-sent-{uuid.uuid4().hex[:8]}"
        game.folder.rename(aside)  # one step out of the queue, so that a kill never leaves half a game in it
        shutil.rmtree(aside, ignore_errors=True)

    def refuse(self, game: SpooledGame, reason: str) -> Path:
        """The server will never take the game: keep it beside, with the reason."""
        return self._set_aside(game.folder, reason)

    def clean(self) -> None:
        """Remove what a killed process left half-written; call once at start, before any writer."""
        for folder in self._writing.iterdir():
            shutil.rmtree(folder, ignore_errors=True)

    def _read(self, folder: Path) -> SpooledGame | None:
        try:
            form = json.loads((folder / FORM_FILE).read_bytes())
            files = {field: folder / name for field, name in form["files"].items()}
            missing = [path.name for path in files.values() if not path.is_file()]
            if missing:
                raise ValueError(f"{missing[0]} is missing")
            return SpooledGame(folder, form["kind"], form["server_url"], dict(form["fields"]), files)
        except FileNotFoundError:
            if not folder.exists():  # sent meanwhile
                return None
            self._set_aside(folder, "the spooled game has no form.json")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._set_aside(folder, f"the spooled game cannot be read: {error}")
        return None

    def _set_aside(self, folder: Path, reason: str) -> Path:
        target = self.refused / folder.name
        if target.exists():
            shutil.rmtree(target, ignore_errors=True)
        folder.rename(target)
        (target / REASON_FILE).write_text(reason + "\n", encoding="utf-8")
        for old in sorted(self.refused.iterdir(), key=_modified)[:-MAX_REFUSED]:
            shutil.rmtree(old, ignore_errors=True)
        return target


def _modified(path: Path) -> tuple[float, str]:
    try:
        return path.stat().st_mtime, path.name
    except FileNotFoundError:
        return 0.0, path.name


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(path: Path) -> None:
    """Make a rename in ``path`` durable, where the system allows to open a folder."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
