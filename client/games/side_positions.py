"""Positions beside a finished game that are searched for their own sake: lines that leave it by a forking move.

Specification: training-data.md 5.5, selfplay.md 8.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from client.games import draws
from client.games.chance import Draw, generator, search_seed, symmetry_salt
from client.games.inquiries import Inquirer
from client.games.playing import Purpose, Script, SearchOrder
from client.games.reanalysis import FoundTurn, found_turn
from client.search.turns import Turns
from common.branches import Branches, SidePosition
from common.go.points import NO_POINT, point_of, position_of

ON_PROB: Final = 0.25
"""How often a line goes on from a position by the best reply and another forking move."""
_POLICY_PROB: Final = 0.70
_FLAT_POLICY_PROB: Final = 0.25
_FLAT_TEMPERATURE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Line:
    """Moves that leave a game."""

    branch: int  # turn of the record before the first of them
    moves: tuple[int, ...]  # points

    @property
    def turn(self) -> int:
        """How many moves of game and line lead to its end."""
        return self.branch + len(self.moves)

    def then(self, point: int) -> Line:
        """One move further."""
        return Line(self.branch, (*self.moves, point))


@dataclass(frozen=True, slots=True)
class SearchedLine:
    """The position at the end of a line, and what its search has found."""

    line: Line
    to_move: int
    position: SidePosition
    search: FoundTurn
    later_nets: int = 0  # changes of the network after that search


@dataclass(frozen=True, kw_only=True)
class SideSearch:
    """What all searches beside one game have in common."""

    seed: int  # of the game
    branches: Branches  # the game, which can be followed from all its turns that are asked for
    inquirer: Inquirer
    turns: Turns  # where a search of ``slot`` tells what it has found
    slot: int
    parameters: np.void  # of a full search that is told of no doublings
    visits: int
    first_turn: int  # number of the record's first turn
    length: int  # edge of the tensors


def search_side_positions(search: SideSearch, played: dict[int, int]) -> Script[list[SearchedLine]]:
    """Draw and search positions beside a game, nearest to it first.

    Args:
        search: how.
        played: by each turn that a line leaves, the move that was played there.
    """
    waiting = deque[tuple[Line, np.random.Generator]]()
    for turn, point in played.items():
        random = generator(search.seed, turn, Draw.SIDE_POSITIONS)
        line = yield from _forked(search, Line(turn, ()), point, random)
        if line is not None:
            waiting.append((line, random))
    searched = list[SearchedLine]()
    while waiting:
        line, random = waiting.popleft()
        search.branches.follow(line.branch, line.moves)
        to_move, position = search.branches.to_move, search.branches.position()
        yield _order(search, len(searched))
        found = found_turn(search.turns, search.slot)
        searched.append(SearchedLine(line, to_move, position, found))
        if draws.coin(random, ON_PROB):
            further = yield from _forked(search, line.then(int(found.found["point"])), NO_POINT, random)
            if further is not None:
                waiting.append((further, random))
    return searched


def _order(search: SideSearch, number: int) -> SearchOrder:
    """A full search of the position to which the game was followed."""
    return SearchOrder(
        seat=0,
        state=search.branches.state,
        history=search.branches.history,
        parameters=search.parameters,
        visits=search.visits,
        seed=search_seed(search.seed, number, Purpose.SIDE_POSITION),
        symmetry_salt=symmetry_salt(search.seed),
        first_turn=search.first_turn,
        tells=True,
    )


def _forked(search: SideSearch, line: Line, banned: int, random: np.random.Generator) -> Script[Line | None]:
    """A line with a forking move other than ``banned`` behind it; None if the game is over before or after that."""
    search.branches.follow(line.branch, line.moves)
    if search.branches.state["finished"]:
        return None
    raw = yield from search.inquirer.raw(search.branches.state, search.branches.history)
    policy = raw.raw_policy.copy()
    if banned != NO_POINT:
        policy[position_of(banned, search.length)] = -1.0
    position = forking_position(policy, random)
    if position is None:
        return None
    forked = line.then(int(point_of(position, search.length)))
    search.branches.follow(forked.branch, forked.moves)
    return None if search.branches.state["finished"] else forked


def forking_position(policy: npt.NDArray[np.float32], random: np.random.Generator) -> int | None:
    """A move from a raw policy ``[positions]`` (below 0: not allowed); None if none is left.

    Mostly by the policy, sometimes by a flatter one, rarely any move.
    """
    share = random.random()
    if share >= _POLICY_PROB + _FLAT_POLICY_PROB:
        allowed = policy >= 0
        return draws.draw_index(allowed.astype(np.float64), random) if allowed.any() else None
    if not (policy > 0).any():
        return None
    return draws.policy_position(policy, 1.0 if share < _POLICY_PROB else _FLAT_TEMPERATURE, random)
