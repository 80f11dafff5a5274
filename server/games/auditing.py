"""The audit of one uploaded game, between the row in the database and `common.audit`.

Importing this compiles the game's kernels, so only a worker does it; nothing of a web process may.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Final

from common import audit
from common.audit_report import Deadline, Findings, OutOfTime, Reason
from common.go.rules import Rules
from common.parameters import MatchConfig, SelfplayConfig, parse_match, parse_selfplay
from common.rows import Rows, RowsError, read_npz
from common.wire import form_game_type
from server.games.models import Game
from server.games.quick_checks import ROWS_LIMITS
from server.games.services import Accepted, Refusal
from server.jobs.selectors import other_texts

BAD_RULES: Final = "rules"
_CLEANUP: Final = "cleanuptraining"
"""The one game type that the form spells differently from the SGF."""
AUDIT_SECONDS: Final = 20.0
"""Processor time that one game may take. The longest honest game of 19x19 takes a tenth of it."""
_TRIES: Final = 2
"""A game is refused when it took too long so often: the first time, kernels may have been compiled meanwhile."""
_OTHER_TEXTS: Final = 3


def judge(game: Game, sgf: bytes, rows: bytes | None) -> Accepted | Refusal:
    """Hold the files of a game against each other, against its row, its job's text and the rules of Go.

    Raises:
        OutOfTime: it took too long, for the first time; it is to be audited again.
    """
    try:
        return _judge(game, sgf, rows)
    except OutOfTime:
        if game.audits < _TRIES:
            raise
        return Refusal(str(Reason.AUDIT_TIME), f"its audit takes more than {AUDIT_SECONDS:g} seconds")


def _judge(game: Game, sgf: bytes, rows: bytes | None) -> Accepted | Refusal:
    deadline = Deadline(AUDIT_SECONDS)
    try:
        facts = facts_of(game)
    except ValueError as error:
        return Refusal(BAD_RULES, f"its rules contradict themselves: {error}")
    read = None
    if rows is not None:
        try:
            read = read_npz(rows, ROWS_LIMITS, length=facts.length)
        except RowsError as error:
            return Refusal(error.reason, str(error))
    first: Findings | None = None
    for text in _texts(game):
        findings = _findings(sgf, read, facts, text, deadline)
        if findings.ok:
            return Accepted(is_unfinished=findings.is_unfinished)
        first = first or findings
    assert first is not None
    return Refusal(str(first.reasons[0]), str(first))


def _texts(game: Game) -> Iterator[str]:
    """The text of the game's job, then others by which a client that names no job may have played it."""
    yield game.job.config
    yield from other_texts(game.job, _OTHER_TEXTS)


def _findings(sgf: bytes, rows: Rows | None, facts: audit.GameFacts, text: str, deadline: Deadline) -> Findings:
    if rows is None:
        return audit.audit_rating_game(sgf, facts, _match_config(text), deadline)
    return audit.audit_training_game(sgf, rows, facts, _selfplay_config(text), deadline)


@functools.lru_cache(maxsize=64)
def _selfplay_config(text: str) -> SelfplayConfig:
    return parse_selfplay(text, to_be_played=False)


@functools.lru_cache(maxsize=64)
def _match_config(text: str) -> MatchConfig:
    return parse_match(text, to_be_played=False)


def facts_of(game: Game) -> audit.GameFacts:
    """What the upload told of its game.

    Raises:
        ValueError: the rules contradict themselves.
    """
    is_cleanup = game.gametype == form_game_type(_CLEANUP)
    return audit.GameFacts(
        x_size=game.board_size_x,
        y_size=game.board_size_y,
        rules=Rules.from_json({**game.rules, "komi": float(game.komi)}),
        handicap=game.handicap,
        game_type=_CLEANUP if is_cleanup else game.gametype,
        winner=game.winner,
        score=None if game.score is None else float(game.score),
        resigned=game.resigned,
        game_length=game.game_length,
        uid=game.uid,
        black_network=game.black_network.name,
        white_network=game.white_network.name,
        length=game.run.data_board_len,
        num_training_rows=game.num_training_rows,
        draw_white_wins=game.extra_metadata.get("draw_equivalent_wins_for_white"),
    )
