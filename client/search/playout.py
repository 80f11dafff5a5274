"""Playouts: from the root to a leaf and into the evaluation batch, and from the evaluation back to the root.

`descend_all` and `expand_all` are the two kernels of a round; between them the evaluator works. A playout plays on a
scratch copy of the root's STATE and takes its keys back from the HISTORY when the leaf has been encoded; nothing is
allocated. Which slots share a call changes no result: a search draws from its own generator, in its own order.
Specification: search.md 2.1, 2.2, 3, 4.7, 5, 8.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.search.backup import recompute
from client.search.borrow import borrowed
from client.search.grow import add_child
from client.search.leaf import end_game, finish_evaluation, mix_ownership, store_evaluation, write_policy
from client.search.rng import below
from client.search.root import add_root_sample, next_root_symmetry, use_root_policy
from client.search.select import select_move
from client.search.tree import (
    EVALUATED,
    FINISHED,
    NO_EDGE,
    PENDING,
    ROOT,
    RUNNING,
    TERMINAL,
    UNEVALUATED,
    Context,
    Forest,
    Inputs,
    Outputs,
    Playouts,
    Scratch,
)
from common.features import FeatureOptions, encode
from common.go.board import copy_state
from common.go.history import rewind
from common.go.play import legal_points, play
from common.go.points import PASS, STRIDE, point_of
from common.go.state import NUM_RECENT
from common.go.symmetry import NUM_SYMMETRIES
from common.kernels import njit

NOT_FINITE: Final = -1
"""What `expand_all` returns for an evaluation with infinities or no numbers."""

# -- down --


@njit(cache=True, nogil=True)
def _walk(forest: Forest, slot: int, playouts: Playouts, row: int, scratch: Scratch, context: Context) -> int:
    """Play from the root down to the first node that is not EVALUATED; returns its status.

    Leaves the leaf's position in ``scratch.state``, its keys in the HISTORY and the path in ``playouts``.
    """
    copy_state(scratch.state, 0, forest.states, slot)
    state = scratch.state[0]
    history = forest.histories[slot]
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    index = ROOT
    depth = 0
    playouts.slots[row] = slot
    playouts.nodes[row, 0] = ROOT
    nodes[ROOT]["virtual_losses"] += 1
    while nodes[index]["status"] == EVALUATED:
        priors = forest.priors[slot, index]
        edge, position = select_move(nodes, edges, priors, index, index == ROOT, forest.parameters[slot], scratch)
        if edge == NO_EDGE:
            edge = add_child(forest, slot, index, position)
        move: Any = np.int64(edges[edge]["position"])
        play(state, history, point_of(move, context.length))
        index = np.int64(edges[edge]["child"])
        playouts.edges[row, depth] = edge
        depth += 1
        playouts.nodes[row, depth] = index
        nodes[index]["virtual_losses"] += 1
    playouts.depths[row] = depth
    if nodes[index]["status"] == UNEVALUATED:
        nodes[index]["to_move"] = state["to_move"]
        if index != ROOT and state["finished"]:
            end_game(forest, slot, index, scratch, context)
    return int(nodes[index]["status"])


@njit(cache=True, nogil=True)
def _feature_options(forest: Forest, slot: int, to_move: int, depth: int) -> FeatureOptions:
    """What the net is told of a position ``depth`` turns below the root besides the position itself."""
    parameters = forest.parameters[slot]
    advantage = parameters["playout_doubling_advantage"]
    if to_move != forest.states[slot]["to_move"]:
        advantage = -advantage
    turns = NUM_RECENT
    if parameters["ignore_all_history"]:
        turns = 0
    elif parameters["ignore_pre_root_history"]:
        turns = min(depth, NUM_RECENT)
    return FeatureOptions(advantage, False, False, turns)


@njit(cache=True, nogil=True)
def _encode_leaf(
    forest: Forest, slot: int, playouts: Playouts, row: int, inputs: Inputs, scratch: Scratch, context: Context
) -> None:
    """Write the position in the scratch into batch row ``row``; keep what `expand_all` needs of it."""
    state = scratch.state[0]
    history = forest.histories[slot]
    depth = playouts.depths[row]
    length = context.length
    for age in range(1, min(depth, 2) + 1):
        _write_ladder(forest.ladders[slot, playouts.nodes[row, depth - age]], state, age, length)
    options = _feature_options(forest, slot, state["to_move"], depth)
    encode(state, history, length, options, inputs.planes[row], inputs.global_inputs[row], scratch.features[0])
    index: Any = np.int64(playouts.nodes[row, depth])
    _read_ladder(forest.ladders[slot, index], state, length)
    legal = playouts.legal[row]
    legal_points(state, history, scratch.legal_points)
    for position in range(length * length):
        legal[position] = 0
    for y in range(state["y_size"]):
        for x in range(state["x_size"]):
            legal[y * length + x] = scratch.legal_points[(y + 1) * STRIDE + x + 1]
    legal[length * length] = scratch.legal_points[PASS]
    parameters = forest.parameters[slot]
    at_root = index == ROOT
    inputs.optimism[row] = parameters["root_policy_optimism"] if at_root else parameters["policy_optimism"]
    inputs.symmetry[row] = _next_symmetry(forest, slot, index)
    forest.nodes[slot, index]["status"] = PENDING


@njit(cache=True, nogil=True)
def _write_ladder(ladder: npt.NDArray[np.int8], state: Any, age: int, length: int) -> None:
    """Give ``state`` the map of a node ``age`` turns earlier, so that encoding need not know it."""
    target = state["ladder"][age]
    for y in range(state["y_size"]):
        for x in range(state["x_size"]):
            target[(y + 1) * STRIDE + x + 1] = ladder[y * length + x]
    state["ladder_known"][age] = 1


@njit(cache=True, nogil=True)
def _read_ladder(ladder: npt.NDArray[np.int8], state: Any, length: int) -> None:
    """Keep the map that encoding left in ``state``."""
    source = state["ladder"][0]
    for y in range(state["y_size"]):
        for x in range(state["x_size"]):
            ladder[y * length + x] = source[(y + 1) * STRIDE + x + 1]


@njit(cache=True, nogil=True)
def _next_symmetry(forest: Forest, slot: int, index: int) -> int:
    """The symmetry to evaluate node ``index`` in: distinct ones for the samples of the root, else a fresh draw."""
    if index == ROOT and forest.parameters[slot]["root_num_symmetries_to_sample"] > 1:
        return next_root_symmetry(forest, slot)
    return below(forest.generators[slot], NUM_SYMMETRIES) if forest.parameters[slot]["nn_randomize"] else 0


@njit(cache=True, nogil=True)
def _wants_playout(forest: Forest, slot: int) -> bool:
    search = forest.searches[slot]
    root = forest.nodes[slot, ROOT]
    return bool(root["status"] == UNEVALUATED or root["visits"] + search["pending"] < search["visits_limit"])


@njit(cache=True, nogil=True)
def _descend_slot(
    forest: Forest, slot: int, playouts: Playouts, rows: int, inputs: Inputs, scratch: Scratch, context: Context
) -> int:
    """Start playouts of one slot from batch row ``rows`` on; returns the rows filled then.

    A playout that ends where the game does is backed up at once, but counts as a leaf while others are under way,
    so that decided lines do not flood the statistics meanwhile. One that meets a node under evaluation is given up.
    """
    search = forest.searches[slot]
    history = forest.histories[slot]
    keys = forest.states[slot]["history_count"]
    started = 0
    while started < context.leaves and _wants_playout(forest, slot):
        status = _walk(forest, slot, playouts, rows, scratch, context)
        if status == PENDING:
            _give_up(forest, playouts, rows)
            started = context.leaves
        elif status == TERMINAL:
            _back_up(forest, playouts, rows, scratch, context)
            if search["pending"] > 0:
                started += 1
        else:
            _encode_leaf(forest, slot, playouts, rows, inputs, scratch, context)
            search["pending"] += 1
            started += 1
            rows += 1
        rewind(history, keys)
    return rows


@njit(cache=True, nogil=True)
def descend_all(forest: Forest, playouts: Playouts, inputs: Inputs, scratch: Scratch, context: Context) -> int:
    """One round down for every running slot; returns the number of batch rows to evaluate."""
    forest = borrowed(forest)
    playouts = borrowed(playouts)
    inputs = borrowed(inputs)
    scratch = borrowed(scratch)
    context = borrowed(context)
    rows: Any = np.int64(0)
    for slot in range(forest.searches.shape[0]):
        if forest.searches[slot]["status"] == RUNNING:
            rows = _descend_slot(forest, slot, playouts, rows, inputs, scratch, context)
    return int(rows)


# -- up --


@njit(cache=True, nogil=True)
def _give_up(forest: Forest, playouts: Playouts, row: int) -> None:
    """Undo a playout that met a node under evaluation; it has made no edge, since new children are leaves."""
    slot: Any = np.int64(playouts.slots[row])
    for depth in range(playouts.depths[row] + 1):
        forest.nodes[slot, playouts.nodes[row, depth]]["virtual_losses"] -= 1


@njit(cache=True, nogil=True)
def _back_up(forest: Forest, playouts: Playouts, row: int, scratch: Scratch, context: Context) -> None:
    """Count the playout of ``row`` along its path and recompute every node of it, from the leaf to the root."""
    slot: Any = np.int64(playouts.slots[row])
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    last = playouts.depths[row]
    for depth in range(last, -1, -1):
        index: Any = np.int64(playouts.nodes[row, depth])
        node = nodes[index]
        node["virtual_losses"] -= 1
        node["visits"] += 1
        if depth < last:
            edges[playouts.edges[row, depth]]["visits"] += 1
        recompute(nodes, edges, index, index == ROOT, forest.parameters[slot], context.student_table, scratch)


@njit(cache=True, nogil=True)
def _expand_root(
    forest: Forest, playouts: Playouts, row: int, outputs: Outputs, scratch: Scratch, context: Context
) -> bool:
    """Take an evaluation of the root in; after the last of its samples the root is EVALUATED.

    A root that had visits, kept from an earlier search, counts none for being evaluated anew.
    """
    slot: Any = np.int64(playouts.slots[row])
    root = forest.nodes[slot, ROOT]
    finite = add_root_sample(forest, slot, playouts, row, outputs, scratch)
    if forest.searches[slot]["samples_done"] < forest.parameters[slot]["root_num_symmetries_to_sample"]:
        root["status"] = UNEVALUATED
        root["virtual_losses"] -= 1
        return finite
    use_root_policy(forest, slot, scratch)
    finish_evaluation(forest, slot, ROOT, context)
    if root["visits"] > 0:
        root["visits"] -= 1
    _back_up(forest, playouts, row, scratch, context)
    return finite


@njit(cache=True, nogil=True)
def _expand_row(
    forest: Forest, playouts: Playouts, row: int, outputs: Outputs, scratch: Scratch, context: Context
) -> bool:
    """Take batch row ``row`` into its leaf and back it up; False if the evaluation is not finite."""
    slot: Any = np.int64(playouts.slots[row])
    forest.searches[slot]["pending"] -= 1
    index: Any = np.int64(playouts.nodes[row, playouts.depths[row]])
    node = forest.nodes[slot, index]
    if index == ROOT:
        finite = _expand_root(forest, playouts, row, outputs, scratch, context)
    else:
        store_evaluation(node, outputs, row)
        mix_ownership(forest, slot, index, outputs, row, 1.0)
        temperature = forest.parameters[slot]["nn_policy_temperature"]
        finite = write_policy(outputs.policy[row], playouts.legal[row], temperature, forest.priors[slot, index])
        finish_evaluation(forest, slot, index, context)
        _back_up(forest, playouts, row, scratch, context)
    return finite and math.isfinite(forest.nodes[slot, ROOT]["utility"])


@njit(cache=True, nogil=True)
def _is_done(forest: Forest, slot: int) -> bool:
    search = forest.searches[slot]
    return search["status"] == RUNNING and search["pending"] == 0 and not _wants_playout(forest, slot)


@njit(cache=True, nogil=True)
def expand_all(
    forest: Forest,
    playouts: Playouts,
    rows: int,
    outputs: Outputs,
    scratch: Scratch,
    context: Context,
    finished: npt.NDArray[np.int32],
) -> int:
    """Take in the evaluations of ``rows`` rows; lists the slots that are done in ``finished`` [G].

    Returns:
        Their number, or NOT_FINITE if an evaluation was not finite.
    """
    forest = borrowed(forest)
    playouts = borrowed(playouts)
    outputs = borrowed(outputs)
    scratch = borrowed(scratch)
    context = borrowed(context)
    finite = True
    for row in range(rows):
        finite = _expand_row(forest, playouts, row, outputs, scratch, context) and finite
    if not finite:
        return NOT_FINITE
    count = 0
    for slot in range(forest.searches.shape[0]):
        if _is_done(forest, slot):
            forest.searches[slot]["status"] = FINISHED
            finished[count] = slot
            count += 1
    return count
