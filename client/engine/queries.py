"""Searches of many positions at once: asked for one by one, run round by round, answered when they are finished.

`Queries` owns the nets and trees of an engine. Whoever asks also polls: a poll is one round, in which the leaves of all
searches that run are evaluated together, and no thread works between two polls. A query may name a line: its tree then
stays, and the next query of that line goes on in it if it asks for the same position some moves later.

Trees and evaluators are made per edge of the board, when the first query needs them, rather than all for the largest:
evaluating 9x9 in tensors of 19x19 takes four times as long, and policies in a tree four times the memory. The price is
a copy of the net for each edge in use; queries of one edge share batches, which is what fills them. Trees that keep
ownership are apart from those that do not, as it is most of the work of reading a net's outputs.

Specification: search.md 8, 9; engine.md 3, 9. Knows no protocol.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from client.networks import Loader, Network
from client.search.cache import NO_CACHE, CacheForm, CacheSettings
from client.search.guidance import NO_GUIDANCE, Guidance
from client.search.limits import LEAST_TIMED_PLAYOUTS, Limits, pass_factor
from client.search.pool import SearchPool, SearchResult
from client.search.report import Report, ReportOptions
from client.search.reporter import DEFAULT, Reporter
from common.go.game import Game
from common.go.points import PASS, opponent
from common.go.rules import Scoring
from common.go.start import GameStart, PlayerView, Stone
from common.go.state import History, State
from common.parameter_classes import FOREVER
from nets.evaluation.batch import Evaluator

NO_LIMITS: Final = Limits()
NODE_BYTES: Final = 2900
"""Memory of one node of a tree for the largest board, ownership included (client.search.tree)."""


CACHE_BYTES: Final = 2 << 30
"""The most that an engine's cache takes, whatever number of entries it is told."""


def cache_of(power: int) -> CacheSettings:
    """An engine's cache of 2^``power`` evaluations, none if that is negative, answering as KataGo's (search.md 13)."""
    return NO_CACHE if power < 0 else CacheSettings(CacheForm.SITUATION, CACHE_BYTES, 1 << power)


def capacity_within(memory: float, slots: int) -> int:
    """How many visits each of ``slots`` trees can hold in ``memory`` bytes, at least 1000."""
    return max(1000, int(memory / slots / NODE_BYTES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A position to search. The game is looked at when the query is asked, and may change after."""

    game: Game
    parameters: np.void  # a record of client.search.parameters
    seed: int  # 64 bits that fix every random draw
    colour: int | None = None  # who moves; None: whose turn it is
    draw_white_wins: float = 0.5  # what a draw is worth for White, in wins
    limits: Limits = NO_LIMITS
    guidance: Guidance = NO_GUIDANCE
    line: Hashable = None  # keeps the tree for the next query of the same name; None: nothing is kept
    priority: int = 0  # higher ones begin first, then earlier ones
    ownership: bool = False  # whether reports may tell it
    symmetry_salt: int = 0  # of `SearchPool.start`

    @property
    def edge(self) -> int:
        """Of the tensors that the position goes into."""
        return max(self.game.x_size, self.game.y_size)


class Ticket:
    """A query that was asked, and what has become of it; compared by identity."""

    def __init__(self, query: Query, state: State, history: History, tree: _Tree) -> None:
        self.query = query
        self.result: SearchResult | None = None
        """What was found; None before the end, after an error, and where the search was cancelled unbegun."""
        self.point: int | None = None
        """The move to play; None as ``result``."""
        self.error: Exception | None = None
        self.is_finished = False
        self.kept_visits = 0
        """Visits of the tree that the search went on in."""
        self.pass_factor = float(pass_factor(state, query.parameters))
        """What the opponent's last passes make of the limits."""
        self._state, self._history, self._tree = state, history, tree
        self._place: tuple[_Trees, int] | None = None
        self._deadline = FOREVER
        self._is_cancelled = False

    @property
    def is_running(self) -> bool:
        """Whether the search has begun and not ended."""
        return self._place is not None and not self.is_finished

    @property
    def seconds(self) -> float:
        """How long the search may take; its limits of visits and playouts are shortened where it begins."""
        return self.query.limits.seconds * self.pass_factor


@dataclass(frozen=True)
class _Tree:
    """What a tree was grown for; it is of use for another query as far as nothing differs but some moves."""

    start: GameStart
    prevents_cleanup: bool
    moves: tuple[Stone, ...]
    to_move: int
    bonus: float  # White's for handicap stones
    draw_white_wins: float
    parameters: tuple[Any, ...]

    def moves_to(self, other: _Tree, *, may_pass: bool) -> tuple[int, ...] | None:
        """The points played from here to ``other``; None if a tree grown here says nothing of there (search.md 9)."""
        count = len(self.moves)
        alike = (
            self.start == other.start
            and self.prevents_cleanup == other.prevents_cleanup
            and self.parameters == other.parameters
            and self.bonus == other.bonus
            and self.draw_white_wins == other.draw_white_wins
            and self.moves == other.moves[:count]
        )
        if not alike:
            return None
        mover = self.to_move
        for colour, point in other.moves[count:]:
            if colour != mover or (point == PASS and not may_pass):
                return None
            mover = opponent(mover)
        return tuple(point for _, point in other.moves[count:]) if mover == other.to_move else None


@dataclass
class _Slot:
    """One tree: whose it is, and who searches in it."""

    ticket: Ticket | None = None
    line: Hashable = None
    tree: _Tree | None = None  # None: it is empty
    last_used: int = 0


_Kind = tuple[int, bool]
"""Edge of the tensors, and whether ownership is kept."""


@dataclass
class _Trees:
    """A pool of one kind with its slots."""

    pool: SearchPool
    slots: list[_Slot]
    reporter: Reporter

    def slot_of(self, line: Hashable) -> int | None:
        """Where the tree of a line is."""
        return next((i for i, slot in enumerate(self.slots) if line is not None and slot.line == line), None)

    def free_slot(self) -> int | None:
        """A slot in which nobody searches: an empty one, or else the one whose tree was not used for longest."""
        idle = [i for i, slot in enumerate(self.slots) if slot.ticket is None]
        return min(idle, key=lambda i: (self.slots[i].line is not None, self.slots[i].last_used), default=None)

    def tickets(self) -> list[Ticket]:
        """Those whose searches run."""
        return [slot.ticket for slot in self.slots if slot.ticket is not None]

    def is_kept(self) -> bool:
        """Whether a search runs, or a line has a tree here."""
        return any(slot.ticket is not None or slot.line is not None for slot in self.slots)


@dataclass(order=True)
class _Waiting:
    """A ticket in the queue."""

    rank: tuple[int, int]
    ticket: Ticket = field(compare=False)


class Queries:
    """Searches through one network.

    Args:
        network: evaluates every position.
        load: gives an evaluator of it for tensors of an edge.
        slots: how many positions of one edge are searched at once; others wait.
        leaves: how many leaves of one search are evaluated at once; `use_leaves` changes it.
        capacity: most visits of a tree; a search that is allowed more ends there.
        cache: of evaluations, for each kind of tree.
        clock: seconds; tests give their own.
    """

    def __init__(
        self,
        network: Network,
        load: Loader,
        *,
        slots: int,
        leaves: int,
        capacity: int,
        cache: CacheSettings = NO_CACHE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.network = network
        self._load = load
        self._slots, self._leaves, self._capacity = slots, leaves, capacity
        self._cache = cache
        self._clock = clock
        self._evaluators: dict[int, Evaluator] = {}
        self._trees: dict[_Kind, _Trees] = {}
        self._waiting: list[_Waiting] = []
        self._over: list[Ticket] = []  # finished outside a round, for the next poll to say
        self._order = itertools.count()

    # -- asking --

    def ask(self, query: Query) -> Ticket:
        """Queue a query; `poll` runs it.

        Raises:
            Exception: whatever the loader of the network raises, if this is the first query of its edge.
        """
        game = query.game
        evaluator = self.evaluator(query.edge)
        view = PlayerView(query.draw_white_wins, pass_alive_suicide=evaluator.pass_alive_suicide)
        state, history = game.position(query.colour, view)
        ticket = Ticket(query, state, history, _tree_of(query, state))
        heapq.heappush(self._waiting, _Waiting((-query.priority, next(self._order)), ticket))
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """Let a query end with what it has found; a poll will list it. Nothing happens to one that is finished."""
        if ticket._place is not None and ticket.is_running:
            trees, slot = ticket._place
            trees.pool.stop(slot)
        ticket._is_cancelled = True

    @property
    def is_busy(self) -> bool:
        """Whether a poll has something to do."""
        return bool(self._waiting or self._over or any(trees.tickets() for trees in self._trees.values()))

    def poll(self) -> list[Ticket]:
        """One round of every search; returns the queries that are now finished, with results or errors."""
        self._begin_waiting()
        now = self._clock()
        under_way = []
        for trees in self._trees.values():
            tickets = trees.tickets()
            for ticket in tickets:
                if now >= ticket._deadline and self._playouts(ticket) >= LEAST_TIMED_PLAYOUTS:
                    self.cancel(ticket)
            if tickets and self._guarded(trees, trees.pool.descend) is not None:
                under_way.append(trees)
        for trees in under_way:
            for slot in self._guarded(trees, trees.pool.expand) or ():
                self._take(trees, slot)
        self._trees = {kind: trees for kind, trees in self._trees.items() if trees.slots}
        over, self._over = self._over, []
        return over

    def run(self, query: Query) -> Ticket:
        """`ask`, and poll until it is finished; others that finish meanwhile are listed by the next poll.

        Raises:
            Exception: what ended the search, where something did.
        """
        ticket = self.ask(query)
        others: list[Ticket] = []
        while not ticket.is_finished:
            others += self.poll()
        self._over += [other for other in others if other is not ticket]
        if ticket.error is not None:
            raise ticket.error
        return ticket

    def _playouts(self, ticket: Ticket) -> int:
        """How many a running search has made."""
        assert ticket._place is not None
        trees, slot = ticket._place
        return trees.pool.playouts_done(slot)

    def expect(self, ticket: Ticket, playouts: float) -> None:
        """Tell a running search for how many more playouts there will be time (`SearchPool.expect`)."""
        if ticket._place is not None and ticket.is_running:
            trees, slot = ticket._place
            trees.pool.expect(slot, playouts)

    def is_decided(self, ticket: Ticket) -> bool:
        """Whether more playouts cannot change the move any more (`SearchPool.is_decided`)."""
        if ticket._place is None or not ticket.is_running:
            return False
        trees, slot = ticket._place
        return trees.pool.has_found(slot) and trees.pool.is_decided(slot)

    def result(self, ticket: Ticket) -> SearchResult | None:
        """What a query has found so far; None before its first visit, and after an error."""
        if ticket.is_finished or ticket._place is None:
            return ticket.result
        trees, slot = ticket._place
        return trees.pool.result(slot) if trees.pool.has_found(slot) else None

    def report(self, ticket: Ticket, options: ReportOptions = DEFAULT) -> Report | None:
        """All that a query has found so far, in White's view; None as in `result`.

        Of a finished query as long as its tree is there: until the next poll, or the next query of its line.
        """
        if ticket._place is None:
            return None
        trees, slot = ticket._place
        held = trees.slots[slot] if trees.slots else _Slot()
        if held.tree is not ticket._tree or not trees.pool.has_found(slot):
            return None
        return trees.reporter.report(slot, options)

    # -- nets and trees --

    def evaluator(self, edge: int) -> Evaluator:
        """The evaluator for tensors of an edge, loaded at the first call."""
        if edge not in self._evaluators:
            self._evaluators[edge] = self._load(self.network, edge)
        return self._evaluators[edge]

    def use_leaves(self, leaves: int) -> None:
        """Evaluate another number of leaves of a search at once; every tree is dropped. No search may run."""
        if leaves != self._leaves:
            self.forget_all()
            self._leaves = leaves

    def forget(self, line: Hashable) -> None:
        """Drop the tree of a line in which no search runs."""
        for trees in self._trees.values():
            slot = trees.slot_of(line)
            if slot is not None and trees.slots[slot].ticket is None:
                self._empty(trees, slot)

    def forget_all(self) -> None:
        """Drop every tree in which no search runs, with its memory where all of a pool go, and evaluations kept."""
        for trees in self._trees.values():
            for slot, each in enumerate(trees.slots):
                if each.ticket is None:
                    self._empty(trees, slot)
            trees.pool.clear_cache()
        self._forget_idle_pools()

    def close(self) -> None:
        """Give every evaluator back; nothing may be asked after."""
        self._trees.clear()
        self._waiting.clear()
        for evaluator in self._evaluators.values():
            evaluator.close()
        self._evaluators.clear()

    # -- within a round --

    def _begin_waiting(self) -> None:
        """Start the first of the queue, as many as find a slot."""
        left: list[_Waiting] = []
        while self._waiting:
            waiting = heapq.heappop(self._waiting)
            if waiting.ticket._is_cancelled:
                self._finish(waiting.ticket)
            elif not self._has_begun(waiting.ticket):
                left.append(waiting)
        self._waiting = left  # sorted, and so a heap

    def _has_begun(self, ticket: Ticket) -> bool:
        """Start a search if there is a slot for it; False if it has to wait. What fails is finished, with its error."""
        try:
            return self._begin(ticket)
        except Exception as error:
            ticket.error = error
            self._finish(ticket)
            return True

    def _begin(self, ticket: Ticket) -> bool:
        query = ticket.query
        trees = self._trees_for(query)
        slot = trees.slot_of(query.line)
        if slot is None:
            slot = trees.free_slot()
        if slot is None or trees.slots[slot].ticket is not None:
            return False
        if not self._move_to(trees, slot, ticket):
            self._empty(trees, slot)
        held = trees.slots[slot]
        held.ticket, held.line, held.tree = ticket, query.line, ticket._tree
        ticket._place = trees, slot
        ticket._deadline = self._clock() + ticket.seconds
        trees.pool.start(
            slot,
            ticket._state,
            ticket._history,
            parameters=query.parameters,
            visits=min(query.limits.visits, self._capacity),
            playouts=query.limits.playouts,
            seed=query.seed,
            first_turn=query.game.start.first_turn,
            keep_tree=True,
            guidance=query.guidance,
            symmetry_salt=query.symmetry_salt,
        )
        ticket.kept_visits = trees.pool.visits(slot)
        return True

    def _trees_for(self, query: Query) -> _Trees:
        """The pool of a query's kind; where the line has a tree of another kind, that is dropped."""
        kind = query.edge, query.ownership
        for other, trees in self._trees.items():
            slot = trees.slot_of(query.line)
            if other != kind and slot is not None and trees.slots[slot].ticket is None:
                self._empty(trees, slot)
        if kind not in self._trees:
            self._forget_idle_pools()
            pool = SearchPool(
                self.evaluator(query.edge),
                slots=self._slots,
                max_visits=self._capacity,
                leaves=self._leaves,
                ownership=query.ownership,
                cache=self._cache,
            )
            self._trees[kind] = _Trees(pool, [_Slot() for _ in range(self._slots)], Reporter(pool))
        return self._trees[kind]

    def _forget_idle_pools(self) -> None:
        self._trees = {kind: trees for kind, trees in self._trees.items() if trees.is_kept()}

    def _move_to(self, trees: _Trees, slot: int, ticket: Ticket) -> bool:
        """Make the tree of a slot that of the query's position; False if it cannot be."""
        held = trees.slots[slot]
        if held.tree is None or held.line is None or held.line != ticket.query.line:
            return False
        # the tree's passes lead into cleanup phases, which such a game does not have
        may_pass = not (held.tree.prevents_cleanup and held.tree.start.rules.scoring == Scoring.TERRITORY)
        points = held.tree.moves_to(ticket._tree, may_pass=may_pass)
        return points is not None and all(trees.pool.advance(slot, point) for point in points)

    def _empty(self, trees: _Trees, slot: int) -> None:
        trees.pool.forget(slot)
        trees.slots[slot] = _Slot()

    def _guarded(self, trees: _Trees, half: Callable[[], Any]) -> Any:
        """What half of a round returns; None if it fails, which ends every search of the pool, and the pool."""
        try:
            return half()
        except Exception as error:
            for ticket in trees.tickets():
                ticket.error = error
                self._finish(ticket)
            trees.slots.clear()
            return None

    def _take(self, trees: _Trees, slot: int) -> None:
        """Keep what the finished search of a slot has found."""
        held = trees.slots[slot]
        ticket = held.ticket
        assert ticket is not None
        ticket.result = trees.pool.result(slot)
        ticket.point = trees.pool.choose_move(slot)
        held.ticket, held.last_used = None, next(self._order)
        self._finish(ticket)

    def _finish(self, ticket: Ticket) -> None:
        ticket.is_finished = True
        self._over.append(ticket)


def _tree_of(query: Query, state: State) -> _Tree:
    """What a tree of the query's search is for."""
    parameters: Any = query.parameters.item()
    return _Tree(
        start=query.game.start,
        prevents_cleanup=query.game.prevents_cleanup,
        moves=tuple(query.game.moves),
        to_move=int(state["to_move"]),
        bonus=float(state["handicap_bonus"]),
        draw_white_wins=query.draw_white_wins,
        parameters=parameters,
    )
