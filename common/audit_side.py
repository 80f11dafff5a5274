"""The audit of side rows: positions beside a game, reached by one or a few moves that its SGF does not hold.

A side row stands k moves off the game, k odd (training-data.md 5.5); these moves are read from its own history planes,
which show five at most and hide the pass that ends a phase. A row of k >= 3 continues the line of a row of k - 2 by two
moves, so the lines of deeper rows are found by those of the others. Where a text has positions inside trees recorded
(5.8), k may be any number up to five besides. Every side row is derived again like a main row; the game itself is
played once for all of them, so the work grows with their number.
Specification: vectors.md 7, training-data.md 3, 5.5, 5.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from common import derive
from common.audit_ladders import LadderReader
from common.audit_report import Deadline, Findings, Reason
from common.audit_rows import MIN_POLICY_SUM, AuditedGame, q_values_hold
from common.branches import Branches, SidePosition
from common.derive import VALUE_SIZE
from common.go.points import PASS, opponent, point_of
from common.rows import HISTORY_MOVES, GlobalInput, GlobalTarget, InputPlane, PolicyTarget, Rows

_G = GlobalTarget
_CONTINUATION: Final = 2  # a reply and another forking move
_SHOWN_DEPTHS: Final = range(1, HISTORY_MOVES + 1, _CONTINUATION)
_INNER_DEPTHS: Final = range(1, HISTORY_MOVES + 1)
MAX_SIDE_ROWS_PER_TURN: Final = 16
"""One and a third are expected at most, ten times as often where rows are scaled up (training-data.md 5.3, 5.5)."""
_MAX_DEPTH: Final = 41
"""Longest line beside a game; each two further moves come with probability 1/4."""
_MAX_CONTINUED: Final = 16
"""Rows that a deeper one may continue are tried so often, if they end with the moves that it shows."""
_BLOCKS: Final = int(_G.SEARCH_SCORE + 1) // VALUE_SIZE


def check_side_rows(
    game: AuditedGame, rows: Rows, findings: Findings, deadline: Deadline, most_inner: int | None = None
) -> None:
    """Check the side rows of a game. Raises `OutOfTime`.

    ``most_inner`` of them may be of positions inside trees; None: there are no such ones.
    """
    if rows.count == 0:
        return
    most = MAX_SIDE_ROWS_PER_TURN * (game.replay.count - game.start_turn) + (most_inner or 0)
    if not findings.expect(
        rows.count <= most, Reason.SIDE_ROWS, f"{rows.count} rows of side positions; at most {most} can stand beside it"
    ):
        return
    columns = rows.global_targets
    absent = (
        (_G.SCORING_WEIGHT, Reason.WEIGHTS),
        (_G.FINAL_SCORE, Reason.FINAL_SCORE),
        (_G.VARIANCE_TIME, Reason.VARIANCE_TIME),
        (_G.BONUS_TO_COME, Reason.BONUS),
        (_G.FINISHED_NORMALLY, Reason.END_FLAGS),
        (_G.CHEAP_POLICY_SURPRISE, Reason.REANALYSIS),
        (_G.CHEAP_VALUE_SURPRISE, Reason.REANALYSIS),
        (_G.CHEAP_VISITS, Reason.REANALYSIS),
    )
    for column, reason in absent:
        findings.expect_rows(
            columns[:, column] == 0, reason, f"column {int(column)} ({column.name}) of a side position is not 0"
        )
    findings.expect_rows(rows.value_targets == 0, Reason.OWNERSHIP, "a side position has spatial targets")
    bins = derive.score_distributions(np.zeros(rows.count), np.zeros(rows.count, bool), rows.length)
    findings.expect_rows(
        rows.score_distribution == bins, Reason.SCORE_DISTRIBUTION, "a side position has a score distribution"
    )
    values = columns[:, : _BLOCKS * VALUE_SIZE].reshape(rows.count, _BLOCKS, VALUE_SIZE)
    findings.expect_rows(
        np.abs(values - values[:, :1]) <= 1e-5 * (1 + np.abs(values)),
        Reason.TD_TARGETS,
        "the values of a side position (columns 0 to 19) are not all its own search's",
    )
    findings.expect_rows(
        rows.policy_targets[:, PolicyTarget.REPLY] == 1, Reason.REPLY_POLICY, "a side position has a reply target"
    )
    depths = _SHOWN_DEPTHS if most_inner is None else _INNER_DEPTHS
    _Search(game, rows, findings, depths).check(deadline)


@dataclass(frozen=True)
class _Line:
    """The moves of one side row off the game."""

    branch: int  # moves of the game before it
    moves: tuple[int, ...]

    @property
    def turn(self) -> int:
        """Where the side row stands."""
        return self.branch + len(self.moves)


class _Search:
    """Finds for each side row the line that leads to it from the game, and compares all that follows from it."""

    def __init__(
        self, game: AuditedGame, rows: Rows, findings: Findings, depths: Sequence[int] = _SHOWN_DEPTHS
    ) -> None:
        self._game, self._points, self._rows, self._findings = game, game.points, rows, findings
        self._depths = depths  # how far from the game a row stands whose moves since then it shows
        self._turns = rows.global_targets[:, _G.TURN].astype(np.int64)
        self._planes = rows.planes()
        self._lines: dict[int, dict[_Line, None]] = {}
        """Those of the rows so far by their turn, in the order in which they were found."""
        branches = {int(turn) - depth for turn in self._turns for depth in depths}
        last = len(self._points)
        self._branches = Branches(
            game.replay.start,
            game.replay.view,
            self._points,
            [turn for turn in branches if game.start_turn <= turn <= last],
            rows.length,
        )
        self._ladders = LadderReader()

    @property
    def steps(self) -> int:
        """What it has cost so far; see `Branches.steps`."""
        return self._branches.steps

    def check(self, deadline: Deadline) -> None:
        """Check all rows in the order of their turns; the first one that leads nowhere ends it."""
        for number in np.argsort(self._turns, kind="stable"):
            deadline.check()
            if not self._check_row(int(number)):
                return

    def _check_row(self, number: int) -> bool:
        turn = int(self._turns[number])
        for line in self._possible_lines(number, turn):
            if not self._game.start_turn <= line.branch <= len(self._points):
                continue
            board = self._branches.follow(line.branch, line.moves)
            if board is None or not self._has_stones(number, board):
                continue
            position = self._branches.position()
            if self._has_planes(number, position):
                self._lines.setdefault(turn, {})[line] = None
                self._check_found(position, number, turn)
                return True
        self._findings.add(Reason.SIDE_POSITION, f"the side position at turn {turn} does not branch off from the game")
        return False

    def _has_stones(self, number: int, board: npt.NDArray[np.int8]) -> bool:
        """Whether the row's stones are those of ``board``: asked first, as all other planes cost much more."""
        own = self._branches.to_move
        planes = self._planes[number]
        return bool(
            np.array_equal(planes[InputPlane.OWN_STONE], board == own)
            and np.array_equal(planes[InputPlane.OPP_STONE], board == opponent(own))
        )

    def _has_planes(self, number: int, position: SidePosition) -> bool:
        """Whether the row's planes are those of the position at the end of the line that was followed."""
        told, planes = self._rows.packed_planes[number], position.packed_planes
        branches = self._branches
        return np.array_equal(told, planes) or self._ladders.may_be_katagos(
            told, planes, branches.state, branches.history, self._rows.length
        )

    def _possible_lines(self, number: int, turn: int) -> Iterator[_Line]:
        """Lines that end with a row's last moves: straight from the game, or on from other rows."""
        row = self._rows.take(np.array([number]))
        shown = recent_moves(row)
        known = _shown_or_hidden(row, shown)
        for depth in self._depths:
            if depth <= len(known):
                yield _Line(turn - depth, tuple(known[:depth][::-1]))
        if len(known) < _CONTINUATION:
            return
        tried = 0
        for line in self._lines.get(turn - _CONTINUATION, ()):
            if len(line.moves) + _CONTINUATION <= _MAX_DEPTH and self._leads_to(line, shown[_CONTINUATION:]):
                tried += 1
                if tried > _MAX_CONTINUED:
                    return
                yield _Line(line.branch, (*line.moves, known[1], known[0]))

    def _leads_to(self, line: _Line, shown: Sequence[int]) -> bool:
        """Whether the moves up to the end of ``line`` end with the ``shown`` ones (the latest first)."""
        before = (*self._points[max(0, line.branch - HISTORY_MOVES) : line.branch], *line.moves)
        return all(move == point for move, point in zip(shown, reversed(before), strict=False))

    def _check_found(self, position: SidePosition, number: int, turn: int) -> None:
        """Compare what follows from the position of a side row."""
        row, findings = self._rows.take(np.array([number])), self._findings
        where = f"of the side position at turn {turn}"
        columns = row.global_targets[0]
        findings.expect(
            bool((np.abs(row.global_inputs[0] - position.global_inputs) <= 1e-5).all()),
            Reason.GLOBAL_INPUTS,
            f"global inputs {where} are wrong",
        )
        policy = row.policy_targets[0, PolicyTarget.OWN]
        findings.expect(
            bool(((policy == 0) | (position.legal == 1)).all()) and int(policy.sum(dtype=np.int64)) >= MIN_POLICY_SUM,
            Reason.POLICY,
            f"the policy target {where} has illegal moves, or too little weight",
        )
        legal = position.legal[np.newaxis]
        findings.expect(bool(q_values_hold(row, legal).all()), Reason.Q_VALUES, f"Q values {where} are out of range")
        findings.expect(
            abs(float(columns[_G.OWN_KOMI]) - position.own_komi) <= 1e-3, Reason.OWN_KOMI, f"OWN_KOMI {where} is wrong"
        )
        findings.expect(
            bool(columns[_G.AREA_LIKE_PHASE] == position.is_area_like), Reason.PHASE, f"column 48 {where} is wrong"
        )


def _shown_or_hidden(row: Rows, shown: list[int]) -> list[int]:
    """The last moves of a row, the latest first; after the change of a phase those that it hides were passes."""
    recent = list(shown)
    if row.global_inputs[0, GlobalInput.ENCORE] == 1:
        recent += [PASS] * (HISTORY_MOVES - len(recent))
    return recent


def recent_moves(row: Rows) -> list[int]:
    """The moves that the inputs of the one row show, the latest first."""
    planes = row.planes()[0]
    moves = []
    for ago in range(HISTORY_MOVES):
        marked = np.flatnonzero(planes[InputPlane.MOVE_1_AGO + ago])
        if len(marked) == 1:
            moves.append(point_of(int(marked[0]), row.length))
        elif row.global_inputs[0, GlobalInput.PASS_1_AGO + ago] == 1:
            moves.append(PASS)
        else:
            break
    return moves
