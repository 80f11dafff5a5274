"""Where KataGo reads a ladder otherwise than we do, the audit takes either answer, and no third.

The game is one that KataGo 1.17.2 played without a net on 7x7, and the answers are those of its rows: which ladders of
ours it does not have. At turn 29 White's chain on the left edge has two liberties, and Black captures it by the one
below it; KataGo finds it to escape, as it takes the liberties of another capture for its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from common.audit_ladders import katagos_rows
from common.audit_report import Deadline, Findings, Reason
from common.audit_rows import AuditedGame, MainRows
from common.audit_side import check_side_rows
from common.go.points import PASS, point_at
from common.go.rules import Ko, Rules
from common.go.start import GameStart
from common.replay import Replay, ending, replay
from common.rows import GlobalTarget, InputPlane, Rows

LENGTH = 7
MOVES = (
    "ff ce ad fg af bd cd gg fa cf ab ge ca ga ef cb bf gd -- eg fe ba eb bc dd ed ac de aa ag gc cc bg gb be gf "
    "dc da bb ea fd ca cg ae ac ee ab fc fb gc"
)
P = InputPlane
NOW, ONE_AGO, TWO_AGO, MOVE = P.LADDERED, P.LADDERED_1_AGO, P.LADDERED_2_AGO, P.LADDER_CAPTURE
EDGE, CORNER = (0, 7, 14, 21), (6, 13)
"""Positions of two chains, from the upper left on by rows."""
LACKING: dict[int, dict[InputPlane, tuple[int, ...]]] = {
    29: {NOW: EDGE, MOVE: (28,)},
    30: {ONE_AGO: EDGE},
    31: {TWO_AGO: EDGE},
    33: {NOW: EDGE, MOVE: (28,)},
    34: {NOW: EDGE, ONE_AGO: EDGE},
    36: {TWO_AGO: EDGE},
    42: {NOW: CORNER},
    43: {NOW: CORNER, ONE_AGO: CORNER},
    44: {ONE_AGO: CORNER, TWO_AGO: CORNER},
    45: {TWO_AGO: CORNER},
}
"""By turn and plane, where KataGo's row has 0 and ours would have 1."""
TURNS = np.array(sorted(LACKING))


def points() -> list[int]:
    return [PASS if move == "--" else point_at(ord(move[0]) - 97, ord(move[1]) - 97) for move in MOVES.split()]


@pytest.fixture(scope="module")
def game() -> Replay:
    moves = points()
    start = GameStart(LENGTH, LENGTH, Rules(ko=Ko.POSITIONAL, suicide=False).with_komi(9.5))
    colours = [1 + turn % 2 for turn in range(len(moves))]
    every = np.arange(len(moves) + 1)
    played = replay(start, colours, moves, length=LENGTH, encoded_turns=TURNS, legal_turns=every)
    assert played.played == len(moves)
    return played


def flip(planes: npt.NDArray[np.uint8], plane: InputPlane, positions: tuple[int, ...]) -> None:
    for position in positions:
        planes[plane, position // 8] ^= 128 >> position % 8


def katagos(game: Replay) -> npt.NDArray[np.uint8]:
    """What KataGo's rows say."""
    told = game.packed_planes.copy()
    for row, turn in enumerate(TURNS):
        for plane, positions in LACKING[turn].items():
            flip(told[row], plane, positions)
        assert (told[row] <= game.packed_planes[row]).all()
    return told


def test_katagos_answers_are_taken(game: Replay) -> None:
    told = katagos(game)
    assert katagos_rows(told, game.packed_planes, TURNS, game, points()).all()
    backwards = slice(None, None, -1)  # rows come in any order
    assert katagos_rows(told[backwards], game.packed_planes[backwards], TURNS[backwards], game, points()).all()


CHANGES: dict[str, tuple[InputPlane, tuple[int, ...]]] = {
    "one stone of the chain": (NOW, (0,)),
    "the working move alone": (MOVE, (28,)),
    "another ladder": (NOW, (48,)),
    "another working move": (MOVE, (48,)),
    "an older ladder": (ONE_AGO, EDGE),
    "another plane": (P.OWN_STONE, (48,)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_no_third_answer_is_taken(name: str, game: Replay) -> None:
    told = katagos(game)[:1].copy()
    flip(told[0], *CHANGES[name])
    assert not katagos_rows(told, game.packed_planes[:1], TURNS[:1], game, points()).any()


def test_a_board_without_a_slip_has_one_answer(game: Replay) -> None:
    turns = np.array([20])
    colours = [1 + turn % 2 for turn in range(len(points()))]
    other = replay(game.start, colours, points(), length=LENGTH, encoded_turns=turns)
    told = other.packed_planes.copy()
    flip(told[0], NOW, (0,))
    assert not katagos_rows(told, other.packed_planes, turns, other, points()).any()


def reasons(game: Replay, planes: npt.NDArray[np.uint8], turns: npt.NDArray[np.intp], *, side: bool) -> list[Reason]:
    """Of main or side rows of which all but planes is 0."""
    rows = Rows.zeros(len(turns), LENGTH)
    rows.packed_planes[:] = planes
    rows.global_targets[:, GlobalTarget.TURN] = turns
    audited = AuditedGame(
        points=points() if not side else points()[: int(turns[0]) - 1],
        replay=game,
        end=ending(game.state, LENGTH),
        start_turn=0,
        initial_turn_number=0,
        game_type="normal",
        hash_text="",
        comments=[None] * game.count,
        hit_move_limit=False,
    )
    findings = Findings()
    if side:
        check_side_rows(audited, rows, findings, Deadline(60.0))
    else:
        MainRows(audited, rows, findings).check()
    return findings.reasons


def test_main_rows_and_side_rows_may_have_them(game: Replay) -> None:
    told = katagos(game)
    assert Reason.PLANES not in reasons(game, told, TURNS, side=False)
    wrong = told.copy()
    flip(wrong[3], NOW, (48,))
    assert Reason.PLANES in reasons(game, wrong, TURNS, side=False)
    for row in range(len(TURNS)):  # a move of the game beside a game that ends before it
        assert Reason.SIDE_POSITION not in reasons(game, told[row : row + 1], TURNS[row : row + 1], side=True)
        flip(wrong[row], MOVE, (48,))
        assert Reason.SIDE_POSITION in reasons(game, wrong[row : row + 1], TURNS[row : row + 1], side=True)
