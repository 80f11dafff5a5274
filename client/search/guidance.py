"""What a caller may ask of one search beside its parameters: a hint, moves to avoid, the game so far.

Plain data, and how it is written into a slot. Specification: search.md 4.4, 4.5, 5, 14.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from client.search.mirror import mirroring_player
from client.search.tree import NO_POSITION, Forest
from common.go.points import EMPTY, PASS, opponent, point_at, position_of
from common.kernels import njit

EVERYWHERE: Final = np.iinfo(np.int16).max
"""Deeper than any tree."""


class Avoided(NamedTuple):
    """A move that one colour is not to try."""

    colour: int
    point: int  # of the board, or PASS
    until_depth: int = EVERYWHERE  # it may be tried again so many turns after the root


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """What is asked of one search; by default nothing."""

    hint: int | None = None
    """A point that the root is to look at thoroughly."""
    avoid: Collection[Avoided] = ()
    """Moves that are not entered; a kept tree is cleared when these change. A list of allowed moves: `all_but`."""
    rescale_avoided: bool = False
    """Whether the root's policy is to sum to 1 over the moves that are not avoided there."""
    turns: Sequence[tuple[int, int]] = ()
    """Colour and point of every turn of the game, for ``anti_mirror``; without them no mirror go is seen."""


NO_GUIDANCE: Final = Guidance()


def all_but(
    points: Iterable[int], colour: int, x_size: int, y_size: int, *, until_depth: int = EVERYWHERE
) -> tuple[Avoided, ...]:
    """Everything but ``points`` (the pass too, unless it is among them) on a board of that size, as moves to avoid."""
    board = [point_at(x, y) for y in range(y_size) for x in range(x_size)]
    allowed = set(points)
    return tuple(Avoided(colour, point, until_depth) for point in (*board, PASS) if point not in allowed)


def write_guidance(forest: Forest, slot: int, guidance: Guidance, length: int) -> bool:
    """Put ``guidance`` into a slot whose position and parameters are in place; whether a kept tree no longer fits."""
    search, state = forest.searches[slot], forest.states[slot]
    hint = NO_POSITION if guidance.hint is None else position_of(guidance.hint, length)
    avoid = _avoid_until(guidance.avoid, length)
    mirroring = EMPTY
    if forest.parameters[slot]["anti_mirror"]:
        size = int(state["x_size"]), int(state["y_size"])
        colours = np.array([colour for colour, _ in guidance.turns], np.int8)
        points = np.array([point for _, point in guidance.turns], np.int16)
        mirroring = mirroring_player(colours, points, len(points), opponent(int(state["to_move"])), *size)
    changed = search["hint"] != hint or search["mirroring"] != mirroring
    if guidance.avoid or search["avoids"]:
        changed = changed or bool((forest.avoid_until[slot] != avoid).any())
        forest.avoid_until[slot] = avoid
    search["hint"] = hint
    search["mirroring"] = mirroring
    search["avoids"] = avoid.any()
    search["rescales_avoided"] = guidance.rescale_avoided and avoid.any()
    search["rules_inside"] = search["avoids"] or mirroring != EMPTY
    return bool(changed)


@njit(cache=True, nogil=True)
def ask_in_turn(forest: Forest, slot: int, hint: int, mirroring: int) -> bool:
    """As `write_guidance` of a search that avoids nothing.

    ``hint`` is a position or NO_POSITION, ``mirroring`` the colour found to play mirror go, or EMPTY.
    """
    search = forest.searches[slot]
    changed = search["hint"] != hint or search["mirroring"] != mirroring or search["avoids"]
    if search["avoids"]:
        for position in range(forest.avoid_until.shape[2]):
            forest.avoid_until[slot, 0, position] = 0
            forest.avoid_until[slot, 1, position] = 0
    search["hint"] = hint
    search["mirroring"] = mirroring
    search["avoids"] = False
    search["rescales_avoided"] = False
    search["rules_inside"] = mirroring != EMPTY
    return bool(changed)


def _avoid_until(avoid: Iterable[Avoided], length: int) -> npt.NDArray[np.int16]:
    """Depths [2, L * L + 1] by colour - 1 and position; of several for one move the deepest."""
    depths = np.zeros((2, length * length + 1), np.int16)
    for colour, point, until_depth in avoid:
        position = position_of(point, length)
        depths[colour - 1, position] = max(int(depths[colour - 1, position]), min(until_depth, EVERYWHERE))
    return depths
