"""Turns: what is legal, what a turn does, and when phases and games end (rules.md 3, 4 and 6).

Works on one STATE and its HISTORY. Knows nothing of scoring: a finished game is only marked so. Three kinds of key
share the HISTORY: the positions of the repetition rule, the positions in which a colour passed, and the log of ko
captures of a cleanup phase; their tags differ, and the STATE remembers from which index on each kind counts.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from common.go import history as keys
from common.go.board import (
    is_illegal_suicide,
    is_lone_suicide,
    key_after,
    ko_capture,
    place_stone,
    would_be_suicide,
)
from common.go.points import (
    BLACK,
    EMPTY,
    FIRST_CLEANUP,
    MAIN_PHASE,
    NO_POINT,
    NUM_POINTS,
    PASS,
    SECOND_CLEANUP,
    STRIDE,
    WALL,
    WHITE,
    opponent,
)
from common.go.rules import HandicapBonus, Ko, Scoring
from common.go.state import MAX_READINGS, NUM_RECENT, History, State
from common.go.zobrist import BLOCK_KEYS, KO_LOG_KEYS, PASS_KEYS, TO_MOVE_KEYS
from common.kernels import njit

KEYS_PER_TURN: Final = 3
"""The most keys that one turn adds to the HISTORY."""

LEGAL: Final = 1
BANNED: Final = 2
"""Bits that `mark_points` gives a point: it may be played; ko or repetition forbids to play it."""

_UNSETTLED: Final = 4  # in `mark_points`: an empty point that needs a closer look
_SIMPLE: Final = int(Ko.SIMPLE)
_POSITIONAL: Final = int(Ko.POSITIONAL)
_AREA: Final = int(Scoring.AREA)
_TERRITORY: Final = int(Scoring.TERRITORY)
_BONUS_N: Final = int(HandicapBonus.N)
_BONUS_N_MINUS_1: Final = int(HandicapBonus.N_MINUS_1)


# -- keys and starts --


@njit(cache=True, nogil=True)
def _loose_repetition(state: State) -> bool:
    """Whether repetition is not banned but ends phases and games: ko SIMPLE, and always in the cleanup phases."""
    return bool(state["ko_rule"] == _SIMPLE or state["phase"] > MAIN_PHASE)


@njit(cache=True, nogil=True)
def _situation_key(state: State, grid_key: Any, to_move: int) -> Any:
    """Key of the repetition rule for a board and the player to move on it (rules.md 4 and 6); uint64."""
    if state["phase"] > MAIN_PHASE:
        return grid_key ^ TO_MOVE_KEYS[to_move] ^ state["ko_blocked_key"]
    if state["ko_rule"] == _POSITIONAL:
        return grid_key
    return grid_key ^ TO_MOVE_KEYS[to_move]


@njit(cache=True, nogil=True)
def _restart_repetition(state: State, history: History) -> None:
    """Forget the positions so far; the next key that is added is the first."""
    state["repetition_start"] = history["count"]


@njit(cache=True, nogil=True)
def forget_passes(state: State, history: History) -> None:
    """Let the next pass count as the first, wherever there was one before."""
    state["consecutive_passes"] = 0
    state["pass_keys_start"] = history["count"]


@njit(cache=True, nogil=True)
def _add_situation(state: State, history: History) -> int:
    """Append the key of the current state; returns how often it was there before."""
    key = _situation_key(state, state["grid_key"], state["to_move"])
    occurrences = keys.add(history, key, state["repetition_start"])
    state["history_count"] = history["count"]
    return occurrences


@njit(cache=True, nogil=True)
def _start_phase(state: State, history: History, phase: int) -> None:
    """Enter ``phase`` with the current board and player to move, all repetition forgotten (rules.md 6)."""
    state["phase"] = phase
    state["turns_in_phase"] = 0
    _restart_repetition(state, history)
    forget_passes(state, history)
    state["ko_log_start"] = history["count"]
    for point in range(NUM_POINTS):
        state["ko_blocked"][point] = 0
    state["ko_blocked_key"] = np.uint64(0)
    if phase == SECOND_CLEANUP:
        for point in range(NUM_POINTS):
            state["second_cleanup_start"][point] = state["colour"][point]


@njit(cache=True, nogil=True)
def set_handicap_stones(state: State, stones: int) -> None:
    """Set the bonus for White in a game with ``stones`` handicap stones (rules.md 3)."""
    bonus = 0
    if state["white_handicap_bonus"] == _BONUS_N:
        bonus = stones
    elif state["white_handicap_bonus"] == _BONUS_N_MINUS_1:
        bonus = max(stones - 1, 0)
    state["handicap_bonus"] = bonus


@njit(cache=True, nogil=True)
def begin(state: State, history: History, to_move: int, phase: int) -> bool:
    """Start the record of a game on the board that has been set up, in one of its phases.

    Needs the rules fields and the stones; sets everything else, bonuses included, and empties the history.

    Returns:
        False, doing nothing, if ``to_move`` is no colour or ``phase`` no phase.
    """
    if not BLACK <= to_move <= WHITE or not MAIN_PHASE <= phase <= SECOND_CLEANUP:
        return False
    keys.rewind(history, 0)
    state["to_move"] = to_move
    state["finished"] = 0
    state["no_result"] = 0
    state["past_end"] = 0
    state["button_left"] = 1 if state["has_button"] != 0 and phase == MAIN_PHASE else 0
    state["turns"] = 0
    state["ko_point"] = NO_POINT
    for index in range(3):
        state["passes_in_turn"][index] = 0
    for index in range(NUM_RECENT):
        state["recent_point"][index] = NO_POINT
        state["recent_colour"][index] = EMPTY
    black = 0
    white = 0
    for point in range(NUM_POINTS):
        colour = state["colour"][point]
        black += colour == BLACK
        white += colour == WHITE
        state["vacated"][point] = 0
        state["earlier_colour"][0, point] = colour
        state["earlier_colour"][1, point] = colour
    for index in range(2):
        state["earlier_ko_point"][index] = NO_POINT
    for index in range(3):
        state["ladder_known"][index] = 0
    for index in range(MAX_READINGS):
        state["reading"][0, index] = 0
        state["reading"][1, index] = 0
    state["white_bonus"] = 0.0
    if state["scoring_rule"] == _TERRITORY:
        state["white_bonus"] = (black - white) - (state["captured"][WHITE] - state["captured"][BLACK])
    set_handicap_stones(state, black if white == 0 and black > 1 else 0)
    _start_phase(state, history, phase)
    _add_situation(state, history)
    return True


# -- legality --


@njit(cache=True, nogil=True)
def is_superko_banned(state: State, history: History, point: int) -> bool:
    """Whether superko forbids the player to move the empty ``point``, where a stone could stand (rules.md 4).

    False under ko SIMPLE and in the cleanup phases. A position that holds the new stone can only have been there
    before if a stone of that colour has been taken off the point; so the history is asked only then, or for suicides.
    """
    if _loose_repetition(state):
        return False
    colour = state["to_move"]
    if state["vacated"][point] & colour == 0 and (state["suicide"] == 0 or not would_be_suicide(state, point, colour)):
        return False
    key = _situation_key(state, key_after(state, point, colour), opponent(colour))
    return keys.contains(history, key, state["repetition_start"])


@njit(cache=True, nogil=True)
def unblocked_stone(state: State, point: int) -> int:
    """The stone whose ko block a pass-for-ko at ``point`` would lift (rules.md 6), or NO_POINT. Cleanup phases only."""
    colour = state["to_move"]
    if state["colour"][point] == opponent(colour):
        head = state["chain_head"][point]
        if state["ko_blocked"][point] != 0 and state["chain_size"][head] == 1 and state["chain_liberties"][head] == 1:
            return point
        return NO_POINT
    taken = ko_capture(state, point, colour)
    if taken != NO_POINT and state["ko_blocked"][taken] != 0:
        return taken
    return NO_POINT


@njit(cache=True, nogil=True)
def is_once_banned(state: State, history: History, point: int) -> bool:
    """Whether the log of ko captures of this cleanup phase forbids the player to move ``point`` (rules.md 6)."""
    key = state["grid_key"] ^ KO_LOG_KEYS[state["to_move"], point]
    return keys.contains(history, key, state["ko_log_start"])


@njit(cache=True, nogil=True)
def is_legal(state: State, history: History, point: int) -> bool:
    """Whether the player to move may play ``point``: a point of the board or PASS, which is always legal.

    Pass-for-ko counts as a move to its point. Whether the game is over is not asked here.
    """
    if point == PASS:
        return True
    if not 0 < point < NUM_POINTS or state["colour"][point] == WALL:
        return False
    if state["phase"] > MAIN_PHASE:
        if unblocked_stone(state, point) != NO_POINT:
            return True
        return (
            state["colour"][point] == EMPTY
            and not is_illegal_suicide(state, point, state["to_move"])
            and not is_once_banned(state, history, point)
        )
    return (
        state["colour"][point] == EMPTY
        and point != state["ko_point"]
        and not is_illegal_suicide(state, point, state["to_move"])
        and not is_superko_banned(state, history, point)
    )


@njit(cache=True, nogil=True)
def is_possible(state: State, point: int) -> bool:
    """Whether the player to move could play ``point`` or PASS under some rules on ko, repetition and suicide."""
    if point == PASS:
        return True
    if not 0 < point < NUM_POINTS or state["colour"][point] == WALL:
        return False
    if state["phase"] > MAIN_PHASE and unblocked_stone(state, point) != NO_POINT:
        return True
    return state["colour"][point] == EMPTY and not is_lone_suicide(state, point, state["to_move"])


@njit(cache=True, nogil=True)
def legal_points(state: State, history: History, legal: Any) -> None:
    """Set ``legal`` (int8 [NUM_POINTS], changed in place) to 1 where the player to move may play, else 0."""
    mark_points(state, history, legal)
    for point in range(NUM_POINTS):
        legal[point] &= LEGAL


@njit(cache=True, nogil=True)
def mark_points(state: State, history: History, marks: Any) -> None:
    """Set ``marks`` (int8 [NUM_POINTS]) to bits LEGAL where the player to move may play and BANNED where ko forbids it.

    Ko here means all that forbids by repetition (rules.md 4 and 6); in the cleanup phases, where passes for ko go to
    points too, one may have both bits. Off the board and on stones that cannot be played it is 0.
    """
    if state["phase"] > MAIN_PHASE:
        _mark_in_cleanup(state, history, marks)
    else:
        _mark_in_main_phase(state, history, marks)
    marks[PASS] = LEGAL


@njit(cache=True, nogil=True)
def _mark_in_main_phase(state: State, history: History, marks: Any) -> None:
    """`mark_points` in the main phase: most points need no more than a look at their neighbours.

    The first loop is free of branches, so that the compiler does many points at once.
    """
    colour = state["colour"]
    vacated = state["vacated"]
    repeats = 0 if _loose_repetition(state) else state["to_move"]
    for point in range(STRIDE):
        marks[point] = 0
    for point in range(NUM_POINTS - STRIDE, NUM_POINTS):
        marks[point] = 0
    for point in range(STRIDE, NUM_POINTS - STRIDE):
        breathes = (
            (colour[point - STRIDE] == EMPTY)
            | (colour[point - 1] == EMPTY)
            | (colour[point + 1] == EMPTY)
            | (colour[point + STRIDE] == EMPTY)
        )
        is_settled = breathes & (vacated[point] & repeats == 0)
        marks[point] = (LEGAL if is_settled else _UNSETTLED) if colour[point] == EMPTY else 0
    for point in range(STRIDE, (state["y_size"] + 1) * STRIDE):
        if marks[point] == _UNSETTLED:
            marks[point] = _mark_of(state, history, point)
    if state["ko_point"] != NO_POINT:
        marks[state["ko_point"]] = BANNED


@njit(cache=True, nogil=True)
def _mark_of(state: State, history: History, point: int) -> int:
    """The mark of an empty point in the main phase, but for the ko point."""
    if is_illegal_suicide(state, point, state["to_move"]):
        return 0
    return BANNED if is_superko_banned(state, history, point) else LEGAL


@njit(cache=True, nogil=True)
def _mark_in_cleanup(state: State, history: History, marks: Any) -> None:
    """`mark_points` in the cleanup phases, which few games see and which have no ko point."""
    for point in range(NUM_POINTS):
        marks[point] = 0
    for y in range(state["y_size"]):
        start = (y + 1) * STRIDE + 1
        for point in range(start, start + state["x_size"]):
            if state["colour"][point] == EMPTY and is_once_banned(state, history, point):
                marks[point] = BANNED
            if is_legal(state, history, point):
                marks[point] |= LEGAL


@njit(cache=True, nogil=True)
def pass_repeats(state: State, history: History) -> bool:
    """Whether the player to move has passed in this very position before, where that ends a phase (rules.md 4.1)."""
    if not _loose_repetition(state):
        return False
    key = _situation_key(state, state["grid_key"], state["to_move"]) ^ PASS_KEYS[state["to_move"]]
    return keys.contains(history, key, state["pass_keys_start"])


@njit(cache=True, nogil=True)
def pass_would_end_phase(state: State, history: History) -> bool:
    """The predicate of rules.md 4.1 that the network's inputs ask for; a button that is left does not matter."""
    return state["consecutive_passes"] >= 1 or pass_repeats(state, history)


@njit(cache=True, nogil=True)
def pass_would_end_game(state: State, history: History) -> bool:
    """Whether a pass would end the phase, and with it the game (rules.md 4.1)."""
    last = state["scoring_rule"] != _TERRITORY or state["phase"] == SECOND_CLEANUP
    return last and pass_would_end_phase(state, history)


@njit(cache=True, nogil=True)
def is_friendly_pass(state: State, history: History) -> bool:
    """Whether a pass would be the second of two by which friendly players agree to go on counting (rules.md 10)."""
    is_friendly = state["friendly_pass_ok"] != 0 and state["scoring_rule"] == _AREA
    return bool(is_friendly and state["consecutive_passes"] == 1 and not pass_repeats(state, history))


# -- turns --


@njit(cache=True, nogil=True)
def _remember(state: State, point: int) -> None:
    """Shift what is kept of earlier turns: moves, boards, ladder maps and what searches for them looked at."""
    recent_point = state["recent_point"]
    recent_colour = state["recent_colour"]
    for index in range(NUM_RECENT - 1, 0, -1):
        recent_point[index] = recent_point[index - 1]
        recent_colour[index] = recent_colour[index - 1]
    recent_point[0] = point
    recent_colour[0] = state["to_move"]
    passes = state["passes_in_turn"]
    passes[state["to_move"]] = passes[state["to_move"]] + 1 if point == PASS else 0
    end = (state["y_size"] + 1) * STRIDE  # what is not on the board stays as it is
    colour = state["colour"]
    earlier = state["earlier_colour"]
    for index in range(STRIDE, end):
        earlier[1, index] = earlier[0, index]
        earlier[0, index] = colour[index]
    state["earlier_ko_point"][1] = state["earlier_ko_point"][0]
    state["earlier_ko_point"][0] = state["ko_point"]
    ladder = state["ladder"]
    known = state["ladder_known"]
    for age in range(2, 0, -1):
        known[age] = known[age - 1]
        if known[age] != 0:
            for index in range(STRIDE, end):
                ladder[age, index] = ladder[age - 1, index]
    known[0] = 0
    reading = state["reading"]
    for index in range(MAX_READINGS):
        reading[1, index] = reading[0, index]
        reading[0, index] = 0


@njit(cache=True, nogil=True)
def _end_phase(state: State, history: History) -> None:
    """Enter the next cleanup phase of territory scoring, or end the game."""
    if state["scoring_rule"] == _TERRITORY and state["phase"] < SECOND_CLEANUP:
        _start_phase(state, history, state["phase"] + 1)
        _add_situation(state, history)
    else:
        state["finished"] = 1


@njit(cache=True, nogil=True)
def _pass(state: State, history: History) -> None:
    """A pass by the player to move (rules.md 4.1)."""
    colour = state["to_move"]
    ends = False
    if state["button_left"] != 0:
        state["button_left"] = 0
        state["white_bonus"] += 0.5 if colour == WHITE else -0.5
        _restart_repetition(state, history)
        forget_passes(state, history)
    else:
        state["consecutive_passes"] += 1
        ends = state["consecutive_passes"] >= 2
        if _loose_repetition(state):
            key = _situation_key(state, state["grid_key"], colour) ^ PASS_KEYS[colour]
            ends = keys.add(history, key, state["pass_keys_start"]) > 0 or ends
            _restart_repetition(state, history)
    state["ko_point"] = NO_POINT
    state["to_move"] = opponent(colour)
    _add_situation(state, history)
    if ends:
        _end_phase(state, history)


@njit(cache=True, nogil=True)
def _play_in_cleanup(state: State, history: History, point: int) -> None:
    """An ordinary move or a pass-for-ko in phase 1 or 2 (rules.md 6)."""
    colour = state["to_move"]
    blocked = state["ko_blocked"]
    lifted = unblocked_stone(state, point)
    if lifted != NO_POINT:
        blocked[lifted] = 0
        state["ko_blocked_key"] ^= BLOCK_KEYS[lifted]
        return
    log_key = state["grid_key"] ^ KO_LOG_KEYS[colour, point]
    place_stone(state, point, colour)
    if state["phase"] == FIRST_CLEANUP:
        state["white_bonus"] += 1.0 if colour == BLACK else -1.0
    if state["ko_point"] != NO_POINT:
        state["ko_point"] = NO_POINT
        blocked[point] = 1
        state["ko_blocked_key"] ^= BLOCK_KEYS[point]
        keys.add(history, log_key, 0)
    if state["ko_blocked_key"] != np.uint64(0):
        for index in range(NUM_POINTS):
            if blocked[index] != 0 and state["colour"][index] == EMPTY:
                blocked[index] = 0
                state["ko_blocked_key"] ^= BLOCK_KEYS[index]


@njit(cache=True, nogil=True)
def play(state: State, history: History, point: int) -> bool:
    """Play ``point`` or PASS for the player to move, and end the phase or the game if that does (rules.md 4 and 6).

    Repetition, the ko point and the suicide rule are not checked (`is_legal` does), so an engine may follow a record
    that breaks them. A game that is over goes on, with ``past_end`` set.

    Returns:
        False if nothing was played: the point is off the board or occupied (``state`` is as it was), or the history
        is full (the game is then finished without result).
    """
    phase = state["phase"]
    if point != PASS:
        if not 0 < point < NUM_POINTS:
            return False
        if state["colour"][point] != EMPTY and (phase == MAIN_PHASE or unblocked_stone(state, point) == NO_POINT):
            return False
    if keys.is_full(history, KEYS_PER_TURN):
        state["finished"] = 1
        state["no_result"] = 1
        return False
    if state["finished"] != 0:
        state["finished"] = 0
        state["no_result"] = 0
        state["past_end"] = 1
        state["turns_in_phase"] = 0
    _remember(state, point)
    state["turns"] += 1
    state["turns_in_phase"] += 1
    if point == PASS:
        _pass(state, history)
        return True
    colour = state["to_move"]
    state["consecutive_passes"] = 0
    if phase == MAIN_PHASE:
        place_stone(state, point, colour)
        if state["scoring_rule"] == _TERRITORY:
            state["white_bonus"] += 1.0 if colour == BLACK else -1.0
    else:
        _play_in_cleanup(state, history, point)
    state["to_move"] = opponent(colour)
    if _add_situation(state, history) >= 2 and _loose_repetition(state):
        state["finished"] = 1
        state["no_result"] = 1
    return True


@njit(cache=True, nogil=True)
def take_turn(state: State, history: History, colour: int) -> bool:
    """Give the turn to ``colour`` out of order, as interfaces may; repetition and passes so far are forgotten.

    Nothing happens if it is the turn of ``colour`` already.

    Returns:
        False, doing nothing, if ``colour`` is no colour or the history is full.
    """
    if not BLACK <= colour <= WHITE or keys.is_full(history, KEYS_PER_TURN):
        return False
    if state["to_move"] == colour:
        return True
    state["to_move"] = colour
    state["ko_point"] = NO_POINT
    state["ladder_known"][0] = 0
    _restart_repetition(state, history)
    forget_passes(state, history)
    _add_situation(state, history)
    return True
