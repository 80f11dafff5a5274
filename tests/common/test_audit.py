"""The audit accepts what a real KataGo wrote, and refuses one change of each array, column and fact, by its reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from common.audit import audit_rating_game, audit_training_game
from common.audit_report import Reason
from common.audit_rows import is_side_row
from common.rows import GlobalInput, GlobalTarget, InputPlane, PolicyTarget, QTarget, Rows, ValueTarget
from tests.common.katago_games import Upload, katago_uploads


def copied(rows: Rows) -> Rows:
    return rows.take(np.arange(rows.count))


@pytest.mark.parametrize(("name", "games", "main_rows", "side_rows"), [("clean", 12, 673, 0), ("full", 13, 174, 52)])
def test_katagos_games_pass(name: str, games: int, main_rows: int, side_rows: int) -> None:
    uploads = katago_uploads(name)
    found = [str(audit_training_game(upload.sgf, upload.rows, upload.facts)) for upload in uploads]
    assert found == [""] * games
    side = [int(is_side_row(upload.rows).sum()) for upload in uploads]
    assert sum(side) == side_rows
    assert sum(upload.rows.count for upload in uploads) - sum(side) == main_rows


# -- mutations of rows: a function changes one thing in place; rows are those of a whole game with 87 turns --

ROW = 40
"""A row in mid-game, White's or Black's alike."""


def set_column(column: GlobalTarget, value: float) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        assert rows.global_targets[ROW, column] != np.float32(value)
        rows.global_targets[ROW, column] = value

    return change


def add_to(*columns: GlobalTarget, by: float) -> Callable[[Rows], None]:
    """Shifts columns so that pairs of probabilities still sum to 1."""

    def change(rows: Rows) -> None:
        for column, sign in zip(columns, (1, -1), strict=False):
            rows.global_targets[ROW, column] += sign * by

    return change


def flip_bit(plane: InputPlane, position: int) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        rows.packed_planes[ROW, plane, position // 8] ^= 128 >> position % 8

    return change


def add_input(which: GlobalInput) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        rows.global_inputs[ROW, which] += 0.25

    return change


def flip_target(plane: ValueTarget) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        point = rows.value_targets[ROW, plane, 4, 3]
        rows.value_targets[ROW, plane, 4, 3] = 1 if point <= 0 else -1

    return change


def illegal_policy(channel: PolicyTarget) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        rows.policy_targets[ROW, channel, 8] = 50  # right of a board of 7 columns in a tensor of 9

    return change


def empty_policy(channel: PolicyTarget) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        rows.policy_targets[ROW, channel] //= 40

    return change


def change_q(channel: QTarget, position: int, value: int) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        rows.q_values[ROW, channel, position] = value

    return change


def searched_q(channel: QTarget, value: int) -> Callable[[Rows], None]:
    def change(rows: Rows) -> None:
        rows.q_values[ROW, channel, int(np.argmax(rows.q_values[ROW, QTarget.VISITS]))] = value

    return change


def shift_distribution(rows: Rows) -> None:
    rows.score_distribution[ROW] = np.roll(rows.score_distribution[ROW], 1)


def far_lead(rows: Rows) -> None:
    """More than a board of 7x9 can be won by, and komi besides."""
    rows.global_targets[ROW, [GlobalTarget.LEAD, GlobalTarget.LEAD_WEIGHT]] = 300.0, 1.0


def unsearched_policy(rows: Rows) -> None:
    """All weight on the pass, which is legal and has no visit."""
    rows.policy_targets[ROW, PolicyTarget.OWN] = 0
    rows.policy_targets[ROW, PolicyTarget.OWN, -1] = 100


def other_reply(rows: Rows) -> None:
    """Weight on legal moves, but not that of the next turn's search."""
    rows.policy_targets[ROW, PolicyTarget.REPLY] *= 2


def other_hash(rows: Rows) -> None:
    rows.global_targets[:, GlobalTarget.GAME_HASH_1_LOW] += 1


G, V = GlobalTarget, ValueTarget
ROW_MUTATIONS: dict[str, tuple[Callable[[Rows], None], Reason]] = {
    "own stones": (flip_bit(InputPlane.OWN_STONE, 30), Reason.PLANES),
    "ladders": (flip_bit(InputPlane.LADDERED_2_AGO, 12), Reason.PLANES),
    "area": (flip_bit(InputPlane.OWN_AREA, 31), Reason.PLANES),
    "off the board": (flip_bit(InputPlane.ON_BOARD, 8), Reason.PLANES),
    "padding": (lambda rows: rows.packed_planes.__setitem__((ROW, 3, 10), 1), Reason.PLANES),
    "komi input": (add_input(GlobalInput.SELF_KOMI), Reason.GLOBAL_INPUTS),
    "pass input": (add_input(GlobalInput.PASS_1_AGO), Reason.GLOBAL_INPUTS),
    "doubling input": (add_input(GlobalInput.PLAYOUT_DOUBLING), Reason.GLOBAL_INPUTS),
    "ownership": (flip_target(V.OWNERSHIP), Reason.OWNERSHIP),
    "seki": (flip_target(V.SEKI), Reason.SEKI),
    "board in 8": (flip_target(V.FUTURE_NEAR), Reason.FUTURE_BOARDS),
    "board in 32": (flip_target(V.FUTURE_FAR), Reason.FUTURE_BOARDS),
    "scoring": (flip_target(V.SCORING), Reason.SCORING_MAP),
    "distribution": (shift_distribution, Reason.SCORE_DISTRIBUTION),
    "policy off the board": (illegal_policy(PolicyTarget.OWN), Reason.POLICY),
    "faint policy": (empty_policy(PolicyTarget.OWN), Reason.POLICY),
    "reply off the board": (illegal_policy(PolicyTarget.REPLY), Reason.REPLY_POLICY),
    "policy on a move that was not searched": (unsearched_policy, Reason.POLICY),
    "reply of another search": (other_reply, Reason.REPLY_POLICY),
    "Q visits off the board": (change_q(QTarget.VISITS, 8, 3), Reason.Q_VALUES),
    "Q without visits": (change_q(QTarget.SCORE, 8, 60), Reason.Q_VALUES),
    "Q out of range": (searched_q(QTarget.WIN_LOSS, 32100), Reason.Q_VALUES),
    "Q score out of range": (searched_q(QTarget.SCORE, -32000), Reason.Q_VALUES),
    "winner": (add_to(G.WIN, G.LOSS, by=0.5), Reason.OUTCOME),
    "sum of the outcome": (add_to(G.NO_RESULT, by=0.5), Reason.OUTCOME),
    "score": (add_to(G.SCORE, by=1.0), Reason.FINAL_SCORE),
    "final score": (add_to(G.FINAL_SCORE, by=1.0), Reason.FINAL_SCORE),
    "long horizon": (add_to(G.LONG_TD_WIN, G.LONG_TD_LOSS, by=0.01), Reason.TD_TARGETS),
    "mid horizon": (add_to(G.MID_TD_WIN, G.MID_TD_LOSS, by=0.01), Reason.TD_TARGETS),
    "short horizon": (add_to(G.SHORT_TD_WIN, G.SHORT_TD_LOSS, by=0.01), Reason.TD_TARGETS),
    "score of a horizon": (add_to(G.MID_TD_SCORE, by=0.5), Reason.TD_TARGETS),
    "search value": (add_to(G.SEARCH_WIN, G.SEARCH_LOSS, by=0.02), Reason.SEARCH_VALUE),
    "search score": (add_to(G.SEARCH_SCORE, by=0.3), Reason.SEARCH_VALUE),
    "variance time": (add_to(G.VARIANCE_TIME, by=0.1), Reason.VARIANCE_TIME),
    "lead without weight": (set_column(G.LEAD, 3.5), Reason.LEAD),
    "lead beyond the board": (far_lead, Reason.LEAD),
    "row weight": (set_column(G.ROW_WEIGHT, 2.0), Reason.WEIGHTS),
    "policy weight": (set_column(G.POLICY_WEIGHT, 0.0), Reason.WEIGHTS),
    "outcome weight": (set_column(G.OUTCOME_WEIGHT, 0.0), Reason.WEIGHTS),
    "reply weight": (set_column(G.REPLY_WEIGHT, 0.0), Reason.WEIGHTS),
    "future weight": (set_column(G.FUTURE_WEIGHT, 0.0), Reason.WEIGHTS),
    "scoring weight": (set_column(G.SCORING_WEIGHT, 0.0), Reason.WEIGHTS),
    "value weight": (set_column(G.VALUE_WEIGHT_MISSING, 1.0), Reason.WEIGHTS),
    "policy entropy": (set_column(G.POLICY_ENTROPY, -1.0), Reason.ENTROPIES),
    "history flags": (
        lambda rows: rows.global_targets[ROW].__setitem__(slice(36, 41), [1, 0, 1, 1, 1]),
        Reason.HISTORY_FLAGS,
    ),
    "hash of one row": (add_to(G.GAME_HASH_0_HIGH, by=1), Reason.ROW_HASH),
    "hash of all rows": (other_hash, Reason.ROW_HASH),
    "own komi": (add_to(G.OWN_KOMI, by=1.0), Reason.OWN_KOMI),
    "phase": (set_column(G.AREA_LIKE_PHASE, 0.0), Reason.PHASE),
    "net change": (set_column(G.NET_CHANGED, 1.0), Reason.GAME_COLUMNS),
    "turn": (set_column(G.TURN, 39.0), Reason.PLANES),
    "turn after the end": (set_column(G.TURN, 87.0), Reason.ROW_TURN),
    "move limit": (set_column(G.HIT_MOVE_LIMIT, 1.0), Reason.GAME_COLUMNS),
    "start turn": (set_column(G.START_TURN, 3.0), Reason.GAME_COLUMNS),
    "handicap": (set_column(G.EXTRA_BLACK_MOVES, 2.0), Reason.GAME_COLUMNS),
    "kind": (set_column(G.GAME_KIND, 2.0), Reason.GAME_COLUMNS),
    "initial turn": (set_column(G.INITIAL_TURN_NUMBER, 5.0), Reason.GAME_COLUMNS),
    "raw value": (set_column(G.NET_WIN_LOSS, 1.5), Reason.NET_VALUES),
    "visits": (add_to(G.ROOT_VISITS, by=10), Reason.VISITS),
    "bonus": (add_to(G.BONUS_TO_COME, by=0.5), Reason.BONUS),
    "not finished": (set_column(G.FINISHED_NORMALLY, 0.0), Reason.END_FLAGS),
    "version": (set_column(G.DATA_FORMAT_VERSION, 9.0), Reason.FORMAT_VERSION),
    "pass-alive areas of one row": (set_column(G.PASS_ALIVE_WITH_SUICIDE, 1.0), Reason.GAME_COLUMNS),
    "spare column": (lambda rows: rows.global_targets[ROW].__setitem__(75, 1.0), Reason.SPARE_COLUMNS),
}


def whole_game() -> Upload:
    upload = katago_uploads("clean")[0]
    assert upload.rows.count == 87
    return upload


@pytest.mark.parametrize("name", ROW_MUTATIONS)
def test_a_changed_row_is_refused(name: str) -> None:
    upload = whole_game()
    change, reason = ROW_MUTATIONS[name]
    rows = copied(upload.rows)
    change(rows)
    findings = audit_training_game(upload.sgf, rows, upload.facts)
    assert reason in findings.reasons
    assert all(finding.text for finding in findings)


def test_rows_left_out_or_doubled_are_refused() -> None:
    upload = whole_game()
    for kept in (np.arange(0, 87, 2), np.append(np.arange(87), [ROW, ROW])):
        rows = upload.rows.take(kept)
        facts = replace(upload.facts, num_training_rows=rows.count)
        assert audit_training_game(upload.sgf, rows, facts).reasons == [Reason.ROW_FREQUENCY]


def test_rows_of_another_game_or_run_are_refused() -> None:
    upload, other = katago_uploads("clean")[:2]
    facts = replace(upload.facts, num_training_rows=other.rows.count)
    assert Reason.ROW_HASH in audit_training_game(upload.sgf, other.rows, facts).reasons
    assert audit_training_game(upload.sgf, upload.rows, replace(upload.facts, length=13)).reasons == [
        Reason.TENSOR_EDGE
    ]
    nothing = audit_training_game(upload.sgf, upload.rows.take(slice(0, 0)), upload.facts)
    assert Reason.ROW_COUNT in nothing.reasons


# -- mutations of the SGF and of the form --


def in_sgf(pattern: str, replacement: str) -> Callable[[Upload], Upload]:
    def change(upload: Upload) -> Upload:
        text, count = re.subn(pattern, replacement, upload.sgf, count=1)
        assert count == 1
        return replace(upload, sgf=text)

    return change


def in_form(**facts: Any) -> Callable[[Upload], Upload]:
    return lambda upload: replace(upload, facts=replace(upload.facts, **facts))


def with_komi(upload: Upload) -> Upload:
    return replace(upload, facts=replace(upload.facts, rules=upload.facts.rules.with_komi(5.5)))


def with_suicide(upload: Upload) -> Upload:
    return replace(upload, facts=replace(upload.facts, rules=replace(upload.facts.rules, suicide=True)))


GAME_MUTATIONS: dict[str, tuple[Callable[[Upload], Upload], Reason]] = {
    "not SGF": (in_sgf(r"^\(;", "(("), Reason.SGF_UNREADABLE),
    "cut short": (lambda upload: replace(upload, sgf=upload.sgf[:400]), Reason.SGF_UNREADABLE),
    "no root comment": (in_sgf(r"C\[startTurnIdx[^\]]*\]", ""), Reason.SGF_UNREADABLE),
    "other komi in the SGF": (in_sgf(r"KM\[7.5\]", "KM[6.5]"), Reason.KOMI),
    "other komi in the form": (with_komi, Reason.KOMI),
    "other size in the SGF": (in_sgf(r"SZ\[7:9\]", "SZ[9]"), Reason.BOARD_SIZE),
    "other size in the form": (in_form(x_size=9), Reason.BOARD_SIZE),
    "other rules in the SGF": (in_sgf("koPOSITIONAL", "koSITUATIONAL"), Reason.RULES),
    "other rules in the form": (with_suicide, Reason.RULES),
    "handicap in the SGF": (in_sgf(r"HA\[0\]", "HA[3]"), Reason.HANDICAP),
    "handicap in the form": (in_form(handicap=2), Reason.HANDICAP),
    "Black's name": (in_sgf(r"PB\[[^\]]*\]", "PB[another]"), Reason.NETWORK_NAME),
    "White's name": (in_sgf(r"PW\[[^\]]*\]", "PW[another]"), Reason.NETWORK_NAME),
    "game type": (in_form(game_type="fork"), Reason.GAME_TYPE),
    "uid": (in_form(uid="0" * 32), Reason.GAME_HASH),
    "length": (in_form(game_length=86), Reason.GAME_LENGTH),
    "winner": (in_form(winner="W"), Reason.WINNER),
    "score": (in_form(score=-52.0), Reason.SCORE),
    "no score": (in_form(score=None), Reason.SCORE),
    "result in the SGF": (in_sgf(r"RE\[B\+53\]", "RE[B+51]"), Reason.RESULT),
    "no result in the SGF": (in_sgf(r"RE\[B\+53\]", ""), Reason.RESULT),
    "resignation in the SGF": (in_sgf(r"RE\[B\+53\]", "RE[B+R]"), Reason.RESIGNED),
    "resignation in the form": (in_form(resigned=True), Reason.RESIGNED),
    "illegal move": (in_sgf(r";W\[dg\]", ";W[de]"), Reason.ILLEGAL_MOVE),
    "other move": (in_sgf(r";B\[eg\]", ";B[gi]"), Reason.PLANES),
    "two moves in a row": (in_sgf(r";W\[dg\]", ";B[dg]"), Reason.WRONG_PLAYER),
    "moves after the end": (in_sgf(r"\)$", ";W[];B[])"), Reason.MOVE_AFTER_END),
    "value in a comment": (in_sgf(r"C\[0\.51 0\.49", "C[0.61 0.39"), Reason.SEARCH_VALUE),
    "no values": (in_sgf(r"C\[0\.51 0\.49[^\]]*\]", ""), Reason.SEARCH_COMMENT),
    "impossible values": (in_sgf(r"C\[0\.51 0\.49", "C[0.91 0.49"), Reason.SEARCH_COMMENT),
    "visits in a comment": (in_sgf("v=24", "v=25"), Reason.VISITS),
    "weight in a comment": (in_sgf(r"weight=1\.00", "weight=3.00"), Reason.ROW_FREQUENCY),
    "row count": (in_form(num_training_rows=86), Reason.ROW_COUNT),
    "edge": (in_form(length=19), Reason.TENSOR_EDGE),
}


@pytest.mark.parametrize("name", GAME_MUTATIONS)
def test_a_changed_game_is_refused(name: str) -> None:
    change, reason = GAME_MUTATIONS[name]
    changed = change(whole_game())
    findings = audit_training_game(changed.sgf, changed.rows, changed.facts)
    assert reason in findings.reasons
    assert all(finding.text for finding in findings)


def test_a_game_longer_than_can_be_replayed_is_refused() -> None:
    upload = whole_game()
    long = upload.sgf[:-1] + ";B[];W[]" * 2000 + ")"
    assert audit_training_game(long, upload.rows, upload.facts).reasons[-1] == Reason.TOO_LONG


def side_game() -> tuple[Upload, int]:
    for upload in katago_uploads("full"):
        side = np.flatnonzero(is_side_row(upload.rows))
        if len(side):
            return upload, int(side[0])
    raise AssertionError("no side rows")


SIDE_MUTATIONS: dict[str, tuple[Callable[[Rows, int], None], Reason]] = {
    "stones": (lambda rows, row: rows.packed_planes.__setitem__((row, 1, 4), 255), Reason.SIDE_POSITION),
    "komi": (lambda rows, row: rows.global_inputs.__setitem__((row, 5), 2.0), Reason.GLOBAL_INPUTS),
    "ownership": (lambda rows, row: rows.value_targets.__setitem__((row, 0, 2, 2), 1), Reason.OWNERSHIP),
    "horizon": (lambda rows, row: rows.global_targets.__setitem__((row, int(G.MID_TD_SCORE)), 99.0), Reason.TD_TARGETS),
    "scored": (lambda rows, row: rows.global_targets.__setitem__((row, int(G.FINAL_SCORE)), 9.0), Reason.FINAL_SCORE),
    "a first search": (
        lambda rows, row: rows.global_targets.__setitem__((row, int(G.CHEAP_VALUE_SURPRISE)), 0.5),
        Reason.REANALYSIS,
    ),
    "illegal policy": (lambda rows, row: rows.policy_targets.__setitem__((row, 0, slice(None)), 9), Reason.POLICY),
    "reply": (lambda rows, row: rows.policy_targets.__setitem__((row, 1, 3), 9), Reason.REPLY_POLICY),
    "komi column": (lambda rows, row: rows.global_targets.__setitem__((row, int(G.OWN_KOMI)), 99.0), Reason.OWN_KOMI),
    "finished": (
        lambda rows, row: rows.global_targets.__setitem__((row, int(G.FINISHED_NORMALLY)), 1.0),
        Reason.END_FLAGS,
    ),
}


@pytest.mark.parametrize("name", SIDE_MUTATIONS)
def test_a_changed_side_row_is_refused(name: str) -> None:
    upload, row = side_game()
    change, reason = SIDE_MUTATIONS[name]
    rows = copied(upload.rows)
    change(rows, row)
    assert reason in audit_training_game(upload.sgf, rows, upload.facts).reasons


# -- match games --


def test_a_match_game_is_audited_without_rows() -> None:
    upload = whole_game()
    facts = replace(upload.facts, num_training_rows=0)
    assert audit_rating_game(upload.sgf, facts).ok
    assert audit_rating_game(upload.sgf, replace(facts, winner="W")).reasons == [Reason.WINNER]


def test_a_game_that_has_not_ended_has_no_result() -> None:
    upload = whole_game()
    text = re.sub(r";[BW]\[[a-z]*\]C\[[^\]]*result=[^\]]*\]\)$", ")", upload.sgf)
    facts = replace(upload.facts, game_length=86, winner="0", score=0.0)
    assert Reason.NOT_FINISHED in audit_rating_game(text, facts).reasons
    unfinished = text.replace("RE[B+53]", "")
    assert audit_rating_game(unfinished, facts).ok
    assert audit_rating_game(unfinished, replace(facts, score=None)).ok
    assert audit_rating_game(unfinished, replace(facts, winner="-")).reasons == [Reason.WINNER]


def test_a_resignation_leaves_the_last_move_out() -> None:
    upload = whole_game()
    text = re.sub(r"RE\[B\+53\]", "RE[B+R]", upload.sgf)
    text = re.sub(r";[BW]\[[a-z]*\]C\[([^\]]*)result=[^\]]*\]\)$", r";C[\1result=B+R])", text)
    facts = replace(upload.facts, winner="B", score=0.0, resigned=True)
    assert audit_rating_game(text, facts).ok
    assert audit_rating_game(text, replace(facts, score=-53.0)).reasons == [Reason.SCORE]
    assert audit_rating_game(text, replace(facts, winner="W")).reasons == [Reason.WINNER]
    assert audit_rating_game(text, replace(facts, resigned=False)).reasons == [Reason.RESIGNED]


def test_a_game_that_cannot_begin_is_refused() -> None:
    upload = whole_game()
    text = re.sub(r"(;FF\[4\])", r"\1AB[ba][ab]AW[aa]", upload.sgf, count=1)
    findings = audit_rating_game(text, upload.facts)
    assert Reason.SGF_UNREADABLE in findings.reasons
    assert "no stone of colour 2 can be set up at A9" in str(findings)
