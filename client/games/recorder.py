"""Turns a finished game of self-play into training rows; those of positions beside it: `client.games.side_rows`.

Knows what each search said and how the game went (`PlayedGame`); the formulas are those of `common.derive`, the board's
part is from `common.replay`. Does not play, and writes no files.
Specification: training-data.md 2-5, search.md 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.games.net_changes import changes_after
from client.games.played import PlayedGame
from client.search.values import NO_RESULT as NO_RESULT_MEAN
from client.search.values import SCORE_MEAN, WIN_LOSS
from common import derive
from common.derive import LOSS, MAX_SCORE, NO_RESULT, SCORE, VALUE_SIZE, WIN
from common.go.points import WHITE, position_of
from common.kernels import njit
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
from common.sgf_record import GAME_TYPES

MAX_Q_VISITS: Final = 32000
HISTORY_KEPT_PROB: Final = 0.98

_Q_WIN_LOSS, _Q_SCORE, _Q_VISITS = (int(channel) for channel in (QTarget.WIN_LOSS, QTarget.SCORE, QTarget.VISITS))

_OF_OUTCOME: Final = (
    GlobalTarget.FINAL_SCORE,
    GlobalTarget.OUTCOME_WEIGHT,
    GlobalTarget.REPLY_WEIGHT,
    GlobalTarget.FUTURE_WEIGHT,
    GlobalTarget.SCORING_WEIGHT,
)
"""Columns that are 0 in a row without targets of the game's further course."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RowPlan:
    """What becomes of each searched turn."""

    values: Floats  # [T + 1, 4] of `value_sequence`
    copies: npt.NDArray[np.int64]  # [T] rows to write
    leads: Floats  # [T] points, White's view; NaN where none was estimated
    lacks_outcome: npt.NDArray[np.bool_]  # [T] nothing of the game's further course is a target


def values_of(means: Floats) -> Floats:
    """(win, loss, noResult, score) ``[T, 4]`` of averages ``[T, V]``, clamped (search.md 12); White's view."""
    win_loss = means[:, WIN_LOSS]
    no_result = np.minimum(np.maximum(means[:, NO_RESULT_MEAN], 0.0), 1.0 - np.abs(win_loss))
    values = np.empty((len(means), VALUE_SIZE))
    values[:, WIN] = 0.5 * (win_loss + 1.0 - no_result)
    values[:, LOSS] = 0.5 * (-win_loss + 1.0 - no_result)
    values[:, NO_RESULT] = no_result
    values[:, SCORE] = means[:, SCORE_MEAN]
    return values


def root_values(found: npt.NDArray[np.void]) -> Floats:
    """`values_of` the roots of searches, FOUND ``[T]``."""
    return values_of(found["mean"])


def value_sequence(game: PlayedGame, end: Ending) -> Floats:
    """The values of all searches and of the outcome, ``[T + 1, 4]``, White's view (training-data.md 4)."""
    rules = game.start.rules
    outcome = derive.outcome_value(
        end.white_score,
        is_no_result=end.is_no_result,
        draw_white_wins=game.view.draw_white_wins,
        result_is_integer=rules.result_is_integer,
    )
    values = np.concatenate([root_values(game.turns.found), outcome[np.newaxis]])
    if game.provenance.hint is not None:  # the moves that it forced say too much of it
        values[0] = values[min(1, len(values) - 1)]
    return values


def value_surprises(game: PlayedGame, values: Floats, parameters: SelfplayParameters) -> Floats:
    """``[T]`` by how much each turn's value was not what the net had said, nats (training-data.md 5.2)."""
    if game.turns.count == 0:
        return np.zeros(0)
    if parameters.use_search_value_surprise:
        happened = values[:-1]
    else:
        happened = derive.td_targets(values, derive.horizon_factors(game.start.area)[derive.SHORT_HORIZON])
    return derive.value_surprises(happened, values_of(game.turns.found["raw"]))


def unrounded_weights(
    game: PlayedGame, surprises: Floats, parameters: SelfplayParameters, may_exceed: npt.NDArray[np.bool_] | None
) -> Floats:
    """``[T]`` row weights after surprise weighting (training-data.md 5.2).

    Args:
        game: the game.
        surprises: ``[T]`` of `value_surprises`.
        parameters: of the configuration.
        may_exceed: ``[T]`` turns that a surprise alone can make rows; None: all.
    """
    weights = derive.surprise_weights(
        game.turns.weights,
        game.turns.found["policy_surprise"],
        surprises,
        policy_share=parameters.policy_surprise_data_weight,
        value_share=parameters.value_surprise_data_weight,
        may_exceed=may_exceed,
    )
    return weights * parameters.scale_data_weight


def written_turns(game: PlayedGame, copies: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """``[k]`` the turns of the record of which there are rows, in order."""
    return np.flatnonzero(copies) + game.first_turn


def make_rows(
    game: PlayedGame,
    replayed: Replay,
    end: Ending,
    plan: RowPlan,
    random: np.random.Generator,
) -> Rows:
    """The rows of a game, in order of turns, copies of one turn one after the other.

    Args:
        game: the game; its final score is in ``end``.
        replayed: it again, with the network inputs of `written_turns`.
        end: how it ended.
        plan: what is written.
        random: the game's generator, for history flags and stochastic rounding.
    """
    length = replayed.length
    turns = written_turns(game, plan.copies)
    written = turns - game.first_turn
    lacks_outcome = plan.lacks_outcome[written]
    rows = Rows.zeros(len(written), length)
    rows.packed_planes[:] = replayed.packed_planes
    rows.global_inputs[:] = replayed.global_inputs
    rows.value_targets[:] = value_targets(replayed, end, turns)
    rows.value_targets[lacks_outcome] = 0
    _fill_values(rows.global_targets, game, replayed, end, plan.values, written)
    _fill_facts(rows.global_targets, game, replayed, end, written)
    for column in _OF_OUTCOME:
        rows.global_targets[lacks_outcome, column] = 0.0
    white = replayed.to_move[turns] == WHITE
    fill_leads(rows.global_targets, plan.leads[written], white)
    has_outcome = rows.global_targets[:, GlobalTarget.OUTCOME_WEIGHT] > 0
    scores = rows.global_targets[:, GlobalTarget.FINAL_SCORE].astype(np.float64)
    rows.score_distribution[:] = derive.score_distributions(scores, has_outcome, length)
    policies, last = game.turns.policies, game.turns.count - 1
    rows.policy_targets[:, PolicyTarget.OWN] = policies[written]
    rows.policy_targets[:, PolicyTarget.REPLY] = policies[np.minimum(written + 1, last)]
    rows.policy_targets[(written == last) | lacks_outcome, PolicyTarget.REPLY] = 1
    copies = plan.copies[written]
    repeated = rows.take(np.repeat(np.arange(len(written)), copies))
    fill_history_flags(repeated, random)
    points = scoring_targets(replayed, end, np.repeat(turns, copies))
    points[np.repeat(lacks_outcome, copies)] = 0.0
    repeated.value_targets[:, ValueTarget.SCORING] = derive.stochastic_round(points, random)
    turns_of_rows = np.repeat(written, copies)
    fill_q(repeated, game.turns.children, game.turns.first_children, turns_of_rows, np.repeat(white, copies), random)
    return repeated


def fill_leads(columns: npt.NDArray[np.float32], leads: Floats, white: npt.NDArray[np.bool_]) -> None:
    """Columns 21 and 29 of rows ``[k, 80]`` from ``leads`` of White (NaN: none), where ``white`` is to move."""
    own = np.clip(np.where(white, leads, -leads), -MAX_SCORE, MAX_SCORE)
    has_lead = ~np.isnan(leads)
    columns[:, GlobalTarget.LEAD] = np.where(has_lead, own, 0.0)
    columns[:, GlobalTarget.LEAD_WEIGHT] = has_lead


def _fill_values(
    columns: npt.NDArray[np.float32],
    game: PlayedGame,
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
    columns: npt.NDArray[np.float32], game: PlayedGame, replayed: Replay, end: Ending, written: npt.NDArray[np.intp]
) -> None:
    """Columns 25-68: weights, what the search and the raw net said, and facts of the game."""
    turns = written + game.first_turn
    has_outcome = float(not end.is_no_result)
    columns[:, GlobalTarget.OUTCOME_WEIGHT] = has_outcome
    columns[:, GlobalTarget.REPLY_WEIGHT] = written + 1 < game.turns.count
    columns[:, GlobalTarget.FUTURE_WEIGHT] = 1.0
    columns[:, GlobalTarget.SCORING_WEIGHT] = has_outcome
    fill_search_facts(columns, game.turns.found[written], replayed.to_move[turns] == WHITE)
    fill_game_facts(columns, game)
    columns[:, GlobalTarget.OWN_KOMI] = replayed.own_komi[turns]
    columns[:, GlobalTarget.AREA_LIKE_PHASE] = area_like(replayed, turns)
    columns[:, GlobalTarget.TURN] = turns
    columns[:, GlobalTarget.BONUS_TO_COME] = bonuses_to_come(replayed, end, turns)
    columns[:, GlobalTarget.FINISHED_NORMALLY] = not game.hit_move_limit
    replaced = game.turns.replaced[written]
    columns[:, GlobalTarget.NET_CHANGES_AFTER] = np.where(
        replaced["is_replaced"], 0, changes_after(game.net_changes, turns)
    )
    columns[:, GlobalTarget.REANALYSED] = replaced["is_replaced"]
    columns[:, GlobalTarget.CHEAP_POLICY_SURPRISE] = replaced["policy_surprise"]
    columns[:, GlobalTarget.CHEAP_VALUE_SURPRISE] = replaced["value_surprise"]
    columns[:, GlobalTarget.CHEAP_VISITS] = replaced["visits"]


def fill_search_facts(
    columns: npt.NDArray[np.float32], found: npt.NDArray[np.void], white: npt.NDArray[np.bool_]
) -> None:
    """Columns 30-32 and 57-60 of rows ``[k, 80]``: what the search, FOUND ``[k]``, and the raw net said."""
    sign = np.where(white, 1.0, -1.0)
    columns[:, GlobalTarget.POLICY_SURPRISE] = found["policy_surprise"]
    columns[:, GlobalTarget.POLICY_ENTROPY] = found["policy_entropy"]
    columns[:, GlobalTarget.SEARCH_ENTROPY] = found["search_entropy"]
    columns[:, GlobalTarget.NET_WIN_LOSS] = sign * found["raw"][:, WIN_LOSS]
    columns[:, GlobalTarget.NET_SCORE_MEAN] = sign * found["raw"][:, SCORE_MEAN]
    columns[:, GlobalTarget.NET_POLICY_ENTROPY] = found["raw_policy_entropy"]
    columns[:, GlobalTarget.ROOT_VISITS] = found["visits"]


def fill_game_facts(columns: npt.NDArray[np.float32], game: PlayedGame) -> None:
    """What all rows ``[k, 80]`` of a game have in common."""
    columns[:, GlobalTarget.ROW_WEIGHT] = game.provenance.training_weight
    columns[:, GlobalTarget.POLICY_WEIGHT] = 1.0
    columns[:, list(HASH_COLUMNS)] = hash_columns(*game.hash_words)
    columns[:, GlobalTarget.NET_CHANGED] = bool(game.net_changes)
    columns[:, GlobalTarget.HIT_MOVE_LIMIT] = game.hit_move_limit
    columns[:, GlobalTarget.START_TURN] = game.first_turn
    columns[:, GlobalTarget.EXTRA_BLACK_MOVES] = game.provenance.extra_black
    columns[:, GlobalTarget.GAME_KIND] = GAME_TYPES.index(game.provenance.game_type)
    columns[:, GlobalTarget.INITIAL_TURN_NUMBER] = game.start.first_turn
    columns[:, GlobalTarget.DATA_FORMAT_VERSION] = DATA_FORMAT_VERSION
    columns[:, GlobalTarget.PASS_ALIVE_WITH_SUICIDE] = game.view.pass_alive_suicide


def fill_history_flags(rows: Rows, random: np.random.Generator) -> None:
    """Columns 36-40, drawn for each copy of a row."""
    kept = random.random((rows.count, len(HISTORY_COLUMNS))) < HISTORY_KEPT_PROB
    rows.global_targets[:, list(HISTORY_COLUMNS)] = np.logical_and.accumulate(kept, axis=1)


def fill_q(
    rows: Rows,
    children: npt.NDArray[np.void],
    first: npt.NDArray[np.int32],
    of_row: npt.NDArray[np.intp],
    white: npt.NDArray[np.bool_],
    random: np.random.Generator,
) -> None:
    """Q values of rows, rounded for each copy of a row; arrays as `_fill_q` has them."""
    draws = random.random(2 * int((first[of_row + 1] - first[of_row]).sum()))
    _fill_q(rows.q_values, children, first, of_row, white, draws, rows.length)


@njit(cache=True, nogil=True)
def _fill_q(
    q_values: npt.NDArray[np.int16],
    children: npt.NDArray[np.void],
    first: npt.NDArray[np.int32],
    of_row: npt.NDArray[np.intp],
    white: npt.NDArray[np.bool_],
    draws: Floats,
    length: int,
) -> None:
    """Write what the searched moves are worth to each row's player, each rounded by a draw in [0, 1).

    Args:
        q_values: ``[n, 3, P]``, zero.
        children: CHILD ``[C]`` of all turns.
        first: ``[T + 1]`` of `client.games.played.PlayedTurns`.
        of_row: ``[n]`` each row's turn.
        white: ``[n]`` whether White is its player.
        draws: two for each child of each row: first all for win minus loss, then all for the score.
        length: edge of the tensors.
    """
    used = 0
    for row in range(of_row.shape[0]):
        start: Any = np.int64(first[of_row[row]])
        count: Any = np.int64(first[of_row[row] + 1]) - start
        sign = 1.0 if white[row] else -1.0
        for i in range(count):
            child = children[start + i]
            point: Any = np.int64(child["point"])
            position = position_of(point, length)
            win_loss = derive.round_by(sign * child["win_loss"] * Q_WIN_LOSS_SCALE, draws[used + i])
            score = sign * min(max(child["score_mean"], -MAX_SCORE), MAX_SCORE)
            q_values[row, _Q_WIN_LOSS, position] = min(max(win_loss, -Q_WIN_LOSS_SCALE), Q_WIN_LOSS_SCALE)
            q_values[row, _Q_SCORE, position] = derive.round_by(score * Q_SCORE_SCALE, draws[used + count + i])
            q_values[row, _Q_VISITS, position] = min(child["visits"], MAX_Q_VISITS)
        used += 2 * count
