"""What an audit finds: reasons that programs read, texts that people read.

Kept apart from the audit itself, which needs the compiled game, so that a web process can name and show reasons.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt


class Reason(StrEnum):
    """Why an upload is refused; stored with the game, so a value never changes its meaning."""

    # -- the SGF and the form --
    SGF_UNREADABLE = "sgf_unreadable"
    BOARD_SIZE = "board_size"
    KOMI = "komi"
    RULES = "rules"
    HANDICAP = "handicap"
    GAME_TYPE = "game_type"
    NETWORK_NAME = "network_name"
    NET_CHANGES = "net_changes"
    GAME_LENGTH = "game_length"
    GAME_HASH = "game_hash"
    TOO_LONG = "too_long"
    WRONG_PLAYER = "wrong_player"
    ILLEGAL_MOVE = "illegal_move"
    MOVE_AFTER_END = "move_after_end"
    NOT_FINISHED = "not_finished"
    RESULT = "result"
    WINNER = "winner"
    SCORE = "score"
    RESIGNED = "resigned"
    SEARCH_COMMENT = "search_comment"
    # -- the game against the text of its job --
    JOB_BOARD_SIZE = "job_board_size"
    JOB_RULES = "job_rules"
    JOB_KOMI = "job_komi"
    JOB_GAME_TYPE = "job_game_type"
    JOB_DOUBLINGS = "job_doublings"
    JOB_START = "job_start"
    JOB_DRAW = "job_draw"
    JOB_VISITS = "job_visits"
    JOB_LENGTH = "job_length"
    JOB_RESIGNATION = "job_resignation"
    JOB_WEIGHTS = "job_weights"
    JOB_TIME = "job_time"
    # -- the rows --
    ROW_COUNT = "row_count"
    TENSOR_EDGE = "tensor_edge"
    ROW_HASH = "row_hash"
    ROW_TURN = "row_turn"
    ROW_FREQUENCY = "row_frequency"
    PLANES = "planes"
    GLOBAL_INPUTS = "global_inputs"
    OWNERSHIP = "ownership"
    SEKI = "seki"
    FUTURE_BOARDS = "future_boards"
    SCORING_MAP = "scoring_map"
    SCORE_DISTRIBUTION = "score_distribution"
    OUTCOME = "outcome"
    FINAL_SCORE = "final_score"
    TD_TARGETS = "td_targets"
    SEARCH_VALUE = "search_value"
    VARIANCE_TIME = "variance_time"
    LEAD = "lead"
    WEIGHTS = "weights"
    POLICY = "policy"
    REPLY_POLICY = "reply_policy"
    Q_VALUES = "q_values"
    ENTROPIES = "entropies"
    HISTORY_FLAGS = "history_flags"
    NET_VALUES = "net_values"
    VISITS = "visits"
    OWN_KOMI = "own_komi"
    PHASE = "phase"
    GAME_COLUMNS = "game_columns"
    BONUS = "bonus"
    END_FLAGS = "end_flags"
    FORMAT_VERSION = "format_version"
    SPARE_COLUMNS = "spare_columns"
    REANALYSIS = "reanalysis"
    SIDE_POSITION = "side_position"
    SIDE_ROWS = "side_rows"
    # -- the audit itself --
    AUDIT_TIME = "audit_time"


@dataclass(frozen=True)
class Finding:
    """One thing that does not agree."""

    reason: Reason
    text: str

    def __str__(self) -> str:
        """The text."""
        return self.text


class OutOfTime(Exception):
    """An audit has used up its time."""


class Deadline:
    """A bound of the processor time of one audit, asked between its steps; each step's own work is bounded.

    Args:
        seconds: of this thread's processor time, from now.
        clock: tells it.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def check(self) -> None:
        """Raise `OutOfTime` once the time is used up."""
        if self._clock() > self._end:
            raise OutOfTime


@dataclass
class Findings:
    """Everything that an audit found; the first one of each reason."""

    found: list[Finding] = field(default_factory=list)
    is_unfinished: bool = False
    """The game was stopped by the move limit."""

    @property
    def ok(self) -> bool:
        """Nothing speaks against the game."""
        return not self.found

    @property
    def reasons(self) -> list[Reason]:
        """The reasons, in the order of the checks."""
        return [finding.reason for finding in self.found]

    def __iter__(self) -> Iterator[Finding]:
        """The findings in the order of the checks."""
        return iter(self.found)

    def __str__(self) -> str:
        """All texts in one line for people."""
        return "; ".join(finding.text for finding in self.found)

    def add(self, reason: Reason, text: str) -> None:
        """Note a finding unless there is one of the same reason."""
        if reason not in self.reasons:
            self.found.append(Finding(reason, text))

    def expect(self, holds: bool, reason: Reason, text: str) -> bool:
        """Note a finding unless ``holds``, which is returned."""
        if not holds:
            self.add(reason, text)
        return holds

    def expect_rows(self, holds: npt.NDArray[np.bool_], reason: Reason, text: str | Callable[[int], str]) -> None:
        """Note the first row of which ``holds`` ``[k, ...]`` is not true everywhere.

        Args:
            holds: what has to be true, per row.
            reason: its reason.
            text: what is wrong, or a function that tells it for a row's number.
        """
        good = holds.reshape(len(holds), -1).all(axis=1) if holds.ndim > 1 else holds
        if not good.all():
            row = int(np.argmin(good))
            what = text if isinstance(text, str) else text(row)
            self.add(reason, f"row {row}: {what}")
