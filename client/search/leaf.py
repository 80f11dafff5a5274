"""A node's own evaluation: by the net, or by the end of the game (search.md 2.1, 2.2, 2.6)."""

from __future__ import annotations

import math
from typing import Any

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
def write_policy(
    logits: npt.NDArray[np.float32], legal: npt.NDArray[np.int8], temperature: float, policy: npt.NDArray[np.float32]
) -> bool:
    """Softmax of the legal logits divided by ``temperature``, in single precision; False if it is not finite."""
    largest = np.float32(-math.inf)
    for position in range(legal.shape[0]):
        if legal[position] and logits[position] > largest:
            largest = logits[position]
    factor = np.float32(1.0 / temperature)
    total = np.float32(0.0)
    for position in range(legal.shape[0]):
        policy[position] = ILLEGAL_PRIOR
        if legal[position]:
            policy[position] = math.exp((logits[position] - largest) * factor)
            total += policy[position]
    if not (total > 0.0 and math.isfinite(total)):
        return False
    share = np.float32(1.0) / total
    for position in range(legal.shape[0]):
        if legal[position]:
            policy[position] *= share
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

    A pool without ownership has none in its batch, and nothing is done.
    """
    scale = sign_of(forest.nodes[slot, index]["to_move"]) * OWNERSHIP_SCALE
    for position in range(outputs.ownership.shape[1]):
        kept = mixed(forest.ownership[slot, index, position], scale * outputs.ownership[row, position], share)
        forest.ownership[slot, index, position] = math.floor(kept + 0.5)


@njit(cache=True, nogil=True)
def finish_evaluation(forest: Forest, slot: int, index: int, context: Context) -> None:
    """Mark a node whose own evaluation is stored as EVALUATED, with its utility and weight."""
    forest.nodes[slot, index]["status"] = EVALUATED
    set_own_utility(forest, slot, index, context)
    set_own_weight(forest, slot, index, context)
