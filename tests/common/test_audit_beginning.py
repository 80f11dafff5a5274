"""Games that began elsewhere than on the empty board: KataGo's pass, and no change of their beginning does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from client.games.position_files import read_sources
from common import wire
from common.audit import audit_training_game
from common.audit_report import Findings, Reason
from common.config_text import overlay
from common.parameters import SelfplayConfig, parse_selfplay
from common.rows import GlobalTarget
from common.sgf import read
from tests.common.katago_games import BEGINNINGS, Upload, beginnings

G = GlobalTarget
Change = Callable[[Upload], Upload]


def config(changes: str = "") -> SelfplayConfig:
    return parse_selfplay(overlay((BEGINNINGS / "text.cfg").read_text(), changes), to_be_played=False)


def given() -> list[wire.StartPosition]:
    """The positions at which games of the text began: those of a list, and those of a record."""
    text = (
        f"startPosesFromSgfDir = {BEGINNINGS}/records\nstartPosesProb = 1\nstartPosesLoadProb = 1\n"
        f"startPosesTurnWeightLambda = 0\nhintPosesDir = {BEGINNINGS}\nhintPosesProb = 1\n"
    )
    return [position for source in read_sources(text, 1).sources for position in source.positions]


POSITIONS = given()


def game(kind: str, which: Callable[[Upload], bool] = lambda upload: True) -> Upload:
    """The first game of a kind."""
    return next(upload for upload in beginnings() if upload.facts.game_type == kind and which(upload))


def with_stones(upload: Upload) -> bool:
    return "AB[" in upload.sgf


def audit(upload: Upload, changes: str = "") -> Findings:
    return audit_training_game(upload.sgf, upload.rows, upload.facts, config(changes), positions=POSITIONS)


def test_katagos_games_of_every_beginning_pass() -> None:
    games = beginnings()
    kinds = {upload.facts.game_type for upload in games}
    assert kinds == {"normal", "handicap", "asym", "fork", "hintfork", "hintpos", "sgfpos"}
    assert [str(audit(upload)) for upload in games] == [""] * len(games)
    assert [str(audit_training_game(upload.sgf, upload.rows, upload.facts)) for upload in games] == [""] * len(games)


def test_games_from_positions_are_none_of_a_job_without() -> None:
    for upload in beginnings():
        findings = audit_training_game(upload.sgf, upload.rows, upload.facts, config())
        if upload.facts.game_type in ("sgfpos", "hintpos", "hintfork"):
            assert Reason.JOB_GAME_TYPE in findings.reasons
        elif "AW[" not in upload.sgf:
            assert findings.ok


# -- one change each --


def sgf(pattern: str, replacement: str) -> Change:
    def change(upload: Upload) -> Upload:
        text, count = re.subn(pattern, replacement, upload.sgf, count=1)
        assert count == 1
        return replace(upload, sgf=text)

    return change


def kind(name: str) -> Change:
    """Another type of game, in SGF, form and rows."""
    codes = {"normal": 0, "cleanuptraining": 1, "fork": 2, "handicap": 3, "sgfpos": 4, "hintpos": 5, "asym": 7}

    def change(upload: Upload) -> Upload:
        changed = column(G.GAME_KIND, codes[name])(sgf("gtype=[a-z]*", f"gtype={name}")(upload))
        return replace(changed, facts=replace(changed.facts, game_type=name))

    return change


def column(which: GlobalTarget, value: float) -> Change:
    def change(upload: Upload) -> Upload:
        rows = upload.rows.take(np.arange(upload.rows.count))
        assert (rows.global_targets[:, which] != np.float32(value)).any()
        rows.global_targets[:, which] = value
        return replace(upload, rows=rows)

    return change


def komi(value: float) -> Change:
    def change(upload: Upload) -> Upload:
        facts = replace(upload.facts, rules=upload.facts.rules.with_komi(value))
        return replace(sgf(r"KM\[[^]]*\]", f"KM[{value:g}]")(upload), facts=facts)

    return change


def doublings(value: float) -> Change:
    return lambda upload: replace(upload, facts=replace(upload.facts, white_doublings=value))


def also(*changes: Change) -> Change:
    def change(upload: Upload) -> Upload:
        for one in changes:
            upload = one(upload)
        return upload

    return change


NO_DOUBLINGS = sgf(",pdaWhite=[-0-9.e]*", "")
HANDICAP, ASYM, FORK, HINT_FORK = game("handicap"), game("asym"), game("fork"), game("hintfork")
ASYM_HANDICAP = game("asym", with_stones)
POSITION_FORK = game("fork", lambda upload: "AW[" in upload.sgf)
SGF_POSITION, HINT = game("sgfpos"), game("hintpos")
NORMAL = game("normal")

REFUSED: dict[str, tuple[Upload, Change, str, Reason]] = {
    # -- what a kind of games may not have, whatever the text --
    "a handicap without stones": (NORMAL, kind("handicap"), "", Reason.GAME_TYPE),
    "asymmetry without doublings": (NORMAL, kind("asym"), "", Reason.GAME_TYPE),
    "a fork of nothing": (NORMAL, kind("fork"), "", Reason.GAME_TYPE),
    "a fork that hides it": (FORK, sgf(",usedInitialPosition=1", ""), "", Reason.GAME_TYPE),
    "a fork that says it is plain": (FORK, kind("normal"), "", Reason.GAME_TYPE),
    "a plain game that says it is a fork": (
        NORMAL,
        sgf("gtype=normal", "gtype=normal,usedInitialPosition=1"),
        "",
        Reason.GAME_TYPE,
    ),
    "a position that says it is a fork": (
        SGF_POSITION,
        sgf("gtype=sgfpos", "gtype=sgfpos,usedInitialPosition=1"),
        "",
        Reason.GAME_TYPE,
    ),
    "doublings of a plain game": (NORMAL, sgf("gtype=normal", "gtype=normal,pdaWhite=0.5"), "", Reason.GAME_TYPE),
    "doublings of a handicap game": (
        HANDICAP,
        sgf("gtype=handicap", "gtype=handicap,pdaWhite=0.5"),
        "",
        Reason.GAME_TYPE,
    ),
    "doublings of a fork": (FORK, sgf("gtype=fork", "gtype=fork,pdaWhite=0.5"), "", Reason.GAME_TYPE),
    "doublings for Black in a handicap game": (ASYM_HANDICAP, sgf("pdaWhite=", "pdaWhite=-"), "", Reason.GAME_TYPE),
    "a later phase": (FORK, sgf("gtype=fork", "gtype=fork,beganInEncorePhase=2"), "", Reason.GAME_TYPE),
    "a later phase of a position": (
        SGF_POSITION,
        sgf("gtype=sgfpos", "gtype=sgfpos,beganInEncorePhase=1"),
        "",
        Reason.GAME_TYPE,
    ),
    "clean-up in the main phase": (NORMAL, kind("cleanuptraining"), "", Reason.GAME_TYPE),
    "other doublings in the form": (ASYM, doublings(0.1), "", Reason.GAME_TYPE),
    "doublings in the form alone": (NORMAL, doublings(0.1), "", Reason.GAME_TYPE),
    # -- the record against itself and the rows --
    "fewer extra stones in the rows": (HANDICAP, column(G.EXTRA_BLACK_MOVES, 0), "", Reason.GAME_COLUMNS),
    "more extra stones in the rows": (HANDICAP, column(G.EXTRA_BLACK_MOVES, 2), "", Reason.GAME_COLUMNS),
    "no extra stones of an asymmetric game": (ASYM_HANDICAP, column(G.EXTRA_BLACK_MOVES, 0), "", Reason.GAME_COLUMNS),
    "extra stones of a fork": (FORK, column(G.EXTRA_BLACK_MOVES, 1), "", Reason.GAME_COLUMNS),
    "another kind in the rows": (FORK, column(G.GAME_KIND, 0), "", Reason.GAME_COLUMNS),
    "another first search in the rows": (FORK, column(G.START_TURN, 0), "", Reason.GAME_COLUMNS),
    "another first turn in the rows": (SGF_POSITION, column(G.INITIAL_TURN_NUMBER, 0), "", Reason.GAME_COLUMNS),
    "another komi": (FORK, komi(60.5), "", Reason.OWN_KOMI),
    "a handicap stone less": (HANDICAP, sgf(r"AB\[..\]", ""), "", Reason.PLANES),
    "a handicap stone elsewhere": (HANDICAP, sgf(r"AB\[..\]", "AB[aa]"), "", Reason.PLANES),
    "a handicap that is counted": (HANDICAP, sgf(r"HA\[2\]", "HA[3]"), "", Reason.HANDICAP),
    "no doublings": (ASYM, NO_DOUBLINGS, "", Reason.GLOBAL_INPUTS),
    "other doublings": (ASYM, sgf("pdaWhite=[-0-9.]*", "pdaWhite=0.91"), "", Reason.GLOBAL_INPUTS),
    # -- what the text cannot lead to --
    "no handicap": (HANDICAP, also(), "handicapProb = 0\n", Reason.JOB_GAME_TYPE),
    "more stones than fixed ones": (
        HANDICAP,
        sgf(r"AB\[(..)\]", r"AB[\1][aa][bb]"),
        "numExtraBlackFixed = 2\n",
        Reason.JOB_START,
    ),
    "white stones": (HANDICAP, sgf(r"C\[startTurnIdx", "AW[aa]C[startTurnIdx"), "", Reason.JOB_START),
    "more extra moves than the text has": (POSITION_FORK, column(G.EXTRA_BLACK_MOVES, 9), "", Reason.JOB_START),
    "no asymmetry": (
        ASYM,
        also(),
        "normalAsymmetricPlayoutProb = 0\nhandicapAsymmetricPlayoutProb = 0\n",
        Reason.JOB_GAME_TYPE,
    ),
    "a smaller ratio": (ASYM, also(), "maxAsymmetricRatio = 1.1\n", Reason.JOB_DOUBLINGS),
    "no forks": (FORK, also(), "earlyForkGameProb = 0\nforkGameProb = 0\nsekiForkHackProb = 0\n", Reason.JOB_GAME_TYPE),
    "a fork of a game with stones": (
        FORK,
        sgf(r"C\[startTurnIdx", "AB[aa][ba]AW[ab][bb]C[startTurnIdx"),
        "sekiForkHackProb = 0\n",
        Reason.JOB_START,
    ),
    "a fork of a later turn": (FORK, sgf("initTurnNum=0", "initTurnNum=9"), "sekiForkHackProb = 0\n", Reason.JOB_START),
    "another position": (SGF_POSITION, sgf(r"AB\[..\]", "AB[aa]"), "", Reason.JOB_START),
    "a position on another turn": (HINT, sgf("initTurnNum=[0-9]*", "initTurnNum=99"), "", Reason.JOB_START),
    "more moves after a hint position": (HINT, sgf("startTurnIdx=", "startTurnIdx=1"), "", Reason.JOB_START),
    "another weight of a position's rows": (HINT, column(G.ROW_WEIGHT, 3.5), "", Reason.JOB_WEIGHTS),
    "another weight of a fork's rows": (POSITION_FORK, column(G.ROW_WEIGHT, 3.5), "", Reason.JOB_WEIGHTS),
    "komi that was not compensated": (
        HANDICAP,
        komi(60.5),
        "komiAuto = false\nkomiStdev = 1\nkomiBigStdevProb = 0\nkomiBiggerStdevProb = 0\n"
        "handicapCompensateKomiProb = 0\ncompensateAfterPolicyInitProb = 0\nfancyKomiVarying = false\n"
        "minAsymmetricCompensateKomiProb = 0\nkomiMean = 7\n",
        Reason.JOB_KOMI,
    ),
    "a hint position searched without end": (HINT, sgf("v=[0-9]*", "v=99"), "", Reason.JOB_VISITS),
    "the favoured side's visits for the other": (
        ASYM,
        sgf(r"v=([0-9]*)", "v=8"),
        "cheapSearchProb = 0\nreduceVisits = false\n",
        Reason.JOB_VISITS,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_no_change_of_a_beginning_passes(name: str) -> None:
    upload, change, text, reason = REFUSED[name]
    findings = audit(change(upload), text)
    assert reason in findings.reasons, str(findings)


def test_a_record_gives_the_positions_at_which_katago_began() -> None:
    """Some of the games that pass above did, with stones and without: their moves are those before the position."""
    begun = [read(upload.sgf) for upload in beginnings() if upload.facts.game_type == "sgfpos"]
    assert {(record.x_size, len(record.stones)) for record in begun} > {(11, 0), (11, 1)}
