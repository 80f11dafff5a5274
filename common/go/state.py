"""The data of a game in progress: two fixed-size records that every kernel of `common.go` works on.

Only declarations and allocation live here. A ``STATE`` is one position with all that the rules remember except the
repetition history; it can be copied by plain assignment of its bytes. A ``HISTORY`` holds the keys of earlier
positions and only ever grows at its end, so a search that plays on a copy of the state takes its keys back by
`common.go.history.rewind`; nothing of it is copied per playout.

Kernels take one record (``states[i]``) and write ``state["field"]``, never ``state.field``: the attribute form fails
on structured arrays when the JIT is disabled.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from common.go.points import NUM_POINTS

HISTORY_CAPACITY: Final = 4096
"""Keys a HISTORY can hold: turns, passes and cleanup ko captures of one game together."""
MAX_READINGS: Final = 16
"""Ladder searches of a board that are kept for the next; a board with more has its others searched anew."""
HISTORY_TABLE: Final = 2 * HISTORY_CAPACITY
NUM_RECENT: Final = 5

STATE: Final = np.dtype(
    [
        # -- size and rules (spec rules.md 1); codes are those of common.go.rules --
        ("x_size", np.int16),
        ("y_size", np.int16),
        ("ko_rule", np.int8),
        ("scoring_rule", np.int8),
        ("tax_rule", np.int8),
        ("suicide", np.int8),
        ("has_button", np.int8),
        ("white_handicap_bonus", np.int8),
        ("friendly_pass_ok", np.int8),
        ("pass_alive_suicide", np.int8),  # the flag S of rules.md 9.4; the suicide rule unless a net asks otherwise
        ("komi", np.float64),
        ("draw_white_wins", np.float64),  # how many wins a draw is worth for White, in [0, 1]
        # -- stones and chains; chain fields are valid at a chain's head only --
        ("colour", np.int8, NUM_POINTS),
        ("chain_head", np.int16, NUM_POINTS),
        ("chain_next", np.int16, NUM_POINTS),  # circular list of the chain's stones
        ("chain_liberties", np.int16, NUM_POINTS),  # exact count of liberties
        ("chain_size", np.int16, NUM_POINTS),
        ("chain_key", np.uint64, NUM_POINTS),  # XOR of the stones' Zobrist keys
        ("grid_key", np.uint64),  # XOR of all of them
        ("second_key", np.uint64),  # the same with the stones' second words
        ("ko_point", np.int16),  # NO_POINT if there is none
        ("captured", np.int32, 3),  # stones of each colour taken off so far, suicides included
        ("vacated", np.int8, NUM_POINTS),  # bits of the colours that have been taken off this point since begin
        # -- turn --
        ("to_move", np.int8),
        ("phase", np.int8),  # 0 main, 1 and 2 the cleanup phases of territory scoring
        ("finished", np.int8),
        ("no_result", np.int8),
        ("past_end", np.int8),  # the game has been continued after the rules had ended it
        ("button_left", np.int8),
        ("consecutive_passes", np.int16),
        ("passes_in_turn", np.int16, 3),  # by colour: how many of its latest turns were all passes
        ("turns", np.int32),  # since the start of the record
        ("turns_in_phase", np.int32),
        ("white_bonus", np.float64),
        ("handicap_bonus", np.float64),
        ("recent_point", np.int16, NUM_RECENT),  # latest first; NO_POINT before the record's start
        ("recent_colour", np.int8, NUM_RECENT),
        # -- cleanup phases (rules.md 6) --
        ("ko_blocked", np.int8, NUM_POINTS),
        ("ko_blocked_key", np.uint64),
        ("second_cleanup_start", np.int8, NUM_POINTS),  # colours at the start of phase 2
        # -- bounds into the HISTORY: keys before a start are forgotten; one HISTORY holds all three kinds --
        ("history_count", np.int32),
        ("repetition_start", np.int32),
        ("pass_keys_start", np.int32),
        ("ko_log_start", np.int32),
        # -- what planes 14-16 need (features.md 2): boards one and two turns ago, and ladder maps now, then, before --
        ("earlier_colour", np.int8, (2, NUM_POINTS)),
        ("earlier_ko_point", np.int16, 2),
        ("ladder", np.int8, (3, NUM_POINTS)),
        ("ladder_known", np.int8, 3),
        # ladder searches of this board and of the one a turn ago, by `common.go.ladder_readings`; 0: no more are known
        ("reading", np.int64, (2, MAX_READINGS)),
    ],
    align=True,
)

HISTORY: Final = np.dtype(
    [
        ("key", np.uint64, HISTORY_CAPACITY),  # in order of insertion
        ("slot", np.int32, HISTORY_CAPACITY),  # where key i sits in the table
        ("table_index", np.int32, HISTORY_TABLE),  # 1 + index of a key, 0 = free; open addressing, freed newest first
        ("count", np.int32),
    ],
    align=True,
)

State = np.void
"""One STATE record: ``states[i]``."""
History = np.void
"""One HISTORY record."""
States = npt.NDArray[np.void]
Histories = npt.NDArray[np.void]


def new_states(count: int) -> States:
    """``count`` zeroed STATE records, to be set up by `common.go.board.reset`."""
    return np.zeros(count, STATE)


def new_histories(count: int) -> Histories:
    """``count`` empty HISTORY records."""
    return np.zeros(count, HISTORY)
