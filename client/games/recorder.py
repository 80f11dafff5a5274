"""Turns a finished game of self-play into training rows.

Knows what each search said (`TurnRecord`) and how the game went (`SelfplayGame`); the formulas are those of
`common.derive`, the board's part is from `common.replay`. Does not play, and writes no files.
Specification: training-data.md 2-5, search.md 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from client.games.game import PlayedGame
from client.search.values import outcome_chances
from common import derive
from common.derive import LOSS, MAX_SCORE, SCORE, VALUE_SIZE, WIN
from common.go.points import WHITE, position_of
from common.parameters import SelfplayParameters
from common.replay import Ending, Replay, area_like, bonuses_to_come, scoring_targets, value_targets
from common.rows import (
    DATA_FORMAT_VERSION,
    HASH_COLUMNS,
    HISTORY_COLUMNS,
    Q_SCORE_SCALE,
    Q_WIN_LOSS_SCALE,
    GlobalTarget,
    PolicyTarget,
    QTarget,
    Rows,
    ValueTarget,
    hash_columns,
)

MIN_POLICY_TOP: Final = 10
MAX_POLICY_TOP: Final = 30000
MAX_Q_VISITS: Final = 32000
HISTORY_KEPT_PROB: Final = 0.98

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What the search at one turn said; White's view."""

    win_loss: float
    no_result: float
    score_mean: float
    raw_win_loss: float
    raw_no_result: float
    raw_score_mean: float
    raw_policy_entropy: float  # nats
    policy_surprise: float  # nats
    policy_entropy: float  # nats
    search_entropy: float  # nats
    visits: int
    weight: float  # before surprise weighting; 0 for a cheap search
    policy: Floats  # [length ** 2 + 1] play-selection values by position
    child_points: npt.NDArray[np.int16]  # [C] the root's children
    child_visits: npt.NDArray[np.int32]  # [C]
    child_win_losses: Floats  # [C]
    child_score_means: Floats  # [C] points

    @property
    def value(self) -> tuple[float, float, float, float]:
        """(win, loss, noResult, score) of the root."""
        return as_value(self.win_loss, self.no_result, self.score_mean)


SelfplayGame = PlayedGame[TurnRecord]
"""A finished game of self-play, ready to be recorded."""


def as_value(win_loss: float, no_result: float, score: float) -> tuple[float, float, float, float]:
    """(win, loss, noResult, score) from averages, clamped (search.md 12)."""
    return *outcome_chances(win_loss, no_result), score


@dataclass(frozen=True)
class Weighing:
    """How often each searched turn becomes a row."""

    unrounded: Floats  # [T]
    copies: npt.NDArray[np.int64]  # [T]


def value_sequence(game: SelfplayGame, end: Ending) -> Floats:
    """The values of all searches and of the outcome, ``[T + 1, 4]``, White's view (training-data.md 4)."""
    values = np.empty((len(game.turns) + 1, VALUE_SIZE))
    for index, turn in enumerate(game.turns):
        values[index] = turn.value
    rules = game.start.rules
    values[-1] = derive.outcome_value(
        end.white_score,
        is_no_result=end.is_no_result,
        draw_white_wins=game.view.draw_white_wins,
        result_is_integer=rules.result_is_integer,
    )
    return values


def weigh(game: SelfplayGame, values: Floats, parameters: SelfplayParameters, random: np.random.Generator) -> Weighing:
    """Row weights after surprise weighting, and their resolution to copies (training-data.md 5.2, 5.3)."""
    turns = game.turns
    if not turns:
        return Weighing(np.zeros(0), np.zeros(0, np.int64))
    if parameters.use_search_value_surprise:
        happened = values[:-1]
    else:
        happened = derive.td_targets(values, derive.horizon_factors(game.start.area)[derive.SHORT_HORIZON])
    raw = np.array([as_value(turn.raw_win_loss, turn.raw_no_result, turn.raw_score_mean) for turn in turns])
    weights = derive.surprise_weights(
        np.array([turn.weight for turn in turns]),
        np.array([turn.policy_surprise for turn in turns]),
        derive.value_surprises(happened, raw),
        policy_share=parameters.policy_surprise_data_weight,
        value_share=parameters.value_surprise_data_weight,
    )
    weights = weights * parameters.scale_data_weight
    return Weighing(weights, derive.copies(weights, random))


def written_turns(game: SelfplayGame, copies: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """``[k]`` the turns of the record of which there are rows, in order."""
    return np.flatnonzero(copies) + game.first_turn


def make_rows(
    game: SelfplayGame,
    replayed: Replay,
    end: Ending,
    values: Floats,
    copies: npt.NDArray[np.int64],
    random: np.random.Generator,
) -> Rows:
    """The rows of a game, in order of turns, copies of one turn one after the other.

    Args:
        game: the game; its final score is in ``end``.
        replayed: it again, with the network inputs of `written_turns`.
        end: how it ended.
        values: ``[T + 1, 4]`` of `value_sequence`.
        copies: ``[T]`` rows to write per searched turn.
        random: the game's generator, for history flags and stochastic rounding.
    """
    length = replayed.length
    turns = written_turns(game, copies)
    written = turns - game.first_turn
    rows = Rows.zeros(len(written), length)
    rows.packed_planes[:] = replayed.packed_planes
    rows.global_inputs[:] = replayed.global_inputs
    rows.value_targets[:] = value_targets(replayed, end, turns)
    _fill_values(rows.global_targets, game, replayed, end, values, written)
    _fill_facts(rows.global_targets, game, replayed, end, written)
    scores = rows.global_targets[:, GlobalTarget.FINAL_SCORE].astype(np.float64)
    rows.score_distribution[:] = derive.score_distributions(scores, np.full(len(written), not end.is_no_result), length)
    for row, index in enumerate(written):
        rows.policy_targets[row, PolicyTarget.OWN] = scale_policy(game.turns[index].policy)
        is_last = index + 1 == len(game.turns)
        reply = np.ones(length * length + 1) if is_last else scale_policy(game.turns[index + 1].policy)
        rows.policy_targets[row, PolicyTarget.REPLY] = reply
    repeated = rows.take(np.repeat(np.arange(len(written)), copies[written]))
    of_row = np.repeat(written, copies[written])
    _fill_random(repeated, game, replayed, end, of_row, random)
    return repeated


def scale_policy(policy: Floats) -> npt.NDArray[np.int16]:
    """Policy targets as stored: whole numbers whose largest is within 10 … 30000 (training-data.md 2)."""
    top = policy.max()
    if top < MIN_POLICY_TOP:
        policy = policy * (MIN_POLICY_TOP / top)
    elif top > MAX_POLICY_TOP:
        policy = policy * (MAX_POLICY_TOP / top)
    return np.floor(policy + 0.5).astype(np.int16)


def _fill_values(
    columns: npt.NDArray[np.float32],
    game: SelfplayGame,
    replayed: Replay,
    end: Ending,
    values: Floats,
    written: npt.NDArray[np.intp],
) -> None:
    """Columns 0-22: the outcome, the TD values of the horizons, the turn's own value, the variance time."""
    white = replayed.to_move[written + game.first_turn] == WHITE
    targets = [np.broadcast_to(values[-1], (len(written), VALUE_SIZE))]
    targets += [derive.td_targets(values, factor)[written] for factor in derive.horizon_factors(game.start.area)]
    targets.append(values[written])
    for block, target in enumerate(targets):
        own = derive.own_values(target, white)
        own[:, SCORE] = np.clip(own[:, SCORE], -MAX_SCORE, MAX_SCORE)
        columns[:, VALUE_SIZE * block : VALUE_SIZE * (block + 1)] = own
    if not end.is_no_result:
        final = values[-1, SCORE]
        columns[:, GlobalTarget.FINAL_SCORE] = np.where(white, final, -final)
    win_loss = values[:, WIN] - values[:, LOSS]
    columns[:, GlobalTarget.VARIANCE_TIME] = derive.variance_times(win_loss)[written]


def _fill_facts(
    columns: npt.NDArray[np.float32], game: SelfplayGame, replayed: Replay, end: Ending, written: npt.NDArray[np.intp]
) -> None:
    """Columns 25-68: weights, what the search and the raw net said, and facts of the game."""
    turns = written + game.first_turn
    has_outcome = float(not end.is_no_result)
    columns[:, GlobalTarget.ROW_WEIGHT] = 1.0
    columns[:, GlobalTarget.POLICY_WEIGHT] = 1.0
    columns[:, GlobalTarget.OUTCOME_WEIGHT] = has_outcome
    columns[:, GlobalTarget.REPLY_WEIGHT] = written + 1 < len(game.turns)
    columns[:, GlobalTarget.FUTURE_WEIGHT] = 1.0
    columns[:, GlobalTarget.SCORING_WEIGHT] = has_outcome
    searched = [game.turns[index] for index in written]
    sign = np.where(replayed.to_move[turns] == WHITE, 1.0, -1.0)
    columns[:, GlobalTarget.POLICY_SURPRISE] = [turn.policy_surprise for turn in searched]
    columns[:, GlobalTarget.POLICY_ENTROPY] = [turn.policy_entropy for turn in searched]
    columns[:, GlobalTarget.SEARCH_ENTROPY] = [turn.search_entropy for turn in searched]
    columns[:, GlobalTarget.NET_WIN_LOSS] = sign * np.array([turn.raw_win_loss for turn in searched])
    columns[:, GlobalTarget.NET_SCORE_MEAN] = sign * np.array([turn.raw_score_mean for turn in searched])
    columns[:, GlobalTarget.NET_POLICY_ENTROPY] = [turn.raw_policy_entropy for turn in searched]
    columns[:, GlobalTarget.ROOT_VISITS] = [turn.visits for turn in searched]
    columns[:, list(HASH_COLUMNS)] = hash_columns(*game.hash_words)
    columns[:, GlobalTarget.OWN_KOMI] = replayed.own_komi[turns]
    columns[:, GlobalTarget.AREA_LIKE_PHASE] = area_like(replayed, turns)
    columns[:, GlobalTarget.TURN] = turns
    columns[:, GlobalTarget.HIT_MOVE_LIMIT] = game.hit_move_limit
    columns[:, GlobalTarget.START_TURN] = game.first_turn
    columns[:, GlobalTarget.BONUS_TO_COME] = bonuses_to_come(replayed, end, turns)
    columns[:, GlobalTarget.FINISHED_NORMALLY] = not game.hit_move_limit
    columns[:, GlobalTarget.DATA_FORMAT_VERSION] = DATA_FORMAT_VERSION
    columns[:, GlobalTarget.PASS_ALIVE_WITH_SUICIDE] = game.view.pass_alive_suicide


def _fill_random(
    rows: Rows,
    game: SelfplayGame,
    replayed: Replay,
    end: Ending,
    of_row: npt.NDArray[np.intp],
    random: np.random.Generator,
) -> None:
    """What differs between copies of a row: history flags, and the rounding of scoring map and Q values."""
    kept = random.random((rows.count, len(HISTORY_COLUMNS))) < HISTORY_KEPT_PROB
    rows.global_targets[:, list(HISTORY_COLUMNS)] = np.logical_and.accumulate(kept, axis=1)
    turns = of_row + game.first_turn
    points = scoring_targets(replayed, end, turns)
    rows.value_targets[:, ValueTarget.SCORING] = derive.stochastic_round(points, random)
    length = rows.length
    for row, index in enumerate(of_row):
        turn = game.turns[index]
        sign = 1.0 if replayed.to_move[turns[row]] == WHITE else -1.0
        positions = [position_of(int(point), length) for point in turn.child_points]
        win_loss = derive.stochastic_round(sign * turn.child_win_losses * Q_WIN_LOSS_SCALE, random)
        score = sign * np.clip(turn.child_score_means, -MAX_SCORE, MAX_SCORE)
        rows.q_values[row, QTarget.WIN_LOSS, positions] = np.clip(win_loss, -Q_WIN_LOSS_SCALE, Q_WIN_LOSS_SCALE)
        rows.q_values[row, QTarget.SCORE, positions] = derive.stochastic_round(score * Q_SCORE_SCALE, random)
        rows.q_values[row, QTarget.VISITS, positions] = np.minimum(turn.child_visits, MAX_Q_VISITS)
