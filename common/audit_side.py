"""The audit of side rows: positions beside a game, reached by one or a few moves that its SGF does not hold.

A side row stands k moves off the game, k odd (training-data.md 5.5); these moves are read from its own history planes,
which show five at most and hide the pass that ends a phase. A row of k >= 3 continues the line of a row of k - 2 by two
moves, so the lines of deeper rows are found by those of the others. Every side row is derived again like a main row.
Specification: vectors.md 7, training-data.md 3, 5.5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from common import derive
from common.audit_report import Findings, Reason
from common.audit_rows import AuditedGame, q_values_hold
from common.derive import VALUE_SIZE
from common.go.points import NO_POINT, PASS, opponent, point_of
from common.replay import BadTurn, Replay, area_like, replay
from common.rows import HISTORY_MOVES, GlobalInput, GlobalTarget, InputPlane, PolicyTarget, Rows

_G = GlobalTarget
_CONTINUATION: Final = 2  # a reply and another forking move
_BLOCKS: Final = int(_G.SEARCH_SCORE + 1) // VALUE_SIZE


def check_side_rows(game: AuditedGame, points: Sequence[int], rows: Rows, findings: Findings) -> None:
    """Check the side rows of a game; ``points`` are the moves of its record."""
    if rows.count == 0:
        return
    columns = rows.global_targets
    absent = (
        (_G.SCORING_WEIGHT, Reason.WEIGHTS),
        (_G.FINAL_SCORE, Reason.FINAL_SCORE),
        (_G.VARIANCE_TIME, Reason.VARIANCE_TIME),
        (_G.BONUS_TO_COME, Reason.BONUS),
        (_G.FINISHED_NORMALLY, Reason.END_FLAGS),
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
    lines: list[_Line] = []
    for number in np.argsort(columns[:, _G.TURN], kind="stable"):
        _check_position(game, points, rows.take(np.array([number])), lines, findings)


@dataclass(frozen=True)
class _Line:
    """The moves of one side row off the game."""

    branch: int  # moves of the game before it
    moves: tuple[int, ...]

    @property
    def turn(self) -> int:
        """Where the side row stands."""
        return self.branch + len(self.moves)


def _check_position(
    game: AuditedGame, points: Sequence[int], row: Rows, lines: list[_Line], findings: Findings
) -> None:
    """Find the line that leads from the game to one side row, and compare all that follows from it.

    ``lines`` are those of the rows before it in turn; the one that is found is added.
    """
    turn = int(row.global_targets[0, _G.TURN])
    for line in _possible_lines(turn, _shown_or_hidden(row), lines):
        if not game.start_turn <= line.branch <= len(points):
            continue
        position = _replay_branch(game, points[: line.branch], line.moves, row.length)
        if position is not None and np.array_equal(position.packed_planes, row.packed_planes):
            lines.append(line)
            _check_found(position, row, turn, findings)
            return
    findings.add(Reason.SIDE_POSITION, f"the side position at turn {turn} does not branch off from the game")


def _possible_lines(turn: int, known: list[int], lines: list[_Line]) -> Iterator[_Line]:
    """Lines that end with the ``known`` moves (the latest first): straight from the game, or on from other rows."""
    for depth in range(1, len(known) + 1, 2):
        yield _Line(turn - depth, tuple(known[:depth][::-1]))
    if len(known) >= _CONTINUATION:
        for line in lines:
            if line.turn == turn - _CONTINUATION:
                yield _Line(line.branch, (*line.moves, known[1], known[0]))


def _shown_or_hidden(row: Rows) -> list[int]:
    """The last moves of a row, the latest first; after the change of a phase those that it hides were passes."""
    recent = recent_moves(row)
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


def _replay_branch(game: AuditedGame, before: Sequence[int], line: Sequence[int], length: int) -> Replay | None:
    """The game up to a branch and the ``line`` from there; None if the line can not be played."""
    colour = int(game.replay.to_move[len(before)])
    colours = [int(player) for player in game.replay.to_move[: len(before)]]
    for _ in line:
        colours.append(colour)
        colour = opponent(colour)
    moves = [*before, *line]
    if NO_POINT in moves:
        return None
    last = np.array([len(moves)])
    found = replay(game.replay.start, colours, moves, length=length, encoded_turns=last, legal_turns=last)
    return found if found.bad_turn == BadTurn.NONE else None


def _check_found(position: Replay, row: Rows, turn: int, findings: Findings) -> None:
    """Compare what follows from the position of a side row."""
    where = f"of the side position at turn {turn}"
    last: npt.NDArray[np.intp] = np.array([position.count])
    columns = row.global_targets
    findings.expect(
        bool((np.abs(row.global_inputs - position.global_inputs) <= 1e-5).all()),
        Reason.GLOBAL_INPUTS,
        f"global inputs {where} are wrong",
    )
    legal = position.legal[last]
    policy = row.policy_targets[:, PolicyTarget.OWN]
    findings.expect(
        bool(((policy == 0) | (legal == 1)).all()), Reason.POLICY, f"the policy target {where} has illegal moves"
    )
    findings.expect(bool(q_values_hold(row, legal).all()), Reason.Q_VALUES, f"Q values {where} are out of range")
    komi = float(position.own_komi[-1])
    findings.expect(abs(float(columns[0, _G.OWN_KOMI]) - komi) <= 1e-3, Reason.OWN_KOMI, f"OWN_KOMI {where} is wrong")
    findings.expect(
        bool(columns[0, _G.AREA_LIKE_PHASE] == area_like(position, last)[0]),
        Reason.PHASE,
        f"column 48 {where} is wrong",
    )
