"""What the sums of logins' games should say, summed from the games, and what is wrong with them.

As in `server.games.recounting`: one statement sees one moment, and the difference is added to what is said by then.
Sums of numbers with fractions differ by their rounding, which is no fault.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Greatest

from server.trust.differences import Sums
from server.trust.models import Standing, Tally

ROUNDING: Final = 1e-6
"""Of a sum, as a share of it; below one, as it is."""
_TALLIES: Final = """
    WITH games AS (
        SELECT game.run_id, game.contributor_id, job.machine, job.text_id, game.state = 'counted' AS counts,
               least(game.black_network_id, game.white_network_id) AS first,
               greatest(game.black_network_id, game.white_network_id) AS second,
               figure.key AS name, figure.value::float8 AS value
        FROM games_game AS game JOIN jobs_job AS job ON job.id = game.job_id, jsonb_each_text(game.figures) AS figure
        WHERE game.state IN ('held', 'counted')
    ), summed AS (
        SELECT run_id, contributor_id, machine, first, second, text_id, 'sums' AS field, name,
               count(*) AS games, sum(value) AS total, sum(value * value) AS squares
        FROM games GROUP BY run_id, contributor_id, machine, first, second, text_id, name UNION ALL
        SELECT run_id, contributor_id, machine, first, second, text_id, 'counted', name,
               count(*), sum(value), sum(value * value)
        FROM games WHERE counts GROUP BY run_id, contributor_id, machine, first, second, text_id, name UNION ALL
        SELECT run_id, NULL, '', first, second, text_id, 'sums', name, count(*), sum(value), sum(value * value)
        FROM games WHERE counts GROUP BY run_id, first, second, text_id, name
    ), kept AS (
        SELECT run_id, contributor_id, machine, black_network_id AS first, white_network_id AS second, text_id,
               part.field, figure.key AS name, (figure.value ->> 0)::float8 AS games,
               (figure.value ->> 1)::float8 AS total, (figure.value ->> 2)::float8 AS squares
        FROM trust_tally, LATERAL (VALUES ('sums', sums), ('counted', counted)) AS part (field, told),
             jsonb_each(part.told) AS figure
    )
    SELECT coalesce(summed.run_id, kept.run_id), coalesce(summed.contributor_id, kept.contributor_id),
           coalesce(summed.machine, kept.machine), coalesce(summed.first, kept.first),
           coalesce(summed.second, kept.second), coalesce(summed.text_id, kept.text_id),
           coalesce(summed.field, kept.field), coalesce(summed.name, kept.name),
           coalesce(summed.games, 0), coalesce(summed.total, 0), coalesce(summed.squares, 0),
           coalesce(kept.games, 0), coalesce(kept.total, 0), coalesce(kept.squares, 0)
    FROM summed FULL JOIN kept
        ON summed.run_id = kept.run_id AND summed.first = kept.first AND summed.second = kept.second
        AND summed.machine = kept.machine AND summed.field = kept.field AND summed.name = kept.name
        AND coalesce(summed.contributor_id, 0) = coalesce(kept.contributor_id, 0)
        AND coalesce(summed.text_id, 0) = coalesce(kept.text_id, 0)
"""
_STANDINGS: Final = """
    SELECT standing.id, count(game.id) - standing.games FROM trust_standing AS standing
    LEFT JOIN games_game AS game ON game.run_id = standing.run_id AND game.contributor_id = standing.contributor_id
        AND game.state IN ('held', 'counted')
    GROUP BY standing.id HAVING count(game.id) <> standing.games
"""


class Wrong(NamedTuple):
    """Which sum of a tally is wrong."""

    run: int
    contributor: int | None
    machine: str
    black_network: int
    white_network: int
    text: int | None
    field: str
    figure: str


class TallyDrift(NamedTuple):
    """What has to be added."""

    tallies: dict[Wrong, Sums]
    standings: dict[int, int]
    """Games, by the key of the standing."""


def tallies_drift() -> TallyDrift:
    """What has to be added to tallies, and to the numbers of games of standings, so that they agree with the games."""
    tallies: dict[Wrong, Sums] = {}
    with connection.cursor() as cursor:
        cursor.execute(_TALLIES)
        for *key, games, total, squares, kept_games, kept_total, kept_squares in cursor.fetchall():
            right, kept = Sums(games, total, squares), Sums(kept_games, kept_total, kept_squares)
            if _differs(right, kept):
                tallies[Wrong(*key)] = right.plus(kept, sign=-1)
        cursor.execute(_STANDINGS)
        standings = {int(key): int(change) for key, change in cursor.fetchall()}
    return TallyDrift(tallies, standings)


def tallies_rebuild() -> TallyDrift:
    """Set right what `tallies_drift` finds, and return it."""
    drift = tallies_drift()
    for wrong, change in sorted(drift.tallies.items(), key=lambda item: repr(item[0])):
        _add(wrong, change)
    for key, games in sorted(drift.standings.items()):
        Standing.objects.filter(pk=key).update(games=Greatest(F("games") + games, 0))
    return drift


def _differs(right: Sums, kept: Sums) -> bool:
    if right.games != kept.games:
        return True
    return any(abs(one - other) > ROUNDING * max(1.0, abs(one)) for one, other in zip(right, kept, strict=True))


def _add(wrong: Wrong, change: Sums) -> None:
    names = {
        "run_id": wrong.run,
        "contributor_id": wrong.contributor,
        "machine": wrong.machine,
        "black_network_id": wrong.black_network,
        "white_network_id": wrong.white_network,
        "text_id": wrong.text,
    }
    with transaction.atomic():
        Tally.objects.bulk_create([Tally(**names)], ignore_conflicts=True)
        row = Tally.objects.select_for_update(no_key=True).get(**names)
        sums = getattr(row, wrong.field)
        sums[wrong.figure] = list(Sums(*sums.get(wrong.figure, Sums())).plus(change))
        row.save(update_fields=[wrong.field])
