"""Small configurations, orders and a way to play them, for tests of self-play and matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from client.games.kinds import MATCH, SELFPLAY
from client.games.orders import FinishedGame, GameOrder
from client.games.playing import Games, SearchOrder
from client.games.stream import StreamControl, StreamStats, play_stream
from client.games.table import found_by, start_search
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


def searches_of(games: Games, pools: list[SearchPool]) -> Iterator[tuple[SearchOrder, int, int | None]]:
    """Play the game in slot 0 of ``games`` and ``pools``, one of each seat, to its end: each step of `play_on`."""
    while (step := play_on(games, pools, 0)) is not None:
        yield step


def play_on(games: Games, pools: list[SearchPool], slot: int) -> tuple[SearchOrder, int, int | None] | None:
    """Run the next search of the game in ``slot``: the search, its rounds, the point played; None: the game is over."""
    (search,) = games.next_searches([slot])
    if search is None:
        return None
    pool = pools[search.seat]
    start_search(pool, slot, search)
    rounds = 1
    while not pool.step():
        rounds += 1
    (point,) = games.take([slot], [found_by(pool, slot, search)])
    if point is not None:
        for each in pools:
            each.advance(slot, point)
    return search, rounds, point
