"""Positions inside the trees of a game's turns, recorded as further positions beside the game.

They are kept when a turn has been searched, and become rows at the game's end.

Specification: training-data.md 5.8.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from client.games.net_changes import changes_after
from client.games.orders import NetChange
from client.games.played import scale_policy
from client.games.playing import Games
from client.games.reanalysis import FoundTurn
from client.games.side_positions import Line, SearchedLine
from client.search.inner_nodes import inner_nodes
from client.search.pool import SearchPool
from common.branches import Branches


@dataclass(frozen=True, slots=True)
class InsideTree:
    """A position in the tree of a turn that was played."""

    line: Line  # from that turn
    search: FoundTurn


def keep_inside(games: Games, pool: SearchPool, slot: int, least_visits: int) -> None:
    """Note what the search of a turn, which has just been told, knows of positions inside its tree.

    A search that favours a player does not know what a net says that is told of none, as their rows are.
    """
    notes, game = games.notes[slot], games.records[slot]
    if not games.turns.orders[slot]["tells"] or notes.provenance.white_doublings:
        return
    for node in inner_nodes(pool, slot, least_visits, int(games.turns.found[slot]["point"])):
        policy = np.zeros(len(node.target), np.int16)
        scale_policy(node.target, policy)
        search = FoundTurn(node.found, policy, node.children)
        notes.inside.append(InsideTree(Line(int(game["turn"]), node.moves), search))


def recorded(
    inside: Sequence[InsideTree],
    branches: Branches,
    taken: Collection[tuple[int, int]],
    changes: Sequence[NetChange],
) -> Iterator[SearchedLine]:
    """Those of the positions that become rows, near the beginning first.

    Args:
        inside: of a game.
        branches: the game, which can be followed from all its searched turns.
        taken: turns and first moves of lines that are searched for their own sake.
        changes: of the game's network.
    """
    for position in inside:
        line = position.line
        if (line.branch, line.moves[0]) in taken or branches.follow(line.branch, line.moves) is None:
            continue
        if not branches.state["finished"]:
            later = int(changes_after(changes, np.array([line.branch]))[0])
            yield SearchedLine(line, branches.to_move, branches.position(), position.search, later)
