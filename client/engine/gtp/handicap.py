"""Commands that place handicap stones (engine.md 2)."""

from __future__ import annotations

from typing import Final

import numpy as np

from client.engine.gtp.protocol import GtpError
from client.engine.gtp.session import Session
from client.engine.gtp.words import expected, shown, whole_number
from client.engine.position import game_after
from client.engine.raw_outputs import raw_outputs
from common.go.handicap import fixed_points
from common.go.points import BLACK, PASS, from_vertex, point_at, point_of, to_vertex
from common.go.symmetry import NUM_SYMMETRIES

MOST_FREE: Final = 30
_FREE_TEMPERATURE: Final = 0.25


def fixed_handicap(session: Session, words: list[str]) -> str:
    """Stones on the fixed points; answers with their vertices."""
    count = _count(words, "fixed_handicap")
    _need_empty_board(session)
    try:
        points = [point_at(x, y) for x, y in fixed_points(*session.position.size, count)]
    except ValueError as error:
        raise GtpError(str(error)) from None
    return _set(session, points)


def place_free_handicap(session: Session, words: list[str]) -> str:
    """Stones where the net would play; answers with their vertices."""
    count = _count(words, "place_free_handicap")
    _need_empty_board(session)
    x_size, y_size = session.position.size
    most = min(MOST_FREE, x_size * y_size // 4)
    if count < 2:
        raise GtpError(f"Number of handicap stones less than 2: {count}")
    if count > most:
        raise GtpError(f"{count} handicap stones on {x_size}x{y_size}: from 2 to {most} are possible")
    points: list[int] = []
    for _ in range(count):
        points.append(_drawn_point(session, points))
    return _set(session, sorted(points))


def set_free_handicap(session: Session, words: list[str]) -> str:
    """Stones on chosen points, White to move."""
    _need_empty_board(session)
    points = []
    for word in words:
        try:
            point = from_vertex(word, *session.position.size)
        except ValueError:
            point = PASS
        if point == PASS:
            raise GtpError(f"Invalid handicap location: {shown(word)}")
        points.append(point)
    if len(points) < 2 or len(set(points)) < len(points):
        raise GtpError("Handicap placement is invalid")
    try:
        _set(session, points)
    except ValueError:
        raise GtpError("Handicap placement is invalid") from None
    return ""


def _drawn_point(session: Session, points: list[int]) -> int:
    """Where the raw policy puts Black's next stone beside ``points``; never the pass."""
    game = game_after(session.game.start, [])
    for point in points:
        game.play(point, BLACK, tolerant=True)
    evaluator = session.evaluator()
    symmetry = int(session.random.integers(NUM_SYMMETRIES))
    policy = raw_outputs(evaluator, game, BLACK, symmetry, 0.0).policy[:-1]
    largest = np.nanmax(policy)
    weights = np.nan_to_num((policy / largest) ** (1.0 / _FREE_TEMPERATURE))
    drawn = session.random.choice(len(weights), p=weights / weights.sum())
    return point_of(int(drawn), evaluator.length)


def _set(session: Session, points: list[int]) -> str:
    session.position.set_handicap(points)
    session.begin_anew()
    return " ".join(to_vertex(point, session.position.size[1]) for point in points)


def _count(words: list[str], command: str) -> int:
    count = whole_number(words[0]) if len(words) == 1 else None
    if count is None:
        raise expected("one argument", command, words)
    return count


def _need_empty_board(session: Session) -> None:
    if not session.position.is_empty:
        raise GtpError("Board is not empty")


