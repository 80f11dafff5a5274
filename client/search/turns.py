"""Searches of the turns of many games at once: what games order and what they are told, as arrays of records.

Who plays games writes an ORDER for each slot whose turn has come, and reads what was found from FOUND; `find_turns` and
`begin_turns` are the pool's side of it, each one call for all slots that are due, since a call from Python costs more
than the work of a small search's turn. A single search is begun by `client.search.pool.SearchPool.start`.
Specification: search.md 9 to 12.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from client.search.guidance import ask_in_turn
from client.search.parameters import SEARCH_PARAMETERS, copy_parameters
from client.search.play_selection import (
    POLICY_TARGET_SCALE,
    REPORT_SCALE,
    Children,
    play_selection_values,
    search_entropy_and_surprise,
)
from client.search.reuse import promote_child
from client.search.rng import seed_generator
from client.search.root import begin_search
from client.search.root_children import draw_child, fill_children
from client.search.root_policy import policy_entropy
from client.search.tree import IDLE, NO_POSITION, ROOT, RUNNING, Context, Forest, Scratch
from client.search.values import NUM_VALUES, SCORE_MEAN, WIN_LOSS
from common.by_reference import by_reference
from common.go.board import copy_state
from common.go.history import copy_history
from common.go.points import NO_POINT, point_of, position_of
from common.kernels import njit

ORDER: Final = np.dtype(
    [
        ("point", np.int16),  # the move played since the slot's last search, NO_POINT if there is none
        ("begins", np.bool_),  # a search follows; all below means nothing without
        ("seat", np.int8),  # which of the game's players searches
        ("keep_tree", np.bool_),  # as `SearchPool.start` has it, also the next five
        ("symmetry_salt", np.int8),
        ("seed", np.uint64),
        ("first_turn", np.int32),  # number of the record's first turn, where that starts in mid-game
        ("visits", np.int64),
        ("playouts", np.int64),
        ("seconds", np.float64),  # by the clock, however many games share the time
        ("hint", np.int16),  # a point that the root looks at thoroughly, or NO_POINT
        ("komi_bonus", np.float64),  # of White, in the searcher's eyes alone
        ("mirroring", np.int8),  # the colour that plays mirror go, as far as one reacts to it; else EMPTY
        ("tells", np.bool_),  # what is found is wanted, and a move drawn
        ("selects_by_lcb", np.bool_),  # for the move; what is told follows the parameters
        ("wants_target", np.bool_),
    ],
    align=True,
)

FOUND: Final = np.dtype(
    [
        ("point", np.int16),  # drawn at the temperature of the turn
        ("visits", np.int32),
        ("num_children", np.int32),  # that have visits
        ("mean", np.float64, NUM_VALUES),  # of the root, as `client.search.values.Values` names them
        ("raw", np.float64, NUM_VALUES),  # its own evaluation
        ("raw_policy_entropy", np.float64),  # nats, as the next three
        ("policy_entropy", np.float64),
        ("search_entropy", np.float64),
        ("policy_surprise", np.float64),
    ],
    align=True,
)
"""What `client.search.pool.SearchResult` has of single numbers; White's view."""

CHILD: Final = np.dtype(
    [("point", np.int16), ("visits", np.int32), ("win_loss", np.float64), ("score_mean", np.float64)], align=True
)
"""A move that was searched: visits through the root's edge, averages of the child, White's view."""

Slots = npt.NDArray[np.int32]
"""[n] slots, each once."""


@by_reference
class Turns(NamedTuple):
    """What the games in G slots order and are told; P = L * L + 1 positions."""

    orders: npt.NDArray[np.void]  # [G] ORDER
    parameters: npt.NDArray[np.void]  # [G] SEARCH_PARAMETERS of what is ordered
    states: npt.NDArray[np.void]  # [G] STATE to be searched, as the games have it
    histories: npt.NDArray[np.void]  # [G] HISTORY
    found: npt.NDArray[np.void]  # [G] FOUND
    targets: npt.NDArray[np.float64]  # [G, P] policy target by position, if wanted
    children: npt.NDArray[np.void]  # [G, P] CHILD in order of creation


def new_turns(states: npt.NDArray[np.void], histories: npt.NDArray[np.void], length: int) -> Turns:
    """For games with these positions, which stay where they are, and tensors of edge ``length``."""
    slots, positions = len(states), length * length + 1
    orders = np.zeros(slots, ORDER)
    orders["point"] = orders["hint"] = NO_POINT
    return Turns(
        orders=orders,
        parameters=np.zeros(slots, SEARCH_PARAMETERS),
        states=states,
        histories=histories,
        found=np.zeros(slots, FOUND),
        targets=np.zeros((slots, positions)),
        children=np.zeros((slots, positions), CHILD),
    )


@njit(cache=True, nogil=True)
def find_turns(
    forest: Forest,
    turns: Turns,
    slots: Slots,
    children: Children,
    open_policy: npt.NDArray[np.float32],
    scratch: Scratch,
    context: Context,
) -> None:
    """Tell what the finished searches of ``slots`` have found, where their orders want it.

    ``children`` and ``open_policy`` are working space, as of `fill_children`.
    """
    for i in range(slots.shape[0]):
        slot: Any = np.int64(slots[i])
        if turns.orders[slot]["tells"]:
            _find_turn(forest, turns, slot, children, open_policy, scratch, context)


@njit(cache=True, nogil=True)
def _find_turn(
    forest: Forest,
    turns: Turns,
    slot: int,
    children: Children,
    open_policy: npt.NDArray[np.float32],
    scratch: Scratch,
    context: Context,
) -> None:
    order = turns.orders[slot]
    found = turns.found[slot]
    root = forest.nodes[slot, ROOT]
    parameters = forest.parameters[slot]
    lcb = bool(parameters["use_lcb_for_selection"])
    count: Any = np.int64(fill_children(forest, slot, children, open_policy, lcb, REPORT_SCALE, context))
    entropy, surprise = search_entropy_and_surprise(children, count)
    found["search_entropy"] = entropy
    found["policy_surprise"] = surprise
    found["raw_policy_entropy"] = policy_entropy(forest.raw_policies[slot])
    found["policy_entropy"] = policy_entropy(forest.priors[slot, ROOT])
    found["visits"] = root["visits"]
    for value in range(NUM_VALUES):
        found["mean"][value] = root["mean"][value]
        found["raw"][value] = root["own"][value]
    found["num_children"] = _write_children(turns.children[slot], children, root["num_edges"], context.length)
    if order["wants_target"]:
        play_selection_values(root, children, count, lcb, POLICY_TARGET_SCALE, parameters)
        _write_by_position(turns.targets[slot], children, count)
    play_selection_values(root, children, count, bool(order["selects_by_lcb"]), 0.0, parameters)
    chosen: Any = np.int64(draw_child(forest, slot, children, count, scratch.weights))
    position: Any = np.int64(children.positions[chosen])
    found["point"] = point_of(position, context.length)


@njit(cache=True, nogil=True)
def _write_children(target: npt.NDArray[np.void], children: Children, count: int, length: int) -> int:
    """Write those of the first ``count`` children that have visits into ``target`` [P]; returns how many."""
    kept = 0
    for i in range(count):
        if children.visits[i] > 0:
            child = target[kept]
            position: Any = np.int64(children.positions[i])
            child["point"] = point_of(position, length)
            child["visits"] = children.visits[i]
            child["win_loss"] = children.means[i, WIN_LOSS]
            child["score_mean"] = children.means[i, SCORE_MEAN]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _write_by_position(target: npt.NDArray[np.float64], children: Children, count: int) -> None:
    """Write the children's play-selection values into ``target`` [P], 0 elsewhere."""
    for position in range(target.shape[0]):
        target[position] = 0.0
    for i in range(count):
        target[children.positions[i]] = children.values[i]


@njit(cache=True, nogil=True)
def begin_turns(
    forest: Forest, turns: Turns, slots: Slots, seats: npt.NDArray[np.bool_], scratch: Scratch, context: Context
) -> bool:
    """Move the trees of ``slots`` on by the moves that were played, and begin the searches ordered of this pool.

    Args:
        forest: all trees.
        turns: with the orders.
        slots: whose orders are new; none of them is running.
        seats: [G, seats] whether a seat's searches run in this pool.
        scratch: working space.
        context: of the pool.

    Returns:
        False if a search asks for no visits, or more than the pool was made for, or the slot is running.
    """
    fits = True
    for i in range(slots.shape[0]):
        slot: Any = np.int64(slots[i])
        order = turns.orders[slot]
        begins = order["begins"] and seats[slot, order["seat"]]
        point: Any = np.int64(order["point"])
        if point != NO_POINT:
            forest.searches[slot]["status"] = IDLE
            if not begins or order["keep_tree"]:
                promote_child(forest, slot, position_of(point, context.length), scratch)
        if begins:
            fits = _begin_turn(forest, turns, slot, scratch, context) and fits
    return fits


@njit(cache=True, nogil=True)
def _begin_turn(forest: Forest, turns: Turns, slot: int, scratch: Scratch, context: Context) -> bool:
    """As `SearchPool.start` does it."""
    order = turns.orders[slot]
    search = forest.searches[slot]
    visits: Any = np.int64(order["visits"])
    playouts: Any = np.int64(order["playouts"])
    if search["status"] == RUNNING or not 1 <= visits <= context.max_visits:
        return False
    copy_state(forest.states, slot, turns.states, slot)
    copy_history(forest.histories[slot], turns.histories[slot])
    copy_parameters(forest.parameters, slot, turns.parameters[slot])
    seed_generator(forest.generators[slot], order["seed"])
    search["symmetry_salt"] = order["symmetry_salt"]
    forest.states[slot]["komi"] += order["komi_bonus"]
    turn: Any = np.int64(order["first_turn"]) + np.int64(forest.states[slot]["turns"])
    hint: Any = np.int64(order["hint"])
    position = NO_POSITION if hint == NO_POINT else position_of(hint, context.length)
    is_other = ask_in_turn(forest, slot, position, order["mirroring"])
    keeps = bool(order["keep_tree"] and not is_other)
    begin_search(forest, slot, visits, playouts, turn, keeps, scratch, context)
    return True
