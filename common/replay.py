"""Plays a recorded game again, and derives from it everything of its rows that the board alone determines.

Network inputs of chosen turns, final ownership, seki plane, future boards, scoring map, komi and bonus points: what the
recorder of self-play writes and what the audit compares with. Knows nothing of searches, files or SGF. Formulas that
need only numbers are in `common.derive`. Specification: training-data.md 2-3, rules.md 4.3, 5, 7-9, vectors.md 7.

Arrays by *position* have the tensor's edge: ``[..., length, length]``, the board in the upper left corner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from common.by_reference import by_reference
from common.features import FeatureOptions, encode_packed, new_scratch
from common.go import play, scoring
from common.go.passalive import AREA_SCRATCH
from common.go.points import BLACK, EMPTY, NUM_POINTS, SECOND_CLEANUP, STRIDE, WHITE
from common.go.result import NO_WINNER, VOID, result_text, winner_of
from common.go.rules import Scoring
from common.go.start import PLAIN_VIEW, GameStart, PlayerView, start_position
from common.go.state import HISTORY_CAPACITY, History, State
from common.kernels import njit
from common.rows import FUTURE_TURNS, NUM_GLOBAL_INPUTS, NUM_PLANES, SCORING_SCALE, ValueTarget, packed_bytes

MAX_TURNS: Final = HISTORY_CAPACITY // 2 - 8
"""The longest record that is certain to fit a HISTORY: a turn adds two keys at most, but for two ends of phases."""
_NO_TURNS: Final = np.zeros(0, np.intp)


class BadTurn(IntEnum):
    """Why a record can not be played to its end."""

    NONE = 0
    GAME_OVER = 1
    WRONG_PLAYER = 2
    ILLEGAL = 3


@dataclass(frozen=True)
class Replay:
    """A record of n moves, played again; index t is the position before move t, n the last one."""

    start: GameStart
    view: PlayerView
    length: int  # edge of the tensors
    boards: npt.NDArray[np.int8]  #        [n + 1, length, length] colours
    to_move: npt.NDArray[np.int8]  #       [n + 1]
    phases: npt.NDArray[np.int8]  #        [n + 1]
    own_komi: npt.NDArray[np.float64]  #   [n + 1] komi and bonuses so far, draw-adjusted, for the player to move
    white_bonus: npt.NDArray[np.float64]  # [n + 1] bonus points of White so far, komi included
    packed_planes: npt.NDArray[np.uint8]  #   [k, 22, ceil(length^2 / 8)] of the k turns asked for
    global_inputs: npt.NDArray[np.float32]  # [k, 19]
    legal: npt.NDArray[np.int8]  #         [n + 1, length^2 + 1] by position, where asked for; else 0 everywhere
    played: int  # moves that could be played; n unless bad_turn says why not
    bad_turn: BadTurn
    state: State  # the last position

    @property
    def count(self) -> int:
        """Number of moves in the record."""
        return len(self.to_move) - 1


@dataclass(frozen=True)
class Ending:
    """How a game stands at its last position; scores are White minus Black with komi and all bonuses."""

    ended_by_rules: bool  # two passes, or a no-result
    all_pass_alive: bool  # every point is decided (rules.md 4.3)
    is_no_result: bool
    white_score: float
    white_bonus: float  # bonus points at the very end, komi and a button still left included
    area: npt.NDArray[np.int8]  #           [length, length] final owners
    plain_area: npt.NDArray[np.int8]  #     [length, length] owners in the plain area map
    white_points: npt.NDArray[np.float32]  # [length, length] what each point scores for White (rules.md 9.5)

    @property
    def winner(self) -> str:
        """As in a form: ``B``, ``W``, ``0`` for a draw, ``-`` for no result."""
        return NO_WINNER if self.is_no_result else winner_of(self.white_score)

    @property
    def score(self) -> float:
        """As in a form: White's lead, 0 without result."""
        return 0.0 if self.is_no_result else self.white_score

    @property
    def result(self) -> str:
        """As in an SGF: ``W+2.5``, ``0`` for a draw, ``Void`` for no result."""
        return VOID if self.is_no_result else result_text(self.white_score)


@njit(cache=True, nogil=True)
def copy_board(colour: Any, x_size: int, y_size: int, target: Any) -> None:
    """Colours of a board array into ``target`` [length, length], which is 0 elsewhere."""
    for y in range(y_size):
        for x in range(x_size):
            target[y, x] = colour[(y + 1) * STRIDE + x + 1]


@njit(cache=True, nogil=True)
def mark_legal(state: State, history: History, length: int, legal: Any) -> None:
    """Sets ``legal`` [length ** 2 + 1], which is 0, to 1 at the positions of legal moves; the pass is one."""
    for y in range(state["y_size"]):
        for x in range(state["x_size"]):
            if play.is_legal(state, history, (y + 1) * STRIDE + x + 1):
                legal[y * length + x] = 1
    legal[length * length] = 1


@by_reference
class _Turns(NamedTuple):
    """By turn, n moves having n + 1: what is wanted, and what is noted into arrays that were zero. See `Replay`."""

    row_of_turn: npt.NDArray[np.int32]  #   [n + 1] where the inputs go; -1: not wanted
    legal_of_turn: npt.NDArray[np.int8]  #  [n + 1] whether legal moves are wanted
    boards: npt.NDArray[np.int8]
    to_move: npt.NDArray[np.int8]
    phases: npt.NDArray[np.int8]
    own_komi: npt.NDArray[np.float64]
    white_bonus: npt.NDArray[np.float64]
    packed_planes: npt.NDArray[np.uint8]
    global_inputs: npt.NDArray[np.float32]
    legal: npt.NDArray[np.int8]  #          [n + 1, length^2 + 1], or a single row if it is never wanted


@njit(cache=True, nogil=True)
def _play_moves(
    state: State, history: History, colours: Any, points: Any, options: Any, scratch: Any, turns: _Turns
) -> tuple[int, int]:
    """Plays the moves and notes what each turn looked like; returns (moves played, `BadTurn`)."""
    count = len(points)
    length = turns.boards.shape[1]
    for turn in range(count + 1):
        copy_board(state["colour"], state["x_size"], state["y_size"], turns.boards[turn])
        turns.to_move[turn] = state["to_move"]
        turns.phases[turn] = state["phase"]
        turns.own_komi[turn] = scoring.own_komi(state)
        turns.white_bonus[turn] = scoring.white_bonus_points(state)
        row = turns.row_of_turn[turn]
        if row >= 0:
            own = options[1 if state["to_move"] == WHITE else 0]
            encode_packed(state, history, length, own, turns.packed_planes[row], turns.global_inputs[row], scratch)
        if turns.legal_of_turn[turn]:
            mark_legal(state, history, length, turns.legal[turn])
        if turn == count:
            break
        if state["finished"]:
            return turn, BadTurn.GAME_OVER
        if colours[turn] != state["to_move"]:
            return turn, BadTurn.WRONG_PLAYER
        if not play.is_legal(state, history, points[turn]):
            return turn, BadTurn.ILLEGAL
        play.play(state, history, points[turn])
    return count, BadTurn.NONE


def replay(
    start: GameStart,
    colours: Sequence[int] | npt.NDArray[np.int8],
    points: Sequence[int] | npt.NDArray[np.int16],
    *,
    length: int,
    view: PlayerView = PLAIN_VIEW,
    encoded_turns: npt.NDArray[np.intp] | None = None,
    legal_turns: npt.NDArray[np.intp] | None = None,
    white_doublings: float = 0.0,
) -> Replay:
    """Play a record from its start.

    Args:
        start: how the game begins.
        colours: ``[n]`` who moves.
        points: ``[n]`` moves as points of `common.go.points`, at most `MAX_TURNS`.
        length: edge of the tensors, at least the board's.
        view: what its player sees in its own way.
        encoded_turns: ``[k]`` turns (0 … n, each once) whose network inputs are wanted.
        legal_turns: turns (0 … n) whose legal moves are wanted.
        white_doublings: playout doubling advantage of White that the inputs tell.

    Returns:
        The game; if a move can not be played, what comes after it is zeros and ``bad_turn`` says why.

    Raises:
        ValueError: the start is impossible.
    """
    turns = _new_turns(len(points), length, encoded_turns, legal_turns)
    state, history = start_position(start, view)
    played, problem = _play_moves(
        state,
        history,
        np.asarray(colours, np.int8),
        np.asarray(points, np.int16),
        (FeatureOptions(-white_doublings), FeatureOptions(white_doublings)),
        new_scratch(),
        turns,
    )
    return Replay(
        start=start,
        view=view,
        length=length,
        boards=turns.boards,
        to_move=turns.to_move,
        phases=turns.phases,
        own_komi=turns.own_komi,
        white_bonus=turns.white_bonus,
        packed_planes=turns.packed_planes,
        global_inputs=turns.global_inputs,
        legal=turns.legal,
        played=played,
        bad_turn=BadTurn(problem),
        state=state,
    )


def _new_turns(
    count: int, length: int, encoded_turns: npt.NDArray[np.intp] | None, legal_turns: npt.NDArray[np.intp] | None
) -> _Turns:
    """Zeros for ``count`` moves, and what is wanted of their turns."""
    encoded = _NO_TURNS if encoded_turns is None else encoded_turns
    row_of_turn = np.full(count + 1, -1, np.int32)
    row_of_turn[encoded] = np.arange(len(encoded))
    legal_of_turn = np.zeros(count + 1, np.int8)
    legal_of_turn[_NO_TURNS if legal_turns is None else legal_turns] = 1
    return _Turns(
        row_of_turn=row_of_turn,
        legal_of_turn=legal_of_turn,
        boards=np.zeros((count + 1, length, length), np.int8),
        to_move=np.zeros(count + 1, np.int8),
        phases=np.zeros(count + 1, np.int8),
        own_komi=np.zeros(count + 1),
        white_bonus=np.zeros(count + 1),
        packed_planes=np.zeros((len(encoded), NUM_PLANES, packed_bytes(length)), np.uint8),
        global_inputs=np.zeros((len(encoded), NUM_GLOBAL_INPUTS), np.float32),
        legal=np.zeros((count + 1 if legal_turns is not None else 1, length * length + 1), np.int8),
    )


def ending(state: np.void, length: int) -> Ending:
    """Score a game at once by its last position, whether or not the rules have ended it (rules.md 4.3, 5, 7-9).

    Args:
        state: STATE record of that position.
        length: edge of the tensors.
    """
    scratch = np.zeros(1, AREA_SCRATCH)[0]
    area, plain = np.zeros(NUM_POINTS, np.int8), np.zeros(NUM_POINTS, np.int8)
    values = np.zeros(NUM_POINTS, np.float32)
    by_rules = bool(state["finished"])
    decided = not by_rules and bool(scoring.all_pass_alive(state, area, scratch))
    board_score = scoring.area_now(state, area, scratch)
    white_score = float(scoring.score(state, area, scratch))
    scoring.scoring_values(state, area, values, scratch)
    scoring.plain_area(state, plain, scratch)
    return Ending(
        ended_by_rules=by_rules,
        all_pass_alive=decided,
        is_no_result=bool(state["no_result"]),
        white_score=white_score,
        white_bonus=white_score - board_score,
        area=_by_position(area, state, length),
        plain_area=_by_position(plain, state, length),
        white_points=_by_position(values, state, length),
    )


def _by_position(values: npt.NDArray[Any], state: np.void, length: int) -> npt.NDArray[Any]:
    """A board array laid out as ``[length, length]``."""
    laid_out = np.zeros((length, length), values.dtype)
    copy_board(values, state["x_size"], state["y_size"], laid_out)
    return laid_out


def value_targets(game: Replay, end: Ending, turns: npt.NDArray[np.intp]) -> npt.NDArray[np.int8]:
    """Planes 0-3 of ``valueTargetsNCHW`` for rows at ``turns``, plane 4 left 0 (training-data.md 2).

    Returns:
        ``[k, 5, length, length]`` int8. A no-result game has no ownership and no seki plane.
    """
    targets = np.zeros((len(turns), len(ValueTarget), game.length, game.length), np.int8)
    players = game.to_move[turns]
    if not end.is_no_result:
        disputed = np.where(end.area == EMPTY, end.plain_area, EMPTY)
        targets[:, ValueTarget.OWNERSHIP] = _signed(end.area[np.newaxis], players)
        targets[:, ValueTarget.SEKI] = _signed(disputed[np.newaxis], players)
    for plane, later in zip((ValueTarget.FUTURE_NEAR, ValueTarget.FUTURE_FAR), FUTURE_TURNS, strict=True):
        targets[:, plane] = _signed(game.boards[np.minimum(turns + later, game.count)], players)
    return targets


def scoring_targets(game: Replay, end: Ending, turns: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Plane 4 of ``valueTargetsNCHW`` before stochastic rounding, ``[k, length, length]``, units of 1/120 point."""
    if end.is_no_result:
        return np.zeros((len(turns), game.length, game.length))
    signs = np.where(game.to_move[turns] == WHITE, 1.0, -1.0) * SCORING_SCALE
    return np.asarray(signs[:, np.newaxis, np.newaxis] * end.white_points)


def _signed(colours: npt.NDArray[np.int8], players: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """+1 where ``colours`` ``[k or 1, ...]`` is the row's player, -1 where it is the other one, 0 where EMPTY."""
    own = players[:, np.newaxis, np.newaxis]
    return np.where(colours == EMPTY, 0, np.where(colours == own, 1, -1)).astype(np.int8)


def bonuses_to_come(game: Replay, end: Ending, turns: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Column 61: bonus points that the player to move gains until the end."""
    gained = end.white_bonus - game.white_bonus[turns]
    return np.where(game.to_move[turns] == BLACK, -gained, gained)


def area_like(game: Replay, turns: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Column 48: whether a turn is scored by area as it stands."""
    if game.start.rules.scoring == Scoring.AREA:
        return np.ones(len(turns), bool)
    return np.asarray(game.phases[turns] == SECOND_CLEANUP)
