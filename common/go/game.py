"""A game for people and interfaces: moves in, errors with reasons, undo, score and result text.

`Game` wraps one HISTORY and a stack of STATE records, one per turn, so that undo is exact. Machines that play many
games use the kernels directly. Rules are those of rules.md; points are those of `common.go.points`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from common.go import board, history, play, scoring
from common.go.passalive import AREA_SCRATCH
from common.go.points import (
    BLACK,
    EMPTY,
    MAIN_PHASE,
    NO_POINT,
    NUM_POINTS,
    PASS,
    WHITE,
    from_vertex,
    opponent,
    point_at,
)
from common.go.result import VOID, resignation_text, result_text
from common.go.rules import Rules, Scoring
from common.go.start import PLAIN_VIEW, GameStart, PlayerView, count_handicap, point_name, start_position
from common.go.state import History, State

COLOUR_NAMES = {BLACK: "Black", WHITE: "White"}
COLOUR_LETTERS = {BLACK: "B", WHITE: "W"}
_PICTURE = {".": EMPTY, "X": BLACK, "O": WHITE}


class Game:
    """One game from its start on.

    Args:
        start: how it begins; None: on the empty board of 19x19, under the default rules.
        prevents_cleanup: passes that would end a phase under territory scoring are played as if they were the first,
            as interfaces want it that have no cleanup phases.

    Raises:
        ValueError: stones or moves of the start that are impossible; the message names them.
    """

    def __init__(self, start: GameStart | None = None, *, prevents_cleanup: bool = False) -> None:
        self.start = start if start is not None else GameStart()
        self.prevents_cleanup = prevents_cleanup
        self.moves: list[tuple[int, int]] = []
        """``(colour, point)`` of every turn since the start."""
        self._resigned_by = EMPTY
        state, self.history = start_position(self.start)
        self._states: list[State] = [state]

    @staticmethod
    def from_picture(picture: str, rules: Rules | None = None, **keywords: Any) -> Game:
        """A game from rows of ``X`` black, ``O`` white and ``.`` empty, top first, parted by ``/`` or white space.

        ``keywords`` are further fields of the `GameStart`; ``ValueError`` for a broken picture.
        """
        rows = picture.replace("/", " ").split()
        if not rows or any(len(row) != len(rows[0]) for row in rows) or not set("".join(rows)) <= set(_PICTURE):
            raise ValueError(f"{picture!r} is no board: rows of one length of X, O and . are wanted")
        stones = [
            (_PICTURE[letter], point_at(x, y))
            for y, row in enumerate(rows)
            for x, letter in enumerate(row)
            if letter != "."
        ]
        return Game(GameStart(len(rows[0]), len(rows), rules or Rules(), tuple(stones), **keywords))

    # -- asking --

    @property
    def x_size(self) -> int:
        """Columns."""
        return self.start.x_size

    @property
    def y_size(self) -> int:
        """Rows."""
        return self.start.y_size

    @property
    def rules(self) -> Rules:
        """With komi."""
        return self.start.rules

    @property
    def state(self) -> State:
        """The STATE record of the present position."""
        return self._states[-1]

    @property
    def to_move(self) -> int:
        """BLACK or WHITE."""
        return int(self.state["to_move"])

    @property
    def phase(self) -> int:
        """0, or 1 and 2 in the cleanup phases of territory scoring."""
        return int(self.state["phase"])

    @property
    def turn(self) -> int:
        """The number of turns before the next one, passes included."""
        return self.start.turn + len(self.moves)

    @property
    def finished(self) -> bool:
        """Whether the rules or a resignation have ended the game."""
        return bool(self.state["finished"]) or self._resigned_by != EMPTY

    def colour_at(self, point: int) -> int:
        """EMPTY, BLACK, WHITE, or WALL off the board."""
        return int(self.state["colour"][point])

    def captured(self, colour: int) -> int:
        """How many stones of ``colour`` have been taken off the board."""
        return int(self.state["captured"][colour])

    def rows(self) -> list[str]:
        """The board as text, top row first: ``X`` black, ``O`` white, ``.`` empty."""
        colours = self._by_row(self.state["colour"])
        return ["".join(".XO"[colour] for colour in row) for row in colours]

    def __str__(self) -> str:
        return "\n".join(self.rows())

    def legal_moves(self) -> list[int]:
        """Every point that the player to move may play, PASS first; none when the game is over."""
        if self.finished:
            return []
        legal = np.zeros(NUM_POINTS, np.int8)
        play.legal_points(self.state, self.history, legal)
        return [int(point) for point in np.flatnonzero(legal)]

    def why_illegal(self, point: int, colour: int | None = None) -> str | None:
        """Why ``colour`` (None: the player to move) may not play ``point`` now; None if it may."""
        if self.finished:
            return "the game is over"
        if colour is not None and colour != self.to_move:
            return f"it is {COLOUR_NAMES[self.to_move]}'s turn"
        if play.is_legal(self.state, self.history, point):
            return None
        reason = self._why_unplayable(point, self.to_move)
        if reason is not None:
            return reason
        if board.is_illegal_suicide(self.state, point, self.to_move):
            return "the rules forbid suicide"
        if point == self.state["ko_point"]:
            return "it retakes a ko at once"
        in_cleanup = self.phase > MAIN_PHASE
        return "it repeats a ko capture of this cleanup phase" if in_cleanup else "it repeats an earlier position"

    def _why_unplayable(self, point: int, colour: int) -> str | None:
        """Why no stone of ``colour`` could be played at ``point`` under any rules; None if it could."""
        if point == PASS:
            return None
        if not 0 < point < NUM_POINTS or self.colour_at(point) not in _PICTURE.values():
            return "it is off the board"
        if self.phase > MAIN_PHASE and colour == self.to_move and play.unblocked_stone(self.state, point) != NO_POINT:
            return None
        if self.colour_at(point) != EMPTY:
            return "the point is occupied"
        if board.is_lone_suicide(self.state, point, colour):
            return "it is the suicide of a single stone"
        return None

    # -- playing --

    def play(self, point: int | str, colour: int | None = None, *, tolerant: bool = False) -> None:
        """Play a point, PASS or a GTP vertex for ``colour``, None being the player to move.

        Args:
            tolerant: allow what an engine must accept from an interface: either colour, after the end, and against the
                rules on ko, repetition and suicide of several stones. Out of turn, repetition and passes so far
                are forgotten.

        Raises:
            ValueError: the move is illegal; the message names it and the reason. Nothing has changed then.
        """
        if isinstance(point, str):
            point = from_vertex(point, self.x_size, self.y_size)
        mover = self.to_move if colour is None else colour
        if mover not in COLOUR_NAMES:
            raise ValueError(f"{mover} is no colour: BLACK is {BLACK}, WHITE is {WHITE}")
        reason = self._why_unplayable(point, mover) if tolerant else self.why_illegal(point, mover)
        if reason is None and history.is_full(self.history, play.KEYS_PER_TURN + 1):
            reason = "the game is too long for the repetition history"
        if reason is not None:
            name = point_name(point, self.x_size, self.y_size)
            raise ValueError(f"move {self.turn + 1}, {COLOUR_LETTERS[mover]} {name}, is illegal: {reason}")
        self._states.append(_copied(self.state))
        play.take_turn(self.state, self.history, mover)
        if self.prevents_cleanup and point == PASS:
            self._keep_the_phase()
        play.play(self.state, self.history, point)
        self.moves.append((mover, point))
        self._resigned_by = EMPTY
        count_handicap(self.state, self.start, self.moves)

    def _keep_the_phase(self) -> None:
        """Let the pass that comes not end a phase before scoring by territory."""
        if self.rules.scoring == Scoring.TERRITORY and play.pass_would_end_phase(self.state, self.history):
            play.forget_passes(self.state, self.history)

    def resign(self, colour: int | None = None) -> None:
        """End the game as a loss of ``colour``, None being the player to move; ``ValueError`` when it is over."""
        if self.finished:
            raise ValueError("nobody can resign: the game is over")
        self._resigned_by = self.to_move if colour is None else colour

    def undo(self) -> None:
        """Take back the resignation or else the last turn.

        Raises:
            ValueError: there is nothing to take back.
        """
        if self._resigned_by != EMPTY:
            self._resigned_by = EMPTY
            return
        if not self.moves:
            raise ValueError("there is no move to take back")
        self.moves.pop()
        self._states.pop()
        history.rewind(self.history, self.state["history_count"])

    def copy(self) -> Game:
        """An independent game at the same turn, with the same past."""
        other = object.__new__(Game)
        other.__dict__.update(self.__dict__)
        other.moves = list(self.moves)
        other.history = _copied(self.history)
        other._states = [_copied(state) for state in self._states]
        return other

    def under(self, rules: Rules) -> Game:
        """The same stones and moves under other rules, followed whether or not those allow them."""
        other = Game(self.start.under(rules), prevents_cleanup=self.prevents_cleanup)
        for colour, point in self.moves:
            other.play(point, colour, tolerant=True)
        return other

    def position(self, colour: int | None = None, view: PlayerView = PLAIN_VIEW) -> tuple[State, History]:
        """Copies of the present STATE and HISTORY, with ``colour`` (None: the player to move) to move, for a search."""
        state, past = _copied(self.state), _copied(self.history)
        view.write_to(state)
        play.take_turn(state, past, self.to_move if colour is None else colour)
        return state, past

    # -- the end --

    def score(self) -> float:
        """White's score minus Black's if the game ended now (rules.md 5), whatever a resignation says."""
        return float(scoring.score(self.state, np.zeros(NUM_POINTS, np.int8), _new_scratch()))

    def area(self) -> npt.NDArray[np.int8]:
        """int8 ``[y_size, x_size]``: who owns each point if the game is scored now."""
        area = np.zeros(NUM_POINTS, np.int8)
        scoring.score(self.state, area, _new_scratch())
        return self._by_row(area)

    @property
    def result(self) -> str | None:
        """``B+3.5``, ``W+R``, ``0`` for a draw, ``Void`` for no result; None while the game goes on."""
        if self._resigned_by != EMPTY:
            return resignation_text(COLOUR_LETTERS[opponent(self._resigned_by)])
        if not self.finished:
            return None
        return VOID if self.state["no_result"] else result_text(self.score())

    def _by_row(self, values: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
        """A board array of the kernels as ``[y_size, x_size]``."""
        return np.array([[values[point_at(x, y)] for x in range(self.x_size)] for y in range(self.y_size)], np.int8)


def _copied(record: Any) -> Any:
    """A copy of a STATE or HISTORY record that shares nothing with it."""
    array = np.empty(1, record.dtype)
    array[0] = record
    return array[0]


def _new_scratch() -> Any:
    return np.zeros(1, AREA_SCRATCH)[0]
