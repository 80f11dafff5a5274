"""Playouts: from the root to a leaf and into the evaluation batch, and from the evaluation back to the root.

`descend_all` and `expand_all` are the two kernels of a round; between them the evaluator works. A playout plays on a
scratch copy of the root's STATE and takes its keys back from the HISTORY when the leaf has been encoded; nothing is
allocated. Which slots share a call changes no result: a search draws from its own generator, in its own order.
Specification: search.md 2.1, 2.2, 3, 4.3, 4.7, 5, 7, 8.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from client.search.backup import recompute
from client.search.bias import bias_key, has_bias
from client.search.cache import NO_ENTRY, Cache, CacheForm, find_entry, keep_answer, read_entry
from client.search.ending import set_ending_points
from client.search.evaluation_key import key_of_situation, key_symmetry, with_symmetry
from client.search.graph import catches_up, child_key, is_on_path
from client.search.grow import add_edge, new_node
from client.search.keys import situation_key
from client.search.leaf import end_game, finish_evaluation, mix_ownership, store_evaluation, write_policy
from client.search.mirror import lean_to_centre
from client.search.passing import cap_pass, is_left_open, look_aside
from client.search.rng import below
from client.search.root import (
    add_root_sample,
    next_root_symmetry,
    share_priors,
    use_root_policy,
    wants_root_ownership,
)
from client.search.root_select import select_by_rules
from client.search.select import select_move
from client.search.tables import bias_of_key, find_node, put_node
from client.search.tree import (
    EVALUATED,
    FINISHED,
    NO_EDGE,
    NO_NODE,
    NO_POSITION,
    PENDING,
    ROOT,
    RUNNING,
    TERMINAL,
    UNEVALUATED,
    Context,
    Forest,
    Inputs,
    LadderRows,
    Outputs,
    Playouts,
    Scratch,
)
from client.search.values import are_finite
from common.features import FeatureOptions, encode
from common.go.board import copy_state
from common.go.history import rewind
from common.go.ladder_readings import NO_READING
from common.go.ladders import LADDERED
from common.go.play import LEGAL, is_legal, pass_would_end_phase, play
from common.go.points import EMPTY, MAX_LENGTH, NUM_POINTS, PASS, STRIDE, point_of
from common.go.state import MAX_READINGS, NUM_RECENT, History, State
from common.go.symmetry import NUM_SYMMETRIES
from common.kernels import njit

ENDS_HERE: Final = 4
"""How a walk may end besides the statuses of a node: at an evaluated one that counts the playout itself, since the edge
it chose catches up with its child (search.md 7), or since every move is avoided (4.5)."""
NOT_FINITE: Final = -1
"""What `expand_all` returns for an evaluation with infinities or no numbers."""

MOST_FOUND: Final = 32
"""Leaves of one slot that may be taken from the cache in one round."""

_OFF: Final = int(CacheForm.OFF)
_INPUTS: Final = int(CacheForm.INPUTS)
_NO_KEY: Final[Any] = np.uint64(0)

# -- down --


@njit(cache=True, nogil=True)
def _read_situation(history: History, scratch: Scratch) -> None:
    """Find the situation's key of the position in the scratch, which graph search and the cache ask for, once."""
    if not scratch.knows_situation[0]:
        first, second = situation_key(scratch.state[0], history)
        scratch.situation[0] = first
        scratch.situation[1] = second
        scratch.knows_situation[0] = True


@njit(cache=True, nogil=True)
def _link(
    forest: Forest,
    slot: int,
    parent: int,
    position: int,
    is_open: bool,
    bias: tuple[bool, Any, Any],
    scratch: Scratch,
    context: Context,
) -> int:
    """Give ``parent`` an edge for the move ``position`` that has been played in the scratch; returns the edge.

    It leads to a new node, or in graph search to one that another way has led to. If that is under evaluation no edge
    is made, since the playout is given up, and NO_EDGE returned.

    Args:
        is_open: the search goes on from there even if the game is over.
        bias: whether a new node has an entry of the subtree value bias, and of which key (two np.uint64).
    """
    state = scratch.state[0]
    nodes = forest.nodes[slot]
    is_graph = forest.searches[slot]["is_graph"]
    first = second = np.uint64(0)
    if is_graph:
        bound = forest.parameters[slot]["graph_search_rep_bound"]
        goes_on = is_open and state["finished"] != 0
        history = forest.histories[slot]
        _read_situation(history, scratch)
        parent_key = nodes[parent]["key"]
        first, second = child_key(parent_key, scratch.situation, state, history, bound, goes_on, scratch)
        met = find_node(forest, slot, first, second, state["to_move"])
        if met != NO_NODE:
            return NO_EDGE if nodes[met]["status"] == PENDING else add_edge(forest, slot, parent, position, met)
    child: Any = np.int64(new_node(forest, slot))
    node = nodes[child]
    node["to_move"] = state["to_move"]
    if bias[0]:
        node["bias"] = bias_of_key(forest, slot, bias[1], bias[2])
    if is_graph:
        node["key"][0] = first
        node["key"][1] = second
        put_node(forest, slot, child)
    if state["finished"] and not is_open:
        end_game(forest, slot, child, scratch, context)
    return add_edge(forest, slot, parent, position, child)


@njit(cache=True, nogil=True)
def _step(
    forest: Forest, slot: int, playouts: Playouts, row: int, depth: int, scratch: Scratch, context: Context
) -> int:
    """Take one move from node ``depth`` of the path; returns EVALUATED if the walk goes on from the next node.

    A look aside (search.md 4.6) is marked in ``playouts.counts_from``.

    It may end here: ENDS_HERE, its last edge being counted; in graph search PENDING at a node under evaluation, or
    UNEVALUATED where the move is illegal, since the node was evaluated with another history, and is to be again.
    """
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    search = forest.searches[slot]
    parameters = forest.parameters[slot]
    state = scratch.state[0]
    history = forest.histories[slot]
    index: Any = np.int64(playouts.nodes[row, depth])
    if search["rules_inside"] or index == ROOT:
        edge, position = select_by_rules(forest, slot, index, depth, scratch, context)
        if edge == NO_EDGE and position == NO_POSITION:
            return ENDS_HERE
    else:
        edge, position = select_move(nodes, edges, forest.priors[slot, index], index, parameters, scratch)
    hides_pass = parameters["enable_more_passing_hacks"] and not search["avoids"]
    if hides_pass and pass_would_end_phase(state, history):
        aside = look_aside(forest, slot, index, edge, position, depth)
        if aside != NO_POSITION:
            playouts.counts_from[row] = depth + 1
            edge, position = NO_EDGE, aside
    move: Any = np.int64(position if edge == NO_EDGE else edges[edge]["position"])
    point = point_of(move, context.length)
    if search["is_graph"] and index != ROOT and not is_legal(state, history, point):
        nodes[index]["status"] = UNEVALUATED
        return UNEVALUATED
    biased = edge == NO_EDGE and search["is_biased"] and has_bias(state, point)
    bias_first = bias_second = np.uint64(0)
    if biased:
        bias_first, bias_second = bias_key(state, point)
    is_open = point == PASS and is_left_open(state, history, index == ROOT, parameters)
    play(state, history, point)
    scratch.knows_situation[0] = False
    if edge == NO_EDGE:
        bias = (biased, bias_first, bias_second)
        edge = _link(forest, slot, index, move, is_open, bias, scratch, context)
        if edge == NO_EDGE:
            return PENDING
    child: Any = np.int64(edges[edge]["child"])
    looks_aside = playouts.counts_from[row] > depth
    if (not looks_aside and catches_up(forest, slot, edge)) or (
        search["is_graph"] and is_on_path(nodes, playouts, row, depth, child)
    ):
        if not looks_aside:
            edges[edge]["visits"] += 1
        return ENDS_HERE
    playouts.edges[row, depth] = edge
    playouts.nodes[row, depth + 1] = child
    nodes[child]["virtual_losses"] += 1
    return EVALUATED


@njit(cache=True, nogil=True)
def _walk(forest: Forest, slot: int, playouts: Playouts, row: int, scratch: Scratch, context: Context) -> int:
    """Play from the root down to the first node that is not EVALUATED; returns its status, or ENDS_HERE.

    Leaves the leaf's position in ``scratch.state``, its keys in the HISTORY and the path in ``playouts``.
    """
    copy_state(scratch.state, 0, forest.states, slot)
    scratch.knows_situation[0] = False
    nodes = forest.nodes[slot]
    index = ROOT
    depth = 0
    playouts.slots[row] = slot
    playouts.counts_from[row] = 0
    playouts.nodes[row, 0] = ROOT
    nodes[ROOT]["to_move"] = scratch.state[0]["to_move"]
    nodes[ROOT]["virtual_losses"] += 1
    step = EVALUATED
    while nodes[index]["status"] == EVALUATED:
        step = _step(forest, slot, playouts, row, depth, scratch, context)
        if step != EVALUATED:
            break
        depth += 1
        index = np.int64(playouts.nodes[row, depth])
    playouts.depths[row] = depth
    return int(nodes[index]["status"] if step == EVALUATED else step)


@njit(cache=True, nogil=True)
def _feature_options(forest: Forest, slot: int, to_move: int, depth: int) -> FeatureOptions:
    """What the net is told of a position ``depth`` turns below the root besides the position itself."""
    parameters = forest.parameters[slot]
    advantage = parameters["playout_doubling_advantage"]
    if to_move != forest.searches[slot]["advantage_player"]:
        advantage = -advantage
    turns = NUM_RECENT
    if parameters["ignore_all_history"]:
        turns = 0
    elif parameters["ignore_pre_root_history"]:
        turns = min(depth, NUM_RECENT)
    hides_the_end = depth == 0 and bool(parameters["conservative_pass"])
    return FeatureOptions(advantage, hides_the_end, bool(parameters["enable_passing_hacks"]), turns)


@njit(cache=True, nogil=True)
def _name_leaf(
    forest: Forest, slot: int, playouts: Playouts, row: int, inputs: Inputs, cache: Cache, scratch: Scratch
) -> None:
    """Choose the symmetry of the leaf in the scratch, and the key under which its evaluation is sought and kept.

    Distinct symmetries for the samples of the root; else what the form of the cache says. No key where the entry would
    not say all that is needed, or where the situation's has misled a graph search (search.md 4.3).
    """
    parameters = forest.parameters[slot]
    index: Any = np.int64(playouts.nodes[row, playouts.depths[row]])
    is_sample = index == ROOT and parameters["root_num_symmetries_to_sample"] > 1
    by_inputs = cache.form == _INPUTS
    first = _NO_KEY
    second = _NO_KEY
    if by_inputs or (cache.form != _OFF and not is_sample):
        state = scratch.state[0]
        history = forest.histories[slot]
        options = _feature_options(forest, slot, state["to_move"], playouts.depths[row])
        _read_situation(history, scratch)
        words = scratch.situation
        optimism = _optimism(parameters, index)
        first, second = key_of_situation(words[0], words[1], state, history, options, optimism, by_inputs)
    symmetry: Any = np.int64(0)
    if is_sample:
        symmetry = np.int64(next_root_symmetry(forest, slot))
    elif parameters["nn_randomize"]:
        symmetry = np.int64(below(forest.generators[slot], NUM_SYMMETRIES))
        if by_inputs:
            symmetry = np.int64(key_symmetry(second, forest.searches[slot]["symmetry_salt"]))
    if by_inputs:
        first, second = with_symmetry(first, second, symmetry)
    lacks_ownership = cache.answers.ownership.shape[1] == 0 and _needs_ownership(forest, slot, index)
    is_repeated = index != ROOT and forest.nodes[slot, index]["visits"] > 0
    if lacks_ownership or (is_repeated and not by_inputs):
        first = _NO_KEY
        second = _NO_KEY
    inputs.symmetry[row] = symmetry
    playouts.keys[row, 0] = first
    playouts.keys[row, 1] = second


@njit(cache=True, nogil=True)
def _is_found(
    forest: Forest, slot: int, playouts: Playouts, row: int, cache: Cache, scratch: Scratch, context: Context
) -> bool:
    """Look for the leaf's evaluation in the cache; one that is there is taken in and backed up at once."""
    entry = find_entry(cache, playouts.keys[row, 0], playouts.keys[row, 1])
    if entry == NO_ENTRY:
        return False
    index: Any = np.int64(playouts.nodes[row, playouts.depths[row]])
    read_entry(cache, entry, playouts.legal[row], forest.ladders[slot, index])
    forest.readings[slot, index, 0] = NO_READING
    _expand_leaf(forest, playouts, row, cache.answers, entry, scratch, context)
    cache.hits[0] += 1
    return True


@njit(cache=True, nogil=True)
def _needs_ownership(forest: Forest, slot: int, index: int) -> bool:
    """Whether the search itself needs to know who owns which point at node ``index``."""
    if forest.searches[slot]["mirroring"] != EMPTY:
        return True
    return bool(index == ROOT and wants_root_ownership(forest.parameters[slot]))


@njit(cache=True, nogil=True)
def _optimism(parameters: Any, index: int) -> float:
    """Weight of the optimistic policy at node ``index``."""
    return float(parameters["root_policy_optimism"] if index == ROOT else parameters["policy_optimism"])


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
        _write_ladder(forest.ladders[slot, playouts.nodes[row, depth - age]], state, age)
    if depth > 0:
        _copy_readings(forest.readings[slot, playouts.nodes[row, depth - 1]], state["reading"][1])
    options = _feature_options(forest, slot, state["to_move"], depth)
    encode(state, history, length, options, inputs.planes[row], inputs.global_inputs[row], scratch.features[0])
    index: Any = np.int64(playouts.nodes[row, depth])
    _read_ladder(forest.ladders[slot, index], state)
    _copy_readings(state["reading"][0], forest.readings[slot, index])
    if depth == 0 and state["ladder_known"][1] != 0:
        _keep_earlier_ladder(state, forest.states[slot])
    legal = playouts.legal[row]
    marks = scratch.features[0]["marks"]
    for position in range(length * length):
        legal[position] = 0
    for y in range(state["y_size"]):
        for x in range(state["x_size"]):
            legal[y * length + x] = marks[(y + 1) * STRIDE + x + 1] & LEGAL
    legal[length * length] = 1
    inputs.optimism[row] = _optimism(forest.parameters[slot], index)
    inputs.wants_ownership[row] = forest.ownership.shape[2] > 0 or _needs_ownership(forest, slot, index)
    forest.nodes[slot, index]["status"] = PENDING


@njit(cache=True, nogil=True)
def _write_ladder(ladder: LadderRows, state: Any, age: int) -> None:
    """Give ``state`` the stones in ladders of a node ``age`` turns earlier, which is all that is shown of its map."""
    target = state["ladder"][age]
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        for x in range(MAX_LENGTH):  # as many as a row may have, whatever the board: several at once
            target[first + x] = (ladder[y] >> np.uint32(x)) & LADDERED
    state["ladder_known"][age] = 1


@njit(cache=True, nogil=True)
def _read_ladder(ladder: LadderRows, state: Any) -> None:
    """Keep the stones in ladders of the map that encoding left in ``state``."""
    source = state["ladder"][0]
    for y in range(state["y_size"]):
        first = (y + 1) * STRIDE + 1
        bits = 0
        for x in range(MAX_LENGTH):
            bits |= (source[first + x] & LADDERED) << x
        ladder[y] = bits


@njit(cache=True, nogil=True)
def _keep_earlier_ladder(state: State, root: State) -> None:
    """Give the root's STATE the map of the turn before it, which every leaf a turn below it is shown."""
    for point in range(NUM_POINTS):
        root["ladder"][1, point] = state["ladder"][1, point]
    root["ladder_known"][1] = 1


@njit(cache=True, nogil=True)
def _copy_readings(source: npt.NDArray[np.int64], target: npt.NDArray[np.int64]) -> None:
    """Carry what ladder searches looked at from a node to a STATE, or back."""
    for index in range(MAX_READINGS):
        target[index] = source[index]


@njit(cache=True, nogil=True)
def _wants_playout(forest: Forest, slot: int) -> bool:
    search = forest.searches[slot]
    root = forest.nodes[slot, ROOT]
    if root["status"] == UNEVALUATED:
        return True
    has_room = search["num_nodes"] < forest.nodes.shape[1] and search["num_edges"] < forest.edges.shape[1]
    return bool(has_room and root["visits"] + search["pending"] < search["visits_limit"])


@njit(cache=True, nogil=True)
def _descend_slot(
    forest: Forest,
    slot: int,
    playouts: Playouts,
    rows: int,
    inputs: Inputs,
    cache: Cache,
    scratch: Scratch,
    context: Context,
) -> int:
    """Start playouts of one slot from batch row ``rows`` on; returns the rows filled then.

    A playout that ends where the game does, where every move is avoided or where an edge catches up with its child is
    backed up at once, but counts as a leaf while others are under way, so that such lines do not flood the statistics
    meanwhile. One that meets a node under evaluation is given up. One whose leaf is in the cache is backed up at once,
    too, but only so many in a round: others wait for theirs.
    """
    search = forest.searches[slot]
    history = forest.histories[slot]
    keys = forest.states[slot]["history_count"]
    started = 0
    found = 0
    while started < search["leaves"] and found < MOST_FOUND and _wants_playout(forest, slot):
        status = _walk(forest, slot, playouts, rows, scratch, context)
        if status == PENDING:
            _give_up(forest, playouts, rows)
            started = search["leaves"]
        elif status in (TERMINAL, ENDS_HERE):
            _back_up(forest, playouts, rows, scratch, context)
            if search["pending"] > 0:
                started += 1
        else:
            _name_leaf(forest, slot, playouts, rows, inputs, cache, scratch)
            if _is_found(forest, slot, playouts, rows, cache, scratch, context):
                found += 1
            else:
                _encode_leaf(forest, slot, playouts, rows, inputs, scratch, context)
                search["pending"] += 1
                started += 1
                rows += 1
        rewind(history, keys)
    return rows


@njit(cache=True, nogil=True)
def descend_all(
    forest: Forest, playouts: Playouts, inputs: Inputs, cache: Cache, scratch: Scratch, context: Context
) -> int:
    """One round down for every running slot; returns the number of batch rows to evaluate."""
    rows: Any = np.int64(0)
    for slot in range(forest.searches.shape[0]):
        if forest.searches[slot]["status"] == RUNNING:
            rows = _descend_slot(forest, slot, playouts, rows, inputs, cache, scratch, context)
    return int(rows)


# -- up --


@njit(cache=True, nogil=True)
def _give_up(forest: Forest, playouts: Playouts, row: int) -> None:
    """Undo a playout that met a node under evaluation; it has made no edge (see `_link`)."""
    slot: Any = np.int64(playouts.slots[row])
    for depth in range(playouts.depths[row] + 1):
        forest.nodes[slot, playouts.nodes[row, depth]]["virtual_losses"] -= 1


@njit(cache=True, nogil=True)
def _back_up(forest: Forest, playouts: Playouts, row: int, scratch: Scratch, context: Context) -> None:
    """Count the playout of ``row`` along its path and recompute every node of it, from the leaf to the root.

    One that looked aside counts for the nodes there alone (search.md 4.6).
    """
    slot: Any = np.int64(playouts.slots[row])
    nodes = forest.nodes[slot]
    edges = forest.edges[slot]
    biases = forest.biases[slot]
    last = playouts.depths[row]
    for depth in range(last, -1, -1):
        index: Any = np.int64(playouts.nodes[row, depth])
        node = nodes[index]
        node["virtual_losses"] -= 1
        if depth < playouts.counts_from[row]:
            continue
        node["visits"] += 1
        if depth < last:
            edges[playouts.edges[row, depth]]["visits"] += 1
        recompute(nodes, edges, biases, index, index == ROOT, forest.parameters[slot], context.student_table, scratch)


@njit(cache=True, nogil=True)
def _expand_root(
    forest: Forest, playouts: Playouts, row: int, outputs: Outputs, answer: int, scratch: Scratch, context: Context
) -> bool:
    """Take an evaluation of the root in; after the last of its samples the root is EVALUATED.

    A root that had visits, kept from an earlier search, counts none for being evaluated anew.
    """
    slot: Any = np.int64(playouts.slots[row])
    root = forest.nodes[slot, ROOT]
    finite = add_root_sample(forest, slot, playouts.legal[row], outputs, answer, scratch, context.length)
    if forest.searches[slot]["samples_done"] < forest.parameters[slot]["root_num_symmetries_to_sample"]:
        root["status"] = UNEVALUATED
        root["virtual_losses"] -= 1
        return finite
    use_root_policy(forest, slot, scratch)
    if forest.parameters[slot]["root_ending_bonus_points"] != 0.0:
        set_ending_points(forest, slot, scratch, context.length)
    finish_evaluation(forest, slot, ROOT, context)
    if root["visits"] > 0:
        root["visits"] -= 1
    _back_up(forest, playouts, row, scratch, context)
    return finite


@njit(cache=True, nogil=True)
def _expand_leaf(
    forest: Forest, playouts: Playouts, row: int, outputs: Outputs, answer: int, scratch: Scratch, context: Context
) -> bool:
    """Take row ``answer`` of ``outputs`` into the leaf of playout ``row`` and back it up; False if it is not finite."""
    slot: Any = np.int64(playouts.slots[row])
    index: Any = np.int64(playouts.nodes[row, playouts.depths[row]])
    node = forest.nodes[slot, index]
    if index == ROOT:
        finite = _expand_root(forest, playouts, row, outputs, answer, scratch, context)
    else:
        if node["visits"] > 0:  # evaluated again, which counts above it alone
            node["visits"] -= 1
        store_evaluation(node, outputs, answer)
        mix_ownership(forest, slot, index, outputs, answer, 1.0)
        if forest.searches[slot]["mirroring"] != EMPTY:
            pull = forest.searches[slot]["mirror_pull"]
            lean_to_centre(node, forest.states[slot], outputs.ownership[answer], pull, context.length)
        temperature = forest.parameters[slot]["nn_policy_temperature"]
        finite = write_policy(outputs.policy[answer], playouts.legal[row], temperature, forest.priors[slot, index])
        if forest.parameters[slot]["enable_passing_hacks"]:
            cap_pass(forest.priors[slot, index])
        share_priors(forest, slot, index)
        finish_evaluation(forest, slot, index, context)
        _back_up(forest, playouts, row, scratch, context)
    return finite and are_finite(node["own"]) and math.isfinite(forest.nodes[slot, ROOT]["utility"])


@njit(cache=True, nogil=True)
def _expand_row(
    forest: Forest, playouts: Playouts, row: int, outputs: Outputs, cache: Cache, scratch: Scratch, context: Context
) -> bool:
    """Take batch row ``row`` into its leaf, and into the cache; False if the evaluation is not finite."""
    slot: Any = np.int64(playouts.slots[row])
    index: Any = np.int64(playouts.nodes[row, playouts.depths[row]])
    forest.searches[slot]["pending"] -= 1
    keep_answer(cache, playouts, row, outputs, forest.ladders[slot, index])
    return bool(_expand_leaf(forest, playouts, row, outputs, row, scratch, context))


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
    cache: Cache,
    scratch: Scratch,
    context: Context,
    finished: npt.NDArray[np.int32],
) -> int:
    """Take in the evaluations of ``rows`` rows; lists the slots that are done in ``finished`` [G].

    Returns:
        Their number, or NOT_FINITE if an evaluation was not finite.
    """
    finite = True
    for row in range(rows):
        finite = _expand_row(forest, playouts, row, outputs, cache, scratch, context) and finite
    if not finite:
        return NOT_FINITE
    count = 0
    for slot in range(forest.searches.shape[0]):
        if _is_done(forest, slot):
            forest.searches[slot]["status"] = FINISHED
            finished[count] = slot
            count += 1
    return count
