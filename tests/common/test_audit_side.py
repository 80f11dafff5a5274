"""The cost of side rows: a game is played once, however many positions beside it there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from common import audit_side
from common.audit import audit_training_game
from common.audit_report import Deadline, OutOfTime, Reason
from common.audit_side import MAX_SIDE_ROWS_PER_TURN
from common.branches import Branches
from common.derive import score_distributions
from common.game_record import moves_of, start_of
from common.go.points import point_at, point_of
from common.go.start import PLAIN_VIEW, GameStart, PlayerView
from common.replay import replay
from common.rows import GlobalTarget, Rows
from common.sgf import read
from tests.common.katago_games import Upload, katago_uploads

_G = GlobalTarget


def start_and_points(game: Upload) -> tuple[GameStart, list[int]]:
    """How a game of self-play on the empty board began, and its moves."""
    record = read(game.sgf)
    return start_of(record), [point for _, point in moves_of(record)]


def with_side_rows(game: Upload, lines: Sequence[tuple[int, tuple[int, ...]]]) -> Upload:
    """A game with a side row at the end of each line of ``(branch, moves)``; all that the board tells is right."""
    start, points = start_and_points(game)
    branches = Branches(start, PLAIN_VIEW, points, [branch for branch, _ in lines], game.rows.length)
    side = game.rows.take(np.zeros(len(lines), np.intp))
    columns = side.global_targets
    for column in (_G.OUTCOME_WEIGHT, _G.REPLY_WEIGHT, _G.FUTURE_WEIGHT, _G.SCORING_WEIGHT, _G.FINAL_SCORE):
        columns[:, column] = 0
    for column in (_G.VARIANCE_TIME, _G.BONUS_TO_COME, _G.FINISHED_NORMALLY, _G.LEAD, _G.LEAD_WEIGHT):
        columns[:, column] = 0
    columns[:, :16] = np.tile(columns[:, 16:20], 4)
    side.value_targets[:] = 0
    side.score_distribution[:] = score_distributions(np.zeros(len(lines)), np.zeros(len(lines), bool), side.length)
    side.q_values[:] = 0
    side.policy_targets[:] = 1
    for row, (branch, moves) in enumerate(lines):
        assert branches.follow(branch, moves) is not None
        position = branches.position()
        side.packed_planes[row] = position.packed_planes
        side.global_inputs[row] = position.global_inputs
        side.policy_targets[row, 0] = position.legal * 10
        columns[row, _G.TURN] = branch + len(moves)
        columns[row, _G.OWN_KOMI] = position.own_komi
        columns[row, _G.AREA_LIKE_PHASE] = position.is_area_like
    rows = Rows.concatenate([game.rows, side])
    return replace(game, rows=rows, facts=replace(game.facts, num_training_rows=rows.count))


def legal_of(game: Upload) -> npt.NDArray[np.int8]:
    start, points = start_and_points(game)
    colours = [1 + turn % 2 for turn in range(len(points))]
    return replay(start, colours, points, length=9, legal_turns=np.arange(len(points) + 1)).legal


def short_lines(game: Upload, count: int) -> list[tuple[int, tuple[int, ...]]]:
    """So many lines of one move from all over the game."""
    legal = legal_of(game)
    lines = [
        (branch, (point_of(int(position), 9),)) for branch in range(86) for position in np.flatnonzero(legal[branch])
    ]
    assert len(lines) >= count
    return [lines[index * len(lines) // count] for index in range(count)]


def chains(game: Upload, count: int, depth: int) -> list[tuple[int, tuple[int, ...]]]:
    """Lines that go on from each other by two moves, as far as ``depth``, from the first moves of the game."""
    start, points = start_and_points(game)
    branches = Branches(start, PLAIN_VIEW, points, list(range(count)), 9)
    free = [point_at(x, y) for y in (8, 7, 6, 5, 4, 3) for x in range(7)]
    lines = []
    for branch in range(count):
        line: tuple[int, ...] = ()
        for point in free:
            if len(line) == depth:
                break
            if branches.follow(branch, (*line, point)) is not None:
                line = (*line, point)
        lines += [(branch, line[:length]) for length in range(1, depth + 1, 2)]
    return lines


def cost_of(game: Upload, monkeypatch: pytest.MonkeyPatch) -> int:
    """Moves played and keys moved for the side rows of a game, which has to be accepted."""
    made: list[Branches] = []

    class Kept(Branches):
        def __init__(
            self, start: GameStart, view: PlayerView, points: Sequence[int], turns: Sequence[int], length: int
        ) -> None:
            super().__init__(start, view, points, turns, length)
            made.append(self)

    with monkeypatch.context() as patch:
        patch.setattr(audit_side, "Branches", Kept)
        assert str(audit_training_game(game.sgf, game.rows, game.facts)) == ""
    (branches,) = made
    return branches.steps


def test_the_work_grows_with_the_number_of_side_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    game = katago_uploads("clean")[0]
    costs = {
        count: cost_of(with_side_rows(game, short_lines(game, count)), monkeypatch) for count in (1, 200, 400, 800)
    }
    assert costs[1] <= 87 + 90 + 9, "the game once, back to the branch, and the line"
    for count in (200, 400, 800):
        assert costs[count] <= costs[1] + 10 * count
    assert costs[800] - costs[400] <= 2.5 * (costs[400] - costs[200])


@pytest.mark.parametrize("depth", [3, 11, 21])
def test_chains_cost_what_they_are_long(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    game = katago_uploads("clean")[0]
    lines = chains(game, 20, depth)
    assert max(len(moves) for _, moves in lines) == depth
    assert cost_of(with_side_rows(game, lines), monkeypatch) <= 200 + len(lines) * 20 * (2 * depth + 10)


def test_more_side_rows_than_can_stand_beside_a_game_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    game = katago_uploads("clean")[0]
    lines = short_lines(game, 10)
    many = with_side_rows(game, lines * 140)
    assert many.rows.count - 87 > MAX_SIDE_ROWS_PER_TURN * 87
    monkeypatch.setattr(audit_side, "Branches", None)
    assert audit_training_game(many.sgf, many.rows, many.facts).reasons == [Reason.SIDE_ROWS]


def test_an_audit_ends_at_its_deadline() -> None:
    game = katago_uploads("clean")[0]
    crowded = with_side_rows(game, short_lines(game, 20))
    asked: list[int] = []

    def clock() -> float:
        asked.append(1)
        return float(len(asked))

    with pytest.raises(OutOfTime):
        audit_training_game(crowded.sgf, crowded.rows, crowded.facts, None, Deadline(15.0, clock))
    assert len(asked) == 17
