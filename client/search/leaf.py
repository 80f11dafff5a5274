"""A node's own evaluation: by the net, or by the end of the game (search.md 2.1, 2.2, 2.6)."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.search.select import sign_of
from client.search.tree import (
    EVALUATED,
    ILLEGAL_PRIOR,
    OWNERSHIP_SCALE,
    TERMINAL,
    Context,
    Forest,
    Outputs,
    Scratch,
)
from client.search.utility import (
    evaluation_weight,
    outcome_utility,
    score_utility,
    uncertainty,
)
from client.search.values import (
    NO_RESULT,
    NUM_VALUES,
    SCORE_MEAN,
    SCORE_MEAN_SQ,
    WIN_LOSS,
    write_evaluation,
    write_outcome,
)
from common.go.scoring import score
from common.kernels import njit

# -- for the softmax of a policy, in single precision --
_ILLEGAL: Final = np.float32(ILLEGAL_PRIOR)
_ALL_BITS: Final = 0x7FFFFFFF  # of a float but for its sign
_MANTISSA_BITS: Final = 23
_EXPONENT_OF_1: Final = 127
_ROUNDER: Final = np.float32(1.5 * 2.0**_MANTISSA_BITS)
"""A sum of this and a small number is rounded to a whole number, and holds that in its last bits."""
_ROUNDER_BITS: Final = int(np.array(_ROUNDER).view(np.int32))
_LOWEST_POWER: Final = np.float32(-87.0)
_PER_LOG_2: Final = np.float32(1.0 / math.log(2.0))
_LOG_2_HIGH: Final = np.float32(355.0 / 512.0)  # of few bits: exact when multiplied by a small whole number
_LOG_2_LOW: Final = np.float32(math.log(2.0) - 355.0 / 512.0)
_ZERO: Final = np.float32(0.0)
_ONE: Final = np.float32(1.0)
_TAYLOR_2, _TAYLOR_3, _TAYLOR_4, _TAYLOR_5, _TAYLOR_6, _TAYLOR_7 = (
    np.float32(1.0 / math.factorial(power)) for power in range(2, 8)
)


@njit(cache=True, nogil=True)
def set_own_utility(forest: Forest, slot: int, index: int, context: Context) -> None:
    """Set a node's own utility from its own evaluation under the slot's current score centre."""
    node = forest.nodes[slot, index]
    search = forest.searches[slot]
    parameters = forest.parameters[slot]
    own = node["own"]
    node["own_utility"] = outcome_utility(own[WIN_LOSS], own[NO_RESULT], parameters) + score_utility(
        context.score_table,
        own[SCORE_MEAN],
        own[SCORE_MEAN_SQ],
        search["centre"],
        search["sqrt_area"],
        parameters,
    )


@njit(cache=True, nogil=True)
def set_own_weight(forest: Forest, slot: int, index: int, context: Context) -> None:
    """Set the weight of a node's own raw evaluation (search.md 2.6)."""
    node = forest.nodes[slot, index]
    parameters = forest.parameters[slot]
    node["own_weight"] = 1.0
    if parameters["use_uncertainty"] and context.has_errors:
        search = forest.searches[slot]
        error = uncertainty(
            node["own_win_loss_error"],
            node["own_score_error"],
            node["own"][SCORE_MEAN],
            search["centre"],
            search["sqrt_area"],
            parameters,
        )
        node["own_weight"] = evaluation_weight(error, parameters)


@njit(cache=True, nogil=True)
def end_game(forest: Forest, slot: int, index: int, scratch: Scratch, context: Context) -> None:
    """Make node ``index``, whose position is in the scratch, TERMINAL with the game's outcome (search.md 2.2)."""
    state = scratch.state[0]
    node = forest.nodes[slot, index]
    parameters = forest.parameters[slot]
    node["status"] = TERMINAL
    final = 0.0 if state["no_result"] else score(state, scratch.area, scratch.features[0]["area"])
    write_outcome(node["own"], state["no_result"], final, state["draw_white_wins"])
    node["own_weight"] = 1.0
    if parameters["use_uncertainty"] and context.has_errors:
        node["own_weight"] = parameters["uncertainty_max_weight"]
    set_own_utility(forest, slot, index, context)


@njit(cache=True, nogil=True)
def _largest_legal(logits: npt.NDArray[np.float32], legal: npt.NDArray[np.int8]) -> Any:
    """The bits of the largest logit of a legal position; those of a NaN if there is one that has no sign.

    As integers the bits of floats are in their order, once those of negative numbers are turned over; and a maximum of
    integers, which may be taken in any order, is vectorised.
    """
    bits = logits.view(np.int32)
    largest = np.int32(-_ALL_BITS)
    for position in range(legal.shape[0]):
        number = bits[position]
        ordered = np.int32(number ^ ((number >> 31) & _ALL_BITS))
        largest = max(largest, ordered if legal[position] else np.int32(-_ALL_BITS))
    return np.int32(largest ^ ((largest >> 31) & _ALL_BITS))


@njit(cache=True, nogil=True)
def _sum_of(policy: npt.NDArray[np.float32]) -> Any:
    """Sum over positions in single precision: four sums, since one of them would wait for each addition."""
    first = second = third = fourth = np.float32(0.0)
    count = policy.shape[0]
    whole = count - count % 4
    for position in range(0, whole, 4):
        first += policy[position]
        second += policy[position + 1]
        third += policy[position + 2]
        fourth += policy[position + 3]
    for position in range(whole, count):
        first += policy[position]
    return (first + second) + (third + fourth)


@njit(cache=True, nogil=True)
def write_policy(
    logits: npt.NDArray[np.float32], legal: npt.NDArray[np.int8], temperature: float, policy: npt.NDArray[np.float32]
) -> bool:
    """Softmax of the legal logits divided by ``temperature``, in single precision; False if it is not finite.

    The exponential of x is a power of 2, whose exponent is the nearest whole number to x / log 2, times the Taylor
    series of what is left, to within 2 units of the last place; below -87, where it would not be a normal number, it
    is 0. Written out in loops without branches and calls, it is computed for many positions at once.
    """
    count = legal.shape[0]
    bits = policy.view(np.int32)
    bits[0] = _largest_legal(logits, legal)
    largest = policy[0]
    factor = np.float32(1.0 / temperature)
    for position in range(count):
        policy[position] = (logits[position] - largest) * factor * _PER_LOG_2 + _ROUNDER
    for position in range(count):
        bits[position] = (bits[position] - _ROUNDER_BITS + _EXPONENT_OF_1) << _MANTISSA_BITS
    for position in range(count):
        x = (logits[position] - largest) * factor
        whole = (x * _PER_LOG_2 + _ROUNDER) - _ROUNDER
        rest = (x - whole * _LOG_2_HIGH) - whole * _LOG_2_LOW
        series = _TAYLOR_6 + rest * _TAYLOR_7
        series = _TAYLOR_4 + rest * (_TAYLOR_5 + rest * series)
        series = _ONE + rest * (_ONE + rest * (_TAYLOR_2 + rest * (_TAYLOR_3 + rest * series)))
        power = _ZERO if x < _LOWEST_POWER else policy[position] * series
        policy[position] = power if legal[position] else _ZERO
    total = _sum_of(policy)
    if not (total > 0.0 and math.isfinite(total)):
        return False
    share = _ONE / total
    for position in range(count):
        policy[position] = policy[position] * share if legal[position] else _ILLEGAL
    return True


@njit(cache=True, nogil=True)
def store_evaluation(node: Any, outputs: Outputs, row: int) -> None:
    """Set a node's own evaluation from batch row ``row``."""
    write_evaluation(node["own"], outputs, row, sign_of(node["to_move"]))
    node["own_win_loss_error"] = outputs.short_term_win_loss_error[row]
    node["own_score_error"] = outputs.short_term_score_error[row]
    node["own_variance_time"] = outputs.variance_time[row]


@njit(cache=True, nogil=True)
def mixed(old: float, new: float, share: float) -> float:
    """``old`` moved by ``share`` of the way to ``new``; exactly ``new`` for a share of 1."""
    return new if share == 1.0 else (1.0 - share) * old + share * new


@njit(cache=True, nogil=True)
def mix_evaluation(node: Any, sample: Any, share: float) -> None:
    """Move a node's own evaluation by ``share`` of the way to that of ``sample``."""
    own = node["own"]
    other = sample["own"]
    for value in range(NUM_VALUES):
        own[value] = mixed(own[value], other[value], share)
    node["own_win_loss_error"] = mixed(node["own_win_loss_error"], sample["own_win_loss_error"], share)
    node["own_score_error"] = mixed(node["own_score_error"], sample["own_score_error"], share)
    node["own_variance_time"] = mixed(node["own_variance_time"], sample["own_variance_time"], share)


@njit(cache=True, nogil=True)
def mix_ownership(forest: Forest, slot: int, index: int, outputs: Outputs, row: int, share: float) -> None:
    """Move the ownership kept of a node by ``share`` of the way to that of batch row ``row``; 1 replaces it.

    Nothing is done in a pool that keeps none, though its batch has it for the rows that want it.
    """
    scale = sign_of(forest.nodes[slot, index]["to_move"]) * OWNERSHIP_SCALE
    for position in range(forest.ownership.shape[2]):
        kept = mixed(forest.ownership[slot, index, position], scale * outputs.ownership[row, position], share)
        forest.ownership[slot, index, position] = math.floor(kept + 0.5)


@njit(cache=True, nogil=True)
def finish_evaluation(forest: Forest, slot: int, index: int, context: Context) -> None:
    """Mark a node whose own evaluation is stored as EVALUATED, with its utility and weight."""
    forest.nodes[slot, index]["status"] = EVALUATED
    set_own_utility(forest, slot, index, context)
    set_own_weight(forest, slot, index, context)
