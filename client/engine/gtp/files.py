"""Commands that read and write SGF files (engine.md 2)."""

from __future__ import annotations

import re
from pathlib import Path

from client.engine.gtp.protocol import GtpError
from client.engine.gtp.score import settled_result
from client.engine.gtp.session import Session
from client.engine.gtp.words import expected, shown
from common import sgf
from common.go.handicap import count_stones
from common.go.points import BLACK, PASS, WHITE, point_at, x_of, y_of
from common.go.start import GameStart, Stone
from common.sgf_record import GameRecord, Move


def load_sgf(session: Session, words: list[str]) -> str:
    """The position of a file before its move ``n``, or after the last; rules that it does not name stay."""
    if not 1 <= len(words) <= 2:
        raise expected("one or two arguments", "loadsgf", words)
    if len(words) == 2 and not re.fullmatch(r"0*[1-9]\d{0,8}", words[1]):
        raise GtpError("Invalid value for moveNumber for loadsgf")
    before = int(words[1]) - 1 if len(words) == 2 else None
    try:
        with Path(words[0]).open("rb") as file:
            record = sgf.read(file.read(sgf.MAX_BYTES + 1), usual=session.position.rules)
        start, moves = _game_of(record)
        start = GameStart(
            start.x_size,
            start.y_size,
            start.rules,
            start.stones,
            start.to_move,
            leading_moves_are_handicap=session.settings.assume_black_moves_are_handicap,
        )
        session.position.begin(start, moves[:before])
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise GtpError(f"Could not load sgf: {shown(f'{words[0]}: {reason}')}") from None
    session.queries.forget_all()
    session.begin_anew()
    return ""


def print_sgf(session: Session, words: list[str]) -> str:
    """The game as SGF, answered or written to a file."""
    if len(words) > 1:
        raise expected("zero or one argument", "print", words)
    text = sgf.write(_record_of(session), plain_rules=True)
    if not words or words[0] == "-":
        return text
    try:
        Path(words[0]).write_text(f"{text}\n", encoding="utf-8")
    except (OSError, ValueError):
        raise GtpError(f"Could not open or write to file: {shown(words[0])}") from None
    return ""


def _game_of(record: GameRecord) -> tuple[GameStart, list[Stone]]:
    stones = tuple((colour, point_at(x, y)) for colour, x, y in record.stones)
    moves = [(move.colour, PASS if move.at is None else point_at(*move.at)) for move in record.moves]
    return GameStart(record.x_size, record.y_size, record.rules, stones, record.first_player), moves


def _record_of(session: Session) -> GameRecord:
    game = session.game
    start = game.start
    played = [
        Move(colour, None if point == PASS else (x_of(point), y_of(point)))
        for colour, point in (*start.moves, *game.moves)
    ]
    stones = sorted(((colour, x_of(point), y_of(point)) for colour, point in start.stones), key=_row_by_row)
    return GameRecord(
        x_size=game.x_size,
        y_size=game.y_size,
        rules=game.rules,
        handicap=count_stones((colour for colour, _, _ in stones), ((move.colour, move.at is None) for move in played)),
        stones=tuple(stones),
        moves=tuple(played),
        result=settled_result(session),
        beginner=WHITE if start.to_move == WHITE else BLACK,
    )


def _row_by_row(stone: tuple[int, int, int]) -> tuple[int, int, int]:
    colour, x, y = stone
    return colour, y, x
