"""Small configurations, orders and a way to play them, for tests of self-play and matches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from client.games.kinds import MATCH, SELFPLAY
from client.games.orders import FinishedGame, GameOrder
from client.games.playing import Games, SearchOrder
from client.games.stream import StreamControl, StreamStats, play_stream
from client.games.table import start_search
from client.networks import Loader, Network
from client.search.pool import SearchPool
from common import config_text
from common.parameters import default_text
from tests.client.games.evaluators import OpinionatedEvaluator

NET = Network("net-a", None)
OTHER = Network("net-b", None)
LENGTH = 7

_TINY_SELFPLAY = {
    "bSizes": "4,5",
    "bSizeRelProbs": "1,2",
    "allowRectangleProb": "0.5",
    "maxVisits": "10",
    "cheapSearchVisits": "4",
    "reducedVisitsMin": "4",
    "maxMovesPerGame": "120",
    "drawRandRadius": "0.5",
    "noResultStdev": "0.16",
}
_TINY_MATCH = {"bSizes": "5", "bSizeRelProbs": "1", "maxVisits": "8", "maxMovesPerGame": "120"}


_DISPLACED = {"komiAuto": ("komiMean",)}
"""What a key stands in the place of."""


def selfplay_text(**changes: object) -> str:
    """A configuration of tiny games of self-play, with ``changes`` to it."""
    return _changed(default_text("selfplay", "7x7"), _TINY_SELFPLAY, changes)


def match_text(**changes: object) -> str:
    """A configuration of tiny match games."""
    return _changed(default_text("gating", "7x7"), _TINY_MATCH, changes)


def _changed(base: str, tiny: dict[str, str], changes: dict[str, object]) -> str:
    values = tiny | {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in changes.items()
    }
    displaced = {other for key in values for other in _DISPLACED.get(key, ())}
    return config_text.overlay(base, config_text.write(values), without=displaced)


def orders(count: int, text: str, black: Network = NET, white: Network = NET, first_seed: int = 0) -> list[GameOrder]:
    """Games of ``text``, with one seed after the other."""
    return [
        GameOrder(
            seed=first_seed + number,
            kind=SELFPLAY if black == white else MATCH,
            config=text,
            black=black,
            white=white,
            length=LENGTH,
        )
        for number in range(count)
    ]


def play(
    wanted: Iterable[GameOrder],
    *,
    games: int = 8,
    load: Loader | None = None,
) -> list[FinishedGame]:
    """Play ``wanted``; finished games in the order of their seeds."""
    waiting = iter(wanted)
    finished: list[FinishedGame] = []
    play_stream(
        lambda: next(waiting, None),
        finished.append,
        games=games,
        load=load or (lambda network, length: OpinionatedEvaluator(length)),
        control=StreamControl(),
        stats=StreamStats(),
        until_empty=True,
    )
    return sorted(finished, key=lambda game: game.order.seed)


@dataclass(frozen=True)
class Searched:
    """A search of a turn that is finished, and what the game does upon it."""

    order: np.void  # ORDER
    rounds: int
    point: int | None  # played upon it; None: another search follows


def play_beginning(games: Games, pools: list[SearchPool], slot: int, order: GameOrder) -> list[SearchOrder]:
    """Begin a game in a slot and run the searches before its first turn: those that were ordered."""
    searches, found, script = list[SearchOrder](), None, games.begin(slot, order)
    with contextlib.suppress(StopIteration):
        while True:
            search = script.send(found)  # type: ignore[arg-type]  # None is how a generator begins
            searches.append(search)
            start_search(pools[search.seat], slot, search)
            while not pools[search.seat].step():
                pass
            found = pools[search.seat].result(slot)
    for pool in pools:
        pool.forget(slot)
    return searches


def play_on(games: Games, pools: list[SearchPool], slot: int) -> Searched | None:
    """Have the game in ``slot`` go on, and run the search that it orders; None: it is over."""
    slots = np.array([slot], np.int32)
    over = games.go_on(slots)
    seats = np.zeros((len(games.turns.orders), len(pools)), np.bool_)
    for seat, pool in enumerate(pools):
        seats[:], seats[:, seat] = False, True
        pool.begin(games.turns, slots, seats)
    if over:
        return None
    order = games.turns.orders[slot].copy()
    pool, rounds = pools[order["seat"]], 1
    while not pool.step():
        rounds += 1
    pool.find(games.turns, slots)
    return Searched(order, rounds, int(games.turns.found[slot]["point"]) if order["tells"] else None)


def searches_of(games: Games, pools: list[SearchPool], slot: int = 0) -> Iterator[Searched]:
    """The turns of the game in ``slot``, whose beginning is over, to its end: each step of `play_on`."""
    while (step := play_on(games, pools, slot)) is not None:
        yield step


def ended(games: Games, slot: int, order: GameOrder) -> FinishedGame:
    """What is kept of a game that is over and asks for nothing more."""
    with pytest.raises(StopIteration) as end:
        next(games.end(slot, order))
    game: FinishedGame = end.value.value
    return game
