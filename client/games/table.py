"""A table: games of one configuration between the same networks, and the pools in which their searches run.

The only part of a game's way that touches pools: it starts the searches that games order, hands them what was found,
and moves every tree on by the moves that were played. What a game is, `client.games.playing` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from client.games.kinds import GameKind
from client.games.orders import FinishedGame, GameOrder
from client.games.playing import Found, Playing, Purpose, SearchOrder
from client.networks import Network
from client.search.pool import SearchPool
from nets.evaluation.batch import Evaluator

_CONFIGS_KEPT: Final = 64


@dataclass(slots=True)
class _Seated:
    """A game at a table."""

    order: GameOrder
    game: Playing
    pools: list[SearchPool]  # by seat
    search: SearchOrder | None = None  # that runs

    def go_on(self, slot: int) -> bool:
        """Start the next search of the game in its ``slot``; False if the game is over."""
        search = self.search = self.game.next_search()
        if search is None:
            return False
        start_search(self.pools[search.seat], slot, search)
        return True

    def hand_over(self, slot: int) -> None:
        """Tell the game what its search found, and move the trees on if a move follows from it."""
        assert self.search is not None
        point = self.game.take(found_by(self.pools[self.search.seat], slot, self.search))
        if point is not None:
            for pool in self.pools:
                pool.advance(slot, point)


class Table:
    """Games of one configuration between the same networks: one pool per network, one slot per game in each.

    Args:
        order: the first game; the others have the same configuration, networks and edge.
        evaluators: of the networks of `networks_of`, in their order.
        slots: most games at once.
    """

    def __init__(self, order: GameOrder, evaluators: Sequence[Evaluator], slots: int) -> None:
        self.order = order
        self._key = _key_of(order)
        self._config = _parse(order.kind, order.config, order.length)
        self._pools = {
            network: SearchPool(evaluator, slots=slots, max_visits=order.kind.max_visits(self._config))
            for network, evaluator in zip(networks_of(order), evaluators, strict=True)
        }
        self._seated: dict[int, _Seated] = {}
        self._free = list(range(slots))[::-1]
        self._evaluations = 0

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
        game = order.kind.make_game(order, self._config, [pool.evaluator for pool in pools])
        seated = self._seated[slot] = _Seated(order, game, pools)
        return None if seated.go_on(slot) else self._leave(slot)

    def round(self) -> list[FinishedGame]:
        """End the round of every pool and begin the next; returns the games that came to their end.

        What begins here goes on while the caller turns to other tables.
        """
        finished = []
        for pool in self._pools.values():
            for slot in pool.expand():
                seated = self._seated[slot]
                seated.hand_over(slot)
                if not seated.go_on(slot):
                    finished.append(self._leave(slot))
            if self._seated:
                self._evaluations += pool.descend()
        return finished

    def take_evaluations(self) -> int:
        """Evaluations since the last call."""
        count, self._evaluations = self._evaluations, 0
        return count

    def _leave(self, slot: int) -> FinishedGame:
        seated = self._seated.pop(slot)
        self._free.append(slot)
        return seated.game.finish(seated.order)


def start_search(pool: SearchPool, slot: int, search: SearchOrder) -> None:
    """Begin ``search`` in a slot of ``pool``."""
    pool.start(
        slot,
        search.state,
        search.history,
        parameters=search.parameters,
        visits=search.visits,
        seed=search.seed,
        keep_tree=search.keep_tree,
    )


def found_by(pool: SearchPool, slot: int, search: SearchOrder) -> Found:
    """What the finished ``search`` says, as far as its game asked for it."""
    result = pool.result(slot)
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
