"""A table: games of one configuration between the same networks, and the pools in which their searches run.

The only part of a game's way that touches pools: it starts the searches that games order, hands them what was found,
and moves every tree on by the moves that were played. What a game is, `client.games.playing` says.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from client.games.kinds import GameKind
from client.games.orders import FinishedGame, GameOrder
from client.games.playing import CACHE_MIB, Found, Purpose, SearchOrder
from client.networks import Network
from client.search.cache import CacheForm, CacheSettings
from client.search.limits import LEAST_TIMED_PLAYOUTS, pass_factor
from client.search.pool import SearchPool
from common.parameter_classes import FOREVER
from nets.evaluation.batch import Evaluator

GAMES_CACHE: Final = CacheSettings(CacheForm.INPUTS, CACHE_MIB << 20)
"""What each network of games has unless told otherwise: by inputs, since a game owes nothing to those beside it."""

_ENTRIES_PER_VISIT: Final = 4
"""No more entries than for so many times the visits of all slots: what lies further back is not met again."""

_CONFIGS_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class _Seated:
    """A game at a table."""

    order: GameOrder
    pools: list[SearchPool]  # by seat


class Table:
    """Games of one configuration between the same networks: one pool per network, one slot per game in each.

    Args:
        order: the first game; the others have the same configuration, networks and edge.
        evaluators: of the networks of `networks_of`, in their order.
        slots: most games at once.
        cache: of each network's evaluations.
    """

    def __init__(
        self, order: GameOrder, evaluators: Sequence[Evaluator], slots: int, cache: CacheSettings = GAMES_CACHE
    ) -> None:
        self.order = order
        self._key = _key_of(order)
        config = _parse(order.kind, order.config, order.length)
        self._games = order.kind.make_games(config, evaluators, slots)
        visits = order.kind.max_visits(config)
        cache = replace(cache, max_entries=min(cache.max_entries, _ENTRIES_PER_VISIT * slots * visits))
        self._pools = {
            network: SearchPool(evaluator, slots=slots, max_visits=visits, cache=cache)
            for network, evaluator in zip(networks_of(order), evaluators, strict=True)
        }
        self._seated: dict[int, _Seated] = {}  # by slot
        self._searches: dict[int, SearchOrder] = {}  # by slot, those that run or ran last
        self._deadlines: dict[int, float] = {}  # by slot, of time.monotonic, of running searches by the clock
        self._free = list(range(slots))[::-1]
        self._evaluations = 0
        self._hits = 0  # of those that were told

    @property
    def games_running(self) -> int:
        """How many games run here."""
        return len(self._seated)

    def fits(self, order: GameOrder) -> bool:
        """Whether ``order`` can be played here."""
        return self._key == _key_of(order)

    def sit(self, order: GameOrder) -> FinishedGame | None:
        """Start a game; returns it if it is over at once."""
        slot = self._free.pop()
        for pool in self._pools.values():
            pool.forget(slot)
        pools = [self._pools[network] for network in (order.black, order.white)[: order.kind.seats]]
        self._games.begin(slot, order)
        self._seated[slot] = _Seated(order, pools)
        return next(iter(self._go_on([slot])), None)

    def round(self) -> list[FinishedGame]:
        """End the round of every pool and begin the next; returns the games that came to their end.

        What begins here goes on while the caller turns to other tables.
        """
        finished = []
        self._stop_late_searches()
        for pool in self._pools.values():
            due = pool.expand()
            self._hand_over(pool, due)
            finished += self._go_on(due)
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
            pool = self._seated[slot].pools[self._searches[slot].seat]
            pool.stop(slot, least_playouts=LEAST_TIMED_PLAYOUTS)

    def _hand_over(self, pool: SearchPool, due: list[int]) -> None:
        """Tell the games in the slots ``due`` what their searches found, and move the trees on by the moves played."""
        for slot in due:
            self._deadlines.pop(slot, None)
        found = [found_by(pool, slot, self._searches[slot]) for slot in due]
        for slot, point in zip(due, self._games.take(due, found), strict=True):
            if point is not None:
                for each in self._seated[slot].pools:
                    each.advance(slot, point)

    def _go_on(self, due: list[int]) -> list[FinishedGame]:
        """Start the next searches of the games in the slots ``due``; returns those that are over."""
        finished = []
        for slot, search in zip(due, self._games.next_searches(due), strict=True):
            if search is None:
                finished.append(self._leave(slot))
            else:
                self._searches[slot] = search
                start_search(self._seated[slot].pools[search.seat], slot, search)
                if search.seconds < FOREVER:
                    seconds = search.seconds * pass_factor(search.state, search.parameters)
                    self._deadlines[slot] = time.monotonic() + seconds
        return finished

    def _leave(self, slot: int) -> FinishedGame:
        self._free.append(slot)
        return self._games.finish(slot, self._seated.pop(slot).order)


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
        keep_tree=search.keep_tree,
        guidance=search.guidance,
        symmetry_salt=search.symmetry_salt,
    )


def found_by(pool: SearchPool, slot: int, search: SearchOrder) -> Found:
    """What the finished ``search`` says, as far as its game asked for it."""
    result = None if search.purpose is Purpose.WARM_UP else pool.result(slot)
    policy_target = pool.policy_target(slot) if search.policy_target else None
    point = pool.choose_move(slot, lcb=search.lcb) if search.purpose is Purpose.TURN else None
    return Found(result, point, policy_target)


def networks_of(order: GameOrder) -> list[Network]:
    """The different networks of a game, in an order that does not depend on colours."""
    return sorted({order.black, order.white}, key=lambda network: (network.name, str(network.path)))


def _key_of(order: GameOrder) -> tuple[object, ...]:
    return order.kind, order.config, order.length, tuple(networks_of(order))


@lru_cache(maxsize=_CONFIGS_KEPT)
def _parse(kind: GameKind[Any], text: str, length: int) -> Any:
    return kind.parse(text, length)
