"""KataGo's own games of self-play, as uploads: its SGFs and rows grouped by game, with the form they would have."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from common.audit import GameFacts
from common.go.points import PASS, WHITE, point_at
from common.replay import GameStart, replay
from common.rows import GlobalTarget, Rows, game_hash, read_npz
from common.sgf import read
from tests.oracles import oracle_path

FILES = {
    "clean": (("068D2E26735BF995", "9743EDBE9FA406E4"), "2815F1F8D49191CC"),
    "full": (("DA6A99A477DB6BDE",), "5FD50813C1D65817"),
}


@dataclass(frozen=True)
class Upload:
    """One game with everything that an audit looks at."""

    sgf: str
    rows: Rows
    facts: GameFacts


@functools.cache
def katago_uploads(name: str) -> tuple[Upload, ...]:
    """The games of the set ``clean`` or ``full``."""
    row_names, sgf_name = FILES[name]
    rows = Rows.concatenate([read_npz(oracle_path(f"vectors/selfplay/{name}/{file}.npz")) for file in row_names])
    hashes = np.array([game_hash(row) for row in rows.global_targets])
    lines = oracle_path(f"vectors/selfplay/{name}/{sgf_name}.sgfs").read_text().splitlines()
    uploads = [_upload(line, rows, hashes) for line in lines if _hash_of(line) in hashes]
    return tuple(uploads)


def _hash_of(line: str) -> str:
    """The hash in a game's root comment; games of which no row was written have no upload."""
    info = read(line).info
    assert info is not None
    return info.game_hash


def _upload(line: str, rows: Rows, hashes: np.ndarray) -> Upload:
    record = read(line)
    assert record.info is not None
    own = rows.take(np.flatnonzero(hashes == record.info.game_hash))
    draw, score = _draw_and_score(line, own)
    result = record.result or ""
    return Upload(
        line,
        own,
        GameFacts(
            x_size=record.x_size,
            y_size=record.y_size,
            rules=record.rules,
            handicap=record.handicap,
            game_type=record.info.game_type,
            winner="-" if result == "Void" else result[0],
            score=score,
            resigned=False,
            game_length=len(record.moves),
            uid=record.info.game_hash,
            black_network=record.black_name,
            white_network=record.white_name,
            length=9,
            num_training_rows=own.count,
            draw_white_wins=draw,
        ),
    )


def _draw_and_score(line: str, rows: Rows) -> tuple[float, float]:
    """What the form would say: a draw's worth, which only column 47 tells, and the score of the SGF."""
    record = read(line)
    assert record.info is not None
    result = record.result or ""
    score = 0.0 if result in ("0", "Void") else float(result[2:]) * (1 if result[0] == "W" else -1)
    start = GameStart(
        rules=record.rules,
        x_size=record.x_size,
        y_size=record.y_size,
        stones=tuple((colour, point_at(x, y)) for colour, x, y in record.stones),
        first_player=record.first_player,
        phase=record.info.began_in_phase,
    )
    points = [PASS if move.at is None else point_at(*move.at) for move in record.moves]
    game = replay(start, [move.colour for move in record.moves], points, length=9)
    row = rows.global_targets[int(np.argmax(rows.global_targets[:, GlobalTarget.FUTURE_WEIGHT]))]
    turn = int(row[GlobalTarget.TURN])
    excess = (float(row[GlobalTarget.OWN_KOMI]) - game.own_komi[turn]) * (1 if game.to_move[turn] == WHITE else -1)
    return 0.5 + excess - round(excess), score
