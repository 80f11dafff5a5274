"""KataGo's own games of self-play, as uploads: its SGFs and rows grouped by game, with the form they would have."""

from __future__ import annotations

import ast
import functools
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from common.audit import GameFacts
from common.config_text import overlay
from common.game_record import moves_of, start_of
from common.go.points import WHITE
from common.go.rules import Rules
from common.parameters import MatchConfig, SelfplayConfig, default_text, parse_match, parse_selfplay
from common.replay import replay
from common.rows import GlobalTarget, Rows, game_hash, read_npz
from common.sgf import read
from tests import FIXTURES
from tests.oracles import oracle_path

FILES = {
    "clean": (("068D2E26735BF995", "9743EDBE9FA406E4"), "2815F1F8D49191CC"),
    "full": (("DA6A99A477DB6BDE",), "5FD50813C1D65817"),
}


BEGINNINGS = FIXTURES / "beginnings"
REANALYSED = FIXTURES / "reanalysis"
CLEANUP = FIXTURES / "cleanup"
NET_CHANGES = FIXTURES / "net_changes"


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


@functools.cache
def beginnings() -> tuple[Upload, ...]:
    """Games that began in every way, by KataGo 1.17.2 with the text and the positions of `BEGINNINGS`."""
    return _fixture(BEGINNINGS)


@functools.cache
def reanalysed() -> tuple[Upload, ...]:
    """Games by KataGo 1.17.2 without a net, with the text of `REANALYSED`: turns are searched again after them."""
    return _fixture(REANALYSED)


@functools.cache
def cleanup_games() -> tuple[Upload, ...]:
    """Games by KataGo 1.17.2 without a net, with the text of `CLEANUP`: begun in clean-up phases, and forks of such."""
    return _fixture(CLEANUP)


@functools.cache
def net_changes() -> tuple[Upload, ...]:
    """Games by KataGo 1.17.2 with the text of `NET_CHANGES`, while two further nets came; the last one kept its net."""
    return _fixture(NET_CHANGES)


def _fixture(folder: Path) -> tuple[Upload, ...]:
    rows = read_npz(folder / "rows.npz")
    hashes = np.array([game_hash(row) for row in rows.global_targets])
    lines = (folder / "games.sgfs").read_text().splitlines()
    return tuple(_upload(line, rows, hashes) for line in lines)


def games_of(folder: Path) -> tuple[Upload, ...]:
    """All games with rows in a folder of KataGo's self-play."""
    rows = Rows.concatenate([read_npz(path) for path in sorted(folder.rglob("*.npz"))])
    hashes = np.array([game_hash(row) for row in rows.global_targets])
    lines = [line for path in sorted(folder.rglob("*.sgfs")) for line in path.read_text().splitlines()]
    return tuple(_upload(line, rows, hashes) for line in lines if _hash_of(line) in hashes)


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
            winner="-" if result == "Void" else result[:1] or "0",
            score=score,
            resigned=False,
            game_length=len(record.moves),
            uid=record.info.game_hash,
            black_network=record.black_name,
            white_network=record.white_name,
            length=own.length,
            num_training_rows=own.count,
            draw_white_wins=draw,
            net_changes=record.info.new_networks,
        ),
    )


def _draw_and_score(line: str, rows: Rows) -> tuple[float, float]:
    """What the form would say: a draw's worth, which only column 47 tells, and the score of the SGF."""
    record = read(line)
    assert record.info is not None
    result = record.result or ""
    score = 0.0 if result in ("", "0", "Void") else float(result[2:]) * (1 if result[0] == "W" else -1)
    colours, points = zip(*moves_of(record), strict=True)
    game = replay(start_of(record), colours, points, length=rows.length)
    row = rows.global_targets[int(np.argmax(rows.global_targets[:, GlobalTarget.FUTURE_WEIGHT]))]
    turn = int(row[GlobalTarget.TURN])
    excess = (float(row[GlobalTarget.OWN_KOMI]) - game.own_komi[turn]) * (1 if game.to_move[turn] == WHITE else -1)
    return 0.5 + excess - round(excess), score


_SIZES = "bSizes = 7,8,9\nbSizeRelProbs = 1,1,1\nallowRectangleProb = 0.5\n"
_RULES = "scoringRules = AREA,TERRITORY\ntaxRules = NONE,SEKI,ALL\nhasButtons = false,true\n"
_KOMI = "komiMean = 7.5\nkomiStdev = 1\ncompensateAfterPolicyInitProb = 0.5\nestimateLeadProb = 0.2\n"
SELFPLAY_TEXTS = {
    "clean": _SIZES + _RULES + _KOMI + "maxVisits = 24\ncheapSearchProb = 0\nreduceVisits = false\n"
    "cheapSearchVisits = 24\nreducedVisitsMin = 24\npolicySurpriseDataWeight = 0\nvalueSurpriseDataWeight = 0\n",
    "full": _SIZES + _RULES + _KOMI + "maxVisits = 60\ncheapSearchProb = 0.6\ncheapSearchVisits = 20\n"
    "reducedVisitsMin = 20\ndrawRandRadius = 0.5\nsidePositionProb = 0.1\nearlyForkGameProb = 0.1\n"
    "normalAsymmetricPlayoutProb = 0.3\nmaxAsymmetricRatio = 3\nhandicapProb = 0.1\n",
}
"""What differs from the project's text of self-play in the texts by which the sets were played (vectors.md 7)."""


def selfplay_text(changes: str) -> str:
    """A configuration text of self-play on small boards with some keys changed."""
    return overlay(default_text("selfplay", "7x7"), changes)


def gating_text(changes: str) -> str:
    """The same for matches."""
    return overlay(default_text("gating", "7x7"), changes)


def selfplay_config(changes: str) -> SelfplayConfig:
    """What `selfplay_text` says, also where our client could not play it."""
    return parse_selfplay(selfplay_text(changes), to_be_played=False)


def gating_config(changes: str) -> MatchConfig:
    """What `gating_text` says."""
    return parse_match(gating_text(changes), to_be_played=False)


# -- games that KataGo 1.17.2's contribute command played against our server and that its move limit stopped --

MOVE_LIMIT = FIXTURES / "move_limit"
STOPPED_TRAINING = ("training-35E82FF4", "training-D6FCC2C5")
STOPPED_RATING = "rating-FE5B02C1"
STOPPED_TRAINING_TEXT = (
    "bSizes = 7,9\nbSizeRelProbs = 1,1\nkomiMean = 7\nkomiStdev = 1\nmaxVisits = 10\ncheapSearchVisits = 4\n"
    "reducedVisitsMin = 4\nmaxMovesPerGame = 14\n"
)
STOPPED_RATING_TEXT = "bSizes = 9\nkomiMean = 7.5\nmaxVisits = 8\nmaxMovesPerGame = 60\n"


def stopped_game(name: str) -> Upload:
    """One of them; of a match the rows are none."""
    told = json.loads((MOVE_LIMIT / f"{name}.json").read_text())
    sgf = (MOVE_LIMIT / f"{name}.sgf").read_text()
    record = read(sgf)
    file = MOVE_LIMIT / f"{name}.npz"
    rows = read_npz(file) if file.exists() else Rows.zeros(0, int(told["board_size_x"]))
    extra = ast.literal_eval(told["extra_metadata"])
    facts = GameFacts(
        x_size=int(told["board_size_x"]),
        y_size=int(told["board_size_y"]),
        rules=Rules.from_json({**ast.literal_eval(told["rules"]), "komi": float(told["komi"])}),
        handicap=int(told["handicap"]),
        game_type=told["gametype"],
        winner=told["winner"],
        score=float(told["score"]),
        resigned=told["resigned"] == "True",
        game_length=int(told["game_length"]),
        uid=told["uid"],
        black_network=record.black_name,
        white_network=record.white_name,
        length=rows.length,
        num_training_rows=int(told["num_training_rows"]),
        draw_white_wins=extra.get("draw_equivalent_wins_for_white"),
    )
    return Upload(sgf, rows, facts)
