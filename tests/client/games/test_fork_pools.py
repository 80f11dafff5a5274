"""Which games go on with finished ones: the same whatever runs beside them, and as often as they should."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from client.games.chance import Draw, coin, generator
from client.games.fork_pools import MOST_SEKI_FORKS, ForkedOrders, SekiPool, WaitingForks
from client.games.orders import FinishedGame, GameOrder
from client.games.starts import Fork, ForkKind
from common.audit import GameFacts
from common.go.rules import Rules
from common.go.start import GameStart
from tests.client.games.games import orders, selfplay_text

FACTS = GameFacts(5, 5, Rules(), 0, "normal", "B", 0.5, False, 1, "0" * 32, "a", "a", 7)


def fork(kind: ForkKind, name: float) -> Fork:
    """A fork that can be told from others by its weight."""
    return Fork(kind, GameStart(5, 5), (), name)


def played(order: GameOrder, fork_prob: float = 0.1, seki_prob: float = 0.2) -> FinishedGame:
    """A game whose forks follow from its seed."""
    draws = generator(order.seed, 0, Draw.FORKS)
    plain = (fork(ForkKind.PLAIN, order.seed),) if draws.random() < fork_prob else ()
    seki = (
        (fork(ForkKind.SEKI, order.seed), fork(ForkKind.SEKI, order.seed + 0.5)) if draws.random() < seki_prob else ()
    )
    return FinishedGame(order, FACTS, "", None, "B", plain, seki)


def run(count: int, seki_prob: float, at_once: int, seed: int) -> list[GameOrder]:
    """The games of a run, which end in a random order."""
    source, shuffled = ForkedOrders(orders(count, ""), seki_prob), random.Random(seed)
    running: list[GameOrder] = []
    ended: list[GameOrder] = []
    while True:
        while len(running) < at_once and (order := source.next()) is not None:
            running.append(order)
        if not running:
            return ended
        ended.append(running.pop(shuffled.randrange(len(running))))
        source.take(played(ended[-1]))


def key(order: GameOrder) -> tuple[int, object]:
    return order.seed, order.start


def test_the_same_games_are_played_however_many_run_at_once() -> None:
    alone = sorted(map(key, run(300, 0.1, 1, 0)), key=str)
    assert len(alone) > 300
    for at_once in (2, 7, 40, 400):
        assert sorted(map(key, run(300, 0.1, at_once, at_once)), key=str) == alone


def test_forks_are_games_more_and_make_their_share() -> None:
    games = run(3000, 0.0, 8, 1)
    kinds = Counter(
        None if order.start is None else order.start.kind for order in games if not hasattr(order.start, "board")
    )
    assert kinds[None] == 3000
    assert kinds[ForkKind.PLAIN] / len(games) == pytest.approx(0.1, abs=0.02)
    assert len({order.seed for order in games}) == len(games)


def test_the_seki_pool_is_drawn_from_as_often_as_it_should() -> None:
    games = run(3000, 0.1, 8, 1)
    seki = [order for order in games if isinstance(order.start, Fork) and order.start.kind is ForkKind.SEKI]
    assert len(seki) / 3000 == pytest.approx(0.1, abs=0.02)
    assert len({order.start.training_weight for order in seki if order.start}) == len(seki), "each fork once"
    assert sum(order.start is None for order in games) + len(seki) == 3000
    assert {order.seed for order in seki} == {
        seed for seed in range(3000) if coin(np.uint64(seed), 0, int(Draw.SEKI), 0.1)
    } - {order.seed for order in games if order.start is None}


def test_games_that_wait_for_a_pool_that_stays_empty_begin_plainly() -> None:
    source = ForkedOrders(orders(50, ""), 0.5)
    ended = 0
    while (order := source.next()) is not None:
        assert order.start is None
        source.take(FinishedGame(order, FACTS, "", None, "B"))
        ended += 1
    assert ended == 50


def test_a_full_pool_replaces_what_it_has() -> None:
    pool, draws = SekiPool(), np.random.default_rng(1)
    for name in range(2 * MOST_SEKI_FORKS):
        pool.add(fork(ForkKind.SEKI, name), draws)
    assert len(pool) == MOST_SEKI_FORKS
    taken = [pool.take(draws) for _ in range(MOST_SEKI_FORKS)]
    assert pool.take(draws) is None
    later = [each for each in taken if each is not None and each.training_weight >= MOST_SEKI_FORKS]
    assert len(later) / MOST_SEKI_FORKS == pytest.approx(1 - np.exp(-1), abs=0.06)


def test_a_waiting_fork_takes_the_place_of_the_next_game_of_its_kind() -> None:
    waiting = WaitingForks()
    parent, first, second, other = orders(4, selfplay_text(sekiForkHackProb=0))
    (eager,) = orders(1, selfplay_text(sekiForkHackProb=1), first_seed=9)
    assert waiting.put_into(first, "a") is first
    waiting.add("a", played(parent, fork_prob=1.0, seki_prob=1.0))
    assert waiting.put_into(other, "b") is other
    assert waiting.put_into(first, "a").start == fork(ForkKind.PLAIN, parent.seed)
    assert waiting.put_into(second, "a") is second
    seki = [waiting.put_into(eager, "a").start, waiting.put_into(eager, "a").start]
    assert {each.kind for each in seki if isinstance(each, Fork)} == {ForkKind.SEKI}
    assert seki[0] != seki[1]
    assert waiting.put_into(eager, "a") is eager


def test_forks_of_long_ago_are_forgotten() -> None:
    waiting = WaitingForks()
    for number, order in enumerate(orders(6, "")):
        waiting.add(number, played(order, fork_prob=1.0, seki_prob=0.0))
    (order,) = orders(1, "")
    assert [waiting.put_into(order, number).start is not None for number in range(6)] == [False] * 2 + [True] * 4
