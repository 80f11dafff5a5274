"""Questions about strengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from common.elo import ELO_PER_LOG_GAMMA
from server.networks.models import Network
from server.ratings.models import LOWER_BOUND, Rating
from server.runs.models import Run

MAX_POINTS: Final = 250
"""Networks of a rating curve: as many as a chart can show."""
CONFIDENT: Final = 100.0 / ELO_PER_LOG_GAMMA
"""Largest standard error of a network that is called the strongest, in units of log gamma."""


@dataclass(frozen=True)
class RatedNetwork:
    """One point of a run's rating curve; ``elo_error`` is one standard error."""

    name: str
    state: str
    created_at: datetime
    train_step: int
    data_rows: int
    log_gamma: float
    log_gamma_error: float
    games: int

    @property
    def has_played(self) -> bool:
        """Whether its strength rests on games: without any, it is the prior's guess and nothing to show."""
        return self.games > 0

    @property
    def elo(self) -> float:
        """Strength in Elo; the run's first network is 0."""
        return self.log_gamma * ELO_PER_LOG_GAMMA

    @property
    def elo_error(self) -> float:
        """Standard error of `elo`."""
        return self.log_gamma_error * ELO_PER_LOG_GAMMA


def rating_curve(run: Run) -> list[RatedNetwork]:
    """The networks of a run that have played, oldest first, thinned to about `MAX_POINTS`; the newest is there."""
    played = Rating.objects.filter(run=run, games__gt=0)
    step = max(1, played.count() // MAX_POINTS)
    place = Window(RowNumber(), order_by=F("network_id").desc()) - 1
    thinned = played.annotate(place=place).annotate(apart=F("place") % step).filter(apart=0)
    return [_rated(rating) for rating in thinned.select_related("network").order_by("network_id")]


def newest_rated(run: Run, limit: int) -> list[RatedNetwork]:
    """The newest networks of a run that are rated, the newest first; empty before any of its networks has played."""
    ratings = Rating.objects.filter(run=run)
    if not ratings.filter(games__gt=0).exists():
        return []
    return [_rated(rating) for rating in ratings.select_related("network").order_by("-network_id")[:limit]]


def ratings_of(networks: Sequence[Network]) -> dict[int, RatedNetwork]:
    """The strengths of those of the networks that are rated, by key."""
    by_key = {network.pk: network for network in networks}
    found = {}
    for rating in Rating.objects.filter(pk__in=list(by_key)):
        rating.network = by_key[rating.pk]
        found[rating.pk] = _rated(rating)
    return found


def strongest(run: Run) -> Network | None:
    """The network whose strength is surely the greatest; None while no network has played enough.

    Of the networks with an error of at most `CONFIDENT`, the one with the greatest lower bound of two standard errors
    and its offset (contribute-protocol.md 15). The first network, which is the zero, has none.
    """
    confident: QuerySet[Rating] = Rating.objects.filter(run=run, games__gt=0, error__gt=0, error__lte=CONFIDENT)
    standing = confident.filter(network__rating_games_enabled=True).select_related("network__run")
    best = standing.order_by((LOWER_BOUND + F("network__log_gamma_offset")).desc()).first()
    return None if best is None else best.network


def elo_list(run_name: str, least_games: int) -> QuerySet[Rating]:
    """The ratings of a run's networks that have played so many games, with the networks, in the order of creation."""
    found = Rating.objects.filter(run__name=run_name, games__gte=least_games)
    return found.select_related("network").order_by("network_id")


def _rated(rating: Rating) -> RatedNetwork:
    return RatedNetwork(
        name=rating.network.name,
        state=rating.network.state,
        created_at=rating.network.created_at,
        train_step=rating.network.train_step,
        data_rows=rating.network.data_rows,
        log_gamma=rating.log_gamma,
        log_gamma_error=rating.error,
        games=rating.games,
    )
