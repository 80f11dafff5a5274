"""A game record as a board that can be looked at: geometry, stones, comments.

Reads the SGF through `common.sgf` and steps through it with `server.web.board`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from common import sgf
from common.go.basics import BLACK, COLUMN_LETTERS
from common.sgf_record import move_comment
from server.web.board import Frame, Point, frames, position

MARGIN: Final = 1.0
"""Space between the edge of the picture and the first line, in distances of lines."""
STAR_POINTS: Final = {19: (3, 9, 15), 17: (3, 8, 13), 15: (3, 7, 11), 13: (3, 6, 9), 11: (2, 5, 8), 9: (2, 4, 6)}
MIDDLE_ONLY: Final = 7


@dataclass(frozen=True)
class ViewedGame:
    """One game, ready for the page."""

    x_size: int
    y_size: int
    initial: tuple[tuple[str, Point], ...]
    frames: tuple[Frame, ...]
    comments: tuple[str, ...]
    result: str
    rules: str

    def view(self, number: int) -> dict[str, Any]:
        """What the template draws after move ``number`` (bounded to the game)."""
        number = max(0, min(number, len(self.frames)))
        stones = position(self.initial, self.frames[:number])
        last = self.frames[number - 1].point if number else None
        return {
            "width": self.x_size - 1 + 2 * MARGIN,
            "height": self.y_size - 1 + 2 * MARGIN,
            "lines": self._lines(),
            "stars": [(x + MARGIN, y + MARGIN) for x, y in self._stars()],
            "labels": self._labels(),
            "stones": [(x + MARGIN, y + MARGIN, colour) for (x, y), colour in sorted(stones.items())],
            "mark": None if last is None else (last[0] + MARGIN, last[1] + MARGIN),
            "number": number,
            "count": len(self.frames),
            "previous": max(0, number - 1),
            "next": min(len(self.frames), number + 1),
            "comment": self.comments[number - 1] if number else "",
        }

    def data(self, number: int) -> dict[str, Any]:
        """The whole game for the page's script."""
        return {
            "number": max(0, min(number, len(self.frames))),
            "margin": MARGIN,
            "initial": [[*point, colour] for colour, point in self.initial],
            "moves": [
                {"colour": frame.colour, "point": frame.point, "removed": frame.removed, "comment": comment}
                for frame, comment in zip(self.frames, self.comments, strict=True)
            ],
        }

    def _lines(self) -> list[tuple[float, float, float, float]]:
        right, bottom = self.x_size - 1 + MARGIN, self.y_size - 1 + MARGIN
        across = [(MARGIN, y + MARGIN, right, y + MARGIN) for y in range(self.y_size)]
        down = [(x + MARGIN, MARGIN, x + MARGIN, bottom) for x in range(self.x_size)]
        return across + down

    def _stars(self) -> list[Point]:
        columns, rows = STAR_POINTS.get(self.x_size), STAR_POINTS.get(self.y_size)
        if columns and rows:
            return [(x, y) for x in columns for y in rows]
        odd = self.x_size % 2 and self.y_size % 2 and min(self.x_size, self.y_size) >= MIDDLE_ONLY
        return [(self.x_size // 2, self.y_size // 2)] if odd else []

    def _labels(self) -> list[tuple[float, float, str]]:
        bottom = self.y_size - 1 + 1.6 * MARGIN
        columns = [(x + MARGIN, bottom, COLUMN_LETTERS[x]) for x in range(self.x_size)]
        return columns + [(0.4 * MARGIN, y + MARGIN, str(self.y_size - y)) for y in range(self.y_size)]


_LETTER: Final = {BLACK: "B", 3 - BLACK: "W"}


def read(text: str) -> ViewedGame:
    """A stored game, ready to be shown.

    Raises:
        SgfError: the record cannot be read.
    """
    record = sgf.read(text)
    initial = tuple((_LETTER[colour], (x, y)) for colour, x, y in record.stones)
    moves = [(_LETTER[move.colour], None if move.is_pass_for_ko else move.at) for move in record.moves]
    return ViewedGame(
        x_size=record.x_size,
        y_size=record.y_size,
        initial=initial,
        frames=tuple(frames(record.x_size, record.y_size, initial, moves)),
        comments=tuple(move_comment(move, None) for move in record.moves),
        result=record.result or "",
        rules=record.rules.sgf_name,
    )
