"""Questions about games."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet

from common.wire import MAX_ROWS
from server.errors import Unavailable
from server.games.models import Game, GameKind, GameState
from server.networks.models import Network
from server.runs.models import Run
from server.storage import load


@dataclass(frozen=True)
class Result:
    """How often a pairing ended in one way; networks by their keys."""

    black_network: int
    white_network: int
    winner: str
    """``B``, ``W``, ``0`` for a draw, ``-`` for no result."""
    games: int


def match_results(run_id: int) -> list[Result]:
    """All counted match games of a run that are decisive, summed up by pairing and outcome."""
    counted = Game.objects.filter(run=run_id, kind=GameKind.RATING, state=GameState.COUNTED, is_decisive=True)
    sums = counted.values_list("black_network", "white_network", "winner").annotate(games=Count("pk")).order_by()
    return [Result(*values) for values in sums]


@dataclass(frozen=True)
class RowsFile:
    """The rows of one counted training game."""

    number: int
    """Order in which games became visible; see `Game.number`."""
    file: str
    """Name in the storage."""
    from_random: bool
    """Played by the network without knowledge."""


def rows_between(run_id: int, first: int, end: int) -> list[RowsFile]:
    """The counted training games of a run whose first row is number ``first`` to ``end - 1``, in their order.

    Rows are numbered as they were first counted, so what is moderated leaves the other games where they are. Once the
    run's ``last_row`` has reached ``end``, no further game will come to lie there.
    """
    counted = Game.objects.filter(
        run=run_id,
        kind=GameKind.TRAINING,
        state=GameState.COUNTED,
        last_row__gt=first,
        last_row__lt=end + MAX_ROWS,
    )
    counted = counted.annotate(first_row=F("last_row") - F("num_training_rows"))
    counted = counted.filter(first_row__gte=first, first_row__lt=end)
    fields = ("number", "rows_file", "black_network__is_random")
    return [RowsFile(*values) for values in counted.order_by("number").values_list(*fields)]


def games(run: Run | None = None, network: Network | None = None, kind: GameKind | None = None) -> QuerySet[Game]:
    """Games (of a run, a network, a kind), newest first, with the rows that they name."""
    found = Game.objects.select_related("run", "black_network", "white_network", "contributor__user").order_by("-pk")
    if run is not None:
        found = found.filter(run=run)
    if network is not None:
        found = found.filter(Q(black_network=network) | Q(white_network=network))
    return found if kind is None else found.filter(kind=kind)


def game_by_uid(kind: str, uid: str) -> Game | None:
    """The game of that kind and uid, with the rows that it names; None if there is none."""
    return games().filter(kind=kind, uid=uid.upper()).first()


def sgf_content(game: Game) -> bytes | None:
    """The game's record as it was uploaded; None if the storage has lost it.

    Raises:
        Unavailable: the storage does not answer.
    """
    try:
        return load(game.sgf_file)
    except FileNotFoundError:
        return None
    except Exception as error:  # each storage has errors of its own
        raise Unavailable(f"the server's storage is away at the moment ({type(error).__name__}); try again") from error


def refused_games(run_name: str, reason_code: str) -> list[int]:
    """Keys of the games of a run that were refused with a reason code."""
    refused = Game.objects.filter(run__name=run_name, state=GameState.REFUSED, reason_code=reason_code)
    return list(refused.order_by("pk").values_list("pk", flat=True))


def refused_games_of(contributor: int, limit: int) -> list[Game]:
    """The last refused games of a contributor, with their reasons, newest first."""
    refused = Game.objects.filter(contributor=contributor, state=GameState.REFUSED).select_related("run")
    return list(refused.order_by("-pk")[:limit])


def held_games_of(contributor: int, most: int) -> int:
    """How many games of a contributor wait to be counted; ``most`` stands for that many and more."""
    return Game.objects.filter(contributor=contributor, state=GameState.HELD)[:most].count()
