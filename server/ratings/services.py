"""Computing the strengths of a run's networks from the results of its matches, where these have changed."""

from __future__ import annotations

from typing import Final

import numpy as np
from django.db import connection, transaction

from common.bradley_terry import NO_PARENT, Pairs, strengths
from common.factors import Floats, Ints, sums
from server.games.selectors import match_scores
from server.networks.selectors import networks
from server.ratings.models import Rating, RatingState
from server.runs.models import Run, RunTotals

ROUNDING: Final = 1e-6
"""A change of a strength or of its error up to this, in units of log gamma, is not written: 0.0002 Elo."""
_WRITE: Final = """
    INSERT INTO ratings_rating (network_id, run_id, log_gamma, error, games, computed_at)
    SELECT network, %s, log_gamma, error, games, now()
    FROM unnest(%s::bigint[], %s::float8[], %s::float8[], %s::bigint[]) AS rated (network, log_gamma, error, games)
    ORDER BY network
    ON CONFLICT (network_id) DO UPDATE SET log_gamma = excluded.log_gamma, error = excluded.error,
        games = excluded.games, computed_at = excluded.computed_at
"""


def ratings_compute(run: Run, *, anew: bool = False) -> int:
    """Bring the ratings of ``run`` up to date; returns how many changed.

    Nothing is read but two numbers while no result has changed and no network has come, unless it is to be done
    ``anew``. Derived from nothing but scores and parents, so two computations at once, or one that is killed, do no
    harm.
    """
    # Before the scores: a result that is counted meanwhile is found by the next computation.
    changes = RunTotals.objects.values_list("match_changes", flat=True).get(run=run)
    count = networks(run).count()
    state = RatingState.objects.filter(run=run)
    if not anew and state.filter(match_changes=changes, networks=count).exists():
        return 0
    keys, parents = _networks(run)
    pairs, played = _pairs(run, keys)
    known = _known(run, keys)
    start = None if anew else _start(known[0], parents)
    found = strengths(parents, pairs, start)
    values = np.stack([found.log_gamma, found.error, played])
    changed = ~(np.abs(values - known) <= ROUNDING).all(axis=0)
    with transaction.atomic():
        if changed.any():
            rows = [keys[changed].tolist(), *values[:2, changed].tolist(), played[changed].astype(int).tolist()]
            with connection.cursor() as cursor:
                cursor.execute(_WRITE, [run.pk, *rows])
        RatingState.objects.update_or_create(run=run, defaults={"match_changes": changes, "networks": len(keys)})
    return int(changed.sum())


def _networks(run: Run) -> tuple[Ints, Ints]:
    """Keys of the run's networks, and the places of their parents, in the order of creation."""
    rows = list(networks(run).order_by("pk").values_list("pk", "parent_id"))
    keys = np.array([key for key, _ in rows], dtype=np.int64)
    place = {key: number for number, (key, _) in enumerate(rows)}
    parents = [NO_PARENT if parent is None else place.get(parent, NO_PARENT) for _, parent in rows]
    return keys, np.array(parents, dtype=np.int64)


def _pairs(run: Run, keys: Ints) -> tuple[Pairs, Floats]:
    """The games between the networks, and how many each has played [N]."""
    scores = np.array(match_scores(run.pk), dtype=np.int64).reshape(-1, 4)
    scores = scores[np.isin(scores[:, :2], keys).all(axis=1)]  # not of a network that came a moment ago
    first, second = np.searchsorted(keys, scores[:, 0]), np.searchsorted(keys, scores[:, 1])
    games = scores[:, 2].astype(np.float64)
    played = sums(first, games, len(keys)) + sums(second, games, len(keys))
    return Pairs(first, second, scores[:, 3] / 2, games), played


def _known(run: Run, keys: Ints) -> Floats:
    """Strength, error and games of each network as they were written last [3, N]; NaN where there is none."""
    known = np.full((3, len(keys)), np.nan)
    rows = np.array(list(Rating.objects.filter(run=run).values_list("network_id", "log_gamma", "error", "games")))
    if len(rows):
        known[:, np.searchsorted(keys, rows[:, 0].astype(np.int64))] = rows[:, 1:].T
    return known


def _start(log_gamma: Floats, parents: Ints) -> Floats:
    """Where to begin: the strengths of before; a new network is as strong as its parent."""
    start = log_gamma.copy()
    for place in np.flatnonzero(np.isnan(start)):
        parent = parents[place]
        start[place] = start[parent] if 0 <= parent < place else 0.0
    return start
