"""Against mirror go: who plays it, and what a search believes of mirror moves and of the centre while somebody does.

A mirrored game is decided where the mirror breaks, at the centre, which lies beyond what a search looks at. So replies
that mirror are expected and looked at, moves to the centre are tried, and evaluations lean towards the centre's owner.
The mirror image of a point is opposite it across the centre. Specification: search.md 14.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.search.tree import Forest
from client.search.values import NO_RESULT, WIN_LOSS
from common.go.points import EMPTY, NO_POINT, PASS, STRIDE, WHITE, opponent, point_at
from common.kernels import njit

_MIN_MIRRORS: Final = 7.0
_MIN_SHARE: Final = 0.5
_MIN_RECENT_SHARE: Final = 0.45
_RECENT_DECAY: Final = 0.75
"""Detection: so many mirror moves beyond this share of a player's turns; lately this share, each turn counting less."""
_REPLY_PRIOR: Final = 1.0
_CENTRE_PRIOR: Final = 0.3
_NEAR_CENTRE_PRIOR: Final = 0.05
"""How far the prior of an expected move is raised towards 1 at the root; deeper by the root of the depth less."""
REPLY_SHARE: Final = 0.2
CENTRE_SHARE: Final = 0.1
"""Shares of a node's weight that the mirror reply, and the root's move to the centre, are to have."""
_PULL: Final = 0.3
_PULL_WHERE_SYMMETRIC: Final = 0.7
_LARGEST_WIN_LOSS: Final = 1.0 - 1e-6


@njit(cache=True, nogil=True)
def mirrored(point: int, x_size: int, y_size: int) -> int:
    """The point across the board's centre; the pass is its own image."""
    if point == PASS:
        return PASS
    return (y_size + 1 - point // STRIDE) * STRIDE + x_size + 1 - point % STRIDE


@njit(cache=True, nogil=True)
def mirroring_player(
    colours: npt.NDArray[np.int8], points: npt.NDArray[np.int16], count: int, colour: int, x_size: int, y_size: int
) -> int:
    """``colour`` if it plays mirror go and its last turn did, else EMPTY.

    Args:
        colours: of the game's turns, the first ``count`` of which count.
        points: played there.
        count: see there.
        colour: of the player in question.
        x_size: columns of the board.
        y_size: its rows.
    """
    mirrors = 0
    total = 0
    recent = 0.0
    recent_total = 0.0
    mirrors_now = False
    for turn in range(1, count):
        if colours[turn] != colour:
            continue
        before: Any = np.int64(points[turn - 1])
        mirrors_now = before != PASS and points[turn] == mirrored(before, x_size, y_size)
        total += 1
        mirrors += mirrors_now
        recent = _RECENT_DECAY * (recent + mirrors_now)
        recent_total = _RECENT_DECAY * (recent_total + 1.0)
    many = mirrors >= _MIN_MIRRORS + _MIN_SHARE * total
    lately = recent >= _MIN_RECENT_SHARE * recent_total
    is_last = count > 0 and colours[count - 1] == colour
    return colour if many and lately and mirrors_now and is_last else EMPTY


@njit(cache=True, nogil=True)
def centre_of(state: np.void) -> int:
    """The point in the middle, or NO_POINT where there is none."""
    if state["x_size"] % 2 == 0 or state["y_size"] % 2 == 0:
        return NO_POINT
    return int(point_at(state["x_size"] // 2, state["y_size"] // 2))


@njit(cache=True, nogil=True)
def is_mirrored_board(state: np.void) -> bool:
    """Whether every stone but one in the centre faces a stone of the other colour."""
    centre = centre_of(state)
    for y in range(state["y_size"]):
        for x in range(state["x_size"]):
            point = point_at(x, y)
            colour = state["colour"][point]
            across = state["colour"][mirrored(point, state["x_size"], state["y_size"])]
            if point != centre and across != (opponent(colour) if colour != EMPTY else EMPTY):
                return False
    return True


@njit(cache=True, nogil=True)
def face_mirror_go(forest: Forest, slot: int) -> None:
    """Prepare a search whose opponent mirrors: what would hide a mirror move's weight is off in this slot."""
    search = forest.searches[slot]
    search["mirror_pull"] = _PULL_WHERE_SYMMETRIC if is_mirrored_board(forest.states[slot]) else _PULL
    parameters = forest.parameters[slot]
    parameters["use_noise_pruning"] = False
    parameters["value_weight_exponent"] = 0.0
    parameters["subtree_value_bias_factor"] = 0.0


@njit(cache=True, nogil=True)
def expected_reply(state: np.void, priors: npt.NDArray[np.float32], length: int) -> int:
    """Position of the mirror image of the last move, the pass where that is no legal move; ``priors`` [P]."""
    x_size = state["x_size"]
    y_size = state["y_size"]
    last: Any = np.int64(state["recent_point"][0])
    if last in (PASS, NO_POINT):
        return length * length
    image = mirrored(last, x_size, y_size)
    position = (image // STRIDE - 1) * length + image % STRIDE - 1
    return position if priors[position] >= 0.0 else length * length


@njit(cache=True, nogil=True)
def answers_mirror(state: np.void, mirroring: int) -> bool:
    """Whether the mirroring player has just mirrored, so that the player to move may break away."""
    last: Any = np.int64(state["recent_point"][0])
    before: Any = np.int64(state["recent_point"][1])
    if state["to_move"] == mirroring or before in (PASS, NO_POINT) or last == NO_POINT:
        return False
    return bool(last == mirrored(before, state["x_size"], state["y_size"]))


@njit(cache=True, nogil=True)
def _distance_sq(state: np.void, position: int, length: int) -> float:
    """Squared distance of a board position from the board's centre, points."""
    dx = position % length - 0.5 * (state["x_size"] - 1)
    dy = position // length - 0.5 * (state["y_size"] - 1)
    return float(dx * dx + dy * dy)


@njit(cache=True, nogil=True)
def expected_prior(
    prior: float, position: int, state: np.void, mirroring: int, reply: int, depth: int, length: int
) -> float:
    """The prior of a legal move at a node of a mirrored game, ``depth`` turns below the root.

    ``reply`` is the `expected_reply`. The mirroring player is expected to mirror, the other to break at the centre.
    """
    share = 0.0
    if state["to_move"] == mirroring:
        if position == reply:
            share = _REPLY_PRIOR
    elif position != length * length and answers_mirror(state, mirroring):
        distance_sq = _distance_sq(state, position, length)
        if distance_sq == 0.0:
            share = _CENTRE_PRIOR
        elif distance_sq <= 2.0:
            share = _NEAR_CENTRE_PRIOR
    return prior + (1.0 - prior) * share / math.sqrt(depth + 1.0)


@njit(cache=True, nogil=True)
def is_owed_by_mirror(
    weight: float, total: float, position: int, state: np.void, mirroring: int, reply: int, depth: int, length: int
) -> bool:
    """Whether an existing child has less than the share of its node's weight that a mirrored game asks for."""
    if state["to_move"] == mirroring:
        return bool(position == reply and weight < REPLY_SHARE * total)
    is_centre = depth == 0 and position != length * length and _distance_sq(state, position, length) == 0.0
    return bool(is_centre and weight < CENTRE_SHARE * total)


@njit(cache=True, nogil=True)
def lean_to_centre(node: Any, state: np.void, ownership: npt.NDArray[np.float32], pull: float, length: int) -> None:
    """Move a node's own win/loss value towards the owner of the centre.

    ``ownership`` [L * L] is the row's, as the player to move at the node sees it.
    """
    centre = centre_of(state)
    own = node["own"]
    counted = 1.0 - own[NO_RESULT]
    if centre == NO_POINT or counted <= 0.0:
        return
    owner = ownership[(centre // STRIDE - 1) * length + centre % STRIDE - 1]
    white_owner = owner if node["to_move"] == WHITE else -owner
    value = min(max(own[WIN_LOSS] / counted, -_LARGEST_WIN_LOSS), _LARGEST_WIN_LOSS)
    own[WIN_LOSS] = counted * math.tanh(math.atanh(value) + pull * white_owner)
