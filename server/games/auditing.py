"""The audit of one uploaded game, between the row in the database and `common.audit`.

Importing this compiles the game's kernels, so only a worker does it; nothing of a web process may.
"""

from __future__ import annotations

from typing import Final

from common import audit
from common.go.rules import Rules
from common.rows import RowsError, read_npz
from common.wire import form_game_type
from server.games.models import Game
from server.games.quick_checks import ROWS_LIMITS
from server.games.services import Refusal

BAD_RULES: Final = "rules"
_CLEANUP: Final = "cleanuptraining"
"""The one game type that the form spells differently from the SGF."""


def judge(game: Game, sgf: bytes, rows: bytes | None) -> Refusal | None:
    """Hold the files of a game against each other, against its row and against the rules of Go; None if all agree."""
    try:
        facts = facts_of(game)
    except ValueError as error:
        return Refusal(BAD_RULES, f"its rules contradict themselves: {error}")
    if rows is None:
        findings = audit.audit_rating_game(sgf, facts)
    else:
        try:
            read = read_npz(rows, ROWS_LIMITS, length=facts.length)
        except RowsError as error:
            return Refusal(error.reason, str(error))
        findings = audit.audit_training_game(sgf, read, facts)
    return None if findings.ok else Refusal(str(findings.reasons[0]), str(findings))


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
