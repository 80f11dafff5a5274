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
from common.go.points import BLACK, NO_POINT, PASS, WHITE, point_at, x_of, y_of
from common.sgf_record import GameRecord, Move, StartInfo


def game_of(record: GameRecord) -> Game:
    """Play a record from its set-up on.

    Raises:
        ValueError: the set-up is impossible or a move is illegal; the message names it.
    """
    info = record.info
    game = Game(
        record.x_size,
        record.y_size,
        record.rules,
        stones=[(colour, point_at(x, y)) for colour, x, y in record.stones],
        to_move=record.first_player,
        phase=info.began_in_phase if info else 0,
        first_turn=info.first_turn if info else 0,
    )
    for move in record.moves:
        # Records of people let one side move twice; our own never do.
        game.play(PASS if move.at is None else point_at(*move.at), move.colour, tolerant=info is None)
    if record.result is not None and record.result.endswith("+R") and not game.finished:
        game.resign(WHITE if record.result.startswith("B") else BLACK)
    return game


def record_of(game: Game, *, black_name: str = "", white_name: str = "", info: StartInfo | None = None) -> GameRecord:
    """The record of a game as it stands."""
    seen = Game(
        game.x_size,
        game.y_size,
        game.rules,
        stones=game.stones,
        to_move=game.first_to_move,
        phase=game.first_phase,
        first_turn=game.first_turn,
    )
    moves = []
    for colour, point in game.moves:
        is_pass_for_ko = point != PASS and seen.phase > 0 and play.unblocked_stone(seen.state, point) != NO_POINT
        moves.append(Move(colour, None if point == PASS else (x_of(point), y_of(point)), is_pass_for_ko))
        seen.play(point, colour, tolerant=True)
    if info is None and game.first_phase:
        raise ValueError("a game that began in a cleanup phase needs a StartInfo to say so in its record")
    record = GameRecord(
        x_size=game.x_size,
        y_size=game.y_size,
        rules=game.rules,
        black_name=black_name,
        white_name=white_name,
        stones=tuple((colour, x_of(point), y_of(point)) for colour, point in sorted(game.stones)),
        moves=tuple(moves),
        result=game.result,
        info=info,
        beginner=game.first_to_move,
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
