"""Which games go on with finished ones, in what order: forks that wait, and the pool of ends with a seki.

Two keepers: `ForkedOrders` for a run whose games are all known beforehand, where the same seeds give the same games
however many run at once, and `WaitingForks` for games that come in from elsewhere. Specification: selfplay.md 2.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, TypeVar

import numpy as np

from client.games.chance import Draw, coin, fork_seed, generator
from client.games.orders import FinishedGame, GameOrder
from client.games.starts import Fork
from common.parameters import parse_selfplay

MOST_SEKI_FORKS: Final = 1000
"""A full pool replaces one of its forks by the next."""
_MOST_KEYS: Final = 4
"""Networks and texts whose forks are kept; those that were used longest ago go first."""

_Order = TypeVar("_Order", bound=GameOrder)


class SekiPool:
    """Forks from which new games are drawn now and then."""

    def __init__(self) -> None:
        self._forks: list[Fork] = []

    def __len__(self) -> int:
        return len(self._forks)

    def add(self, fork: Fork, random: np.random.Generator) -> None:
        """Keep a fork."""
        if len(self._forks) < MOST_SEKI_FORKS:
            self._forks.append(fork)
        else:
            self._forks[int(random.integers(MOST_SEKI_FORKS))] = fork

    def take(self, random: np.random.Generator) -> Fork | None:
        """A random one, which is then gone; None: there is none."""
        if not self._forks:
            return None
        chosen = int(random.integers(len(self._forks)))
        self._forks[chosen], self._forks[-1] = self._forks[-1], self._forks[chosen]
        return self._forks.pop()


# -- a run whose games are known --


@dataclass(frozen=True, kw_only=True)
class _FamilyOrder(GameOrder):
    """An order, or a fork that came of it and its forks."""

    family: int  # which order of the run; NO_FAMILY: its seki forks are not wanted
    path: tuple[int, ...] = ()  # fork of which fork


_NO_FAMILY: Final = -1


@dataclass
class _Family:
    """What an order of the run has led to so far."""

    running: int = 0
    seki: dict[tuple[int, ...], tuple[Fork, ...]] = field(default_factory=dict)  # by path of the game


class ForkedOrders:
    """The games of a run, and all that go on from them, as if the games were played one after the other.

    A fork by a move or by a hint is a game more: ``p`` forks a game make a share ``p`` of all games forks, as in a
    program where each waiting fork takes the next game's place. A game that is to be drawn from the seki pool waits
    until all orders before it have ended with their forks, and finds the pool as they leave it; meanwhile later ones
    are played. It, and what goes on from it, adds nothing to the pool.

    Args:
        orders: of the run.
        seki_prob: how often a game is drawn from the pool, if that is not empty.
    """

    def __init__(self, orders: Iterable[GameOrder], seki_prob: float) -> None:
        self._orders = iter(orders)
        self._seki_prob = seki_prob
        self._ready: deque[_FamilyOrder] = deque()
        self._count = 0  # orders of the run so far
        self._settled = 0  # those before this one have ended with their forks, or were drawn from the pool
        self._families: dict[int, _Family] = {}
        self._waiting: dict[int, GameOrder] = {}  # for the pool, by number
        self._pool = SekiPool()

    def next(self) -> GameOrder | None:
        """The next game to play; None: there is none before another one has ended."""
        while not self._ready:
            order = next(self._orders, None)
            if order is None:
                return None
            number, self._count = self._count, self._count + 1
            if _draws_seki(order, self._seki_prob):
                self._waiting[number] = order
                self._settle()
            else:
                self._families[number] = _Family(running=1)
                self._ready.append(_of_family(order, number))
        return self._ready.popleft()

    def take(self, game: FinishedGame) -> None:
        """Learn what a game of `next` has led to."""
        self.learn(game.order, game.forks, game.seki_forks)

    def learn(self, order: GameOrder, forks: Sequence[Fork], seki_forks: Sequence[Fork]) -> None:
        """The same of an order whose game was played at another time."""
        assert isinstance(order, _FamilyOrder)
        for number, fork in enumerate(forks):
            seed = fork_seed(order.seed, number)
            self._ready.append(replace(order, seed=seed, start=fork, path=(*order.path, number)))
        family = self._families.get(order.family)
        if family is None:
            return
        family.running += len(forks) - 1
        if seki_forks:
            family.seki[order.path] = tuple(seki_forks)
        self._settle()

    def _settle(self) -> None:
        """Let what has ended into the pool, in the order of the run, and draw from it the games that wait for it."""
        while self._settled < self._count:
            number = self._settled
            waiting = self._waiting.pop(number, None)
            if waiting is not None:
                random = generator(waiting.seed, 1, Draw.SEKI)
                fork = self._pool.take(random)
                order = waiting if fork is None else replace(waiting, start=fork)
                self._ready.append(_of_family(order, _NO_FAMILY))
            elif self._families[number].running:
                return
            else:
                self._add_to_pool(self._families.pop(number), number)
            self._settled += 1

    def _add_to_pool(self, family: _Family, number: int) -> None:
        random = generator(number, 2, Draw.SEKI)
        for _, forks in sorted(family.seki.items()):
            for fork in forks:
                self._pool.add(fork, random)


def _of_family(order: GameOrder, family: int) -> _FamilyOrder:
    return _FamilyOrder(
        seed=order.seed,
        kind=order.kind,
        config=order.config,
        black=order.black,
        white=order.white,
        length=order.length,
        bots=order.bots,
        start=order.start,
        family=family,
    )


# -- games from elsewhere --


@dataclass
class _Kept:
    forks: list[Fork] = field(default_factory=list)
    seki: SekiPool = field(default_factory=SekiPool)


class WaitingForks:
    """Forks of finished games, each of which takes the place of a later order of its own kind.

    A *key* tells what has to agree for that: text, networks, run.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()

    def add(self, key: Hashable, game: FinishedGame) -> None:
        """Keep the forks of a game."""
        if not game.forks and not game.seki_forks:
            return
        kept = self._kept.setdefault(key, _Kept())
        self._kept.move_to_end(key)
        while len(self._kept) > _MOST_KEYS:
            self._kept.popitem(last=False)
        kept.forks += game.forks
        random = generator(game.order.seed, 2, Draw.SEKI)
        for fork in game.seki_forks:
            kept.seki.add(fork, random)

    def put_into(self, order: _Order, key: Hashable) -> _Order:
        """``order``, which then begins at a waiting fork, or now and then at one of the seki pool, if there is any."""
        kept = self._kept.get(key)
        if kept is None:
            return order
        random = generator(order.seed, 1, Draw.SEKI)
        if kept.forks:
            return replace(order, start=kept.forks.pop(int(random.integers(len(kept.forks)))))
        draws_seki = len(kept.seki) > 0 and _draws_seki(order, _seki_prob(order.config))
        fork = kept.seki.take(random) if draws_seki else None
        return order if fork is None else replace(order, start=fork)


@lru_cache(maxsize=_MOST_KEYS)
def _seki_prob(text: str) -> float:
    return parse_selfplay(text, to_be_played=False).selfplay.seki_fork_hack_prob


def _draws_seki(order: GameOrder, probability: float) -> bool:
    """Whether a game goes on with a fork of the pool, if that has any."""
    return bool(coin(np.uint64(order.seed), 0, int(Draw.SEKI), probability))
