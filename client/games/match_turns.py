"""The turns of match games, for all games that are due in one call: each side searches with its own bot's settings.

The counterpart of `client.games.selfplay_turns`. Specification: selfplay.md 7, 9.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from client.games.chance import search_bits
from client.games.decided import first_resignation_turn, should_resign
from client.games.game import (
    AliveScratch,
    all_pass_alive,
    game_dtype,
    hit_move_limit,
    is_over,
    mirroring_opponent,
    play_move,
)
from client.games.played import TurnNotes, keep_turn
from client.games.playing import Purpose
from client.search.limits import pass_factor
from client.search.parameters import SEARCH_PARAMETERS, to_record
from client.search.turns import Slots, Turns
from client.search.values import WIN_LOSS
from common.go.points import EMPTY, NO_POINT, WHITE
from common.kernels import njit
from common.parameter_classes import FOREVER
from common.parameters import MatchConfig

BLACK_SEAT: Final = 0
WHITE_SEAT: Final = 1

_TURN: Final = int(Purpose.TURN)
_NO_WEIGHT: Final = 0.0

MATCH_GAME: Final = game_dtype(
    ("bots", np.int32, 2),  # by seat, which of the configuration
    ("resigned_by", np.int8),  # a colour; EMPTY: nobody
)


class MatchOptions(NamedTuple):
    """What a configuration says of turns, B bots."""

    parameters: npt.NDArray[np.void]  # [B] SEARCH_PARAMETERS
    visits: npt.NDArray[np.int64]  # [B] as the next, at most, of a search
    playouts: npt.NDArray[np.int64]  # [B]
    seconds: npt.NDArray[np.float64]  # [B]
    allow_resignation: bool
    resign_threshold: float  # of winLoss
    resign_turns: int  # that have to lie beyond it


def options_of(config: MatchConfig) -> MatchOptions:
    """Of a configuration."""
    parameters = np.zeros(len(config.bots), SEARCH_PARAMETERS)
    for bot, search in enumerate(config.bots):
        parameters[bot] = to_record(search)
    return MatchOptions(
        parameters=parameters,
        visits=np.array([bot.max_visits for bot in config.bots], np.int64),
        playouts=np.array([bot.max_playouts for bot in config.bots], np.int64),
        seconds=np.array([bot.max_time for bot in config.bots], np.float64),
        allow_resignation=config.match.allow_resignation,
        resign_threshold=config.match.resign_threshold,
        resign_turns=config.match.resign_consec_turns,
    )


@njit(cache=True, nogil=True)
def play_turns(
    games: npt.NDArray[np.void],
    notes: TurnNotes,
    turns: Turns,
    slots: Slots,
    options: MatchOptions,
    scratch: AliveScratch,
    over: npt.NDArray[np.int32],
) -> int:
    """Go on with the games of ``slots``; arguments as of `client.games.selfplay_turns.play_turns`."""
    count = 0
    for i in range(slots.shape[0]):
        slot: Any = np.int64(slots[i])
        game = games[slot]
        turns.orders[slot]["point"] = NO_POINT
        if game["awaits"]:
            _take(games, slot, notes, turns, options)
        if game["resigned_by"] != EMPTY or is_over(game) or hit_move_limit(game) or all_pass_alive(game, scratch):
            turns.orders[slot]["begins"] = False
            over[count] = slot
            count += 1
        else:
            _order_search(games, slot, turns, options)
    return count


@njit(cache=True, nogil=True)
def _take(games: npt.NDArray[np.void], slot: int, notes: TurnNotes, turns: Turns, options: MatchOptions) -> None:
    """Note what a turn's search has found, and play its move; a player may resign with it."""
    game = games[slot]
    found = turns.found[slot]
    turn: Any = np.int64(game["turn"])
    mover = game["state"]["to_move"]
    game["win_losses"][turn] = found["mean"][WIN_LOSS]
    keep_turn(notes, turns, slot, turn - game["first_searched_turn"], _NO_WEIGHT)
    point: Any = np.int64(found["point"])
    turns.orders[slot]["point"] = point
    play_move(game, point)
    if _resigns(game, bool(mover == WHITE), options):
        game["resigned_by"] = mover


@njit(cache=True, nogil=True)
def _resigns(game: np.void, white_moved: bool, options: MatchOptions) -> bool:
    state = game["state"]
    turn: Any = np.int64(game["turn"])
    area: Any = np.int64(state["x_size"]) * np.int64(state["y_size"])
    if not options.allow_resignation or turn <= first_resignation_turn(area):
        return False
    first: Any = np.int64(game["first_searched_turn"])
    threshold, needed = options.resign_threshold, options.resign_turns
    return bool(should_resign(game["win_losses"], first, turn, white_moved, threshold, needed))


@njit(cache=True, nogil=True)
def _order_search(games: npt.NDArray[np.void], slot: int, turns: Turns, options: MatchOptions) -> None:
    """The search of the player to move, in its own tree."""
    game = games[slot]
    game["awaits"] = True
    turn: Any = np.int64(game["turn"])
    seat: Any = np.int64(WHITE_SEAT if game["state"]["to_move"] == WHITE else BLACK_SEAT)
    bot: Any = np.int64(game["bots"][seat])
    turns.parameters[slot] = options.parameters[bot]
    parameters = turns.parameters[slot]
    order = turns.orders[slot]
    order["begins"] = True
    order["seat"] = seat
    order["keep_tree"] = True
    order["symmetry_salt"] = game["symmetry_salt"]
    order["seed"] = search_bits(game["seed"], turn, _TURN)
    order["visits"] = options.visits[bot]
    order["playouts"] = options.playouts[bot]
    seconds = options.seconds[bot]
    order["seconds"] = seconds * pass_factor(game["state"], parameters) if seconds < FOREVER else FOREVER
    order["mirroring"] = mirroring_opponent(game) if parameters["anti_mirror"] else EMPTY
    order["tells"] = True
    order["selects_by_lcb"] = parameters["use_lcb_for_selection"]
    order["wants_target"] = False
