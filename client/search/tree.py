"""The memory of the search: trees as arrays of records, one block per slot.

Slots are apart: slot g owns row g of every array, its root is node 0, and nodes and edges are appended in order of
creation, so a parent always lies before its children and children are listed in order of creation. `NODE` and `EDGE`
are arrays of structures, because descent and backup touch most fields of one element; policies and ladder maps, which
are large and read as a whole, lie in arrays of their own. Per node of a pool for length 19: about 2.1 KB, of which the
policy takes 1.45 KB, and 0.72 KB more in a pool that keeps ownership; memory is touched only as trees grow into it.

Values are White's, averages are weighted means over the node's subtree (search.md 1). Knows no rule of search.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from client.search.values import NUM_VALUES
from common.features import FEATURE_SCRATCH
from common.go.points import NUM_POINTS
from common.go.state import new_states
from nets.evaluation.batch import Batch

# An int constant would be a type of its own to the compiler, and each kernel that takes an index be compiled twice.
ROOT: Final[Any] = np.int64(0)
NO_NODE: Final = -1
NO_EDGE: Final = -1
NO_POSITION: Final = -1  # no move is left that has not been entered
UNKNOWN_POSITION: Final = -2  # the best unentered move has to be looked up

UNEVALUATED: Final = 0
PENDING: Final = 1  # on its way through the evaluator
EVALUATED: Final = 2
TERMINAL: Final = 3  # the game is over here

IDLE: Final = 0
RUNNING: Final = 1
FINISHED: Final = 2

ILLEGAL_PRIOR: Final = -1.0
OWNERSHIP_SCALE: Final = 32767.0
"""Ownership is kept in 16 bits, to within 1.6e-5. Eight would halve the memory and be off in the third decimal (4e-3,
measured); compiled code has no half precision."""

NODE: Final = np.dtype(
    [
        # -- statistics, White's view; what descent and backup read of every child fills the first cache line --
        ("visits", np.int32),  # playouts that ended in or passed through the node
        ("virtual_losses", np.int32),  # playouts under way through the node
        ("weight", np.float64),  # sum of playout weights
        ("utility", np.float64),
        ("utility_sq", np.float64),
        ("weight_sq", np.float64),  # sum of squared playout weights
        ("mean", np.float64, NUM_VALUES),  # as `client.search.values.Values` names them
        # -- children --
        ("first_edge", np.int32),  # NO_EDGE without children
        ("last_edge", np.int32),
        ("num_edges", np.int32),
        ("next_position", np.int16),  # unentered move of the largest prior, NO_POSITION or UNKNOWN_POSITION
        ("status", np.int8),  # UNEVALUATED … TERMINAL
        ("to_move", np.int8),  # BLACK or WHITE
        # -- the node's own evaluation, by the net or by the end of the game; White's view --
        ("own_utility", np.float64),
        ("own_weight", np.float64),
        ("own", np.float64, NUM_VALUES),
        ("own_win_loss_error", np.float64),  # short-term error of win_loss
        ("own_score_error", np.float64),  # short-term error of the score, points
        ("own_variance_time", np.float64),  # turns until the outcome is clear, -1 if the net does not tell
    ],
    align=True,
)

EDGE: Final = np.dtype(
    [
        ("child", np.int32),
        ("next_edge", np.int32),  # the same parent's next child, NO_EDGE after the last
        ("visits", np.int32),  # playouts that went through this edge
        ("prior", np.float32),  # of the policy in use at the parent: noised at the root
        ("position", np.int16),  # the move
    ],
    align=True,
)

SEARCH: Final = np.dtype(
    [
        ("status", np.int8),  # IDLE, RUNNING or FINISHED
        ("samples_done", np.int8),  # root evaluations so far, of those that are averaged
        ("sample_order", np.int8, 8),  # symmetries in the order in which the root is evaluated
        ("visits_limit", np.int32),  # visits of the root at which the search ends
        ("pending", np.int32),  # playouts that wait for the evaluator
        ("num_nodes", np.int32),
        ("num_edges", np.int32),
        ("turn", np.int32),  # turn number of the root, for temperatures
        ("sqrt_area", np.float64),
        ("centre", np.float64),  # of the dynamic score utility, points
    ],
    align=True,
)


class Forest(NamedTuple):
    """All trees of a pool: G slots, N nodes each, P = L * L + 1 positions of a tensor of edge L."""

    nodes: npt.NDArray[np.void]  # [G, N] NODE
    edges: npt.NDArray[np.void]  # [G, N] EDGE
    priors: npt.NDArray[np.float32]  # [G, N, P] ILLEGAL_PRIOR where illegal
    ladders: npt.NDArray[np.int8]  # [G, N, L * L] plane 14 of the evaluated nodes
    ownership: npt.NDArray[
        np.int16
    ]  # [G, N, L * L] of the evaluated nodes, White's, times OWNERSHIP_SCALE; or [G, N, 0]
    searches: npt.NDArray[np.void]  # [G] SEARCH
    parameters: npt.NDArray[np.void]  # [G] SEARCH_PARAMETERS
    states: npt.NDArray[np.void]  # [G] STATE of the root
    histories: npt.NDArray[np.void]  # [G] HISTORY; ends with the root's keys between playouts
    raw_policies: npt.NDArray[np.float32]  # [G, P] the root's policy without temperature and noise
    generators: npt.NDArray[np.uint64]  # [G, 2]


class Playouts(NamedTuple):
    """Playouts under way, one per row of the evaluation batch: R rows, paths of at most N nodes."""

    slots: npt.NDArray[np.int32]  # [R]
    depths: npt.NDArray[np.int32]  # [R] edges walked; the leaf is nodes[r, depths[r]]
    nodes: npt.NDArray[np.int32]  # [R, N]
    edges: npt.NDArray[np.int32]  # [R, N] edges[r, d] leads from nodes[r, d] to nodes[r, d + 1]
    legal: npt.NDArray[np.int8]  # [R, P] at the leaf, by position


class Scratch(NamedTuple):
    """Working space of one thread; contents mean nothing between calls."""

    state: npt.NDArray[np.void]  # [1] STATE
    legal_points: npt.NDArray[np.int8]  # [NUM_POINTS]
    area: npt.NDArray[np.int8]  # [NUM_POINTS]
    entered: npt.NDArray[np.bool_]  # [P] all False between calls
    edges: npt.NDArray[np.int32]  # [P]
    weights: npt.NDArray[np.float64]  # [P]
    utilities: npt.NDArray[np.float64]  # [P]
    priors: npt.NDArray[np.float64]  # [P]
    factors: npt.NDArray[np.float64]  # [P]
    sample: npt.NDArray[np.void]  # [1] NODE, one evaluation of the root
    features: npt.NDArray[np.void]  # [1] FEATURE_SCRATCH


class Inputs(NamedTuple):
    """The arrays of an evaluation batch that the search writes; shapes as in `nets.evaluation.batch.Batch`."""

    planes: npt.NDArray[np.float32]
    global_inputs: npt.NDArray[np.float32]
    symmetry: npt.NDArray[np.int8]
    optimism: npt.NDArray[np.float32]


class Outputs(NamedTuple):
    """The arrays of an evaluation batch that the search reads."""

    policy: npt.NDArray[np.float32]
    win_loss: npt.NDArray[np.float32]
    no_result: npt.NDArray[np.float32]
    score_mean: npt.NDArray[np.float32]
    score_stdev: npt.NDArray[np.float32]
    lead: npt.NDArray[np.float32]
    short_term_win_loss_error: npt.NDArray[np.float32]
    short_term_score_error: npt.NDArray[np.float32]
    variance_time: npt.NDArray[np.float32]
    ownership: npt.NDArray[np.float32]


Arrays = TypeVar("Arrays", Inputs, Outputs)


def arrays_of(kind: type[Arrays], batch: Batch) -> Arrays:
    """The arrays of ``batch`` that ``kind`` names."""
    return kind(**{name: getattr(batch, name) for name in kind._fields})


class Context(NamedTuple):
    """What all searches of a pool share."""

    length: int  # edge of the net's tensor
    leaves: int  # most leaves of one slot under evaluation at once
    has_errors: bool  # whether the net has short-term error outputs
    score_table: npt.NDArray[np.float64]
    student_table: npt.NDArray[np.float64]


def new_playouts(rows: int, capacity: int, length: int) -> Playouts:
    """Room for ``rows`` playouts at once in trees of ``capacity`` nodes."""
    return Playouts(
        slots=np.zeros(rows, np.int32),
        depths=np.zeros(rows, np.int32),
        nodes=np.zeros((rows, capacity), np.int32),
        edges=np.zeros((rows, capacity), np.int32),
        legal=np.zeros((rows, length * length + 1), np.int8),
    )


def new_scratch(length: int) -> Scratch:
    """Working space for trees on boards up to ``length``."""
    positions = length * length + 1
    return Scratch(
        state=new_states(1),
        legal_points=np.zeros(NUM_POINTS, np.int8),
        area=np.zeros(NUM_POINTS, np.int8),
        entered=np.zeros(positions, np.bool_),
        edges=np.zeros(positions, np.int32),
        weights=np.zeros(positions),
        utilities=np.zeros(positions),
        priors=np.zeros(positions),
        factors=np.zeros(positions),
        sample=np.zeros(1, NODE),
        features=np.zeros(1, FEATURE_SCRATCH),
    )
