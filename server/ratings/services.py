"""Computing the strengths of a run's networks anew from all its counted match games."""

from __future__ import annotations

from typing import Final

from django.db import transaction

from common.bradley_terry import PairResult, strengths
from server.games.selectors import match_results
from server.networks.selectors import networks
from server.ratings.models import Rating
from server.runs.models import Run

BLACK_POINTS: Final = {"B": 1.0, "W": 0.0, "0": 0.5, "-": 0.5}
"""Points of Black by the winner; a draw and a game without a result are half."""


def ratings_compute(run: Run) -> int:
    """Replace the ratings of ``run``; returns how many networks are rated.

    Derived from nothing but games and parents, so two computations at once, or one that is killed, do no harm.
    """
    found = list(networks(run).order_by("pk"))
    index = {network.pk: position for position, network in enumerate(found)}
    results, played = [], [0] * len(found)
    for result in match_results(run.pk):
        black, white = index[result.black_network], index[result.white_network]
        results.append(PairResult(black, white, BLACK_POINTS[result.winner] * result.games, result.games))
        played[black] += result.games
        played[white] += result.games
    parents = [index.get(network.parent_id) if network.parent_id else None for network in found]
    rated = strengths(len(found), parents, results)
    rows = [
        Rating(
            network=network,
            run=run,
            log_gamma=float(rated.log_gamma[position]),
            error=float(rated.error[position]),
            games=played[position],
        )
        for position, network in enumerate(found)
    ]
    with transaction.atomic():
        Rating.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["network"],
            update_fields=["log_gamma", "error", "games", "computed_at"],
        )
    return len(rows)
