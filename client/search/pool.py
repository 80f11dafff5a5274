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

from client.search.cache import NO_CACHE, CacheSettings, clear_cache, new_cache
from client.search.grow import clear_tree, new_forest
from client.search.guidance import NO_GUIDANCE, Guidance, write_guidance
from client.search.limits import is_decided
from client.search.play_selection import (
    POLICY_TARGET_SCALE,
    REPORT_SCALE,
    Children,
    new_children,
    search_entropy_and_surprise,
)
from client.search.playout import NOT_FINITE, descend_all, expand_all
from client.search.reuse import promote_child
from client.search.rng import seed_generator
from client.search.root import begin_search
from client.search.root_children import draw_child, fill_children
from client.search.root_policy import policy_entropy
from client.search.root_select import playouts_left
from client.search.tree import (
    EVALUATED,
    FINISHED,
    IDLE,
    ROOT,
    RUNNING,
    Context,
    Inputs,
    Outputs,
    arrays_of,
    new_playouts,
    new_scratch,
)
from client.search.turns import Slots, Turns, begin_turns, find_turns
from client.search.utility import score_table
from client.search.values import Values
from client.search.weights import student_table
from common.go.points import point_of, position_of
from common.inputs import V7
from common.parameter_classes import UNLIMITED
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
        cache: which evaluations are kept for later, and how many.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        slots: int,
        max_visits: int,
        leaves: int = 1,
        ownership: bool = False,
        cache: CacheSettings = NO_CACHE,
    ) -> None:
        if min(slots, max_visits, leaves) < 1:
            raise ValueError(f"slots, max_visits and leaves must be at least 1, not {slots}, {max_visits}, {leaves}")
        if evaluator.inputs != V7:
            raise ValueError(f"the search encodes inputs {V7.name!r}, and the net has {evaluator.inputs.name!r}")
        self.evaluator = evaluator
        self.length = evaluator.length
        self.max_visits = max_visits
        self.forest = new_forest(slots, max_visits, self.length, ownership=ownership)
        nodes, edges = self.forest.nodes.shape[1], self.forest.edges.shape[1]
        self.playouts = new_playouts(slots * leaves, nodes, self.length)
        self.scratch = new_scratch(self.length, nodes, edges)
        self.context = Context(
            self.length, leaves, max_visits, evaluator.has_short_term_errors, score_table(), student_table()
        )
        self.batch: Batch = evaluator.new_batch(slots * leaves)
        self._inputs = arrays_of(Inputs, self.batch)
        self._outputs = arrays_of(Outputs, self.batch)
        self._cache = new_cache(cache, self._outputs, ownership=ownership)
        self._children = new_children(self.length**2 + 1)
        self._open_policy = np.zeros(self.length**2 + 1, np.float32)
        self._finished = np.zeros(slots, np.int32)
        self._rows = 0
        self._wait: Callable[[], None] | None = None  # for the round that is under way

    @property
    def slots(self) -> int:
        """How many searches can run at once."""
        return len(self.forest.searches)

    @property
    def hits(self) -> int:
        """How many evaluations were found in the cache so far."""
        return int(self._cache.hits[0])

    def clear_cache(self) -> None:
        """Forget the evaluations that were kept; only between two rounds."""
        if self._wait is not None:
            raise RuntimeError("a round is under way: call expand() first")
        clear_cache(self._cache)

    def start(
        self,
        slot: int,
        state: np.void,
        history: np.void,
        *,
        parameters: np.void,
        visits: int,
        seed: int,
        playouts: int = UNLIMITED,
        first_turn: int = 0,
        keep_tree: bool = False,
        guidance: Guidance = NO_GUIDANCE,
        symmetry_salt: int = 0,
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
            playouts: of this search, at which it ends at the latest; like ``visits`` they become fewer after passes of
                the opponent, if the parameters say so.
            first_turn: turn number of the first turn of the record, where the record starts in mid-game.
            keep_tree: search on in the tree that `advance` left; its visits count. A tree that was searched with
                another hint, other moves to avoid or another player's advantage does not fit, and is cleared; so is one
                that was grown with another ``use_graph_search``, without or with subtree value bias, or that leaves no
                room for ``visits``.
            guidance: what is asked of this search beside its parameters.
            symmetry_salt: 0 to 7; searches that share it see a position in the same symmetry, where that follows from
                the position (`client.search.cache.CacheForm.INPUTS`).

        Raises:
            ValueError: the board does not fit the tensor, or ``visits`` the memory.
            RuntimeError: the slot is running.
        """
        self._require_room(slot, state, visits)
        self.forest.states[slot] = state
        self.forest.histories[slot] = history
        self.forest.parameters[slot] = parameters
        seed_generator(self.forest.generators[slot], np.uint64(seed))
        self.forest.searches[slot]["symmetry_salt"] = symmetry_salt
        turn = first_turn + int(state["turns"])
        is_other = write_guidance(self.forest, slot, guidance, self.length)
        keeps = keep_tree and not is_other
        begin_search(self.forest, slot, visits, playouts, turn, keeps, self.scratch, self.context)

    def _require_room(self, slot: int, state: np.void, visits: int) -> None:
        """ValueError or RuntimeError where a search cannot begin; see `start`."""
        if not 1 <= visits <= self.max_visits:
            raise ValueError(f"a search of {visits} visits does not fit a pool made for 1 to {self.max_visits}")
        if max(state["x_size"], state["y_size"]) > self.length:
            size = f"{state['x_size']}x{state['y_size']}"
            raise ValueError(f"a board of {size} does not fit a net evaluated at length {self.length}")
        if self.forest.searches[slot]["status"] == RUNNING:
            raise RuntimeError(f"slot {slot} is still searching: stop it, or wait until it is finished")

    def descend(self) -> int:
        """Begin a round: walk every running slot to its leaves and hand them to the evaluator; returns their number.

        Before `expand` ends the round, slots that are not running may be started, moved on and forgotten.
        """
        if self._wait is not None:
            raise RuntimeError("a round is under way: call expand() first")
        self._rows = descend_all(self.forest, self.playouts, self._inputs, self._cache, self.scratch, self.context)
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
            self.forest,
            self.playouts,
            self._rows,
            self._outputs,
            self._cache,
            self.scratch,
            self.context,
            self._finished,
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

    def playouts_done(self, slot: int) -> int:
        """Playouts of a search so far: visits that are not a reused tree's."""
        return int(self.forest.nodes[slot, ROOT]["visits"]) - int(self.forest.searches[slot]["kept_visits"])

    def stop(self, slot: int, *, least_playouts: int = 0) -> None:
        """Let a running search end with the visits that it has, or with its first; a later `expand` lists it.

        A search that has not had ``least_playouts`` of its own has them first.
        """
        search = self.forest.searches[slot]
        search["visits_limit"] = min(search["visits_limit"], max(1, search["kept_visits"] + least_playouts))

    def expect(self, slot: int, playouts: float) -> None:
        """Tell a running search for how many more playouts there will be time; moves that they cannot save are futile.

        It does not count down: an owner who watches the time tells it anew between rounds.
        """
        self.forest.searches[slot]["playouts_left"] = playouts

    def is_decided(self, slot: int) -> bool:
        """Whether no move can overtake the heaviest any more by `futile_visits_threshold`, so that one may `stop`."""
        forest = self.forest
        threshold = float(forest.parameters[slot]["futile_visits_threshold"])
        return bool(is_decided(forest.nodes[slot], forest.edges[slot], playouts_left(forest, slot), threshold))

    def advance(self, slot: int, point: int) -> bool:
        """Make the child of ``point`` the root, so that the next `start` may keep its tree; False if there is none.

        For a slot whose search is finished, or whose tree was moved on before: in a match the opponent's move follows
        one's own. Without a child that has been evaluated the tree is empty afterwards.
        """
        if self.forest.searches[slot]["status"] == RUNNING:
            raise RuntimeError(f"slot {slot} is still searching")
        self.forest.searches[slot]["status"] = IDLE
        position = position_of(point, self.length)
        return bool(promote_child(self.forest, slot, position, self.scratch))

    def forget(self, slot: int) -> None:
        """Drop a slot's search and tree; a running search only between two rounds."""
        if self._wait is not None and self.forest.searches[slot]["status"] == RUNNING:
            raise RuntimeError("a round is under way: call expand() first")
        self.forest.searches[slot]["status"] = IDLE
        clear_tree(self.forest, slot)

    # -- turns of many games at once --

    def find(self, turns: Turns, slots: Slots) -> None:
        """Tell in ``turns`` what the finished searches of ``slots`` have found, where their orders want it."""
        find_turns(self.forest, turns, slots, self._children, self._open_policy, self.scratch, self.context)

    def begin(self, turns: Turns, slots: Slots, seats: npt.NDArray[np.bool_]) -> None:
        """Move the trees of ``slots``, none of which is running, on as ``turns`` says, and begin what it orders.

        Args:
            turns: with an order for each of the slots.
            slots: which.
            seats: [slots, seats] whether the searches of a seat are this pool's.

        Raises:
            ValueError: a search does not fit the pool.
        """
        if not begin_turns(self.forest, turns, slots, seats, self.scratch, self.context):
            raise ValueError(f"a search was ordered of a slot that is running, or not of 1 to {self.max_visits} visits")

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
        chosen = draw_child(self.forest, slot, self._children, count, self.scratch.weights)
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
        return self.fill_values(slot, self._children, lcb=lcb, at_least=at_least)

    def fill_values(self, slot: int, children: Children, *, lcb: bool | None, at_least: float) -> int:
        """Fill ``children`` with those of a slot's root, or the moves it may enter, and their play-selection values.

        ``lcb`` None is what the parameters say.

        Returns:
            How many there are.
        """
        if lcb is None:
            lcb = bool(self.forest.parameters[slot]["use_lcb_for_selection"])
        return int(fill_children(self.forest, slot, children, self._open_policy, lcb, at_least, self.context))
