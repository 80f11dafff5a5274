"""Positions beside a game, each reached by a line of moves that leaves it: the game itself is played once for all.

A line costs its own moves, and the keys of the history between its branch and the branch before; so lines that are
asked for in the order of their turns cost what they are long, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from common.features import FeatureOptions, encode_packed, new_scratch
from common.go import history as histories
from common.go import play, scoring
from common.go.points import NO_POINT, SECOND_CLEANUP
from common.go.rules import Scoring
from common.go.start import GameStart, PlayerView, start_position
from common.go.state import History, State, new_states
from common.kernels import njit
from common.replay import copy_board, mark_legal
from common.rows import NUM_GLOBAL_INPUTS, NUM_PLANES, packed_bytes

_OPTIONS: Final = FeatureOptions()


@dataclass(frozen=True)
class SidePosition:
    """What follows from a position beside a game."""

    packed_planes: npt.NDArray[np.uint8]  #   [22, ceil(length^2 / 8)]
    global_inputs: npt.NDArray[np.float32]  # [19], without playout doublings
    legal: npt.NDArray[np.int8]  #            [length^2 + 1] by position
    own_komi: float
    is_area_like: bool


@njit(cache=True, nogil=True)
def _play_line(state: State, history: History, points: Any) -> int:
    """Plays ``points`` as far as they are legal; how many were played."""
    for index in range(len(points)):
        if state["finished"] or not play.is_legal(state, history, points[index]):
            return index
        play.play(state, history, points[index])
    return len(points)


@njit(cache=True, nogil=True)
def _play_game(state: State, history: History, points: Any, index_of_turn: Any, kept: Any) -> None:
    """Plays a record that is known to be legal; the positions of wanted turns are copied into ``kept``."""
    for turn in range(len(points) + 1):
        if index_of_turn[turn] >= 0:
            kept[index_of_turn[turn]] = state
        if turn < len(points):
            play.play(state, history, points[turn])


@njit(cache=True, nogil=True)
def _add_keys(history: History, keys: Any) -> None:
    for index in range(len(keys)):
        histories.add(history, keys[index], 0)


class Branches:
    """The positions beside one game.

    Args:
        start: the game before its first move.
        view: what its player sees in its own way.
        points: its moves, which are legal.
        turns: from which lines may branch off, 0 to ``len(points)``.
        length: edge of the tensors.
    """

    def __init__(
        self, start: GameStart, view: PlayerView, points: Sequence[int], turns: Sequence[int], length: int
    ) -> None:
        self._start, self._length = start, length
        state, self._history = start_position(start, view)
        wanted = sorted(set(turns))
        self._index = {turn: index for index, turn in enumerate(wanted)}
        index_of_turn = np.full(len(points) + 1, -1, np.int32)
        index_of_turn[wanted] = np.arange(len(wanted))
        self._states = new_states(len(wanted))
        _play_game(state, self._history, np.asarray(points, np.int16), index_of_turn, self._states)
        self._keys = self._history["key"][: int(self._history["count"])].copy()
        self._scratch = new_scratch()
        self._work = new_states(1)
        self._board = np.zeros((length, length), np.int8)
        self._held = len(self._keys)
        self.steps = len(points)
        """Moves played and keys moved so far: what it has cost."""

    def follow(self, branch: int, line: Sequence[int]) -> npt.NDArray[np.int8] | None:
        """Play ``line`` from the position before move ``branch``, and give the board ``[length, length]`` of colours.

        None if it cannot be played. The array is valid until the next call.
        """
        kept = self._states[self._index[branch]]
        self._go_to(int(kept["history_count"]))
        if NO_POINT in line:
            return None
        self._work[0] = kept
        self.steps += len(line)
        played = _play_line(self._work[0], self._history, np.asarray(line, np.int16))
        if played < len(line):
            return None
        self._board[:] = 0
        copy_board(self._work[0]["colour"], self._start.x_size, self._start.y_size, self._board)
        return self._board

    def _go_to(self, count: int) -> None:
        """Make the history hold the game's first ``count`` keys."""
        history = self._history
        held = min(int(history["count"]), self._held)
        self.steps += abs(count - held)
        histories.rewind(history, min(count, held))
        if count > held:
            _add_keys(history, self._keys[held:count])
        self._held = count

    @property
    def to_move(self) -> int:
        """Colour of the player to move at the end of the line."""
        return int(self._work[0]["to_move"])

    @property
    def state(self) -> State:
        """STATE at the end of the line; valid until the next call of `follow`, as the HISTORY is."""
        state: State = self._work[0]
        return state

    @property
    def history(self) -> History:
        """HISTORY at the end of the line."""
        return self._history

    def position(self) -> SidePosition:
        """The position at the end of the line that `follow` has played."""
        state, length = self._work[0], self._length
        planes = np.zeros((NUM_PLANES, packed_bytes(length)), np.uint8)
        inputs = np.zeros(NUM_GLOBAL_INPUTS, np.float32)
        legal = np.zeros(length * length + 1, np.int8)
        encode_packed(state, self._history, length, _OPTIONS, planes, inputs, self._scratch)
        mark_legal(state, self._history, length, legal)
        is_area = self._start.rules.scoring == Scoring.AREA
        return SidePosition(
            packed_planes=planes,
            global_inputs=inputs,
            legal=legal,
            own_komi=float(scoring.own_komi(state)),
            is_area_like=is_area or int(state["phase"]) == SECOND_CLEANUP,
        )
