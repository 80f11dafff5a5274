"""A game that goes on with a newer network: when it looks for one, what goes with it, and what its rows say of that.

What a game is goes from table to table by its bytes (`client.games.playing`); its search trees do not, as they are
the old network's. Specification: selfplay.md 7, 11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from client.games.chance import Draw, coin
from client.games.game import Game, Notes
from client.games.orders import GameOrder, NetChange
from client.games.played import PlayedTurns, put_turns, turns_of
from client.games.playing import Games
from client.networks import Network
from common.go.points import NO_POINT
from common.wire import MAX_NET_CHANGES

LOOK_PROB: Final = 0.1
"""How often a game looks for a newer network after a move."""

Newer = Callable[[GameOrder, Network], Network | None]
"""Gives a network for the rest of a game of this order, which is newer than the one by which it is played; None: none
is. Called when a game looks."""


class Carried(NamedTuple):
    """A game between two turns, with the order of its next search; copies."""

    record: Game
    notes: Notes
    turns: PlayedTurns  # what its searches have said
    search: np.void  # ORDER
    parameters: np.void  # SEARCH_PARAMETERS of it


@dataclass(frozen=True)
class Leaving:
    """A game that goes on elsewhere, with another network."""

    order: GameOrder  # as it began
    network: Network
    carried: Carried


def looks_for_net(games: Games, slot: int) -> bool:
    """Whether the game in ``slot``, which goes on, asks for a newer network before its next search.

    It does so after some of its moves. A game with asymmetric playouts keeps its network: what that says to nobody's
    advantage is asked of its turns when the game is over.
    """
    if games.turns.orders[slot]["point"] == NO_POINT:  # no move was played since it was asked last
        return False
    game, notes = games.records[slot], games.notes[slot]
    if notes.provenance.white_doublings or len(notes.net_changes) >= MAX_NET_CHANGES:
        return False
    return bool(coin(game["seed"], int(game["turn"]), int(Draw.NET), LOOK_PROB))


def hand_over(games: Games, slot: int, network: Network) -> Carried:
    """Take the game in ``slot``, which goes on with ``network``, from its place; the slot is free after."""
    game, notes = games.records[slot].copy(), games.notes.pop(slot)
    turn = int(game["turn"])
    search = games.turns.orders[slot].copy()
    search["point"] = NO_POINT  # there is no tree to be moved on
    return Carried(
        record=game,
        notes=replace(notes, net_changes=(*notes.net_changes, NetChange(turn, network))),
        turns=turns_of(games.turn_notes, slot, turn - int(game["first_searched_turn"])).copy(),
        search=search,
        parameters=games.turns.parameters[slot].copy(),
    )


def take_over(games: Games, slot: int, carried: Carried) -> None:
    """Put a game into a free slot of games of its kind and configuration; its search is ordered there."""
    games.records[slot] = carried.record
    games.notes[slot] = carried.notes
    games.turn_notes = put_turns(games.turn_notes, slot, carried.turns)
    games.turns.orders[slot], games.turns.parameters[slot] = carried.search, carried.parameters


def changes_after(changes: Sequence[NetChange], turns: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """``[k]`` how many changes came after the searches of ``turns`` ``[k]``."""
    at = np.array([change.turn for change in changes], np.intp)
    return len(at) - np.searchsorted(at, turns, side="right")


def can_be_told(network: Network) -> bool:
    """Whether a record's root comment can name a network: its parts are separated by commas (selfplay.md 10)."""
    return "," not in network.name and network.name == network.name.strip()
