"""A game record as a board that can be looked at: geometry, stones, comments.

Reads the SGF through `common.sgf` and steps through it with `server.web.board`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from common import sgf
from common.go.basics import BLACK, COLUMN_LETTERS, WHITE
from common.sgf_record import move_comment
from common.wire import MAX_SGF_BYTES
from server.web.board import Frame, Point, frames, position
from server.web.rules_text import in_words

MARGIN: Final = 1.4
"""Space between the edge of the picture and the first line, in distances of lines."""
LABEL_DISTANCE: Final = 0.9
"""Between the first line and the middle of a coordinate, beyond the stones on that line."""
MAX_MOVES: Final = 2000
"""Longer records, which only a stranger makes up, are not drawn; they can be downloaded."""
CORNERS_FROM: Final = 8
"""Least size whose corners have star points: on the third line, or from `FOURTH_LINE_FROM` on the fourth."""
FOURTH_LINE_FROM: Final = 13
SIDES_FROM: Final = 15
"""Least (odd) size with star points in the middle of the sides too."""
MIDDLE_FROM: Final = 5
"""Least (odd) size with a point in the middle."""


class NotShownError(ValueError):
    """A stored record that cannot be shown; the text tells people why."""


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
        return star_points(self.x_size, self.y_size)

    def _labels(self) -> list[tuple[float, float, str]]:
        bottom = self.y_size - 1 + MARGIN + LABEL_DISTANCE
        columns = [(x + MARGIN, bottom, COLUMN_LETTERS[x]) for x in range(self.x_size)]
        return columns + [(MARGIN - LABEL_DISTANCE, y + MARGIN, str(self.y_size - y)) for y in range(self.y_size)]


def star_points(x_size: int, y_size: int) -> list[Point]:
    """The points that are marked on an empty board: 9 on 19×19, 5 on 13×13 and 9×9, the middle alone on 7×7."""
    columns, rows = _corner_lines(x_size), _corner_lines(y_size)
    middle = (x_size // 2, y_size // 2)
    points = [(x, y) for x in columns for y in rows]
    if x_size % 2 and y_size % 2 and min(x_size, y_size) >= MIDDLE_FROM:
        points.append(middle)
    if columns and rows:
        points += [(middle[0], y) for y in rows if x_size % 2 and x_size >= SIDES_FROM]
        points += [(x, middle[1]) for x in columns if y_size % 2 and y_size >= SIDES_FROM]
    return sorted(points)


def _corner_lines(size: int) -> tuple[int, ...]:
    """The two lines, counted from 0, on which the star points of the corners lie; none on a small board."""
    if size < CORNERS_FROM:
        return ()
    line = 3 if size >= FOURTH_LINE_FROM else 2
    return line, size - 1 - line


_LETTER: Final = {BLACK: "B", WHITE: "W"}


def read(content: bytes) -> ViewedGame:
    """A stored game, ready to be shown.

    Raises:
        NotShownError: it cannot be read, or is too long to be drawn.
    """
    try:
        record = sgf.read(content, max_bytes=MAX_SGF_BYTES, max_nodes=MAX_MOVES + 1)
    except (ValueError, RecursionError) as error:
        raise NotShownError(_("The record of this game cannot be shown: %(why)s") % {"why": error}) from None
    initial = tuple((_LETTER[colour], (x, y)) for colour, x, y in record.stones)
    moves = [(_LETTER[move.colour], None if move.is_pass_for_ko else move.at) for move in record.moves]
    return ViewedGame(
        x_size=record.x_size,
        y_size=record.y_size,
        initial=initial,
        frames=tuple(frames(record.x_size, record.y_size, initial, moves)),
        comments=tuple(move_comment(move, None) for move in record.moves),
        result=record.result or "",
        rules=in_words(record.rules),
    )
