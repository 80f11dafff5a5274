"""What the searches of running games have said, turn by turn, and a game that is over, ready to be recorded.

Arrays for all games of a table, which grow when a game fills them; none of it decides how a game goes on.
Specification: training-data.md 2, search.md 11.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from client.games.game import Game, Notes, hit_move_limit
from client.games.orders import NetChange
from client.games.starts import Provenance
from client.search.turns import CHILD, FOUND, Turns
from common.by_reference import by_reference
from common.go.start import GameStart, PlayerView
from common.kernels import njit

if TYPE_CHECKING:
    from client.games.inside_trees import InsideTree

MIN_POLICY_TOP: Final = 10.0
MAX_POLICY_TOP: Final = 30000.0
_TURNS_PER_POINT: Final = 2
_CHILDREN_PER_TURN: Final = 16


@by_reference
class TurnNotes(NamedTuple):
    """Of G games with room for T searched turns and C children each; P positions, or none kept, nor children."""

    found: npt.NDArray[np.void]  # [G, T] FOUND
    weights: npt.NDArray[np.float64]  # [G, T] of a row before surprise weighting; 0 for a cheap search
    policies: npt.NDArray[np.int16]  # [G, T, P] policy target as rows hold it
    first_children: npt.NDArray[np.int32]  # [G, T + 1] turn t has those from its entry to the next one
    children: npt.NDArray[np.void]  # [G, C] CHILD
    is_full: npt.NDArray[np.bool_]  # [1] some game has no room for another turn


def new_turn_notes(slots: int, length: int, *, policies: bool) -> TurnNotes:
    """For games on boards up to ``length``, with or without policies and children."""
    turns, positions = _TURNS_PER_POINT * length * length, length * length + 1
    children = _CHILDREN_PER_TURN * turns + positions
    return TurnNotes(
        found=np.zeros((slots, turns), FOUND),
        weights=np.zeros((slots, turns)),
        policies=np.zeros((slots, turns, positions if policies else 0), np.int16),
        first_children=np.zeros((slots, turns + 1), np.int32),
        children=np.zeros((slots, children if policies else 0), CHILD),
        is_full=np.zeros(1, np.bool_),
    )


def with_more_room(notes: TurnNotes) -> TurnNotes:
    """The same with room for twice as much."""
    turns = notes.found.shape[1]
    return TurnNotes(
        found=_grown(notes.found, turns),
        weights=_grown(notes.weights, turns),
        policies=_grown(notes.policies, turns),
        first_children=_grown(notes.first_children, turns),
        children=_grown(notes.children, notes.children.shape[1]),
        is_full=np.zeros(1, np.bool_),
    )


def _grown(array: npt.NDArray[Any], more: int) -> npt.NDArray[Any]:
    """``array`` [G, n, ...] with ``more`` zeros behind each of its rows."""
    slots, count, *rest = array.shape
    grown = np.zeros((slots, count + more, *rest), array.dtype)
    grown[:, :count] = array
    return grown


@njit(cache=True, nogil=True)
def keep_turn(notes: TurnNotes, turns: Turns, slot: int, number: int, weight: float) -> None:
    """Note what was found at a slot's searched turn ``number``; the one after it follows."""
    notes.found[slot, number] = turns.found[slot]
    notes.weights[slot, number] = weight
    end: Any = np.int64(notes.first_children[slot, number])
    positions = notes.policies.shape[2]
    if positions > 0:
        scale_policy(turns.targets[slot], notes.policies[slot, number])
        for child in range(turns.found[slot]["num_children"]):
            notes.children[slot, end] = turns.children[slot, child]
            end += 1
        notes.first_children[slot, number + 1] = end
    if number + 1 >= notes.found.shape[1] or end + positions > notes.children.shape[1]:
        notes.is_full[0] = True


@njit(cache=True, nogil=True)
def scale_policy(policy: npt.NDArray[np.float64], target: npt.NDArray[np.int16]) -> None:
    """Fill ``target`` [P] with a policy target as it is stored: its largest number is within 10 to 30000."""
    top = 0.0
    for position in range(policy.shape[0]):
        top = max(top, policy[position])
    factor = 1.0
    if top < MIN_POLICY_TOP:
        factor = MIN_POLICY_TOP / top
    elif top > MAX_POLICY_TOP:
        factor = MAX_POLICY_TOP / top
    for position in range(policy.shape[0]):
        target[position] = math.floor(policy[position] * factor + 0.5)


REPLACED: Final = np.dtype(
    [
        ("is_replaced", np.bool_),  # all below is 0 where it is not
        ("policy_surprise", np.float64),  # nats
        ("value_surprise", np.float64),  # nats
        ("visits", np.int32),
    ],
    align=True,
)
"""What is kept of a cheap search that another one of the same turn has replaced after the game."""


@dataclass(frozen=True)
class PlayedTurns:
    """The searches of one game: T turns, C children. As in `TurnNotes`."""

    found: npt.NDArray[np.void]  # [T] FOUND
    weights: npt.NDArray[np.float64]  # [T]
    policies: npt.NDArray[np.int16]  # [T, P]
    first_children: npt.NDArray[np.int32]  # [T + 1]
    children: npt.NDArray[np.void]  # [C] CHILD
    replaced: npt.NDArray[np.void]  # [T] REPLACED

    @property
    def count(self) -> int:
        """T"""
        return len(self.found)

    def copy(self) -> PlayedTurns:
        """The same in memory of its own."""
        return PlayedTurns(**{name: array.copy() for name, array in vars(self).items()})

    def children_by_turn(self) -> list[npt.NDArray[np.void]]:
        """The children of each turn."""
        return np.split(self.children, self.first_children[1:-1]) if self.count else []


def turns_of(notes: TurnNotes, slot: int, count: int) -> PlayedTurns:
    """The first ``count`` searched turns of a slot's game; they are the slot's memory."""
    first = notes.first_children[slot, : count + 1]
    return PlayedTurns(
        found=notes.found[slot, :count],
        weights=notes.weights[slot, :count],
        policies=notes.policies[slot, :count],
        first_children=first,
        children=notes.children[slot, : first[-1]],
        replaced=np.zeros(count, REPLACED),
    )


def put_turns(notes: TurnNotes, slot: int, turns: PlayedTurns) -> TurnNotes:
    """``notes`` with what the searches of the game in ``slot`` have said, and room for its next turn."""
    positions, count, end = notes.policies.shape[2], turns.count, len(turns.children)
    while count >= notes.found.shape[1] or end + positions > notes.children.shape[1]:
        notes = with_more_room(notes)
    notes.found[slot, :count] = turns.found
    notes.weights[slot, :count] = turns.weights
    notes.policies[slot, :count] = turns.policies
    notes.first_children[slot, : count + 1] = turns.first_children
    notes.children[slot, :end] = turns.children
    return notes


@dataclass(frozen=True)
class PlayedGame:
    """A game that is over, ready to be recorded."""

    start: GameStart
    view: PlayerView
    provenance: Provenance
    colours: npt.NDArray[np.int8]  # [n]
    points: npt.NDArray[np.int16]  # [n]
    first_turn: int  # moves of the beginning; turn t of ``turns`` is the search before move first_turn + t
    turns: PlayedTurns
    hash_words: tuple[int, int]
    hit_move_limit: bool
    net_changes: tuple[NetChange, ...] = ()
    inside: Sequence[InsideTree] = ()
    seconds: Sequence[float] = (0.0, 0.0)  # that the searches by the clock of each seat took


def played_game(game: Game, notes: Notes, turn_notes: TurnNotes, slot: int) -> PlayedGame:
    """A game that is over, from its record and its notes."""
    turn, first = int(game["turn"]), int(game["first_searched_turn"])
    low, high = game["hash_words"].tolist()
    return PlayedGame(
        start=notes.start,
        view=notes.view,
        provenance=notes.provenance,
        colours=game["colours"][:turn],
        points=game["points"][:turn],
        first_turn=first,
        turns=turns_of(turn_notes, slot, turn - first),
        hash_words=(low, high),
        hit_move_limit=bool(hit_move_limit(game)),
        net_changes=notes.net_changes,
        inside=notes.inside,
        seconds=notes.seconds,
    )
