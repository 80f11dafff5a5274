"""A table: games of one configuration between the same networks, and the pools in which their searches run.

The only part of a game's way that touches pools: it starts the searches that games order, hands them what was found,
and has every tree moved on by the moves that were played. What a game is, `client.games.playing` says.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np

from client.games.inside_trees import keep_inside
from client.games.kinds import GameKind
from client.games.net_changes import Leaving, Newer, hand_over, looks_for_net, take_over
from client.games.orders import FinishedGame, GameOrder
from client.games.playing import CACHE_MIB, Script, SearchOrder
from client.networks import Network
from client.search.cache import CacheForm, CacheSettings
from client.search.limits import LEAST_TIMED_PLAYOUTS
from client.search.pool import SearchPool, SearchResult
from client.search.turns import Slots, Turns
from common.parameter_classes import FOREVER
from nets.evaluation.batch import Evaluator

GAMES_CACHE: Final = CacheSettings(CacheForm.INPUTS, CACHE_MIB << 20)
"""What each network of games has unless told otherwise: by inputs, since a game owes nothing to those beside it."""

_ENTRIES_PER_VISIT: Final = 4
"""No more entries than for so many times the visits of all slots: what lies further back is not met again."""

_CONFIGS_KEPT: Final = 64


@dataclass(slots=True)
class _Seated:
    """A game at a table."""

    order: GameOrder
    pools: list[SearchPool]  # by seat
    script: Script[FinishedGame] | Script[None] | None  # of its beginning or its end; None while its turns are played


class Table:
    """Games of one configuration between the same networks: one pool per network, one slot per game in each.

    Args:
        order: the first game; the others have the same configuration, networks and edge.
        evaluators: of the networks of `networks_of`, in their order.
        slots: most games at once.
        cache: of each network's evaluations.
        newer: says with which network a game goes on, where the configuration allows it; None: none ever does.
    """

    def __init__(
        self,
        order: GameOrder,
        evaluators: Sequence[Evaluator],
        slots: int,
        cache: CacheSettings = GAMES_CACHE,
        newer: Newer | None = None,
    ) -> None:
        self.order = order
        self._key = _key_of(order)
        config = _parse(order.kind, order.config, order.length)
        self._games = order.kind.make_games(config, evaluators, slots)
        self._newer = newer if order.kind.switches_nets(config) else None
        self._leaving: list[Leaving] = []
        self._inner_visits = order.kind.inner_visits(config)
        self._visits = visits = order.kind.max_visits(config, order)
        cache = replace(cache, max_entries=min(cache.max_entries, _ENTRIES_PER_VISIT * slots * visits))
        self._pools = {
            network: SearchPool(evaluator, slots=slots, max_visits=visits, cache=cache)
            for network, evaluator in zip(networks_of(order), evaluators, strict=True)
        }
        self._seats = {pool: np.zeros((slots, order.kind.seats), np.bool_) for pool in self._pools.values()}
        """[slots, seats] whose searches each pool runs."""
        self._seated: dict[int, _Seated] = {}  # by slot
        self._deadlines: dict[int, float] = {}  # by slot, of time.monotonic, of running searches by the clock
        self._began: dict[int, float] = {}  # the same: when they began
        self._free = list(range(slots))[::-1]
        self._evaluations = 0
        self._hits = 0  # of those that were told

    @property
    def games_running(self) -> int:
        """How many games run here."""
        return len(self._seated)

    def fits(self, order: GameOrder) -> bool:
        """Whether ``order`` can be played here."""
        if self._key != _key_of(order):
            return False
        return bool(order.kind.max_visits(_parse(order.kind, order.config, order.length), order) <= self._visits)

    def sit(self, order: GameOrder) -> FinishedGame | None:
        """Start a game; returns it if it is over at once."""
        slot = self._seat(order, (order.black, order.white))
        self._seated[slot].script = self._games.begin(slot, order)
        return next(iter(self._run_script(slot, None)), None)

    def sit_on(self, leaving: Leaving) -> None:
        """Go on with a game from another table, by the network of this one."""
        slot = self._seat(leaving.order, (leaving.network, leaving.network))
        take_over(self._games, slot, leaving.carried)
        self._begin_searches(np.array([slot], np.int32))

    def take_leaving(self) -> list[Leaving]:
        """Games that have left this table since the last call, to go on at another."""
        leaving, self._leaving = self._leaving, []
        return leaving

    def _seat(self, order: GameOrder, networks: Sequence[Network]) -> int:
        """A free slot, without trees, for a game of ``order`` in which ``networks`` play Black and White."""
        slot = self._free.pop()
        for pool in self._pools.values():
            pool.forget(slot)
        pools = [self._pools[network] for network in networks[: order.kind.seats]]
        for pool, seats in self._seats.items():
            seats[slot] = [each is pool for each in pools]
        self._seated[slot] = _Seated(order, pools, None)
        return slot

    def round(self) -> list[FinishedGame]:
        """End the round of every pool and begin the next; returns the games that came to their end.

        What begins here goes on while the caller turns to other tables.
        """
        finished = []
        self._stop_late_searches()
        for pool in self._pools.values():
            finished += self._take_in(pool, pool.expand())
            if self._seated:
                self._evaluations += pool.descend()
        return finished

    def take_evaluations(self) -> tuple[int, int]:
        """Evaluations since the last call: those that the networks made, and those that were found in their caches."""
        made, self._evaluations = self._evaluations, 0
        hits = sum(pool.hits for pool in self._pools.values())
        found, self._hits = hits - self._hits, hits
        return made, found

    def _stop_late_searches(self) -> None:
        now = time.monotonic()
        for slot in [slot for slot, deadline in self._deadlines.items() if deadline <= now]:
            del self._deadlines[slot]
            seat = self._games.turns.orders[slot]["seat"]
            self._seated[slot].pools[seat].stop(slot, least_playouts=LEAST_TIMED_PLAYOUTS)

    def _take_in(self, pool: SearchPool, due: list[int]) -> list[FinishedGame]:
        """Go on with the games whose searches in ``pool`` are finished; returns those that are over."""
        finished, at_turns = list[FinishedGame](), list[int]()
        for slot in due:
            if self._seated[slot].script is None:
                at_turns.append(slot)
            else:
                if self._games.turns.orders[slot]["tells"]:
                    pool.find(self._games.turns, np.array([slot], np.int32))
                finished += self._run_script(slot, pool.result(slot))
        if at_turns:
            slots = np.array(at_turns, np.int32)
            pool.find(self._games.turns, slots)
            self._add_times(at_turns)
            for slot in at_turns if self._inner_visits else ():
                keep_inside(self._games, pool, slot, self._inner_visits)
            finished += self._play_turns(slots)
        return finished

    def _run_script(self, slot: int, found: SearchResult | None) -> list[FinishedGame]:
        """Tell a script what its search has found, None to begin it; start its next search, or what follows it."""
        seated = self._seated[slot]
        assert seated.script is not None
        try:
            search = seated.script.send(found)  # type: ignore[arg-type]  # None is how a generator begins
        except StopIteration as ended:
            seated.script = None
            if ended.value is not None:
                self._seated.pop(slot)
                self._free.append(slot)
                return [ended.value]
            for pool in self._pools.values():
                pool.forget(slot)
            return self._play_turns(np.array([slot], np.int32))
        ask_as_turn(self._games.turns, slot, search)
        start_search(seated.pools[search.seat], slot, search)
        return []

    def _play_turns(self, slots: Slots) -> list[FinishedGame]:
        """Have turns played, and begin the searches that they order; returns the games that are over."""
        over = self._games.go_on(slots)
        if self._newer is not None:
            slots = self._without_leaving(slots, over, self._newer)
        self._begin_searches(slots)
        finished = []
        for slot in over:
            self._seated[slot].script = self._games.end(slot, self._seated[slot].order)
            finished += self._run_script(slot, None)
        return finished

    def _without_leaving(self, slots: Slots, over: Sequence[int], newer: Newer) -> Slots:
        """Those of ``slots`` whose games stay here; the others found a newer network, and go on elsewhere."""
        stay = []
        for slot in slots.tolist():
            order, network = self._seated[slot].order, None
            if slot not in over and looks_for_net(self._games, slot):
                network = newer(order, self.order.black)
            if network is None:
                stay.append(slot)
                continue
            self._leaving.append(Leaving(order, network, hand_over(self._games, slot, network)))
            del self._seated[slot]
            self._free.append(slot)
        return np.array(stay, np.int32)

    def _begin_searches(self, slots: Slots) -> None:
        """Begin the searches that the turns of ``slots`` order."""
        for pool, seats in self._seats.items():
            pool.begin(self._games.turns, slots, seats)
        self._watch_time(slots)

    def _watch_time(self, slots: Slots) -> None:
        """Note until when the searches of ``slots`` may last, where they go by the clock."""
        orders = self._games.turns.orders
        for slot in slots.tolist():
            order = orders[slot]
            self._deadlines.pop(slot, None)
            if order["begins"] and order["seconds"] < FOREVER:
                self._began[slot] = time.monotonic()
                self._deadlines[slot] = self._began[slot] + float(order["seconds"])

    def _add_times(self, slots: Sequence[int]) -> None:
        """Note how long the finished searches of ``slots`` took, where they went by the clock."""
        now = time.monotonic()
        for slot in slots if self._began else ():
            began = self._began.pop(slot, None)
            if began is not None:
                self._games.notes[slot].seconds[int(self._games.turns.orders[slot]["seat"])] += now - began


def ask_as_turn(turns: Turns, slot: int, search: SearchOrder) -> None:
    """Note in ``turns`` what is to be told of a script's search (`SearchPool.find`)."""
    order = turns.orders[slot]
    order["tells"] = order["wants_target"] = search.tells
    order["selects_by_lcb"] = bool(search.parameters["use_lcb_for_selection"])


def start_search(pool: SearchPool, slot: int, search: SearchOrder) -> None:
    """Begin ``search`` in a slot of ``pool``."""
    pool.start(
        slot,
        search.state,
        search.history,
        parameters=search.parameters,
        visits=search.visits,
        seed=search.seed,
        playouts=search.playouts,
        first_turn=search.first_turn,
        keep_tree=search.keep_tree,
        guidance=search.guidance,
        symmetry_salt=search.symmetry_salt,
    )


def networks_of(order: GameOrder) -> list[Network]:
    """The different networks of a game, in an order that does not depend on colours."""
    return sorted({order.black, order.white}, key=lambda network: (network.name, str(network.path)))


def _key_of(order: GameOrder) -> tuple[object, ...]:
    return order.kind, order.config, order.length, tuple(networks_of(order))


@lru_cache(maxsize=_CONFIGS_KEPT)
def _parse(kind: GameKind[Any], text: str, length: int) -> Any:
    return kind.parse(text, length)
