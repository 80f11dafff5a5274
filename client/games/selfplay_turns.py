"""The turns of games of self-play, for all games that are due in one call: what was found is noted, the move played,
and the next search ordered. Knows records, orders and notes, and no trees. Specification: selfplay.md 7.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from client.games.asymmetry import told_of_doublings, visits_of
from client.games.chance import Draw, coin, search_bits
from client.games.decided import reduced_search
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
from client.games.starts import Provenance
from client.search.parameters import SEARCH_PARAMETERS, copy_parameters, to_record, without_exploration
from client.search.turns import Slots, Turns
from client.search.values import WIN_LOSS
from common.by_reference import by_reference
from common.go.points import EMPTY, NO_POINT
from common.kernels import njit
from common.parameter_classes import FOREVER, UNLIMITED
from common.parameters import SearchParameters, SelfplayConfig

WARM_UP_VISITS: Final = 10
"""Visits of the search that fixes the score centre before one whose visits were altered."""

HINT_VISITS: Final = 4
"""The turn of a hint has so many times the visits of a full search."""
_HINT_TURNS: Final = 6
"""In so many turns from a hint on, cheap searches are half as frequent."""

_WARM_UP: Final = int(Purpose.WARM_UP)
_TURN: Final = int(Purpose.TURN)
_LIMITS: Final = int(Draw.LIMITS)

SELFPLAY_GAME: Final = game_dtype(
    ("stops_early", np.bool_),  # as soon as everything is pass-alive
    ("white_doublings", np.float64),  # of playouts
    ("hint", np.int16),  # point that the first search looks at, or NO_POINT
    ("is_near_hint", np.bool_),  # the first turns are searched in full more often
    ("full_search", SEARCH_PARAMETERS),
    ("cheap_search", SEARCH_PARAMETERS),
    # -- the search that was ordered last --
    ("purpose", np.int8),
    ("visits", np.int32),  # of its turn; a warm-up has fewer
    ("weight", np.float64),
    ("is_cheap", np.bool_),  # no exploration, and the tree is kept
)


def set_up_turns(game: np.void, search: SearchParameters, provenance: Provenance, *, stops_early: bool) -> None:
    """Set the fields of a begun game's record that its turns read.

    Args:
        game: a SELFPLAY_GAME, changed in place.
        search: how a turn is searched in full, with the game's own utilities.
        provenance: how it came about.
        stops_early: whether it ends as soon as everything is pass-alive.
    """
    search = told_of_doublings(search, provenance.white_doublings)
    game["stops_early"] = stops_early
    game["white_doublings"] = provenance.white_doublings
    game["hint"] = NO_POINT if provenance.hint is None else provenance.hint
    game["is_near_hint"] = provenance.is_near_hint
    game["full_search"] = to_record(search)
    game["cheap_search"] = to_record(without_exploration(search))


@by_reference
class TurnOptions(NamedTuple):
    """What a configuration says of turns; visits as whole numbers, weights of rows from 0 to 1."""

    full_visits: int
    cheap_prob: float
    cheap_visits: int
    cheap_weight: float
    lookback: int  # turns that have to agree before visits are reduced; 0: they are not
    threshold: float  # of |winLoss|
    reduced_visits: int
    reduced_weight: float


def options_of(config: SelfplayConfig) -> TurnOptions:
    """Of a configuration; visits and playouts are the same from a fresh tree."""
    options, base = config.selfplay, min(config.search.max_visits, config.search.max_playouts)
    return TurnOptions(
        full_visits=base,
        cheap_prob=options.cheap_search_prob,
        cheap_visits=min(base, options.cheap_search_visits),
        cheap_weight=options.cheap_search_target_weight,
        lookback=options.reduce_visits_threshold_lookback if options.reduce_visits else 0,
        threshold=options.reduce_visits_threshold,
        reduced_visits=options.reduced_visits_min,
        reduced_weight=options.reduced_visits_weight,
    )


@njit(cache=True, nogil=True)
def play_turns(
    games: npt.NDArray[np.void],
    notes: TurnNotes,
    turns: Turns,
    slots: Slots,
    options: TurnOptions,
    scratch: AliveScratch,
    over: npt.NDArray[np.int32],
) -> int:
    """Go on with the games of ``slots``: see `client.games.playing.Games.go_on`.

    Args:
        games: [G] SELFPLAY_GAME.
        notes: where what was found is kept.
        turns: what was found, and the orders.
        slots: which games.
        options: of the configuration.
        scratch: working space.
        over: [G] written: slots whose game is over.

    Returns:
        How many those are.
    """
    count = 0
    for i in range(slots.shape[0]):
        slot: Any = np.int64(slots[i])
        turns.orders[slot]["point"] = NO_POINT
        if games[slot]["awaits"] and games[slot]["purpose"] != _WARM_UP:
            _take(games, slot, notes, turns)
        if not _order(games, slot, turns, options, scratch):
            turns.orders[slot]["begins"] = False
            over[count] = slot
            count += 1
    return count


@njit(cache=True, nogil=True)
def _take(games: npt.NDArray[np.void], slot: int, notes: TurnNotes, turns: Turns) -> None:
    """Note what a turn's search has found, and play its move."""
    game = games[slot]
    found = turns.found[slot]
    turn: Any = np.int64(game["turn"])
    game["win_losses"][turn] = found["mean"][WIN_LOSS]
    keep_turn(notes, turns, slot, turn - game["first_searched_turn"], float(game["weight"]))
    point: Any = np.int64(found["point"])
    turns.orders[slot]["point"] = point
    play_move(game, point)


@njit(cache=True, nogil=True)
def _order(games: npt.NDArray[np.void], slot: int, turns: Turns, options: TurnOptions, scratch: AliveScratch) -> bool:
    """Order what is to be searched next; False: the game is over."""
    game = games[slot]
    if game["awaits"] and game["purpose"] == _WARM_UP:
        _order_search(games, slot, turns, _TURN, True)
        return True
    if is_over(game) or hit_move_limit(game) or (game["stops_early"] and all_pass_alive(game, scratch)):
        return False
    is_altered = _choose_limits(game, options)
    is_uneven = game["white_doublings"] != 0.0
    if is_uneven:
        visits: Any = np.int64(game["visits"])
        mover: Any = np.int64(game["state"]["to_move"])
        game["visits"] = visits_of(mover, visits, float(game["white_doublings"]))
    needs_warm_up = (is_altered or is_uneven) and game["visits"] > WARM_UP_VISITS
    keeps_tree = game["is_cheap"] and not is_uneven
    _order_search(games, slot, turns, _WARM_UP if needs_warm_up else _TURN, keeps_tree)
    return True


@njit(cache=True, nogil=True)
def _choose_limits(game: np.void, options: TurnOptions) -> bool:
    """Playout cap randomisation and decided games (selfplay.md 7, step 2).

    Returns whether the turn has other visits than a full search, and a fresh tree.
    """
    turn: Any = np.int64(game["turn"])
    if _is_hinted(game, turn):
        _set_limits(game, HINT_VISITS * options.full_visits, 1.0, False)
        return True
    if is_cheap_turn(game, turn, options):
        _set_limits(game, options.cheap_visits, options.cheap_weight, options.cheap_weight == 0.0)
        return options.cheap_weight > 0.0
    visits, weight, is_altered = full_limits(game, turn, options)
    _set_limits(game, visits, weight, False)
    return is_altered


@njit(cache=True, nogil=True)
def is_cheap_turn(game: np.void, turn: int, options: TurnOptions) -> bool:
    """Whether a turn is searched cheaply; it follows from the game's seed, before the turn and after."""
    if _is_hinted(game, turn):
        return False
    cheap_prob = options.cheap_prob
    if game["is_near_hint"] and turn < game["first_searched_turn"] + _HINT_TURNS:
        cheap_prob *= 0.5
    return coin(game["seed"], turn, _LIMITS, cheap_prob)


@njit(cache=True, nogil=True)
def mark_cheap_turns(game: np.void, options: TurnOptions, is_cheap: npt.NDArray[np.bool_]) -> None:
    """Fill ``is_cheap`` [T] with which of a game's first T searched turns are cheap ones."""
    first: Any = np.int64(game["first_searched_turn"])
    for number in range(is_cheap.shape[0]):
        is_cheap[number] = is_cheap_turn(game, first + number, options)


@njit(cache=True, nogil=True)
def full_limits(game: np.void, turn: int, options: TurnOptions) -> tuple[int, float, bool]:
    """How a turn is searched that is not cheap: less where the game had long been decided by then.

    Returns:
        Visits where both sides have as many; weight of the row; whether these are other visits than else.
    """
    first: Any = np.int64(game["first_searched_turn"])
    visits, weight = reduced_search(
        game["win_losses"],
        first,
        turn,
        options.full_visits,
        options.reduced_visits,
        options.threshold,
        options.lookback,
        options.reduced_weight,
    )
    if visits > 0:
        return visits, weight, True
    return options.full_visits, 1.0, False


@njit(cache=True, nogil=True)
def _is_hinted(game: np.void, turn: int) -> bool:
    """It is the turn of the hint."""
    return bool(game["hint"] != NO_POINT and turn == game["first_searched_turn"])


@njit(cache=True, nogil=True)
def _set_limits(game: np.void, visits: int, weight: float, is_cheap: bool) -> None:
    """How the turn is searched."""
    game["visits"] = visits
    game["weight"] = weight
    game["is_cheap"] = is_cheap


@njit(cache=True, nogil=True)
def _order_search(games: npt.NDArray[np.void], slot: int, turns: Turns, purpose: int, keep_tree: bool) -> None:
    """A search of the present position, noted in the game."""
    game = games[slot]
    turn: Any = np.int64(game["turn"])
    game["purpose"] = purpose
    game["awaits"] = True
    if game["is_cheap"]:
        copy_parameters(turns.parameters, slot, game["cheap_search"])
    else:
        copy_parameters(turns.parameters, slot, game["full_search"])
    order = turns.orders[slot]
    order["begins"] = True
    order["seat"] = 0
    order["keep_tree"] = keep_tree
    order["first_turn"] = game["first_turn"]
    order["hint"] = game["hint"] if purpose == _TURN and _is_hinted(game, turn) else NO_POINT
    order["symmetry_salt"] = game["symmetry_salt"]
    order["seed"] = search_bits(game["seed"], turn, purpose)
    order["visits"] = WARM_UP_VISITS if purpose == _WARM_UP else game["visits"]
    order["playouts"] = UNLIMITED
    order["seconds"] = FOREVER
    order["mirroring"] = mirroring_opponent(game) if turns.parameters[slot]["anti_mirror"] else EMPTY
    order["tells"] = purpose == _TURN
    order["selects_by_lcb"] = False
    order["wants_target"] = True
