"""Databases from before gates had an app of their own: nothing is lost on the way, and an open gate goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client

from server.accounts.models import Contributor
from server.games.auditing import games_audit
from server.games.models import Game
from server.gates.models import Gate, GateState
from server.jobs.models import Job
from server.runs.models import Run
from tests.server.factories import accept, make_network
from tests.server.gates.test_gates import play_match

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def migrated_again() -> Iterator[None]:
    """Whatever happens, the tests that follow have the newest tables."""
    yield
    call_command("migrate", verbosity=0)


COLUMNS = (
    "id, run_id, candidate_id, opponent_id, state, games, required, played, half_points, handed_out, pending,"
    " created_at, decided_at"
)
"""Of gates, then and now."""


def rows(table: str) -> list[tuple[Any, ...]]:
    """All rows of a table of gates, in the order of their keys."""
    with connection.cursor() as cursor:
        cursor.execute(f"select {COLUMNS} from {table} order by id")
        return list(cursor.fetchall())


def guards(table: str) -> set[tuple[str, str]]:
    """Constraints and indexes of a table, and what points to it: name and definition without the table's own name."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select conname, pg_get_constraintdef(oid) from pg_constraint"
            " where %s::regclass in (conrelid, confrelid)"
            " union all select indexname, indexdef from pg_indexes where tablename = %s",
            [table, table],
        )
        return {(name, re.sub(rf"\b{table}\b", "TABLE", definition)) for name, definition in cursor.fetchall()}


@pytest.mark.usefixtures("migrated_again")
def test_a_gate_that_is_open_goes_on_after_the_migration(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    Run.objects.update(gate_games=8)
    decided = make_network(run, tmp_path)
    play_match(client, anna, "ooooo")
    games_audit(accept, limit=10)
    candidate = make_network(run, tmp_path)
    play_match(client, anna, "ccccd")
    games_audit(accept, limit=2)
    now = rows("gates_gate")
    gates, jobs, games = Gate.objects.count(), Job.objects.count(), Game.objects.count()
    assert (gates, jobs, games) == (2, 2, 10)
    permission = Permission.objects.get(codename="change_gate")
    call_command("migrate", "gates", "zero", verbosity=0)

    old = MigrationExecutor(connection).loader.project_state([("jobs", "0002_texts"), ("games", "0003_decisive_games")])
    old_gate = old.apps.get_model("jobs", "Gate")
    assert rows("jobs_gate") == now
    assert "gates_gate" not in connection.introspection.table_names()
    assert old_gate.objects.get(state="open").jobs.get().uploads.count() == 5
    assert ContentType.objects.get(pk=permission.content_type_id).app_label == "jobs"
    held = guards("jobs_gate")
    assert {"gate_state", "gate_one_open_per_candidate", "gate_open"} <= {name for name, _ in held}

    call_command("migrate", verbosity=0)
    assert rows("gates_gate") == now
    assert held <= guards("gates_gate"), "later migrations may add to them"
    assert Permission.objects.get(codename="change_gate") == permission
    assert ContentType.objects.get(pk=permission.content_type_id).app_label == "gates"
    assert Gate.objects.get(candidate=decided).state == GateState.FAILED
    gate = Gate.objects.get(state=GateState.OPEN)
    assert (gate.candidate, gate.played, gate.half_points, gate.pending) == (candidate, 2, 4, 3)
    games_audit(accept, limit=10)
    gate.refresh_from_db()
    assert (gate.state, gate.points) == (GateState.PASSED, 4.5)
    run.refresh_from_db()
    assert run.current_network == candidate
    assert make_network(run, tmp_path).gates.get().pk > gate.pk, "keys go on where they were"
