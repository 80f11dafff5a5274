"""Questions about games."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import BigIntegerField, F, Func, Q, QuerySet, Value

from common.wire import MAX_ROWS
from server.accounts.models import Contributor
from server.errors import Unavailable
from server.games.models import Decided, Game, GameKind, GameState, MatchScore
from server.gates.models import Gate
from server.networks.models import Network
from server.paging import Cursor, KeyPage, key_page
from server.runs.models import LONG_TEXTS, Run
from server.storage import load


class Score(NamedTuple):
    """How two networks stand against each other; networks by their keys."""

    black_network: int
    white_network: int
    games: int
    black_half_points: int
    """A win 2; a draw, or no result, 1."""


def match_scores(run_id: int) -> list[Score]:
    """All counted match games of a run that are decisive, summed up by pairing."""
    scores = MatchScore.objects.filter(run=run_id, games__gt=0)
    return [Score(*values) for values in scores.values_list(*Score._fields)]


@dataclass(frozen=True)
class RowsFile:
    """The rows of one counted training game."""

    number: int
    """Order in which games became visible; see `Game.number`."""
    file: str
    """Name in the storage."""
    from_random: bool
    """Played by the network without knowledge, to its end."""


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
    fields = ("number", "rows_file", "black_network__is_random", "later_networks")
    return [
        RowsFile(number, file, from_random=is_random and not later)
        for number, file, is_random, later in counted.order_by("number").values_list(*fields)
    ]


def moderated_parts(run_id: int, since: int, rows: int) -> list[int]:
    """Where, in parts of so many rows, games of a run have been taken out or put back after the moderation ``since``.

    Each part by its first row.
    """
    moved = Game.objects.filter(run=run_id, moderation__gt=since, kind=GameKind.TRAINING)
    part = Func(F("last_row") - F("num_training_rows"), Value(rows), function="div", output_field=BigIntegerField())
    return [number * rows for number in moved.values_list(part, flat=True).distinct().order_by(part)]


_LISTED: Final = (
    *("kind", "uid", "board_size_x", "board_size_y", "winner", "score", "resigned", "game_length", "state"),
    *("run__name", "black_network__name", "white_network__name", "contributor__user__username"),
)
"""What a line of a list shows."""


def games(kind: GameKind | None = None) -> QuerySet[Game]:
    """Games (of a kind), newest first, with the rows that they name, but for the long texts of their runs."""
    found = Game.objects.select_related("run", "black_network", "white_network", "contributor__user").order_by("-pk")
    found = found.defer(*(f"run__{name}" for name in LONG_TEXTS))
    return found if kind is None else found.filter(kind=kind)


def game_list(
    cursor: Cursor, size: int, *, run: Run, network: Network | None = None, contributor: Contributor | None = None
) -> KeyPage:
    """A page of the games of a run, of one of its networks, of whichever colour, or of one of its contributors."""
    listed = games().only(*_LISTED)
    if contributor is not None:
        listed = listed.filter(run=run, contributor=contributor)
        return key_page([listed if network is None else listed.filter(_played_by(network))], cursor, size)
    if network is None:
        return key_page([listed.filter(run=run)], cursor, size)
    return key_page([listed.filter(black_network=network), listed.filter(white_network=network)], cursor, size)


def _played_by(network: Network) -> Q:
    return Q(black_network=network) | Q(white_network=network)


def game_by_uid(kind: str, uid: str) -> Game | None:
    """The game of that kind and uid, with the rows that it names; None if there is none."""
    return games().filter(kind=kind, uid=uid.upper()).first()


def games_of_gate(candidate: str, most: int) -> list[Game]:
    """Some games of the newest gate of a candidate that can be played again, drawn at random."""
    gate = Gate.objects.filter(candidate__name=candidate).order_by("-pk").first()
    if gate is None:
        return []
    found = games().filter(job__gate=gate, job__seed__isnull=False, job_number__isnull=False)
    return list(found.order_by("?")[:most])


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


def games_in_range(
    run: Run,
    state: GameState,
    reason_code: str = "",
    *,
    first: int | None = None,
    last: int | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[int]:
    """Keys of the games of a run in a state, with a reason of refusal if one is given, and within the limits.

    Without a reason, of refused games those that the audit refused; what was decided otherwise is asked for by name.
    """
    found = Game.objects.filter(run=run, state=state)
    limits = {"pk__gte": first, "pk__lte": last, "received_at__gte": since, "received_at__lt": until}
    found = found.filter(**{name: limit for name, limit in limits.items() if limit is not None})
    if reason_code:
        found = found.filter(reason_code=reason_code)
    elif state == GameState.REFUSED:
        found = found.exclude(reason_code__in=list(Decided))
    return list(found.order_by("pk").values_list("pk", flat=True))


def refused_games_of(contributor: int, limit: int) -> list[Game]:
    """The last refused games of a contributor, with their reasons, newest first."""
    refused = Game.objects.filter(contributor=contributor, state=GameState.REFUSED).select_related("run")
    return list(refused.order_by("-pk")[:limit])


def held_games_of(contributor: int, most: int) -> int:
    """How many games of a contributor wait to be counted; ``most`` stands for that many and more."""
    return Game.objects.filter(contributor=contributor, state=GameState.HELD)[:most].count()
