"""The other answers that KataGo's ladder reader may give about a position: the audit takes them for right, too.

KataGo's reader is ours but for one slip (rules.md 11, last paragraph), by which its rows may lack ladders that ours
have. A row that differs from its position in nothing but ladder planes is right if, for each of the boards that these
show, either reader says what it says. Whose rows they are is not asked: a row does not tell.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from common.branches import Branches
from common.features import FeatureOptions, encode_packed, new_scratch
from common.go.ladders import LADDER_SCRATCH, katago_ladder_map
from common.go.points import NUM_POINTS
from common.go.state import History, State
from common.replay import Replay
from common.rows import NUM_GLOBAL_INPUTS, InputPlane

_PLANES: Final = np.array(
    [InputPlane.LADDERED, InputPlane.LADDERED_1_AGO, InputPlane.LADDERED_2_AGO, InputPlane.LADDER_CAPTURE]
)
_BOARDS: Final = 3
"""Those whose ladders are shown: now, one and two turns ago."""
_OPTIONS: Final = FeatureOptions()


class LadderReader:
    """Answers for the positions of one upload; its memory is made when it is first asked."""

    def __init__(self) -> None:
        self._scratch: Any = None
        self._search: Any = None

    def may_be_katagos(
        self, told: npt.NDArray[np.uint8], ours: npt.NDArray[np.uint8], state: State, history: History, length: int
    ) -> bool:
        """Whether the planes ``told`` of a position, packed, are KataGo's where they differ from ``ours``.

        Args:
            state, history: the position, which must have been encoded once (`encode_packed`).
            length: edge of the tensors.
        """
        differing = np.flatnonzero((told != ours).any(axis=1))
        if not np.isin(differing, _PLANES).all():
            return False
        if self._scratch is None:
            self._scratch, self._search = new_scratch(), np.zeros(1, LADDER_SCRATCH)[0]
        own = state["ladder"].copy()
        theirs = np.zeros((_BOARDS, NUM_POINTS), np.int8)
        for age in range(_BOARDS):
            katago_ladder_map(state, age, theirs[age], self._search)
        slips = [age for age in range(_BOARDS) if (own[age] != theirs[age]).any() and state["ladder_known"][age]]
        planes, inputs = np.zeros_like(told), np.zeros(NUM_GLOBAL_INPUTS, np.float32)
        for chosen in itertools.product((False, True), repeat=len(slips)):
            state["ladder"] = own
            for age, is_theirs in zip(slips, chosen, strict=True):
                if is_theirs:
                    state["ladder"][age] = theirs[age]
            encode_packed(state, history, length, _OPTIONS, planes, inputs, self._scratch)
            if np.array_equal(told, planes):
                return True
        return False


def katagos_rows(
    told: npt.NDArray[np.uint8],
    ours: npt.NDArray[np.uint8],
    turns: npt.NDArray[np.intp],
    game: Replay,
    points: Sequence[int],
) -> npt.NDArray[np.bool_]:
    """``[k]`` whether rows of a game that differ from ours hold what KataGo's reader says.

    Args:
        told, ours: ``[k, 22, ceil(length^2 / 8)]`` packed planes.
        turns: ``[k]`` where the rows stand.
        game: played again; ``points`` are its moves.
    """
    branches = Branches(game.start, game.view, points, sorted(set(turns.tolist())), game.length)
    reader = LadderReader()
    found = np.zeros(len(turns), bool)
    for row in np.argsort(turns, kind="stable"):
        branches.follow(int(turns[row]), ())
        branches.position()
        found[row] = reader.may_be_katagos(told[row], ours[row], branches.state, branches.history, game.length)
    return found
