"""The rows' half of an audit: does every array and column of a game's rows follow from the game?

What the game determines is derived again (`common.replay`, `common.derive`) and compared exactly; what only a search
knows is held to its range, its sums, and to what the SGF prints of it. Main rows are those of the game's own turns,
side rows (training-data.md 5.5) are positions beside it. Specification: training-data.md 2-5, vectors.md 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from common import derive
from common.audit_ladders import katagos_rows
from common.audit_report import Findings, Reason
from common.derive import LOSS, MAX_SCORE, SCORE, VALUE_SIZE, WIN
from common.go.points import WHITE
from common.go.rules import KOMI_MARGIN
from common.replay import Ending, Replay, area_like, bonuses_to_come, scoring_targets, value_targets
from common.rows import (
    DATA_FORMAT_VERSION,
    HASH_COLUMNS,
    HISTORY_COLUMNS,
    Q_SCORE_SCALE,
    Q_WIN_LOSS_SCALE,
    SPARE_COLUMNS,
    GlobalTarget,
    PolicyTarget,
    QTarget,
    Rows,
    ValueTarget,
    game_hash,
)
from common.sgf_record import GAME_TYPES

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
_G = GlobalTarget

GAME_KIND_CODES: Final = {name: code for code, name in enumerate(GAME_TYPES)}
"""Codes of column 55 by the SGF's ``gtype``."""
OLDEST_FORMAT_VERSION: Final = 2

_FLOAT32: Final = 4e-6  # relative and absolute rounding of targets computed in double precision
_PRINTED_VALUE: Final = 0.0051  # half of the last printed digit of an SGF comment, with rounding
_PRINTED_SCORE: Final = 0.0501
_PRINTED_WEIGHT: Final = 0.0051
MIN_POLICY_SUM: Final = 10
_MOST_DEVIATIONS: Final = 6.0
"""Rounding by chance stays within so many standard deviations but for one game in 10^9."""


@dataclass(frozen=True)
class SearchComment:
    """What the SGF prints of one turn's search; White's view."""

    win: float
    loss: float
    no_result: float
    score: float
    visits: int  # of the search whose values these are
    weight: float | None
    cheap_visits: int | None = None  # of the turn's first search, where these are a later one's


@dataclass(frozen=True)
class AuditedGame:
    """A game whose SGF has been read and played again."""

    points: Sequence[int]  # the moves of its record
    replay: Replay  # with the inputs and legal moves of the turns that are needed
    end: Ending
    start_turn: int
    initial_turn_number: int
    game_type: str
    hash_text: str
    comments: Sequence[SearchComment | None]  # [n] by turn
    hit_move_limit: bool
    net_turns: Sequence[int] = ()  # turns from which another network searched, ascending


def is_side_row(rows: Rows) -> npt.NDArray[np.bool_]:
    """``[n]`` whether each row is a side position: nothing of the game's course is its target."""
    columns = rows.global_targets
    has_course = columns[:, [_G.OUTCOME_WEIGHT, _G.REPLY_WEIGHT, _G.FUTURE_WEIGHT]].any(axis=1)
    return np.asarray(~has_course & (columns[:, _G.REANALYSED] == 0))


def check_shared_columns(game: AuditedGame, rows: Rows, findings: Findings, *, may_be_earlier: bool = False) -> None:
    """What all rows of a game, main and side, have in common.

    Side rows ``may_be_earlier`` searches', not only of after the game.
    """
    columns = rows.global_targets
    hash_columns = columns[:, list(HASH_COLUMNS)]
    findings.expect_rows(hash_columns == hash_columns[0], Reason.ROW_HASH, "the rows carry different hashes")
    told = game_hash(columns[0])
    findings.expect(told == game.hash_text, Reason.ROW_HASH, f"rows carry the hash {told}, the SGF {game.hash_text}")
    facts = {
        _G.NET_CHANGED: float(bool(game.net_turns)),
        _G.HIT_MOVE_LIMIT: float(game.hit_move_limit),
        _G.START_TURN: float(game.start_turn),
        _G.GAME_KIND: float(GAME_KIND_CODES.get(game.game_type, -1)),
        _G.INITIAL_TURN_NUMBER: float(game.initial_turn_number),
    }
    for column, value in facts.items():
        findings.expect_rows(
            columns[:, column] == value,
            Reason.GAME_COLUMNS,
            f"column {int(column)} ({column.name}) should be {value:g}",
        )
    _check_net_changes(game, rows, findings, may_be_earlier)
    _check_extra_black_moves(game, columns[:, _G.EXTRA_BLACK_MOVES], findings)
    version = columns[:, _G.DATA_FORMAT_VERSION]
    findings.expect_rows(
        (version >= OLDEST_FORMAT_VERSION) & (version <= DATA_FORMAT_VERSION) & (version == np.floor(version)),
        Reason.FORMAT_VERSION,
        f"the data format is neither {OLDEST_FORMAT_VERSION} nor {DATA_FORMAT_VERSION}",
    )
    findings.expect_rows(columns[:, SPARE_COLUMNS] == 0, Reason.SPARE_COLUMNS, "a column without meaning is not 0")
    pass_alive = columns[:, _G.PASS_ALIVE_WITH_SUICIDE]
    findings.expect_rows(
        np.isin(pass_alive, (0.0, 1.0)) & (pass_alive == pass_alive[0]),
        Reason.GAME_COLUMNS,
        "column 68 (PASS_ALIVE_WITH_SUICIDE) is no flag, or not all rows' alike",
    )
    _check_weights_of_all(columns, findings)
    _check_leads(game, columns, findings)
    findings.expect_rows(
        policy_was_searched(rows), Reason.POLICY, "the policy target has weight on moves that were not searched"
    )
    _check_search_statistics(columns, findings)
    _check_history_flags(columns, findings)


def _check_net_changes(game: AuditedGame, rows: Rows, findings: Findings, may_be_earlier: bool) -> None:
    """Column 50: how many networks were newer than a row's own.

    What was searched when the game was over (side positions, turns again) had the newest, or one that came meanwhile:
    its change then stands at the last turn. A position inside a tree is of some turn that stands up to five before it.
    """
    columns, at = rows.global_targets, np.array(game.net_turns, np.float64)
    after = len(at) - np.searchsorted(at, columns[:, _G.TURN], side="right")
    is_side, is_again = is_side_row(rows), columns[:, _G.REANALYSED] == 1
    most = np.where(is_side & may_be_earlier, len(at), (at >= game.replay.count).sum())
    told = columns[:, _G.NET_CHANGES_AFTER]
    holds = np.where(is_side | is_again, (told >= 0) & (told <= most) & (told == np.floor(told)), told == after)
    findings.expect_rows(
        holds,
        Reason.GAME_COLUMNS,
        f"column {int(_G.NET_CHANGES_AFTER)} ({_G.NET_CHANGES_AFTER.name}) is not what the record says",
    )


def _check_extra_black_moves(game: AuditedGame, told: npt.NDArray[np.float32], findings: Findings) -> None:
    """Column 54: the black stones of the start, but for a clean-up game, whose start does not show them any more."""
    stones = sum(colour != WHITE for colour, _ in game.replay.start.stones)
    extra = stones if game.game_type in ("handicap", "asym") else 0
    if game.game_type == "cleanuptraining":
        holds = (told == told[0]) & (told >= 0) & (told == np.floor(told))
    else:
        holds = told == extra
    findings.expect_rows(
        holds,
        Reason.GAME_COLUMNS,
        f"column {int(_G.EXTRA_BLACK_MOVES)} ({_G.EXTRA_BLACK_MOVES.name}) should be {extra}",
    )


def _check_weights_of_all(columns: npt.NDArray[np.float32], findings: Findings) -> None:
    """Weights that main and side rows share."""
    row_weight = columns[:, _G.ROW_WEIGHT]
    findings.expect_rows(
        (row_weight == row_weight[0]) & (row_weight > 0), Reason.WEIGHTS, "row weights are not positive and all equal"
    )
    expected = ((_G.TD_VALUE_WEIGHT_MISSING, 0.0), (_G.VALUE_WEIGHT_MISSING, 0.0), (_G.POLICY_WEIGHT, 1.0))
    for column, value in expected:
        findings.expect_rows(
            columns[:, column] == value, Reason.WEIGHTS, f"column {int(column)} ({column.name}) should be {value:g}"
        )


def _check_leads(game: AuditedGame, columns: npt.NDArray[np.float32], findings: Findings) -> None:
    """Column 21: the game's komi less a fair one, which is no other than a game of this size may have."""
    start = game.replay.start
    most = min(float(MAX_SCORE), start.area + KOMI_MARGIN + abs(start.rules.komi))
    lead, has_lead = columns[:, _G.LEAD], columns[:, _G.LEAD_WEIGHT]
    findings.expect_rows(
        np.isin(has_lead, (0.0, 1.0)) & (np.abs(lead) <= most) & ((has_lead == 1) | (lead == 0)),
        Reason.LEAD,
        "a lead without its weight, or out of range",
    )


def _check_search_statistics(columns: npt.NDArray[np.float32], findings: Findings) -> None:
    """Entropies, the raw net's values, visits: ranges."""
    entropies = columns[:, [_G.POLICY_SURPRISE, _G.POLICY_ENTROPY, _G.SEARCH_ENTROPY, _G.NET_POLICY_ENTROPY]]
    largest = np.log(MAX_SCORE)
    findings.expect_rows(
        (entropies[:, 0] >= -1e-3)
        & (entropies[:, 1:] >= -1e-5).all(axis=1)
        & (entropies[:, 1:] <= largest).all(axis=1),
        Reason.ENTROPIES,
        "a surprise or an entropy is out of range",
    )
    findings.expect_rows(
        np.abs(columns[:, _G.NET_WIN_LOSS]) <= 1 + 1e-5, Reason.NET_VALUES, "the raw net's win - loss exceeds 1"
    )
    visits = columns[:, _G.ROOT_VISITS]
    findings.expect_rows(
        (visits >= 1) & (visits == np.floor(visits)), Reason.VISITS, "visits are not a positive whole number"
    )
    for block in range(int(_G.SEARCH_SCORE + 1) // VALUE_SIZE):
        part = columns[:, VALUE_SIZE * block : VALUE_SIZE * block + SCORE].astype(np.float64)
        sums: npt.NDArray[np.bool_] = np.abs(part.sum(axis=1, keepdims=True) - 1) <= 1e-5
        reason = (Reason.OUTCOME, *[Reason.TD_TARGETS] * 3, Reason.SEARCH_VALUE)[block]
        findings.expect_rows(
            sums & (part >= -1e-6),
            reason,
            f"win, loss and no result (columns {VALUE_SIZE * block} to {VALUE_SIZE * block + 2}) do not sum to 1",
        )


def _check_history_flags(columns: npt.NDArray[np.float32], findings: Findings) -> None:
    flags = columns[:, list(HISTORY_COLUMNS)]
    is_flag = np.isin(flags, (0.0, 1.0))
    is_flag[:, 1:] &= np.diff(flags, axis=1) <= 0
    findings.expect_rows(
        is_flag,
        Reason.HISTORY_FLAGS,
        "history flags (columns 36 to 40) are not 1 … 1 0 … 0",
    )


# ------------------------------------------------------------------------------------------------------ main rows


class MainRows:
    """The checks of a game's main rows.

    Args:
        game: played again with inputs and legal moves of the turns of ``rows``.
        rows: main rows only.
        numbers: their numbers in the upload.
        findings: where disagreements go.
    """

    def __init__(self, game: AuditedGame, rows: Rows, findings: Findings) -> None:
        self._game = game
        self._rows = rows
        self._columns = rows.global_targets
        self._findings = findings
        self._turns = self._columns[:, _G.TURN].astype(np.intp)
        self._white = game.replay.to_move[self._turns] == WHITE
        self._encoded = np.searchsorted(np.unique(self._turns), self._turns)
        self._has_outcome = self._columns[:, _G.OUTCOME_WEIGHT] > 0
        self._has_future = self._columns[:, _G.FUTURE_WEIGHT] > 0

    def check(self) -> None:
        """All checks."""
        self._check_inputs()
        self._check_weights()
        self._check_spatial_targets()
        self._check_outcome()
        self._check_values()
        self._check_policies()
        self._check_replies()
        self._check_q_values()
        self._check_facts()
        self._check_reanalysis()
        self._check_frequencies()

    def _expect(self, holds: npt.NDArray[np.bool_], reason: Reason, text: str) -> None:
        self._findings.expect_rows(holds, reason, lambda row: f"{text} (turn {self._turns[row]})")

    def _check_inputs(self) -> None:
        replay = self._game.replay
        planes, told = replay.packed_planes[self._encoded], self._rows.packed_planes
        holds = (told == planes).all(axis=(1, 2))
        other = np.flatnonzero(~holds)
        if len(other):
            holds[other] = katagos_rows(told[other], planes[other], self._turns[other], replay, self._game.points)
        self._expect(holds, Reason.PLANES, "input planes differ from the position's")
        inputs = replay.global_inputs[self._encoded]
        self._expect(
            np.abs(self._rows.global_inputs - inputs) <= 1e-5,
            Reason.GLOBAL_INPUTS,
            "global inputs differ from the position's",
        )

    def _check_weights(self) -> None:
        columns, game = self._columns, self._game
        without = (columns[:, _G.REANALYSED] == 1) & ~self._has_future  # reanalysed without outcome targets
        outcome = np.where(without, 0.0, float(not game.end.is_no_result))
        is_last = self._turns + 1 >= game.replay.count
        expected = (
            (_G.OUTCOME_WEIGHT, outcome),
            (_G.SCORING_WEIGHT, outcome),
            (_G.REPLY_WEIGHT, np.where(without | is_last, 0.0, 1.0)),
            (_G.FUTURE_WEIGHT, np.where(without, 0.0, 1.0)),
        )
        for column, value in expected:
            self._expect(columns[:, column] == value, Reason.WEIGHTS, f"column {int(column)} ({column.name}) is wrong")
        self._expect(np.isin(columns[:, _G.REANALYSED], (0.0, 1.0)), Reason.GAME_COLUMNS, "REANALYSED is no flag")
        if game.end.is_no_result:
            self._expect(columns[:, _G.LEAD_WEIGHT] == 0, Reason.LEAD, "a game without result has a lead")

    def _check_spatial_targets(self) -> None:
        game, targets = self._game, self._rows.value_targets
        expected = value_targets(game.replay, game.end, self._turns)
        expected[~self._has_outcome, : ValueTarget.FUTURE_NEAR] = 0
        expected[~self._has_future, ValueTarget.FUTURE_NEAR : ValueTarget.SCORING] = 0
        for plane, reason, text in (
            (ValueTarget.OWNERSHIP, Reason.OWNERSHIP, "final ownership is wrong"),
            (ValueTarget.SEKI, Reason.SEKI, "the seki plane is wrong"),
            (ValueTarget.FUTURE_NEAR, Reason.FUTURE_BOARDS, "the board 8 turns later is wrong"),
            (ValueTarget.FUTURE_FAR, Reason.FUTURE_BOARDS, "the board 32 turns later is wrong"),
        ):
            self._expect(targets[:, plane] == expected[:, plane], reason, text)
        points = scoring_targets(game.replay, game.end, self._turns) * self._has_outcome[:, np.newaxis, np.newaxis]
        self._expect(
            np.abs(targets[:, ValueTarget.SCORING] - points) < 1, Reason.SCORING_MAP, "the scoring plane is wrong"
        )
        scores = self._columns[:, _G.FINAL_SCORE].astype(np.float64)
        bins = derive.score_distributions(scores, self._has_outcome, self._rows.length)
        text = "the score distribution is not that of column 20 (FINAL_SCORE)"
        self._expect(self._rows.score_distribution == bins, Reason.SCORE_DISTRIBUTION, text)

    def _outcome(self) -> Floats:
        game, end = self._game.replay, self._game.end
        return derive.outcome_value(
            end.white_score,
            is_no_result=end.is_no_result,
            draw_white_wins=game.view.draw_white_wins,
            result_is_integer=game.start.rules.result_is_integer,
        )

    def _own(self, values: Floats) -> Floats:
        own = derive.own_values(values, self._white)
        own[:, SCORE] = np.clip(own[:, SCORE], -MAX_SCORE, MAX_SCORE)
        return own

    def _check_outcome(self) -> None:
        columns, outcome = self._columns, self._outcome()
        own = self._own(np.broadcast_to(outcome, (len(columns), VALUE_SIZE)))
        self._expect(
            _close(columns[:, :SCORE], own[:, :SCORE]), Reason.OUTCOME, "win, loss and no result are not the game's"
        )
        self._expect(_close(columns[:, SCORE], own[:, SCORE]), Reason.FINAL_SCORE, "the score is not the game's")
        final = np.where(self._white, outcome[SCORE], -outcome[SCORE]) * self._has_outcome
        self._expect(
            _close(columns[:, _G.FINAL_SCORE], final), Reason.FINAL_SCORE, "column 20 (FINAL_SCORE) is not the game's"
        )

    def _check_values(self) -> None:
        """Columns 4-19 and 22 against the searches: exact where there are rows, else as printed in the SGF."""
        game, columns = self._game, self._columns
        searched = game.replay.count - game.start_turn
        index = self._turns - game.start_turn
        values = np.zeros((searched + 1, VALUE_SIZE))
        slack = np.zeros((searched + 1, VALUE_SIZE))
        for turn, comment in enumerate(game.comments[game.start_turn :]):
            if comment is None:
                slack[turn] = 1.0, 1.0, 1.0, 2 * MAX_SCORE
            else:
                values[turn] = comment.win, comment.loss, comment.no_result, comment.score
                slack[turn] = _PRINTED_VALUE, _PRINTED_VALUE, _PRINTED_VALUE, _PRINTED_SCORE
        now = derive.own_values(columns[:, _G.SEARCH_WIN : _G.SEARCH_SCORE + 1].astype(np.float64), self._white)
        self._expect(
            np.abs(now - values[index]) <= slack[index] + _FLOAT32 * (1 + np.abs(now)),
            Reason.SEARCH_VALUE,
            "the search's values (columns 16 to 19) are not those of the SGF",
        )
        values[index], slack[index] = now, 0.0
        values[-1] = self._outcome()
        for factor, first in zip(
            derive.horizon_factors(game.replay.start.area),
            (_G.LONG_TD_WIN, _G.MID_TD_WIN, _G.SHORT_TD_WIN),
            strict=True,
        ):
            expected = self._own(derive.td_targets(values, factor)[index])
            allowed = derive.td_targets(slack, factor)[index] + _FLOAT32 * (1 + np.abs(expected))
            found = columns[:, first : first + VALUE_SIZE]
            self._expect(
                np.abs(found - expected) <= allowed,
                Reason.TD_TARGETS,
                f"TD values (columns {first:d} to {first + SCORE}) do not follow from the searches",
            )
        win_loss, unsure = values[:, WIN] - values[:, LOSS], slack[:, WIN] + slack[:, LOSS]
        spread = derive.variance_times(win_loss)[index]
        allowed = derive.variance_time_errors(win_loss, unsure)[index]
        found = columns[:, _G.VARIANCE_TIME]
        self._expect(
            np.abs(found - spread) <= allowed + 2e-5 * (1 + spread + allowed),
            Reason.VARIANCE_TIME,
            "column 22 (VARIANCE_TIME) does not follow from the searches",
        )

    def _check_policies(self) -> None:
        legal, policies = self._game.replay.legal, self._rows.policy_targets
        next_turns = np.minimum(self._turns + 1, self._game.replay.count)
        has_reply = self._columns[:, _G.REPLY_WEIGHT] > 0
        for channel, turns, exists, reason, text in (
            (PolicyTarget.OWN, self._turns, np.ones(len(has_reply), bool), Reason.POLICY, "policy"),
            (PolicyTarget.REPLY, next_turns, has_reply, Reason.REPLY_POLICY, "reply policy"),
        ):
            target = policies[:, channel]
            on_legal = ((target == 0) | (legal[turns] == 1)).all(axis=1)
            is_target = on_legal & (target.sum(axis=1, dtype=np.int64) >= MIN_POLICY_SUM)
            is_absent = (target == 1).all(axis=1)
            self._expect(
                np.where(exists, is_target, is_absent),
                reason,
                f"the {text} target has weight on illegal moves, too little of it, or none where there is one",
            )

    def _check_replies(self) -> None:
        """A reply's target is the next turn's own, where that has a row."""
        turns, first = np.unique(self._turns, return_index=True)
        has_reply = self._columns[:, _G.REPLY_WEIGHT] > 0
        at = np.minimum(np.searchsorted(turns, self._turns + 1), len(turns) - 1)
        is_known = has_reply & (turns[at] == self._turns + 1)
        next_own = self._rows.policy_targets[first[at], PolicyTarget.OWN]
        holds = (self._rows.policy_targets[:, PolicyTarget.REPLY] == next_own).all(axis=1) | ~is_known
        self._expect(holds, Reason.REPLY_POLICY, "the reply policy target is not the next turn's own")

    def _check_q_values(self) -> None:
        holds = q_values_hold(self._rows, self._game.replay.legal[self._turns])
        self._expect(holds, Reason.Q_VALUES, "Q values are out of range, or stand beside moves that were not searched")

    def _check_facts(self) -> None:
        game, columns = self._game, self._columns
        komi = game.replay.own_komi[self._turns]
        self._expect(
            _close(columns[:, _G.OWN_KOMI], komi), Reason.OWN_KOMI, "column 47 (OWN_KOMI) is not the position's"
        )
        self._expect(
            columns[:, _G.AREA_LIKE_PHASE] == area_like(game.replay, self._turns), Reason.PHASE, "column 48 is wrong"
        )
        bonus = bonuses_to_come(game.replay, game.end, self._turns)
        self._expect(
            np.abs(columns[:, _G.BONUS_TO_COME] - bonus) <= 1e-4, Reason.BONUS, "column 61 (BONUS_TO_COME) is wrong"
        )
        finished = float(not game.hit_move_limit)
        self._expect(
            columns[:, _G.FINISHED_NORMALLY] == finished, Reason.END_FLAGS, f"column 62 should be {finished:g}"
        )
        for row, turn in enumerate(self._turns):
            comment = game.comments[turn]
            if comment is not None and columns[row, _G.ROOT_VISITS] != comment.visits:
                self._findings.add(
                    Reason.VISITS,
                    f"row {row}: {columns[row, _G.ROOT_VISITS]:g} visits, the SGF says {comment.visits} (turn {turn})",
                )
                break

    def _check_reanalysis(self) -> None:
        """Columns 64 to 67: which rows are of turns that the SGF says were searched again, and what it says of that."""
        comments = [self._game.comments[turn] for turn in self._turns]
        cheap = np.array([0 if comment is None else comment.cheap_visits or 0 for comment in comments])
        columns, is_again = self._columns, cheap > 0
        told = columns[:, _G.REANALYSED]
        self._expect(told == is_again, Reason.REANALYSIS, "column 64 (REANALYSED) is not what the SGF says")
        self._expect(
            columns[:, _G.CHEAP_VISITS] == cheap, Reason.REANALYSIS, "column 67 (CHEAP_VISITS) is not what the SGF says"
        )
        surprises = columns[:, [_G.CHEAP_POLICY_SURPRISE, _G.CHEAP_VALUE_SURPRISE]]
        self._expect(
            (surprises >= -1e-3) & (surprises[:, 1:] <= 1 + 1e-5) & (is_again[:, np.newaxis] | (surprises == 0)),
            Reason.REANALYSIS,
            "surprises of a first search (columns 65, 66) are out of range, or there was none",
        )

    def _check_frequencies(self) -> None:
        """Each turn is written as often as its printed weight, rounded up or down by chance."""
        game = self._game
        counts = np.bincount(self._turns, minlength=game.replay.count)[game.start_turn :]
        comments = game.comments[game.start_turn :]
        if any(comment is None or comment.weight is None for comment in comments):
            return  # told elsewhere
        weights = np.array([comment.weight for comment in comments if comment is not None], dtype=np.float64)
        least, most = np.floor(weights - _PRINTED_WEIGHT), np.ceil(weights + _PRINTED_WEIGHT)
        fits = (least <= counts) & (counts <= most)
        if not fits.all():
            turn = int(np.argmin(fits))
            self._findings.add(
                Reason.ROW_FREQUENCY,
                f"turn {game.start_turn + turn} has {counts[turn]} rows, its weight in the SGF is {weights[turn]:g}",
            )
        share = weights - np.floor(weights)
        unprinted = _PRINTED_WEIGHT * len(weights)
        spread = np.sqrt((share * (1 - share)).sum() + unprinted)
        self._findings.expect(
            bool(abs(counts.sum() - weights.sum()) <= unprinted + _MOST_DEVIATIONS * spread),
            Reason.ROW_FREQUENCY,
            f"{counts.sum()} main rows, but the weights in the SGF sum to {weights.sum():.2f}",
        )


def policy_was_searched(rows: Rows) -> npt.NDArray[np.bool_]:
    """``[n]`` whether each row's policy target has weight on searched moves alone; true where no visits are told."""
    visits = rows.q_values[:, QTarget.VISITS]
    has_visits = (visits > 0).any(axis=1)
    weight = rows.policy_targets[:, PolicyTarget.OWN]
    return np.asarray(~has_visits | ((weight == 0) | (visits > 0)).all(axis=1))


def q_values_hold(rows: Rows, legal: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """``[n]`` whether each row's Q values are in range, on legal moves, and 0 where nothing was searched."""
    win_loss, score, visits = (rows.q_values[:, channel].astype(np.int64) for channel in QTarget)
    in_range = (np.abs(win_loss) <= Q_WIN_LOSS_SCALE) & (np.abs(score) <= MAX_SCORE * Q_SCORE_SCALE)
    searched = visits > 0
    fits = np.where(searched, legal == 1, (win_loss == 0) & (score == 0))
    return np.asarray((in_range & fits).all(axis=1))


def _close(found: npt.NDArray[np.float32], expected: Floats) -> npt.NDArray[np.bool_]:
    return np.abs(found - expected) <= 1e-5 + _FLOAT32 * np.abs(expected)
