"""The memory of the search: trees as arrays of records, one block per slot.

Slots are apart: slot g owns row g of every array, its root is node 0, and nodes and edges are appended in order of
creation. In graph search (search.md 7) several edges may lead to one node, which then need not lie behind all of its
parents; children are listed in order of their edges' creation. `NODE` and `EDGE` are arrays of structures, because
descent and backup touch most fields of one element; policies and ladder maps, which are large and read as a whole, lie
in arrays of their own.

A node of a pool for length 19 takes 2.0 KB: its policy 1448 bytes, its ladders 76, what ladder searches looked at
128, the record 216, two edges 40, an entry of the subtree value bias 32 and its places in two hash tables 16 to 32; 722
bytes more in a pool that keeps ownership. `client.search.grow.NODES_PER_VISIT` says how many there are for a visit;
memory is touched only as trees grow into it.

Values are White's, averages are weighted means over the node's subtree (search.md 1). Knows no rule of search.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from client.search.values import NUM_VALUES
from common.by_reference import by_reference
from common.features import FEATURE_SCRATCH
from common.go.points import NUM_POINTS
from common.go.state import new_states
from nets.evaluation.batch import Batch

# An int constant would be a type of its own to the compiler, and each kernel that takes an index be compiled twice.
ROOT: Final[Any] = np.int64(0)
NO_NODE: Final = -1
NO_EDGE: Final = -1
NO_BIAS: Final = -1
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
        # -- graph search (search.md 7) --
        ("key", np.uint64, 2),  # the node's name among its slot's; means nothing without graph search
        # -- subtree value bias (search.md 6) --
        ("bias", np.int32),  # the node's entry, NO_BIAS without one
        ("bias_sum", np.float64),  # what the node has put into the entry's sum ...
        ("bias_weight", np.float64),  # ... and weight
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

BIAS: Final = np.dtype(
    [
        ("key", np.uint64, 2),  # of the move and its surroundings, `client.search.bias.bias_key`
        ("sum", np.float64),  # of differences between subtree and own utility, weighted, White's view
        ("weight", np.float64),
    ],
    align=True,
)

SEARCH: Final = np.dtype(
    [
        ("status", np.int8),  # IDLE, RUNNING or FINISHED
        ("samples_done", np.int8),  # root evaluations so far, of those that are averaged
        ("symmetry_salt", np.int8),  # 0 to 7, of symmetries that follow from positions (evaluation_key.py)
        ("sample_order", np.int8, 8),  # symmetries in the order in which the root is evaluated
        ("kept_visits", np.int32),  # of the root when the search began
        ("visits_limit", np.int32),  # visits of the root at which the search ends
        ("leaves", np.int32),  # most leaves under evaluation at once
        ("pending", np.int32),  # playouts that wait for the evaluator
        ("num_nodes", np.int32),
        ("num_edges", np.int32),
        ("num_biases", np.int32),
        ("is_graph", np.bool_),  # the tree was grown with graph search ...
        ("is_biased", np.bool_),  # ... and with subtree value bias
        ("turn", np.int32),  # turn number of the root, for temperatures
        ("playouts_left", np.float64),  # what a clock lets hope for besides ``visits_limit``; infinity without one
        ("advantage_player", np.int8),  # whose playout doubling advantage it is; EMPTY if there is none
        ("hint", np.int16),  # position, or NO_POSITION
        ("rescales_avoided", np.bool_),  # the root's policy is that of the moves that are not avoided
        ("avoids", np.bool_),  # ``avoid_until`` forbids something
        ("limits_root", np.bool_),  # some moves are not in ``candidates``
        ("mirroring", np.int8),  # the colour that plays mirror go, as far as one reacts to it; else EMPTY
        ("mirror_pull", np.float64),  # how much the centre's owner decides then
        ("rules_inside", np.bool_),  # inner nodes choose by `client.search.root_select` too
        ("sqrt_area", np.float64),
        ("centre", np.float64),  # of the dynamic score utility, points
    ],
    align=True,
)

LadderRows = npt.NDArray[np.uint32]
"""[L] bit x of row y: the stone there is in a ladder."""


@by_reference
class Forest(NamedTuple):
    """All trees of a pool: G slots, N nodes and M edges each, P = L * L + 1 positions of a tensor of edge L."""

    nodes: npt.NDArray[np.void]  # [G, N] NODE
    edges: npt.NDArray[np.void]  # [G, M] EDGE
    priors: npt.NDArray[np.float32]  # [G, N, P] ILLEGAL_PRIOR where illegal
    ladders: npt.NDArray[np.uint32]  # [G, N, L] plane 14 of the evaluated nodes, `LadderRows`
    readings: npt.NDArray[np.int64]  # [G, N, MAX_READINGS] `common.go.ladder_readings` of the evaluated nodes
    ownership: npt.NDArray[
        np.int16
    ]  # [G, N, L * L] of the evaluated nodes, White's, times OWNERSHIP_SCALE; or [G, N, 0]
    node_table: npt.NDArray[np.int32]  # [G, T] by the nodes' keys, see client.search.tables
    biases: npt.NDArray[np.void]  # [G, N] BIAS
    bias_table: npt.NDArray[np.int32]  # [G, T] by the entries' keys
    searches: npt.NDArray[np.void]  # [G] SEARCH
    parameters: npt.NDArray[np.void]  # [G] SEARCH_PARAMETERS
    states: npt.NDArray[np.void]  # [G] STATE of the root
    histories: npt.NDArray[np.void]  # [G] HISTORY; ends with the root's keys between playouts
    raw_policies: npt.NDArray[np.float32]  # [G, P] the root's policy without temperature and noise
    generators: npt.NDArray[np.uint64]  # [G, 2]
    avoid_until: npt.NDArray[np.int16]  # [G, 2, P] by colour - 1: not entered less than so many turns from the root
    candidates: npt.NDArray[np.bool_]  # [G, P] moves that the root may enter, where ``limits_root``
    root_ownership: npt.NDArray[np.float32]  # [G, L * L] White's view; only where something at the root needs it
    ending_points: npt.NDArray[np.float64]  # [G, P] White's points that a root move counts more (search.md 4.4)


@by_reference
class Playouts(NamedTuple):
    """Playouts under way, one per row of the evaluation batch: R rows, paths of at most N nodes."""

    slots: npt.NDArray[np.int32]  # [R]
    depths: npt.NDArray[np.int32]  # [R] edges walked; the leaf is nodes[r, depths[r]]
    nodes: npt.NDArray[np.int32]  # [R, N]
    edges: npt.NDArray[np.int32]  # [R, N] edges[r, d] leads from nodes[r, d] to nodes[r, d + 1]
    counts_from: npt.NDArray[np.int32]  # [R] depth of the first node that the playout counts for; 0 but for looks aside
    legal: npt.NDArray[np.int8]  # [R, P] at the leaf, by position
    keys: npt.NDArray[np.uint64]  # [R, 2] of the leaf's evaluation in the cache; both 0: it is not to be kept


@by_reference
class Scratch(NamedTuple):
    """Working space of one thread; contents mean nothing between calls."""

    state: npt.NDArray[np.void]  # [1] STATE
    situation: npt.NDArray[np.uint64]  # [2] `client.search.keys.situation_key` of ``state`` ...
    knows_situation: npt.NDArray[np.bool_]  # [1] ... if this says so
    area: npt.NDArray[np.int8]  # [NUM_POINTS]
    entered: npt.NDArray[np.bool_]  # [P] all False between calls
    edges: npt.NDArray[np.int32]  # [P]
    weights: npt.NDArray[np.float64]  # [P]
    utilities: npt.NDArray[np.float64]  # [P]
    priors: npt.NDArray[np.float64]  # [P]
    factors: npt.NDArray[np.float64]  # [P]
    sample: npt.NDArray[np.void]  # [1] NODE, one evaluation of the root
    features: npt.NDArray[np.void]  # [1] FEATURE_SCRATCH
    points: npt.NDArray[np.int16]  # [NUM_POINTS]
    new_nodes: npt.NDArray[np.int32]  # [N] by node
    new_edges: npt.NDArray[np.int32]  # [M] by edge
    stack: npt.NDArray[np.int32]  # [N] nodes


@by_reference
class Inputs(NamedTuple):
    """The arrays of an evaluation batch that the search writes; shapes as in `nets.evaluation.batch.Batch`."""

    planes: npt.NDArray[np.float32]
    global_inputs: npt.NDArray[np.float32]
    symmetry: npt.NDArray[np.int8]
    optimism: npt.NDArray[np.float32]
    wants_ownership: npt.NDArray[np.bool_]


@by_reference
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


@by_reference
class Context(NamedTuple):
    """What all searches of a pool share."""

    length: int  # edge of the net's tensor
    leaves: int  # most leaves of one slot under evaluation at once
    max_visits: int  # that a search may ask for
    has_errors: bool  # whether the net has short-term error outputs
    score_table: npt.NDArray[np.float64]
    student_table: npt.NDArray[np.float64]


def new_playouts(rows: int, nodes: int, length: int) -> Playouts:
    """Room for ``rows`` playouts at once in trees of ``nodes`` nodes."""
    return Playouts(
        slots=np.zeros(rows, np.int32),
        depths=np.zeros(rows, np.int32),
        nodes=np.zeros((rows, nodes), np.int32),
        edges=np.zeros((rows, nodes), np.int32),
        counts_from=np.zeros(rows, np.int32),
        legal=np.zeros((rows, length * length + 1), np.int8),
        keys=np.zeros((rows, 2), np.uint64),
    )


def new_scratch(length: int, nodes: int, edges: int) -> Scratch:
    """Working space for trees of so many nodes and edges on boards up to ``length``."""
    positions = length * length + 1
    return Scratch(
        state=new_states(1),
        situation=np.zeros(2, np.uint64),
        knows_situation=np.zeros(1, np.bool_),
        area=np.zeros(NUM_POINTS, np.int8),
        entered=np.zeros(positions, np.bool_),
        edges=np.zeros(positions, np.int32),
        weights=np.zeros(positions),
        utilities=np.zeros(positions),
        priors=np.zeros(positions),
        factors=np.zeros(positions),
        sample=np.zeros(1, NODE),
        features=np.zeros(1, FEATURE_SCRATCH),
        points=np.zeros(NUM_POINTS, np.int16),
        new_nodes=np.zeros(nodes, np.int32),
        new_edges=np.zeros(edges, np.int32),
        stack=np.zeros(nodes, np.int32),
    )
