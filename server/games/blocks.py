"""How many games there are of a kind, and which one stands at a place of the list, without counting them.

Keys are given in order, so the table is cut into blocks of keys, whose games are counted once, when none can appear in
them any more. Only the newest games, of the blocks that are not closed yet, are counted when somebody asks.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import F, Max, Sum
from django.utils import timezone

from server.games.models import Game, GameBlock, GameKind

BLOCK: Final = 1 << 14
"""Keys of one block."""
SETTLED: Final = timedelta(minutes=2)
"""No upload holds a key so long before its row can be seen: it has every lock but its login's by then."""
_AT_ONCE: Final = 64
_CLOSE: Final = """
    INSERT INTO games_gameblock (kind, block, games)
    SELECT kind, block, coalesce(counted.games, 0)
    FROM unnest(%(kinds)s) AS kind CROSS JOIN generate_series(%(first)s::bigint, %(last)s::bigint) AS block
    LEFT JOIN (
        SELECT kind, id / %(size)s AS block, count(*) AS games FROM games_game
        WHERE id >= %(first)s::bigint * %(size)s AND id < (%(last)s::bigint + 1) * %(size)s GROUP BY 1, 2
    ) AS counted USING (kind, block)
    ON CONFLICT (kind, block) DO NOTHING
"""


def blocks_close() -> int:
    """Count the games of the blocks that have become full; returns how many blocks."""
    settled = Game.objects.filter(received_at__lt=timezone.now() - SETTLED).order_by("-pk")
    newest = settled.values_list("pk", flat=True).first()
    if newest is None:
        return 0
    first, end = _first_open(), newest // BLOCK
    for start in range(first, end, _AT_ONCE):
        last = min(end, start + _AT_ONCE) - 1
        with connection.cursor() as cursor:
            cursor.execute(_CLOSE, {"kinds": list(GameKind.values), "first": start, "last": last, "size": BLOCK})
    return max(0, end - first)


def games_count(kind: GameKind) -> int:
    """How many games of a kind there are, in whatever state."""
    closed = GameBlock.objects.filter(kind=kind).aggregate(games=Sum("games"))["games"] or 0
    return int(closed) + _open_games(kind)


def key_at(kind: GameKind, place: int) -> int | None:
    """The key of the game at a place of the list of a kind, the newest at place 0; None beyond the end."""
    newest_first = Game.objects.filter(kind=kind).order_by("-pk").values_list("pk", flat=True)
    place_left = place - _open_games(kind)
    if place_left < 0:
        return newest_first[place]
    for block, games in GameBlock.objects.filter(kind=kind).order_by("-block").values_list("block", "games"):
        if place_left < games:
            return newest_first.filter(pk__gte=block * BLOCK, pk__lt=(block + 1) * BLOCK)[place_left]
        place_left -= games
    return None


def blocks_forget(games: dict[GameKind, list[int]]) -> None:
    """Take games, by their keys, that are about to be deleted out of the counts of their blocks."""
    with transaction.atomic():
        for kind, keys in games.items():
            for block in sorted({key // BLOCK for key in keys}):
                gone = sum(key // BLOCK == block for key in keys)
                GameBlock.objects.filter(kind=kind, block=block).update(games=F("games") - gone)


def _first_open() -> int:
    newest = GameBlock.objects.aggregate(newest=Max("block"))["newest"]
    return 0 if newest is None else newest + 1


def _open_games(kind: GameKind) -> int:
    return Game.objects.filter(kind=kind, pk__gte=_first_open() * BLOCK).count()
