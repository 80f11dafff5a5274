"""The root: how a search begins, how the root's evaluations become its policy (search.md 2.5, 5, 9)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from client.search.graph import root_key
from client.search.grow import clear_tree, drop_root_edges
from client.search.leaf import mix_evaluation, mix_ownership, mixed, store_evaluation, write_policy
from client.search.limits import set_limits
from client.search.mirror import face_mirror_go, lean_to_centre
from client.search.passing import cap_pass
from client.search.reuse import fits, keep_below, recompute_tree
from client.search.rng import below
from client.search.root_moves import favour_hint, find_candidates, rescale_avoided
from client.search.root_policy import make_root_policy
from client.search.select import sign_of
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
    Scratch,
)
from client.search.utility import dynamic_centre
from client.search.values import SCORE_MEAN
from common.go.play import pass_would_end_game
from common.go.points import EMPTY
from common.go.symmetry import NUM_SYMMETRIES
from common.kernels import njit


@njit(cache=True, nogil=True)
def begin_search(
    forest: Forest,
    slot: int,
    visits: int,
    playouts: int,
    turn: int,
    keep_tree: bool,
    scratch: Scratch,
    context: Context,
) -> None:
    """Set a slot running whose state, history, parameters, guidance and generator are in place.

    ``visits`` of the root and ``playouts`` of this search are what it may take at most.
    """
    _begin_tree(forest, slot, visits, turn, keep_tree, scratch, context)
    search, root, state = forest.searches[slot], forest.nodes[slot, ROOT], forest.states[slot]
    set_limits(search, root, state, forest.parameters[slot], visits, playouts, context.leaves)


@njit(cache=True, nogil=True)
def _begin_tree(
    forest: Forest, slot: int, visits: int, turn: int, keep_tree: bool, scratch: Scratch, context: Context
) -> None:
    """Keep the tree, or clear it, and ready its root.

    A tree that does not fit (`client.search.reuse.fits`), or that saw a pass end the game where the root must not
    (search.md 4.6), is not kept. Another loses the root's children that may not be there, gets the new score centre
    throughout, and its root a new policy; a root that `_needs_evaluation` is evaluated anew first.
    """
    search = forest.searches[slot]
    state = forest.states[slot]
    parameters = forest.parameters[slot]
    search["status"] = RUNNING
    search["pending"] = 0
    search["turn"] = turn
    search["samples_done"] = 0
    search["sqrt_area"] = math.sqrt(float(state["x_size"]) * float(state["y_size"]))
    hides_the_end = parameters["conservative_pass"] and pass_would_end_game(state, forest.histories[slot])
    search["playouts_left"] = math.inf
    player = _advantage_player(state, parameters)
    keeps = keep_tree and not hides_the_end and player == search["advantage_player"]
    search["advantage_player"] = player
    if search["mirroring"] != EMPTY:
        face_mirror_go(forest, slot)
    find_candidates(forest, slot, scratch, context.length)
    root = forest.nodes[slot, ROOT]
    if not keeps or root["status"] != EVALUATED or not fits(forest, slot, visits):
        clear_tree(forest, slot)
        _describe_tree(forest, slot, scratch)
        return
    if drop_root_edges(forest, slot):
        keep_below(forest, slot, ROOT, scratch)
    search["centre"] = dynamic_centre(root["mean"][SCORE_MEAN], search["sqrt_area"], parameters)
    recompute_tree(forest, slot, scratch, context)
    if _needs_evaluation(parameters):
        root["status"] = UNEVALUATED
    else:
        use_root_policy(forest, slot, scratch)


@njit(cache=True, nogil=True)
def _advantage_player(state: np.void, parameters: np.void) -> int:
    """Whose playout doubling advantage it is: the named player's, or that of the side searched for."""
    if parameters["playout_doubling_advantage"] == 0.0:
        return EMPTY
    named: Any = np.int64(parameters["playout_doubling_advantage_pla"])
    return int(named if named != EMPTY else np.int64(state["to_move"]))


@njit(cache=True, nogil=True)
def wants_root_ownership(parameters: np.void) -> bool:
    """Whether something at the root needs to know who owns which point."""
    return bool(parameters["root_ending_bonus_points"] != 0.0 or parameters["fill_dame_before_pass"])


@njit(cache=True, nogil=True)
def _needs_evaluation(parameters: np.void) -> bool:
    """Whether the evaluation that the root of a kept tree has from its time below the root will not do (search.md 5).

    It was made in one symmetry, with the tree's optimism and, as far as this search hides earlier moves, fewer of them
    hidden; and its ownership was not kept.
    """
    return bool(
        parameters["root_num_symmetries_to_sample"] > 1
        or parameters["root_policy_optimism"] != parameters["policy_optimism"]
        or parameters["ignore_pre_root_history"]
        or wants_root_ownership(parameters)
    )


@njit(cache=True, nogil=True)
def _describe_tree(forest: Forest, slot: int, scratch: Scratch) -> None:
    """Say how the tree that begins is to grow, and name its root."""
    search = forest.searches[slot]
    parameters = forest.parameters[slot]
    search["is_graph"] = parameters["use_graph_search"]
    search["is_biased"] = parameters["subtree_value_bias_factor"] > 0.0
    if search["is_graph"]:
        bound = parameters["graph_search_rep_bound"]
        first, second = root_key(forest.states[slot], forest.histories[slot], bound, scratch)
        key = forest.nodes[slot, ROOT]["key"]
        key[0] = first
        key[1] = second


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
    forest: Forest,
    slot: int,
    legal: npt.NDArray[np.int8],
    outputs: Outputs,
    answer: int,
    scratch: Scratch,
    length: int,
) -> bool:
    """Fold one evaluation of the root into the mean of its samples; False if its policy is not finite.

    It is row ``answer`` of ``outputs``; ``legal`` [P] are the moves. The first sample also sets the score centre of a
    search that has no visits yet.
    """
    search = forest.searches[slot]
    node = forest.nodes[slot, ROOT]
    sample = scratch.sample[0]
    sample["to_move"] = node["to_move"]
    store_evaluation(sample, outputs, answer)
    if search["mirroring"] != EMPTY:
        lean_to_centre(sample, forest.states[slot], outputs.ownership[answer], search["mirror_pull"], length)
    policy = forest.priors[slot, ROOT]
    temperature = forest.parameters[slot]["nn_policy_temperature"]
    finite = write_policy(outputs.policy[answer], legal, temperature, policy)
    if forest.parameters[slot]["enable_passing_hacks"]:
        cap_pass(policy)
    share = 1.0 / (search["samples_done"] + 1.0)
    mix_evaluation(node, sample, share)
    mix_ownership(forest, slot, ROOT, outputs, answer, share)
    mean_policy = forest.raw_policies[slot]
    for position in range(policy.shape[0]):
        mean_policy[position] = mixed(mean_policy[position], policy[position], share)
    if wants_root_ownership(forest.parameters[slot]):
        sign = sign_of(node["to_move"])
        ownership = forest.root_ownership[slot]
        for position in range(ownership.shape[0]):
            ownership[position] = mixed(ownership[position], sign * outputs.ownership[answer, position], share)
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
    if search["rescales_avoided"]:
        rescale_avoided(policy, forest.avoid_until[slot, forest.states[slot]["to_move"] - 1])
    favour_hint(policy, search["hint"])
    share_priors(forest, slot, ROOT)


@njit(cache=True, nogil=True)
def share_priors(forest: Forest, slot: int, index: int) -> None:
    """Tell the edges of a node whose policy is new."""
    policy = forest.priors[slot, index]
    node = forest.nodes[slot, index]
    node["next_position"] = UNKNOWN_POSITION
    e = node["first_edge"]
    while e != NO_EDGE:
        edge = forest.edges[slot, e]
        edge["prior"] = policy[edge["position"]]
        e = edge["next_edge"]
