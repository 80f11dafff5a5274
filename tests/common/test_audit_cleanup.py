"""Games of KataGo's that began in a clean-up phase, and what went on from them, pass; after one change they do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from common.audit import audit_training_game
from common.audit_report import Findings, Reason
from common.audit_rows import is_side_row
from common.parameters import parse_selfplay
from common.rows import GlobalInput, GlobalTarget, Rows
from common.sgf import read
from common.sgf_record import StartInfo
from tests.common.katago_games import CLEANUP, Upload, cleanup_games

G = GlobalTarget
Change = Callable[[Upload], Upload]
TEXT = parse_selfplay((CLEANUP / "text.cfg").read_text(encoding="utf-8"), to_be_played=False)


def info(upload: Upload) -> StartInfo:
    found = read(upload.sgf).info
    assert found is not None
    return found


def audit(upload: Upload) -> Findings:
    return audit_training_game(upload.sgf, upload.rows, upload.facts, TEXT)


def game(phase: int) -> Upload:
    """The clean-up game that began in a phase."""
    return next(upload for upload in cleanup_games() if info(upload).began_in_phase == phase)


def fork() -> Upload:
    """A fork of a clean-up game, in which two passes before its first search ended the first clean-up phase."""
    return next(upload for upload in cleanup_games() if upload.facts.game_type == "fork")


def test_katagos_games_pass() -> None:
    games = cleanup_games()
    assert [upload.facts.game_type for upload in games] == ["fork", "fork", "cleanuptraining", "cleanuptraining"]
    assert [info(upload).began_in_phase for upload in games] == [0, 0, 1, 2]  # KataGo does not say it of forks
    assert [is_side_row(upload.rows).any() for upload in games] == [False, True, True, True]
    assert [str(audit(upload)) for upload in games] == [""] * len(games)


def sgf(pattern: str, replacement: str) -> Change:
    def change(upload: Upload) -> Upload:
        text, count = re.subn(pattern, replacement, upload.sgf, count=1)
        assert count == 1
        return replace(upload, sgf=text)

    return change


def in_rows(change: Callable[[Rows], object]) -> Change:
    def changed(upload: Upload) -> Upload:
        rows = upload.rows.take(np.arange(upload.rows.count))
        change(rows)
        return replace(upload, rows=rows)

    return changed


def inputs(which: GlobalInput, value: float, rows: slice = slice(None)) -> Change:
    return in_rows(lambda all_rows: all_rows.global_inputs[rows, which].fill(value))


REFUSED: dict[str, tuple[Upload, Change, Reason]] = {
    "the main phase": (game(1), sgf(",beganInEncorePhase=1", ""), Reason.GAME_TYPE),
    "the second phase for the first": (game(1), sgf("beganInEncorePhase=1", "beganInEncorePhase=2"), Reason.PLANES),
    "the first phase for the second": (game(2), sgf("beganInEncorePhase=2", "beganInEncorePhase=1"), Reason.PLANES),
    "moves before the first search": (game(1), sgf("startTurnIdx=0", "startTurnIdx=2"), Reason.GAME_TYPE),
    "a turn number": (game(2), sgf("initTurnNum=0", "initTurnNum=3"), Reason.GAME_TYPE),
    "the other player first": (game(1), sgf(r"\];B\[", "];W["), Reason.WRONG_PLAYER),
    "a stone less": (game(1), sgf(r"AB\[..\]", "AB"), Reason.PLANES),
    "a phase that the inputs do not know": (game(2), inputs(GlobalInput.SECOND_ENCORE, 0.0), Reason.GLOBAL_INPUTS),
    "extra moves of one row": (
        game(1),
        in_rows(lambda rows: rows.global_targets[0].__setitem__(G.EXTRA_BLACK_MOVES, 7.0)),
        Reason.GAME_COLUMNS,
    ),
    "area scoring": (
        game(1),
        in_rows(lambda rows: rows.global_targets[0].__setitem__(G.AREA_LIKE_PHASE, 1.0)),
        Reason.PHASE,
    ),
    "a bonus": (
        game(2),
        in_rows(lambda rows: rows.global_targets[0].__setitem__(G.BONUS_TO_COME, 9.0)),
        Reason.BONUS,
    ),
    "half a point": (
        game(1),
        in_rows(lambda rows: rows.global_targets[0].__setitem__(G.OWN_KOMI, rows.global_targets[0, G.OWN_KOMI] + 0.5)),
        Reason.OWN_KOMI,
    ),
    "a fork in the main phase": (fork(), inputs(GlobalInput.ENCORE, 0.0), Reason.GLOBAL_INPUTS),
    "a fork in the first phase": (fork(), inputs(GlobalInput.SECOND_ENCORE, 0.0), Reason.GLOBAL_INPUTS),
    "a fork of which a row is elsewhere": (fork(), inputs(GlobalInput.ENCORE, 0.0, slice(1, 2)), Reason.GLOBAL_INPUTS),
    "a fork of a main game": (fork(), sgf("gtype=fork,usedInitialPosition=1", "gtype=normal"), Reason.GAME_TYPE),
    "a fork with another stone": (fork(), sgf(r"AW\[ab\]", "AW[ea]"), Reason.ILLEGAL_MOVE),
}


@pytest.mark.parametrize("name", REFUSED)
def test_no_change_passes(name: str) -> None:
    upload, change, reason = REFUSED[name]
    findings = audit(change(upload))
    assert reason in findings.reasons, str(findings)


def test_a_fork_of_a_clean_up_game_may_say_its_phase_as_ours_do() -> None:
    assert audit(sgf("gtype=fork", "gtype=fork,beganInEncorePhase=1")(fork())).ok
    assert Reason.GAME_TYPE in audit(sgf("gtype=fork", "gtype=fork,beganInEncorePhase=2")(fork())).reasons
