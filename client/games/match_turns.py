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
from client.search.parameters import SEARCH_PARAMETERS, copy_parameters, to_record
from client.search.turns import Slots, Turns
from client.search.values import WIN_LOSS
from common.by_reference import by_reference
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
    ("komi_bonus", np.float64, 2),  # by seat, points that its searches count in its favour
)


@by_reference
class MatchOptions(NamedTuple):
    """What a configuration says of turns, B bots."""

    parameters: npt.NDArray[np.void]  # [B] SEARCH_PARAMETERS
    visits: npt.NDArray[np.int64]  # [B] as the next, at most, of a search
    playouts: npt.NDArray[np.int64]  # [B]
    seconds: npt.NDArray[np.float64]  # [B]
    allow_resignation: bool
    resign_threshold: float  # of winLoss
    resign_turns: int  # that have to lie beyond it
    komi_bonus_min: float  # points; what a side's searches count in its favour is between these
    komi_bonus_max: float
    komi_win_loss_min: float  # below, a side counts more; the side's view
    komi_win_loss_max: float  # above, less


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
        komi_bonus_min=config.match.dynamic_self_komi_bonus_min,
        komi_bonus_max=config.match.dynamic_self_komi_bonus_max,
        komi_win_loss_min=config.match.dynamic_self_komi_win_loss_min,
        komi_win_loss_max=config.match.dynamic_self_komi_win_loss_max,
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
def _change_komi_bonus(game: np.void, seat: int, options: MatchOptions) -> bool:
    """Move what a side's searches count in its favour by half a point, as its own last search says (selfplay.md 9).

    Returns whether it is another than in that search, whose tree then does not fit.
    """
    before = game["komi_bonus"][seat]
    bonus = before
    turn: Any = np.int64(game["turn"])
    if turn - game["first_searched_turn"] >= 2:
        win_loss = game["win_losses"][turn - 2]
        own = win_loss if seat == WHITE_SEAT else -win_loss
        if own < options.komi_win_loss_min:
            bonus += 0.5
        if own > options.komi_win_loss_max:
            bonus -= 0.5
    bonus = min(max(bonus, options.komi_bonus_min), options.komi_bonus_max)
    game["komi_bonus"][seat] = bonus
    return bool(bonus != before)


@njit(cache=True, nogil=True)
def _order_search(games: npt.NDArray[np.void], slot: int, turns: Turns, options: MatchOptions) -> None:
    """The search of the player to move, in its own tree."""
    game = games[slot]
    game["awaits"] = True
    turn: Any = np.int64(game["turn"])
    seat: Any = np.int64(WHITE_SEAT if game["state"]["to_move"] == WHITE else BLACK_SEAT)
    bot: Any = np.int64(game["bots"][seat])
    copy_parameters(turns.parameters, slot, options.parameters[bot])
    parameters = turns.parameters[slot]
    order = turns.orders[slot]
    order["begins"] = True
    order["seat"] = seat
    order["keep_tree"] = not _change_komi_bonus(game, seat, options)
    bonus = game["komi_bonus"][seat]
    order["komi_bonus"] = bonus if seat == WHITE_SEAT else -bonus
    order["first_turn"] = game["first_turn"]
    order["hint"] = NO_POINT
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
