"""Synthetic runs of any size: networks with known strengths, games, gates and metrics, written by bulk statements.

For measuring and for tests. A million games take about a minute, since PostgreSQL makes them up by itself. All games
share one stored record, and the networks' files are not there, so nobody can train on such a run or play for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models import Model
from django.utils import timezone

from server.accounts.models import Contributor
from server.errors import InvalidSettings
from server.games.models import Game
from server.games.recounting import counters_rebuild
from server.gates.models import Gate
from server.jobs.models import Job
from server.networks.models import Network
from server.runs.models import Run, RunTotals
from server.storage import NewFiles
from server.training.models import TrainingMetric

GAMES_PER_JOB: Final = 20
CHUNK: Final = 250_000
"""Games of one statement."""
STEP: Final = 0.25
"""Standard deviation of the strength that a network has over its predecessor, in units of log gamma."""
SGF: Final = (
    b"(;FF[4]GM[1]SZ[9]PB[x]PW[x]HA[0]KM[7]RU[koPOSITIONALscoreAREAtaxNONEsui1]RE[W+3.5];B[ee];W[ec];B[ce];W[gc];B[])"
)
_WITHOUT_KEY_CHECKS: Final = """
    SELECT set_config('session_replication_role', 'replica', true)
    FROM pg_roles WHERE rolname = current_user AND rolsuper
"""
"""Where we may: the rows refer to rows that they were made of, and thirty million checks take longer than they do."""
_TABLE_OF_NETWORKS: Final = """
    CREATE TEMPORARY TABLE synthetic_network ON COMMIT DROP AS
    SELECT id, row_number() OVER (ORDER BY id) - 1 AS place,
           sum(CASE WHEN is_random THEN 0 ELSE %(step)s * (sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())) END)
               OVER (ORDER BY id) AS strength
    FROM networks_network WHERE run_id = %(run)s;
    CREATE UNIQUE INDEX ON synthetic_network (place);
    CREATE TEMPORARY TABLE synthetic_contributor ON COMMIT DROP AS
    SELECT id, row_number() OVER (ORDER BY id) - 1 AS place FROM accounts_contributor WHERE id = ANY(%(contributors)s);
    CREATE UNIQUE INDEX ON synthetic_contributor (place);
    ANALYZE synthetic_network, synthetic_contributor;
"""
_JOBS: Final = """
    SELECT job, network.id AS network, other.id AS other, job %% %(match_every)s = 0 AS is_match, contributor.id AS who,
           CAST(%(begin)s AS timestamptz) + %(span)s * (job::float8 / %(jobs)s) AS at
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS job
    JOIN synthetic_network AS network ON network.place = job * %(networks)s / %(jobs)s
    JOIN synthetic_network AS other ON other.place = (CASE WHEN network.place > job / %(match_every)s %% 3
        THEN network.place - 1 - job / %(match_every)s %% 3 WHEN network.place > 0 THEN network.place - 1 ELSE 1 END)
    JOIN synthetic_contributor AS contributor ON contributor.place = job * 7919 %% %(contributors)s
    ORDER BY job
"""
"""A job in twenty, or as many as asked for, is a match of a network and one of the three before it."""
_GAMES: Final = """
    SELECT drawn.*, CASE WHEN state = 'counted'
               THEN %(number)s + count(*) FILTER (WHERE state = 'counted') OVER (ORDER BY game) END AS number,
           CASE WHEN state = 'counted'
               THEN %(row)s + sum(rows) FILTER (WHERE state = 'counted') OVER (ORDER BY game) END AS last_row
    FROM (
        SELECT game, job.id AS job, job.kind <> 'selfplay' AS is_match, job.contributor_id AS who,
               job.created_at + game %% %(per_job)s * interval '20 seconds' AS at,
               CASE WHEN game %% 2 = 0 THEN job.black_network_id ELSE job.white_network_id END AS black,
               CASE WHEN game %% 2 = 0 THEN job.white_network_id ELSE job.black_network_id END AS white,
               CASE WHEN job.kind = 'selfplay' THEN 20 + (hashint8(game) & 15) ELSE 0 END AS rows,
               CASE WHEN game > %(games)s - %(waiting)s THEN 'received'
                    WHEN hashint8(game) %% 50 = 0 THEN 'refused' ELSE 'counted' END AS state,
               CASE WHEN random() < 1 / (1 + exp(CASE WHEN game %% 2 = 0 THEN white.strength - black.strength
                    ELSE black.strength - white.strength END)) THEN 'B' ELSE 'W' END AS winner
        FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS game
        JOIN jobs_job AS job ON job.id = %(first_job)s + (game - 1) / %(per_job)s
        JOIN synthetic_network AS black ON black.id = job.black_network_id
        JOIN synthetic_network AS white ON white.id = job.white_network_id
    ) AS drawn
"""
"""Two in a hundred are refused; the newest wait for their audit."""
_METRICS: Final = """
    SELECT step, exp(-step::float8 / %(metrics)s) AS loss, step %% 200 = 0 AS is_epoch,
           CAST(%(begin)s AS timestamptz) + %(span)s * (step::float8 / %(metrics)s) AS at
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS step
"""
_LOSSES: Final = """jsonb_build_object('total', 4 * loss, 'policy', 2 * loss, 'opponent policy', 0.3 * loss,
    'value', 0.6 * loss, 'td value', 0.2 * loss, 'ownership', 0.5 * loss, 'score', 0.1 * loss, 'lead', 0.1 * loss)"""


@dataclass(frozen=True)
class Amounts:
    """How much a synthetic run holds."""

    games: int
    networks: int = 2
    """The random one included."""
    contributors: int = 1
    metrics: int = 0
    match_every: int = 20
    """One job in so many is a match."""
    days: float = 365.0
    """From the first game to the last, which is of now."""
    waiting: int = 0
    """Games that wait for their audit."""


def synthetic_seed(run: Run, amounts: Amounts, tell: Callable[[str], object] = lambda text: None) -> None:
    """Fill a run that has nothing but its first network; the same amounts give the same results of games.

    ``tell`` hears of each part that is there. All is one transaction: half a run cannot be left behind.

    Raises:
        InvalidSettings: the run has games or networks already, or the amounts make no run.
    """
    if min(amounts.games, amounts.contributors, amounts.match_every) < 1 or amounts.networks < 2:
        raise InvalidSettings("a synthetic run has at least one game and contributor, two networks, and some matches")
    if Game.objects.filter(run=run).exists() or Network.objects.filter(run=run).count() != 1:
        raise InvalidSettings(f"the run {run.name} is not a new one")
    _Seed(run, amounts, tell).write()


class _Seed:
    """One run that is being filled."""

    def __init__(self, run: Run, amounts: Amounts, tell: Callable[[str], object]) -> None:
        self._run = run
        self._amounts = amounts
        self._tell = tell
        self._span = timedelta(days=amounts.days)
        self._begin: datetime = timezone.now() - self._span

    def write(self) -> None:
        amounts, first_uid = self._amounts, _uid(self._run, 1)
        with NewFiles() as files, transaction.atomic():
            sgf = files.store(f"sgfs/{self._run.name}", first_uid, SGF, ".sgf")
            with connection.cursor() as cursor:
                cursor.execute(_WITHOUT_KEY_CHECKS)
                cursor.execute("SELECT setseed(0.5)")
            self._networks()
            contributors = self._contributors()
            with connection.cursor() as cursor:
                cursor.execute(_TABLE_OF_NETWORKS, {"step": STEP, "run": self._run.pk, "contributors": contributors})
            self._tell(f"{amounts.networks} networks, {amounts.contributors} contributors")
            first_job = self._jobs()
            self._games(first_job, sgf)
            self._metrics()
            counters_rebuild()
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")

    def _networks(self) -> None:
        parent = Network.objects.get(run=self._run)
        total = self._amounts.networks
        first = Network.objects.order_by("-pk").values_list("pk", flat=True)[0] + 1
        moment = f"CAST(%(begin)s AS timestamptz) + %(span)s * (place::float8 / {total})"
        values = {"run": self._run.pk, "name": self._run.name, "last": total - 1, "first": first, "parent": parent.pk}
        _insert(
            Network,
            {
                "id": "%(first)s + place - 1",
                "run_id": "%(run)s",
                "name": "%(name)s || '-b2c32-s' || place * 1000000",
                "state": "CASE WHEN place %% 5 = 4 THEN 'rejected' ELSE 'accepted' END",
                "created_at": moment,
                "architecture": "'b2c32'",
                "file": "'networks/synthetic/' || %(name)s || '-' || place",
                "file_bytes": "100000",
                "file_sha256": "encode(sha256(convert_to(%(name)s || place, 'UTF8')), 'hex')",
                "parent_id": "CASE WHEN place = 1 THEN %(parent)s ELSE %(first)s + place - 2 END",
                "train_step": "place * 1000000",
                "data_rows": "place * 250000",
                "training_games_enabled": "place %% 5 <> 4",
            },
            "generate_series(1::bigint, %(last)s) AS place",
            values | {"begin": self._begin, "span": self._span},
        )
        _go_on_after(Network)
        newest = Network.objects.filter(run=self._run, training_games_enabled=True).order_by("-pk").first()
        Network.objects.filter(pk=parent.pk).update(created_at=self._begin)
        Run.objects.filter(pk=self._run.pk).update(current_network=newest, created_at=self._begin)
        self._gates()

    def _gates(self) -> None:
        """The gate of every network that came from training, by which it stands where it does."""
        _insert(
            Gate,
            {
                "run_id": "run_id",
                "candidate_id": "id",
                "opponent_id": "parent_id",
                "state": "CASE state WHEN 'accepted' THEN 'passed' ELSE 'failed' END",
                "games": "200",
                "required": "0.5",
                "played": "200",
                "half_points": "CASE state WHEN 'accepted' THEN 220 ELSE 180 END",
                "handed_out": "10",
                "created_at": "created_at",
                "decided_at": "created_at + interval '1 hour'",
            },
            "(SELECT * FROM networks_network WHERE run_id = %(run)s AND NOT is_random ORDER BY id) AS network",
            {"run": self._run.pk},
        )

    def _contributors(self) -> list[int]:
        user_model = get_user_model()
        names = [f"{self._run.name}.{number}" for number in range(self._amounts.contributors)]
        users = user_model.objects.bulk_create([user_model(username=name, password="!") for name in names])
        made = Contributor.objects.bulk_create([Contributor(user=user, last_seen=timezone.now()) for user in users])
        return [contributor.pk for contributor in made]

    def _jobs(self) -> int:
        """Write the jobs; the key of the first."""
        amounts = self._amounts
        jobs = -(-amounts.games // GAMES_PER_JOB)
        first = (Job.objects.order_by("-pk").values_list("pk", flat=True).first() or 0) + 1
        values: dict[str, Any] = {
            "run": self._run.pk,
            "first_job": first,
            "jobs": jobs,
            "networks": amounts.networks,
            "contributors": amounts.contributors,
            "match_every": amounts.match_every,
            "begin": self._begin,
            "span": self._span,
        }
        columns = {
            "id": "%(first_job)s + job",
            "kind": "CASE WHEN is_match THEN 'rating' ELSE 'selfplay' END",
            "run_id": "%(run)s",
            "contributor_id": "who",
            "black_network_id": "network",
            "white_network_id": "CASE WHEN is_match THEN other ELSE network END",
            "state": "'done'",
            "games": str(GAMES_PER_JOB),
            "received": str(GAMES_PER_JOB),
            "created_at": "at",
            "expires_at": "at + interval '4 hours'",
            "client_revision": "lpad((job %% 7)::text, 40, '0')",
        }
        for start in range(0, jobs, CHUNK):
            part = {"first": start, "last": min(jobs, start + CHUNK) - 1}
            _insert(Job, columns, f"({_JOBS}) AS job", values | part)
        _go_on_after(Job)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE jobs_job")
        self._tell(f"{jobs} jobs")
        return first

    def _games(self, first_job: int, sgf: str) -> None:
        amounts = self._amounts
        totals = RunTotals.objects.get(run=self._run)
        values: dict[str, Any] = {
            "games": amounts.games,
            "waiting": amounts.waiting,
            "per_job": GAMES_PER_JOB,
            "first_job": first_job,
            "run": self._run.pk,
            "name": self._run.name,
            "sgf": sgf,
        }
        columns = {
            "kind": "CASE WHEN is_match THEN 'rating' ELSE 'training' END",
            "uid": "upper(md5(%(name)s || game))",
            "run_id": "%(run)s",
            "job_id": "job",
            "contributor_id": "who",
            "black_network_id": "black",
            "white_network_id": "white",
            "board_size_x": "9",
            "board_size_y": "9",
            "handicap": "0",
            "komi": "7",
            "rules": """'{"ko": "POSITIONAL", "scoring": "AREA", "tax": "NONE", "suicide": true}'""",
            "gametype": "'normal'",
            "extra_metadata": "'{}'",
            "winner": "winner",
            "score": "CASE winner WHEN 'W' THEN 3.5 ELSE -2.5 END",
            "resigned": "false",
            "game_length": "5",
            "num_training_rows": "rows",
            "sgf_file": "%(sgf)s",
            "rows_file": "CASE WHEN is_match THEN '' ELSE 'rows/synthetic' END",
            "state": "state",
            "reason_code": "CASE state WHEN 'refused' THEN 'planes' ELSE '' END",
            "reason": "CASE state WHEN 'refused' THEN 'made up' ELSE '' END",
            "received_at": "at",
            "judged_at": "CASE WHEN state <> 'received' THEN at + interval '5 seconds' END",
            "number": "number",
            "last_row": "last_row",
        }
        for start in range(0, amounts.games, CHUNK):
            last = min(amounts.games, start + CHUNK)
            part = {"first": start + 1, "last": last, "number": totals.last_number, "row": totals.last_row}
            _insert(Game, columns, f"({_GAMES} ORDER BY game) AS game", values | part)
            newest = Game.objects.filter(run=self._run, number__isnull=False).order_by("-number").first()
            if newest is not None and newest.last_row is not None and newest.number is not None:
                totals.last_number, totals.last_row = newest.number, newest.last_row
            self._tell(f"{last} games")
        totals.save(update_fields=["last_number", "last_row"])

    def _metrics(self) -> None:
        total = self._amounts.metrics
        for start in range(0, total, CHUNK):
            _insert(
                TrainingMetric,
                {
                    "run_id": "%(run)s",
                    "architecture": "%(architecture)s",
                    "samples": "step * 5120",
                    "rows": "step * 1280",
                    "losses": _LOSSES,
                    "validation": f"CASE WHEN is_epoch THEN {_LOSSES} ELSE '{{}}' END",
                    "samples_per_second": "1000",
                    "waiting_share": "0",
                    "created_at": "at",
                },
                f"({_METRICS}) AS metric",
                {
                    "run": self._run.pk,
                    "architecture": self._run.architecture,
                    "metrics": total,
                    "first": start + 1,
                    "last": min(total, start + CHUNK),
                    "begin": self._begin,
                    "span": self._span,
                },
            )
        self._tell(f"{total} metrics")


def _uid(run: Run, number: int) -> str:
    """The uid of the run's game of that number, counted from 1."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT upper(md5(%s || %s))", [run.name, number])
        (found,) = cursor.fetchone()
    return str(found)


def _insert(model: type[Model], columns: Mapping[str, str], source: str, values: Mapping[str, Any]) -> None:
    """Write a row of ``model`` for each of ``source``: ``columns`` are expressions, other fields have defaults."""
    expressions, parameters = dict(columns), dict(values)
    for field in model._meta.concrete_fields:
        name = str(field.column)
        if name not in expressions and not field.primary_key:
            parameters[f"default_{name}"] = field.get_db_prep_save(field.get_default(), connection)
            expressions[name] = f"%(default_{name})s"
    unknown = expressions.keys() - {field.column for field in model._meta.concrete_fields}
    assert not unknown, unknown
    names = ", ".join(f'"{name}"' for name in expressions)
    chosen = ", ".join(expressions.values())
    with connection.cursor() as cursor:
        cursor.execute(f'INSERT INTO "{model._meta.db_table}" ({names}) SELECT {chosen} FROM {source}', parameters)


def _go_on_after(model: type[Model]) -> None:
    """Let the table's next key be one above those that were given here."""
    with connection.cursor() as cursor:
        table = model._meta.db_table
        cursor.execute(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM \"{table}\"))")
