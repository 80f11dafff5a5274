"""Games against the text of their job: honest ones of a real KataGo pass, what the text cannot lead to is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from common.audit import audit_rating_game, audit_training_game
from common.audit_report import Findings, Reason
from common.audit_text import check_text, most_side_rows, most_weight
from common.config_text import overlay
from common.rows import GlobalTarget
from common.sgf import read
from tests.common.katago_games import (
    SELFPLAY_TEXTS,
    STOPPED_RATING,
    STOPPED_RATING_TEXT,
    STOPPED_TRAINING,
    STOPPED_TRAINING_TEXT,
    Upload,
    gating_config,
    katago_uploads,
    selfplay_config,
    stopped_game,
)


@pytest.mark.parametrize("name", SELFPLAY_TEXTS)
def test_katagos_games_fit_the_text_by_which_they_were_played(name: str) -> None:
    config = selfplay_config(SELFPLAY_TEXTS[name])
    found = [str(audit_training_game(game.sgf, game.rows, game.facts, config)) for game in katago_uploads(name)]
    assert found == [""] * len(found)


# -- games that the move limit stopped --


@pytest.mark.parametrize("name", STOPPED_TRAINING)
def test_a_training_game_that_reached_its_limit_is_accepted(name: str) -> None:
    game = stopped_game(name)
    assert (game.rows.global_targets[:, GlobalTarget.HIT_MOVE_LIMIT] == 1).all()
    assert str(audit_training_game(game.sgf, game.rows, game.facts, selfplay_config(STOPPED_TRAINING_TEXT))) == ""


def test_a_match_game_that_reached_its_limit_is_accepted() -> None:
    game = stopped_game(STOPPED_RATING)
    assert str(audit_rating_game(game.sgf, game.facts, gating_config(STOPPED_RATING_TEXT))) == ""


Change = Callable[[Upload], Upload]


def form(**facts: object) -> Change:
    return lambda game: replace(game, facts=replace(game.facts, **facts))  # type: ignore[arg-type]


def sgf(pattern: str, replacement: str) -> Change:
    def change(game: Upload) -> Upload:
        text, count = re.subn(pattern, replacement, game.sgf, count=1)
        assert count == 1
        return replace(game, sgf=text)

    return change


def also(*changes: Change) -> Change:
    def change(game: Upload) -> Upload:
        for one in changes:
            game = one(game)
        return game

    return change


def without_last_move(game: Upload) -> Upload:
    facts = replace(game.facts, game_length=game.facts.game_length - 1)
    return replace(game, sgf=re.sub(r";[BW]\[[^;]*\)$", ")", game.sgf), facts=facts)


def ended_by_passes(game: Upload) -> Upload:
    values = "C[0.50 0.50 0.00 0.0 v=8]"
    text = game.sgf.removesuffix(")") + f";B[]{values};W[]{values})"
    return replace(game, sgf=text, facts=replace(game.facts, game_length=game.facts.game_length + 2))


NOTHING: Change = form()
UNFINISHED: dict[str, tuple[Change, int, set[Reason]]] = {
    "as KataGo tells it": (NOTHING, 60, set()),
    "no score": (form(score=None), 60, set()),
    "ahead, but not the winner": (form(winner="W", score=19.5), 60, {Reason.WINNER, Reason.SCORE}),
    "the loser as winner": (form(winner="B"), 60, {Reason.WINNER}),
    "no result": (form(winner="-"), 60, {Reason.WINNER}),
    "a score": (form(score=19.5), 60, {Reason.SCORE}),
    "the result in the SGF alone": (
        sgf(r"C\[startTurnIdx", "RE[W+19.5]C[startTurnIdx"),
        60,
        {Reason.NOT_FINISHED, Reason.WINNER, Reason.SCORE},
    ),
    "a draw in the SGF": (sgf(r"C\[startTurnIdx", "RE[0]C[startTurnIdx"), 60, {Reason.NOT_FINISHED}),
    "resigned in the form": (form(winner="W", resigned=True), 60, {Reason.RESIGNED, Reason.WINNER}),
    "one move before the limit": (without_last_move, 60, {Reason.NOT_FINISHED}),
    "far before the limit": (NOTHING, 300, {Reason.NOT_FINISHED}),
    "beyond the limit": (NOTHING, 50, {Reason.JOB_LENGTH}),
    "ended by two passes at the limit": (ended_by_passes, 62, {Reason.RESULT}),
    "another type of game": (also(form(game_type="fork"), sgf("=normal", "=fork")), 60, {Reason.JOB_GAME_TYPE}),
    "a type in the form alone": (form(game_type="fork"), 60, {Reason.GAME_TYPE}),
}
"""What is changed, the limit of the text, and why the game is refused; no reason: it is accepted."""


@pytest.mark.parametrize("name", UNFINISHED)
def test_what_a_form_may_say_of_a_game_that_is_not_finished(name: str) -> None:
    change, limit, reasons = UNFINISHED[name]
    game = change(stopped_game(STOPPED_RATING))
    config = gating_config(STOPPED_RATING_TEXT.replace("= 60", f"= {limit}"))
    findings = audit_rating_game(game.sgf, game.facts, config)
    assert set(findings.reasons) >= reasons, str(findings)
    assert findings.ok == (not reasons), str(findings)


# -- what no honest client can make of the text: a game of 87 turns on 7x9, area scoring, tax on groups, button --

PLAIN_TEXT = (
    "bSizes = 7,9\nbSizeRelProbs = 1,1\nallowRectangleProb = 0.5\ntaxRules = NONE,ALL\nhasButtons = false,true\n"
    "komiMean = 7.5\nkomiStdev = 0\nkomiBigStdevProb = 0\nmaxVisits = 24\ncheapSearchProb = 0\nreduceVisits = false\n"
    "policySurpriseDataWeight = 0\nvalueSurpriseDataWeight = 0\npolicyInitAreaProp = 0\nestimateLeadProb = 0.1\n"
)


def column(which: GlobalTarget, value: float) -> Change:
    def change(game: Upload) -> Upload:
        rows = game.rows.take(np.arange(game.rows.count))
        rows.global_targets[:, which] = value
        return replace(game, rows=rows)

    return change


def side_rows(game: Upload) -> Upload:
    """A row that tells nothing of the game's course is a side row."""
    rows = game.rows.take(np.append(np.arange(game.rows.count), [5] * 60))
    for which in (GlobalTarget.OUTCOME_WEIGHT, GlobalTarget.REPLY_WEIGHT, GlobalTarget.FUTURE_WEIGHT):
        rows.global_targets[-60:, which] = 0
    return replace(game, rows=rows, facts=replace(game.facts, num_training_rows=rows.count))


def komi(value: float) -> Change:
    return also(
        lambda game: replace(game, facts=replace(game.facts, rules=game.facts.rules.with_komi(value))),
        sgf(r"KM\[7.5\]", f"KM[{value:g}]"),
    )


DISHONEST: dict[str, tuple[Change, str, Reason]] = {
    "a small board": (NOTHING, "bSizes = 2,3\n", Reason.JOB_BOARD_SIZE),
    "a rectangle": (NOTHING, "allowRectangleProb = 0\n", Reason.JOB_BOARD_SIZE),
    "a size without weight": (NOTHING, "bSizeRelProbs = 0,1\n", Reason.JOB_BOARD_SIZE),
    "komi 150": (komi(150), "", Reason.JOB_KOMI),
    "komi beside the mean": (komi(8.5), "", Reason.JOB_KOMI),
    "komi beyond the spread": (komi(40), "komiStdev = 10\n", Reason.JOB_KOMI),
    "a whole komi": (komi(8), "komiStdev = 1\nkomiAllowIntegerProb = 0\n", Reason.JOB_KOMI),
    "ko rule": (NOTHING, "koRules = SIMPLE\n", Reason.JOB_RULES),
    "tax": (NOTHING, "taxRules = NONE\n", Reason.JOB_RULES),
    "suicide": (NOTHING, "multiStoneSuicideLegals = true\n", Reason.JOB_RULES),
    "button": (NOTHING, "hasButtons = false\n", Reason.JOB_RULES),
    "a fork": (sgf("gtype=normal", "gtype=fork"), "", Reason.JOB_GAME_TYPE),
    "a clean-up game": (sgf("gtype=normal", "gtype=cleanuptraining"), "", Reason.JOB_GAME_TYPE),
    "a start position": (sgf("gtype=normal", "gtype=sgfpos"), "", Reason.JOB_GAME_TYPE),
    "handicap": (sgf("gtype=normal", "gtype=handicap"), "", Reason.JOB_GAME_TYPE),
    "doublings": (sgf("gtype=normal", "gtype=normal,pdaWhite=2"), "", Reason.JOB_DOUBLINGS),
    "too many doublings": (
        sgf("gtype=normal", "gtype=asym,pdaWhite=3"),
        "normalAsymmetricPlayoutProb = 0.1\nmaxAsymmetricRatio = 4\n",
        Reason.JOB_DOUBLINGS,
    ),
    "black stones": (sgf(r"C\[startTurnIdx", "AB[aa:gh]C[startTurnIdx"), "", Reason.JOB_START),
    "white stones": (sgf(r"C\[startTurnIdx", "AW[aa]C[startTurnIdx"), "", Reason.JOB_START),
    "a later phase": (sgf("gtype=normal", "gtype=normal,beganInEncorePhase=1"), "", Reason.JOB_START),
    "a later turn": (sgf("initTurnNum=0", "initTurnNum=9"), "", Reason.JOB_START),
    "moves that nobody searched": (sgf("startTurnIdx=0", "startTurnIdx=10"), "", Reason.JOB_START),
    "the worth of draws": (form(draw_white_wins=0.9), "drawRandRadius = 0.3\n", Reason.JOB_DRAW),
    "one visit": (sgf("v=24", "v=1"), "", Reason.JOB_VISITS),
    "16 million visits": (sgf("v=24", "v=16000000"), "", Reason.JOB_VISITS),
    "more moves than the limit": (NOTHING, "maxMovesPerGame = 80\n", Reason.JOB_LENGTH),
    "weights of 200": (sgf("weight=1.00", "weight=200.00"), "", Reason.JOB_WEIGHTS),
    "more weight than full searches": (NOTHING, "cheapSearchProb = 0.9\n", Reason.JOB_WEIGHTS),
    "the weight of rows": (column(GlobalTarget.ROW_WEIGHT, 5.0), "", Reason.JOB_WEIGHTS),
    "leads that nobody asked for": (NOTHING, "estimateLeadProb = 0\n", Reason.LEAD),
    "side rows that nobody asked for": (side_rows, "", Reason.SIDE_ROWS),
    "too many side rows": (side_rows, "sidePositionProb = 0.01\n", Reason.SIDE_ROWS),
}


@pytest.mark.parametrize("name", DISHONEST)
def test_what_the_text_cannot_lead_to_is_refused(name: str) -> None:
    change, text, reason = DISHONEST[name]
    honest = katago_uploads("clean")[0]
    assert audit_training_game(honest.sgf, honest.rows, honest.facts, selfplay_config(PLAIN_TEXT)).ok
    game = change(honest)
    config = selfplay_config(overlay(PLAIN_TEXT, text))
    assert reason in audit_training_game(game.sgf, game.rows, game.facts, config).reasons


HANDICAP = "handicapProb = 1\nnumExtraBlackFixed = 1\nhandicapCompensateKomiProb = 0\n"
INTERPOLATED = HANDICAP + "handicapKomiInterpZeroProb = 0.5\n"
STONE = also(sgf(r"C\[startTurnIdx", "AB[aa]C[startTurnIdx"), sgf("gtype=normal", "gtype=handicap"))


@pytest.mark.parametrize(
    ("change", "text", "holds"),
    [
        (also(komi(7.5), STONE), HANDICAP, True),
        (also(komi(3), STONE), HANDICAP, False),
        (also(komi(3), STONE), INTERPOLATED, True),
        (also(komi(0), STONE), INTERPOLATED, True),
        (also(komi(-0.5), STONE), INTERPOLATED, False),
        (also(komi(8), STONE), INTERPOLATED, False),
        (also(komi(-3), STONE), INTERPOLATED + "komiMean = -7.5\n", True),
        (also(komi(0.5), STONE), INTERPOLATED + "komiMean = -7.5\n", False),
        (komi(3), INTERPOLATED, False),
        (also(komi(3), STONE), "handicapKomiInterpZeroProb = 0.5\n", False),
    ],
)
def test_the_komi_of_a_handicap_game_may_be_pulled_towards_zero(change: Change, text: str, holds: bool) -> None:
    record = read(change(katago_uploads("clean")[0]).sgf)
    findings = Findings()
    check_text(record, None, selfplay_config(overlay(PLAIN_TEXT, text)), findings)
    assert (Reason.JOB_KOMI not in findings.reasons) == holds, str(findings)


def test_bounds_of_weights_and_side_rows_leave_room_for_chance() -> None:
    config = selfplay_config("sidePositionProb = 0.02\n")
    for turns in (1, 10, 60, 400):
        together, one = most_weight(turns, config)
        assert min(turns, turns / 4 + 6) <= together <= turns
        assert 1 <= one <= together
        assert turns * 0.02 * 4 / 3 + 6 <= most_side_rows(turns, config) <= turns * 0.02 * 4 / 3 + 80


# -- resignation: after enough moves, upon the own move, when all of the last searches agree --


def resigned(turns: int = 40, *, wins: str = "0.03 0.97", loser: str = "W", last: int = 5) -> tuple[Upload, str]:
    """A match game on 9x9 whose players pass in turn between stones; White says at the end that it is lost."""
    points = [f"{'abcdefghi'[number % 9]}{'acegi'[number // 9]}" for number in range(45)]
    nodes = []
    for turn in range(turns):
        colour = "BW"[turn % 2]
        values = wins if turns - turn <= last else "0.50 0.50"
        text = f"C[{values} 0.00 -9.0 v=8]"
        nodes.append(f";{text}" if turn == turns - 1 else f";{colour}[{points[turn]}]{text}")
    result = "B+R" if loser == "W" else "W+R"
    nodes[-1] = nodes[-1].replace("v=8]", f"v=8 result={result}]")
    base = stopped_game(STOPPED_RATING)
    header = base.sgf[: base.sgf.index(";B[")].replace("C[start", f"RE[{result}]C[start")
    facts = replace(base.facts, winner=result[0], score=0.0, resigned=True, game_length=turns)
    return replace(base, sgf=f"{header}{''.join(nodes)})", facts=facts), result


RESIGNATIONS: dict[str, tuple[dict[str, object], str, bool]] = {
    "lost for five turns": ({}, "", True),
    "black": ({"turns": 41, "wins": "0.97 0.03", "loser": "B"}, "", True),
    "at the printed edge": ({"wins": "0.05 0.95"}, "", True),
    "at move 0": ({"turns": 2}, "", False),
    "too early": ({"turns": 16}, "", False),
    "as early as it may be": ({"turns": 18}, "", True),
    "not lost": ({"wins": "0.40 0.60"}, "", False),
    "won": ({"wins": "0.97 0.03"}, "", False),
    "lost for four turns": ({"last": 4}, "", False),
    "upon the other's move": ({"turns": 39}, "", False),
    "not allowed": ({}, "allowResignation = false\n", False),
    "a stricter text": ({}, "resignThreshold = -0.99\n", False),
    "more turns asked for": ({}, "resignConsecTurns = 9\n", False),
}


@pytest.mark.parametrize("name", RESIGNATIONS)
def test_a_resignation_needs_the_play_that_the_text_asks_for(name: str) -> None:
    options, text, accepted = RESIGNATIONS[name]
    game, _ = resigned(**options)  # type: ignore[arg-type]
    config = gating_config(overlay(STOPPED_RATING_TEXT + "resignConsecTurns = 5\nresignThreshold = -0.9\n", text))
    findings = audit_rating_game(game.sgf, game.facts, config)
    assert findings.reasons == ([] if accepted else [Reason.JOB_RESIGNATION]), str(findings)
