"""What the counters should say, counted from the games, and what is wrong with them.

Nothing is locked while games are counted: each kind of counter is compared with its games in one statement, which sees
one moment of the database, and the difference is added to what the counter says by then. What is counted meanwhile is
not lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db import connection, transaction
from django.db.models import Model

from server.accounts.models import Contributor
from server.games.counting import Columns, Counts
from server.networks.models import Network
from server.runs.models import RunTotals

_COUNTS: Final = {
    "training_games": "count(*) FILTER (WHERE state = 'counted' AND kind = 'training')",
    "training_rows": "coalesce(sum(num_training_rows) FILTER (WHERE state = 'counted'), 0)",
    "match_games": "count(*) FILTER (WHERE state = 'counted' AND kind = 'rating')",
    "refused_games": "count(*) FILTER (WHERE state = 'refused')",
}
"""Column of a counter -> how it comes from games."""
_ALL_NETWORKS: Final = """
    (SELECT black_network_id AS network_id, state, kind,
            num_training_rows - CASE WHEN later_rows = '{}' THEN 0
                ELSE (SELECT sum(made) FROM unnest(later_rows) AS made) END AS num_training_rows
     FROM games_game UNION ALL
     SELECT white_network_id, state, kind, num_training_rows FROM games_game
     WHERE white_network_id <> black_network_id UNION ALL
     SELECT later.network_id, state, kind, coalesce(later.made, 0)
     FROM games_game, unnest(later_networks, later_rows) AS later (network_id, made) WHERE later_networks <> '{}')
"""
"""A game counts for each network that played in it, its rows for the one that made them."""
_SCORES_DRIFT: Final = """
    WITH counted AS (
        SELECT run_id, black_network_id, white_network_id, count(*) AS games,
               sum(CASE winner WHEN 'B' THEN 2 WHEN 'W' THEN 0 ELSE 1 END) AS points
        FROM games_game WHERE kind = 'rating' AND state = 'counted' AND is_decisive GROUP BY 1, 2, 3
    )
    SELECT coalesce(counted.run_id, kept.run_id), coalesce(counted.black_network_id, kept.black_network_id),
           coalesce(counted.white_network_id, kept.white_network_id),
           coalesce(counted.games, 0) - coalesce(kept.games, 0),
           coalesce(counted.points, 0) - coalesce(kept.black_half_points, 0)
    FROM counted FULL JOIN games_matchscore AS kept USING (black_network_id, white_network_id)
    WHERE coalesce(counted.games, 0) <> coalesce(kept.games, 0)
       OR coalesce(counted.points, 0) <> coalesce(kept.black_half_points, 0)
"""


@dataclass(frozen=True)
class _Counter:
    """A table that counts games: which column of the games says for whom."""

    model: type[Model]
    key: str
    games: str = "games_game"

    @property
    def columns(self) -> list[str]:
        """The table's columns that count."""
        names = {field.name for field in self.model._meta.concrete_fields}
        return [name for name in _COUNTS if name in names]

    def drift(self) -> Columns:
        """What has to be added to each row that is wrong."""
        columns, table = self.columns, self.model._meta.db_table
        pk = self.model._meta.pk
        assert pk is not None
        counts = ", ".join(f"{_COUNTS[name]} AS {name}" for name in columns)
        missing = ", ".join(f"coalesce(counted.{name}, 0) - kept.{name}" for name in columns)
        wrong = " OR ".join(f"coalesce(counted.{name}, 0) <> kept.{name}" for name in columns)
        found: Columns = Counts().runs
        with connection.cursor() as cursor:
            cursor.execute(f"""
                WITH counted AS (SELECT {self.key} AS key, {counts} FROM {self.games} AS game GROUP BY 1)
                SELECT kept.{pk.column}, {missing} FROM {table} AS kept
                LEFT JOIN counted ON counted.key = kept.{pk.column} WHERE {wrong}
            """)
            for key, *changes in cursor.fetchall():
                found[key].update({name: int(change) for name, change in zip(columns, changes, strict=True) if change})
        return found


_RUNS: Final = _Counter(RunTotals, "run_id")
_CONTRIBUTORS: Final = _Counter(Contributor, "contributor_id")
_NETWORKS: Final = _Counter(Network, "network_id", _ALL_NETWORKS)


def counters_drift() -> Counts:
    """What has to be added to counters of runs, contributors, networks and pairings so that they agree with the games.

    Gates are left out: most of them are decided, and keep the points by which they were.
    """
    found = Counts(runs=_RUNS.drift(), contributors=_CONTRIBUTORS.drift(), networks=_NETWORKS.drift())
    with connection.cursor() as cursor:
        cursor.execute(_SCORES_DRIFT)
        for run, black, white, games, points in cursor.fetchall():
            found.scores[run, black, white].update({"games": int(games), "black_half_points": int(points)})
    return found


def counters_rebuild() -> Counts:
    """Set right what `counters_drift` finds, and return it."""
    drift = counters_drift()
    with transaction.atomic():
        drift.apply()
    return drift
