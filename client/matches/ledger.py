"""The folder of a match: what is played, and every finished game, on disk before the next line is said.

``match.json`` says what is played, ``results.jsonl`` one game a line, ``games.sgfs`` its record. A game counts once its
line is whole; whatever a killed process left after that is cut off, and the game is played again. So a match that was
stopped goes on where it was, by the same command.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from common import json_text
from common.differences import differences
from common.files import has_content, write_whole
from common.text_files import read_json_object

_DESCRIPTION: Final = "match.json"
_RESULTS: Final = "results.jsonl"
_GAMES: Final = "games.sgfs"
_END: Final = "record_end"
"""Where in the file of records that of a line's game ends, bytes."""


class LedgerError(ValueError):
    """The folder holds something else; the text says what and what to do."""


@dataclass(frozen=True)
class MatchResult:
    """A finished game."""

    number: int  # says who plays, and from which opening (`client.matches.schedule`)
    first_is_black: bool
    points: float  # of the first player: 1, ½ or 0
    result: str  # as in the record: B+R, W+3.5, 0, Void, or stopped+ who was ahead
    moves: int
    seconds: tuple[float, float]  # that the first and the second player thought
    sgf: str  # one line
    players: tuple[int, int] = (0, 1)  # of the match: the first and the second of this game


class Ledger:
    """The finished games of one match.

    Args:
        directory: exists; nobody else writes to it.
        description: what is played; equal, or the folder is another match's.

    Raises:
        LedgerError: the folder is another match's, or damaged in the middle.
        TextError: its description is no text.
        OSError: it cannot be read or written.
    """

    def __init__(self, directory: Path, description: Mapping[str, Any]) -> None:
        self._directory = directory
        self._agree(json.loads(json.dumps(description)))
        self.results: list[MatchResult] = []
        self._sizes = dict.fromkeys((_RESULTS, _GAMES), 0)
        for result, ends in self._read():
            self.results.append(result)
            self._sizes = ends

    def add(self, result: MatchResult) -> None:
        """Write a game; it is on disk when this returns. `OSError` if that cannot be, with what to do."""
        fields = asdict(result)
        record = fields.pop("sgf") + "\n"
        before = dict(self._sizes)
        try:
            self._append(_GAMES, record)
            self._append(_RESULTS, json.dumps({**fields, _END: self._sizes[_GAMES]}) + "\n")
        except OSError as error:
            self._sizes = before
            raise OSError(
                f"a finished game cannot be written to {self._directory} ({error.strerror or error}): make room; the"
                f" same command goes on after the {len(self.results)} games that are there"
            ) from None
        self.results.append(result)

    def _agree(self, description: dict[str, Any]) -> None:
        """Say in the folder which match it holds, or compare; where no game is over yet, any match may begin."""
        path = self._directory / _DESCRIPTION
        has_games = has_content(self._directory / _RESULTS)
        if has_games and not path.exists():
            raise LedgerError(f"{self._directory} has games but no {_DESCRIPTION}: name another --output")
        if not has_games:
            write_whole(path, json.dumps(description, indent=1).encode() + b"\n")
            return
        told = differences(read_json_object(path), description)
        if told:
            raise LedgerError(f"{self._directory} holds another match ({told}): name another --output")

    def _read(self) -> Iterator[tuple[MatchResult, dict[str, int]]]:
        """Whole games in order, each with the sizes of both files after it."""
        games, lines = (
            path.read_bytes() if (path := self._directory / name).exists() else b"" for name in (_GAMES, _RESULTS)
        )
        begin, end = 0, 0
        for number, line in enumerate(lines.splitlines(keepends=True), start=1):
            if not line.endswith(b"\n"):
                return
            try:
                result, until = _read_line(line, games, begin)
            except (KeyError, TypeError, ValueError) as error:
                where = f"{self._directory / _RESULTS}, line {number}"
                raise LedgerError(f"{where}, is damaged ({error}): name another --output") from None
            begin, end = until, end + len(line)
            yield result, {_RESULTS: end, _GAMES: begin}

    def _append(self, name: str, text: str) -> None:
        data, size = text.encode(), self._sizes[name]
        path = self._directory / name
        with path.open("r+b" if path.exists() else "wb") as file:
            file.truncate(size)  # what a killed process has left
            file.seek(size)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        self._sizes[name] = size + len(data)


def _read_line(line: bytes, games: bytes, begin: int) -> tuple[MatchResult, int]:
    """A game from its line and the records, of which its own starts at ``begin``; and where that ends.

    KeyError, TypeError and ValueError for whatever is wrong with it.
    """
    fields = json_text.loads(line.decode())
    end = int(fields.pop(_END))
    if not begin < end <= len(games):
        raise ValueError(f"its record is not in {_GAMES}")
    (first, second), (one, other) = fields.pop("seconds"), fields.pop("players", (0, 1))
    text = games[begin:end].decode().rstrip("\n")
    return MatchResult(**fields, seconds=(first, second), players=(one, other), sgf=text), end
