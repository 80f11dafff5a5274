"""The root's children with what they are worth as moves to play, gathered in one call from Python.

Each call of a kernel from Python unpacks all arrays of a forest, which for a small search is dearer than the work.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from client.search.ending import gather_bonuses
from client.search.passing import suppress_pass
from client.search.play_selection import Children, choose_child, gather_children, play_selection_values
from client.search.root_moves import write_open_policy
from client.search.root_policy import interpolate_by_turn
from client.search.tree import ROOT, Context, Forest
from common.kernels import njit


@njit(cache=True, nogil=True)
def fill_children(
    forest: Forest,
    slot: int,
    children: Children,
    open_policy: npt.NDArray[np.float32],
    lcb: bool,
    at_least: float,
    context: Context,
) -> int:
    """Fill ``children`` with those of a slot's root, or the moves it may enter, and their play-selection values.

    Args:
        forest: all trees.
        slot: whose root.
        children: written (search.md 10).
        open_policy: [P] written: the root's policy in use, moves that may not be entered being illegal.
        lcb: whether lower bounds decide (search.md 10.4).
        at_least: what the largest value is scaled up to.
        context: of the pool.

    Returns:
        How many there are.
    """
    nodes = forest.nodes[slot]
    write_open_policy(forest, slot, open_policy)
    count = gather_children(nodes, forest.edges[slot], open_policy, ROOT, children)
    gather_bonuses(forest, slot, children, count, context)
    suppress_pass(forest, slot, children, count, context.length)
    play_selection_values(nodes[ROOT], children, count, lcb, at_least, forest.parameters[slot])
    return int(count)


@njit(cache=True, nogil=True)
def draw_child(forest: Forest, slot: int, children: Children, count: int, weights: npt.NDArray[np.float64]) -> int:
    """Draw one of ``children`` by its play-selection value at the temperature of a slot's turn (search.md 10).

    ``weights`` [P] is working space.
    """
    parameters = forest.parameters[slot]
    search = forest.searches[slot]
    temperature = interpolate_by_turn(
        parameters["chosen_move_temperature_early"],
        parameters["chosen_move_temperature"],
        parameters["chosen_move_temperature_halflife"],
        search["turn"],
        search["sqrt_area"],
    )
    below = parameters["chosen_move_temperature_only_below_prob"]
    return int(choose_child(children, count, temperature, below, forest.generators[slot], weights))
