"""The root: how a search begins, how the root's evaluations become its policy (search.md 2.5, 5, 9)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from client.search.backup import recompute
from client.search.grow import clear_tree
from client.search.leaf import (
    mix_evaluation,
    mix_ownership,
    mixed,
    set_own_utility,
    set_own_weight,
    store_evaluation,
    write_policy,
)
from client.search.rng import below
from client.search.root_policy import make_root_policy
from client.search.tree import (
    EVALUATED,
    NO_EDGE,
    ROOT,
    RUNNING,
    UNEVALUATED,
    UNKNOWN_POSITION,
    Context,
    Forest,
    Outputs,
    Playouts,
    Scratch,
)
from client.search.utility import dynamic_centre
from client.search.values import SCORE_MEAN
from common.go.symmetry import NUM_SYMMETRIES
from common.kernels import njit


@njit(cache=True, nogil=True)
def begin_search(
    forest: Forest, slot: int, visits: int, turn: int, keep_tree: bool, scratch: Scratch, context: Context
) -> None:
    """Set a slot running whose state, history, parameters and generator are in place.

    A kept tree gets the new score centre throughout, and its root a new policy; a root that is to be averaged over
    several symmetries, or seen with other inputs or another optimism than the tree, is evaluated anew first.
    """
    search = forest.searches[slot]
    state = forest.states[slot]
    parameters = forest.parameters[slot]
    search["status"] = RUNNING
    search["visits_limit"] = visits
    search["pending"] = 0
    search["turn"] = turn
    search["samples_done"] = 0
    search["sqrt_area"] = math.sqrt(float(state["x_size"]) * float(state["y_size"]))
    if not keep_tree:
        clear_tree(forest, slot)
    root = forest.nodes[slot, ROOT]
    if root["status"] != EVALUATED:
        return
    search["centre"] = dynamic_centre(root["mean"][SCORE_MEAN], search["sqrt_area"], parameters)
    _recompute_tree(forest, slot, scratch, context)
    other_optimism = parameters["root_policy_optimism"] != parameters["policy_optimism"]
    several = parameters["root_num_symmetries_to_sample"] > 1
    if several or other_optimism or parameters["ignore_pre_root_history"]:
        root["status"] = UNEVALUATED
    else:
        use_root_policy(forest, slot, scratch)


@njit(cache=True, nogil=True)
def _recompute_tree(forest: Forest, slot: int, scratch: Scratch, context: Context) -> None:
    """Recompute every node under the current centre; children lie behind their parents."""
    nodes = forest.nodes[slot]
    for index in range(forest.searches[slot]["num_nodes"] - 1, ROOT - 1, -1):
        if nodes[index]["visits"] == 0:
            continue
        set_own_utility(forest, slot, index, context)
        if nodes[index]["status"] == EVALUATED:
            set_own_weight(forest, slot, index, context)
        recompute(
            nodes,
            forest.edges[slot],
            index,
            index == ROOT,
            forest.parameters[slot],
            context.student_table,
            scratch,
        )


@njit(cache=True, nogil=True)
def next_root_symmetry(forest: Forest, slot: int) -> int:
    """A symmetry in which the root has not been evaluated in this search; all are equally likely."""
    search = forest.searches[slot]
    order = search["sample_order"]
    done = search["samples_done"]
    if done == 0:
        for i in range(NUM_SYMMETRIES):
            order[i] = i
    drawn = done + below(forest.generators[slot], NUM_SYMMETRIES - done)
    symmetry = order[drawn]
    order[drawn] = order[done]
    order[done] = symmetry
    return int(symmetry)


@njit(cache=True, nogil=True)
def add_root_sample(
    forest: Forest, slot: int, playouts: Playouts, row: int, outputs: Outputs, scratch: Scratch
) -> bool:
    """Fold one evaluation of the root into the mean of its samples; False if its policy is not finite.

    The first sample also sets the score centre of a search that has no visits yet.
    """
    search = forest.searches[slot]
    node = forest.nodes[slot, ROOT]
    sample = scratch.sample[0]
    sample["to_move"] = node["to_move"]
    store_evaluation(sample, outputs, row)
    policy = forest.priors[slot, ROOT]
    temperature = forest.parameters[slot]["nn_policy_temperature"]
    finite = write_policy(outputs.policy[row], playouts.legal[row], temperature, policy)
    share = 1.0 / (search["samples_done"] + 1.0)
    mix_evaluation(node, sample, share)
    mix_ownership(forest, slot, ROOT, outputs, row, share)
    mean_policy = forest.raw_policies[slot]
    for position in range(policy.shape[0]):
        mean_policy[position] = mixed(mean_policy[position], policy[position], share)
    if search["samples_done"] == 0 and node["visits"] == 0:
        search["centre"] = dynamic_centre(node["own"][SCORE_MEAN], search["sqrt_area"], forest.parameters[slot])
    search["samples_done"] += 1
    return finite


@njit(cache=True, nogil=True)
def use_root_policy(forest: Forest, slot: int, scratch: Scratch) -> None:
    """Set the policy that the search uses at the root from the raw one, and tell the edges."""
    search = forest.searches[slot]
    policy = forest.priors[slot, ROOT]
    for position in range(policy.shape[0]):
        policy[position] = forest.raw_policies[slot, position]
    turn: Any = np.int64(search["turn"])
    parameters = forest.parameters[slot]
    make_root_policy(policy, turn, search["sqrt_area"], parameters, forest.generators[slot], scratch.factors)
    root = forest.nodes[slot, ROOT]
    root["next_position"] = UNKNOWN_POSITION
    e = root["first_edge"]
    while e != NO_EDGE:
        edge = forest.edges[slot, e]
        edge["prior"] = policy[edge["position"]]
        e = edge["next_edge"]
