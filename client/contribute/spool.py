"""Finished games on disk until the server has answered for them. Knows nothing of HTTP or of Go.

A game is one folder with its files and a ``form.json``. It is written under a temporary name, flushed to the disk and
renamed, so that whatever happens a folder with a proper name is whole. A game leaves the spool in one of two ways:
`Spool.sent` removes it, `Spool.refuse` moves it, with the reason, to ``refused/`` where its player can look at it.
What else lies in the folder (``.DS_Store``, ``desktop.ini``, somebody's copy) is left there and told of once.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from client.contribute.uploads import UPLOAD_KINDS
from common.files import sync_folder, write_synced

FORM_FILE: Final = "form.json"
REASON_FILE: Final = "reason.txt"
MAX_REFUSED: Final = 1000
"""Refused games kept for inspection; the oldest go first."""
_UID: Final = re.compile(r"[0-9A-Fa-f]{32}")


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
    """The folder of unsent games; safe for several writers and one sender.

    Args:
        root: made if it is not there.
        report: called with a line for the volunteer about what cannot be used.
    """

    def __init__(self, root: Path, report: Callable[[str], None] = lambda line: None) -> None:
        self.waiting = root / "waiting"
        self.refused = root / "refused"
        self._writing = root / "writing"
        self._report = report
        self._told: set[str] = set()
        self._telling = threading.Lock()
        self._make_folders()

    def _make_folders(self) -> None:
        for folder in (self.waiting, self.refused, self._writing):
            folder.mkdir(parents=True, exist_ok=True)

    def add(
        self, kind: str, server_url: str, fields: Mapping[str, str], files: Mapping[str, tuple[str, bytes]]
    ) -> Path:
        """Write a game durably.

        Args:
            kind: of `client.contribute.uploads.UPLOAD_KINDS`.
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
            self._make_folders()  # somebody may have tidied up
            temporary.mkdir()
            for name, content in files.values():
                write_synced(temporary / name, content)
            write_synced(temporary / FORM_FILE, json.dumps(form).encode())
            temporary.rename(target)
            sync_folder(self.waiting)
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
        """Games that wait, the oldest first. A game that cannot be read is set aside as refused."""
        games = []
        for folder in sorted(self._folders(), key=_modified):
            game = self._read(folder)
            if game is not None:
                games.append(game)
        return games

    def count(self) -> int:
        """How many games wait."""
        return len(self._folders())

    def _folders(self) -> list[Path]:
        """The games' folders, as far as their names tell; the rest is not ours."""
        folders = []
        try:
            for entry in self.waiting.iterdir():
                if _UID.fullmatch(entry.name) and entry.is_dir():
                    folders.append(entry)
                else:
                    self._tell_once(entry.name, f"{entry} is no game of ours and is left alone")
        except OSError as error:
            self._tell_once("", f"the folder of unsent games cannot be read: {error}")
        return folders

    def _tell_once(self, key: str, line: str) -> None:
        with self._telling:
            if key in self._told:
                return
            self._told.add(key)
        self._report(line)

    def sent(self, game: SpooledGame) -> None:
        """The server has the game: forget it.

        Raises:
            OSError: its folder cannot be moved.
        """
        aside = self._writing / f"{game.folder.name}-sent-{uuid.uuid4().hex[:8]}"
        self._writing.mkdir(parents=True, exist_ok=True)
        game.folder.rename(aside)  # one step out of the queue, so that a kill never leaves half a game in it
        shutil.rmtree(aside, ignore_errors=True)

    def refuse(self, game: SpooledGame, reason: str) -> Path:
        """The server will never take the game: keep it beside, with the reason if the disk has room for it.

        Raises:
            OSError: its folder cannot be moved.
        """
        return self._set_aside(game.folder, reason)

    def clean(self) -> None:
        """Remove what a killed process left half-written; call once at start, before any writer."""
        with contextlib.suppress(OSError):
            for folder in self._writing.iterdir():
                shutil.rmtree(folder, ignore_errors=True)

    def _read(self, folder: Path) -> SpooledGame | None:
        try:
            return _read_game(folder)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._give_up(folder, f"the spooled game cannot be read: {error}")
        except FileNotFoundError:
            if folder.exists():  # else it was sent meanwhile
                self._give_up(folder, f"the spooled game has no {FORM_FILE}")
        except OSError as error:
            self._tell_once(folder.name, f"the unsent game {folder} cannot be read: {error.strerror or error}")
        return None

    def _give_up(self, folder: Path, reason: str) -> None:
        """Set a damaged game aside; one that cannot be moved stays and is told of once."""
        try:
            kept = self._set_aside(folder, reason)
        except OSError as error:
            self._tell_once(folder.name, f"{reason}: {folder}; it cannot be set aside: {error.strerror or error}")
        else:
            self._report(f"{reason}; it is kept in {kept}")

    def _set_aside(self, folder: Path, reason: str) -> Path:
        target = self.refused / folder.name
        if target.exists():
            shutil.rmtree(target, ignore_errors=True)
        self.refused.mkdir(parents=True, exist_ok=True)
        folder.rename(target)
        with contextlib.suppress(OSError):  # a full disk; the reason is on the console too
            (target / REASON_FILE).write_text(reason + "\n", encoding="utf-8", errors="backslashreplace")
        with contextlib.suppress(OSError):
            for old in sorted(self.refused.iterdir(), key=_modified)[:-MAX_REFUSED]:
                shutil.rmtree(old, ignore_errors=True)
        return target


def _read_game(folder: Path) -> SpooledGame:
    form = json.loads((folder / FORM_FILE).read_bytes())
    game = SpooledGame(
        folder,
        _text(form["kind"]),
        _text(form["server_url"]),
        {_text(field): _text(value) for field, value in form["fields"].items()},
        {_text(field): folder / _text(name) for field, name in form["files"].items()},
    )
    if game.kind not in UPLOAD_KINDS:
        raise ValueError(f"its kind is {game.kind!r}")
    if game.uid.upper() != folder.name.upper():
        raise ValueError(f"its form is that of {game.uid}")
    missing = [path.name for path in game.files.values() if not path.is_file()]
    if missing:
        raise ValueError(f"{missing[0]} is missing")
    return game


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    value.encode()  # JSON may hold halves of characters, which cannot be sent
    return value


def _modified(path: Path) -> tuple[float, str]:
    try:
        return path.stat().st_mtime, path.name
    except OSError:
        return 0.0, path.name
