"""The search as its users see it: a pool of slots, each of which searches one position at a time.

A pool owns the trees of its slots and one evaluation batch. Many games share one evaluator by one slot each; one game
that wants large batches takes a pool of one slot with several leaves. `SearchPool.step` is one round: every running
slot goes down its tree to a leaf, the leaves are evaluated together, the results are backed up. Two pools that
alternate (`descend` and `expand` of one while the evaluator works for the other) keep both processor and device busy.

Knows nothing of games as a whole: who plays, records or resigns is the caller's business. Specification: search.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from client.search.grow import clear_tree, new_forest, promote_child
from client.search.play_selection import (
    POLICY_TARGET_SCALE,
    REPORT_SCALE,
    Children,
    choose_child,
    gather_children,
    new_children,
    play_selection_values,
    search_entropy_and_surprise,
)
from client.search.playout import NOT_FINITE, descend_all, expand_all
from client.search.rng import seed_generator
from client.search.root import begin_search
from client.search.root_policy import interpolate_by_turn, policy_entropy
from client.search.tree import (
    EVALUATED,
    FINISHED,
    IDLE,
    ROOT,
    RUNNING,
    Context,
    Forest,
    Inputs,
    Outputs,
    arrays_of,
    new_playouts,
    new_scratch,
)
from client.search.utility import score_table
from client.search.values import Values
from client.search.weights import student_table
from common.go.points import point_of, position_of
from common.inputs import V7
from nets.evaluation.batch import Batch, Evaluator

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RootChildren:
    """The root's children in order of creation; C entries each, White's view."""

    points: npt.NDArray[np.int16]  # [C] the move, a point of common.go.points
    visits: npt.NDArray[np.int32]  # [C] visits through the root's edge
    weights: FloatArray  # [C]
    priors: FloatArray  # [C] noised policy
    utilities: FloatArray  # [C]
    means: Values[FloatArray]  # [C] each


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a finished search says of its root. White's view; node averages, not the pruned ones (search.md 12)."""

    visits: int
    weight: float
    utility: float
    mean: Values[float]
    raw: Values[float]  # the raw evaluation of the root
    raw_policy: npt.NDArray[np.float32]  # [length ** 2 + 1] by position, -1 where illegal; no temperature, no noise
    noised_policy: npt.NDArray[np.float32]  # [length ** 2 + 1] as searched: with root temperature and noise
    raw_policy_entropy: float  # nats
    policy_entropy: float  # of noised_policy, nats
    search_entropy: float  # of the search policy (play-selection values), nats
    policy_surprise: float  # KL(search policy || noised_policy), nats
    children: RootChildren


class NonFiniteEvaluationError(RuntimeError):
    """The evaluator answered with infinities or no numbers; the net is broken, or its precision does not suffice."""


class SearchPool:
    """Searches in ``slots`` slots through one evaluator.

    Usage::

        pool = SearchPool(evaluator, slots=64, max_visits=600)
        pool.start(slot, state, history, parameters=record, visits=600, seed=seed)
        while True:
            for slot in pool.step():
                result = pool.result(slot)
                point = pool.choose_move(slot, lcb=False)
                target = pool.policy_target(slot)
                ...                                     # play, record, pool.start(slot, ...) again

    Args:
        evaluator: whatever satisfies `nets.evaluation.batch.Evaluator`.
        slots: number of searches that can run at once.
        max_visits: the largest ``visits`` a search may ask for; fixes the memory.
        leaves: how many leaves one slot may have under evaluation at once (virtual losses keep them apart).
        ownership: keep the net's ownership of every node, for reports.
    """

    def __init__(
        self, evaluator: Evaluator, *, slots: int, max_visits: int, leaves: int = 1, ownership: bool = False
    ) -> None:
        if min(slots, max_visits, leaves) < 1:
            raise ValueError(f"slots, max_visits and leaves must be at least 1, not {slots}, {max_visits}, {leaves}")
        if evaluator.inputs != V7:
            raise ValueError(f"the search encodes inputs {V7.name!r}, and the net has {evaluator.inputs.name!r}")
        self.evaluator = evaluator
        self.length = evaluator.length
        self.max_visits = max_visits
        self.forest = new_forest(slots, max_visits, self.length, ownership=ownership)
        self.playouts = new_playouts(slots * leaves, max_visits, self.length)
        self.scratch = new_scratch(self.length)
        self.context = Context(self.length, leaves, evaluator.has_short_term_errors, score_table(), student_table())
        self.batch: Batch = evaluator.new_batch(slots * leaves, ownership=ownership)
        self._inputs = arrays_of(Inputs, self.batch)
        self._outputs = arrays_of(Outputs, self.batch)
        self._children = new_children(self.length**2 + 1)
        self._finished = np.zeros(slots, np.int32)
        self._new_indices = np.zeros((2, max_visits), np.int32)
        self._rows = 0
        self._wait: Callable[[], None] | None = None  # for the round that is under way

    @property
    def slots(self) -> int:
        """How many searches can run at once."""
        return len(self.forest.searches)

    def start(
        self,
        slot: int,
        state: np.void,
        history: np.void,
        *,
        parameters: np.void,
        visits: int,
        seed: int,
        first_turn: int = 0,
        keep_tree: bool = False,
    ) -> None:
        """Begin a search in a slot that is not running.

        Args:
            slot: which one.
            state: STATE record to search, copied; the player to move chooses.
            history: its HISTORY record, copied.
            parameters: a record made by `client.search.parameters.to_record`; a cheap search of self-play takes that of
                `client.search.parameters.without_exploration`.
            visits: visits of the root at which the search ends; the root's own evaluation is one.
            seed: 64 bits that fix every random draw of this search, so that its result depends neither on the slot
                nor on what else runs.
            first_turn: turn number of the first turn of the record, where the record starts in mid-game.
            keep_tree: search on in the tree that `advance` left; its visits count.

        Raises:
            ValueError: the board does not fit the tensor, or ``visits`` the memory.
            RuntimeError: the slot is running.
        """
        if not 1 <= visits <= self.max_visits:
            raise ValueError(f"a search of {visits} visits does not fit a pool made for 1 to {self.max_visits}")
        if max(state["x_size"], state["y_size"]) > self.length:
            size = f"{state['x_size']}x{state['y_size']}"
            raise ValueError(f"a board of {size} does not fit a net evaluated at length {self.length}")
        if self.forest.searches[slot]["status"] == RUNNING:
            raise RuntimeError(f"slot {slot} is still searching: stop it, or wait until it is finished")
        self.forest.states[slot] = state
        self.forest.histories[slot] = history
        self.forest.parameters[slot] = parameters
        seed_generator(self.forest.generators[slot], np.uint64(seed))
        turn = first_turn + int(state["turns"])
        begin_search(self.forest, slot, visits, turn, keep_tree, self.scratch, self.context)

    def descend(self) -> int:
        """Begin a round: walk every running slot to its leaves and hand them to the evaluator; returns their number.

        Before `expand` ends the round, slots that are not running may be started, moved on and forgotten.
        """
        if self._wait is not None:
            raise RuntimeError("a round is under way: call expand() first")
        self._rows = descend_all(self.forest, self.playouts, self._inputs, self.scratch, self.context)
        self._wait = self.evaluator.submit(self.batch, self._rows)
        return self._rows

    def expand(self) -> list[int]:
        """End the round, if one is under way: wait for the evaluations and back them up.

        Returns the slots whose search is now finished.

        Raises:
            NonFiniteEvaluationError: an evaluation was not finite; the pool is of no further use.
        """
        if self._wait is None:
            return []
        wait, self._wait = self._wait, None
        wait()
        count = expand_all(
            self.forest, self.playouts, self._rows, self._outputs, self.scratch, self.context, self._finished
        )
        if count == NOT_FINITE:
            raise NonFiniteEvaluationError(
                "the evaluator answered with values that are not finite: try another net, or a device and precision "
                "in which this one works"
            )
        finished: list[int] = self._finished[:count].tolist()
        return finished

    def step(self) -> list[int]:
        """`descend` and `expand`."""
        self.descend()
        return self.expand()

    def running(self) -> int:
        """Number of slots whose search is under way."""
        return int(np.count_nonzero(self.forest.searches["status"] == RUNNING))

    def stop(self, slot: int) -> None:
        """Let a running search end with the visits that it has, or with its first; a later `expand` lists it."""
        self.forest.searches[slot]["visits_limit"] = 1

    def advance(self, slot: int, point: int) -> bool:
        """Make the child of ``point`` the root, so that the next `start` may keep its tree; False if there is none.

        For a slot whose search is finished, or whose tree was moved on before: in a match the opponent's move follows
        one's own. Without a child that has been evaluated the tree is empty afterwards.
        """
        if self.forest.searches[slot]["status"] == RUNNING:
            raise RuntimeError(f"slot {slot} is still searching")
        self.forest.searches[slot]["status"] = IDLE
        position = position_of(point, self.length)
        new_nodes, new_edges = self._new_indices
        return bool(promote_child(self.forest, slot, position, new_nodes, new_edges))

    def forget(self, slot: int) -> None:
        """Drop a slot's search and tree; a running search only between two rounds."""
        if self._wait is not None and self.forest.searches[slot]["status"] == RUNNING:
            raise RuntimeError("a round is under way: call expand() first")
        self.forest.searches[slot]["status"] = IDLE
        clear_tree(self.forest, slot)

    # -- what a search has found --

    def visits(self, slot: int) -> int:
        """Visits of the root: of the search, or of the tree that was kept."""
        return int(self.forest.nodes[slot, ROOT]["visits"])

    def has_found(self, slot: int) -> bool:
        """Whether the search of a slot says something: it is finished, or has a visit and is between two rounds."""
        status = self.forest.searches[slot]["status"]
        is_evaluated = self.forest.nodes[slot, ROOT]["status"] == EVALUATED
        return bool(status == FINISHED or (status == RUNNING and self._wait is None and is_evaluated))

    def play_selection_values(
        self, slot: int, *, lcb: bool | None = None, scale_max_to_at_least: float = 0.0
    ) -> FloatArray:
        """Play-selection values [C] of the root's children in order of creation (search.md 10)."""
        count = self._fill_values(slot, lcb, scale_max_to_at_least)
        return self._children.values[:count].copy()

    def policy_target(self, slot: int) -> FloatArray:
        """Play-selection values by position, [length ** 2 + 1], the largest at least 10 (search.md 11)."""
        count = self._fill_values(slot, None, POLICY_TARGET_SCALE)
        target = np.zeros(self.length**2 + 1)
        target[self._children.positions[:count]] = self._children.values[:count]
        return target

    def choose_move(self, slot: int, *, lcb: bool | None = None) -> int:
        """Draw the move to play (a point) from the play-selection values at the temperature of the turn.

        ``lcb`` overrides the parameter ``use_lcb_for_selection``: self-play chooses without, though targets use it.
        """
        count = self._fill_values(slot, lcb, 0.0)
        parameters = self.forest.parameters[slot]
        search = self.forest.searches[slot]
        temperature = interpolate_by_turn(
            parameters["chosen_move_temperature_early"],
            parameters["chosen_move_temperature"],
            parameters["chosen_move_temperature_halflife"],
            search["turn"],
            search["sqrt_area"],
        )
        chosen = choose_child(
            self._children,
            count,
            temperature,
            parameters["chosen_move_temperature_only_below_prob"],
            self.forest.generators[slot],
            self.scratch.weights,
        )
        return int(point_of(int(self._children.positions[chosen]), self.length))

    def result(self, slot: int) -> SearchResult:
        """Values, policies and children of what was found, as copies; for a running search between two rounds."""
        count = self._fill_values(slot, None, REPORT_SCALE)
        search_entropy, surprise = search_entropy_and_surprise(self._children, count)
        root = self.forest.nodes[slot, ROOT]
        raw_policy = self.forest.raw_policies[slot].copy()
        noised_policy = self.forest.priors[slot, ROOT].copy()
        return SearchResult(
            visits=int(root["visits"]),
            weight=float(root["weight"]),
            utility=float(root["utility"]),
            mean=Values(*root["mean"].tolist()),
            raw=Values(*root["own"].tolist()),
            raw_policy=raw_policy,
            noised_policy=noised_policy,
            raw_policy_entropy=policy_entropy(raw_policy),
            policy_entropy=policy_entropy(noised_policy),
            search_entropy=search_entropy,
            policy_surprise=surprise,
            children=self._root_children(slot),
        )

    def _root_children(self, slot: int) -> RootChildren:
        """Copies of what `_fill_values` gathered; nothing if the root has no children."""
        count = int(self.forest.nodes[slot, ROOT]["num_edges"])
        table = self._children
        length = self.length
        points = [point_of(position, length) for position in table.positions[:count].tolist()]
        return RootChildren(
            points=np.array(points, np.int16),
            visits=table.visits[:count].copy(),
            weights=table.weights[:count].copy(),
            priors=table.priors[:count].copy(),
            utilities=table.utilities[:count].copy(),
            means=Values(*table.means[:count].T.copy()),
        )

    def _need_found(self, slot: int) -> None:
        if not self.has_found(slot):
            raise RuntimeError(f"slot {slot} has found nothing yet, or a round is under way")

    def _fill_values(self, slot: int, lcb: bool | None, at_least: float) -> int:
        """Gather the root's children and their play-selection values; returns how many there are."""
        self._need_found(slot)
        return fill_root_values(self.forest, slot, lcb, at_least, self._children)


def fill_root_values(forest: Forest, slot: int, lcb: bool | None, at_least: float, children: Children) -> int:
    """Fill ``children`` with those of a slot's root, or its legal moves, and their play-selection values.

    ``lcb`` None is what the parameters say.

    Returns:
        How many there are.
    """
    parameters = forest.parameters[slot]
    if lcb is None:
        lcb = bool(parameters["use_lcb_for_selection"])
    count = gather_children(forest.nodes[slot], forest.edges[slot], forest.priors[slot, ROOT], ROOT, children)
    play_selection_values(forest.nodes[slot, ROOT], children, count, lcb, at_least, parameters)
    return int(count)
