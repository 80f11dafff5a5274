"""Between a game and its record: `common.go.game.Game` plays it, `common.sgf_record.GameRecord` and SGF text tell it.

The record knows no legality and the game knows no file; here a record is played, and what cannot be played is an error
that names the move. In cleanup phases a pass-for-ko is a move to a point for the game and a marked pass in SGF
(rules.md 6).
"""

from __future__ import annotations

from dataclasses import replace

from common import sgf
from common.go import play
from common.go.game import Game
from common.go.points import BLACK, MAIN_PHASE, NO_POINT, PASS, WHITE, point_at, x_of, y_of
from common.go.start import GameStart
from common.sgf_record import GameRecord, Move, StartInfo


def start_of(record: GameRecord) -> GameStart:
    """How the game of a record begins.

    Raises:
        ValueError: the board or the phase is impossible.
    """
    info = record.info
    return GameStart(
        record.x_size,
        record.y_size,
        record.rules,
        stones=tuple((colour, int(point_at(x, y))) for colour, x, y in record.stones),
        to_move=record.first_player,
        phase=info.began_in_phase if info else MAIN_PHASE,
        first_turn=info.first_turn if info else 0,
    )


def moves_of(record: GameRecord) -> list[tuple[int, int]]:
    """``(colour, point)`` of the moves of a record."""
    return [(move.colour, PASS if move.at is None else int(point_at(*move.at))) for move in record.moves]


def game_of(record: GameRecord) -> Game:
    """Play a record from its set-up on.

    Raises:
        ValueError: the set-up is impossible or a move is illegal; the message names it.
    """
    game = Game(start_of(record))
    for colour, point in moves_of(record):
        # Records of people let one side move twice; our own never do.
        game.play(point, colour, tolerant=record.info is None)
    if record.result is not None and record.result.endswith("+R") and not game.finished:
        game.resign(WHITE if record.result.startswith("B") else BLACK)
    return game


def record_of(game: Game, *, black_name: str = "", white_name: str = "", info: StartInfo | None = None) -> GameRecord:
    """The record of a game as it stands."""
    start = game.start
    seen = Game(replace(start, moves=()))
    moves = []
    for colour, point in (*start.moves, *game.moves):
        in_cleanup = point != PASS and seen.phase > MAIN_PHASE
        is_pass_for_ko = in_cleanup and play.unblocked_stone(seen.state, point) != NO_POINT
        moves.append(Move(colour, None if point == PASS else (x_of(point), y_of(point)), is_pass_for_ko))
        seen.play(point, colour, tolerant=True)
    if info is None and start.phase:
        raise ValueError("a game that began in a cleanup phase needs a StartInfo to say so in its record")
    record = GameRecord(
        x_size=game.x_size,
        y_size=game.y_size,
        rules=game.rules,
        black_name=black_name,
        white_name=white_name,
        stones=tuple((colour, x_of(point), y_of(point)) for colour, point in sorted(start.stones)),
        moves=tuple(moves),
        result=game.result,
        info=info,
        beginner=start.to_move,
    )
    return replace(record, handicap=record.counted_handicap())


def from_sgf(data: bytes | str) -> Game:
    """The game that an SGF tells, its main line.

    Raises:
        SgfError: the text cannot be read.
        ValueError: it cannot be played.
    """
    return game_of(sgf.read(data))


def to_sgf(game: Game, *, black_name: str = "", white_name: str = "") -> str:
    """The game as one line of SGF."""
    return sgf.write(record_of(game, black_name=black_name, white_name=white_name))
