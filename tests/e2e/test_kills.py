"""Fifty clients while web process, workers, broker and database are killed in turn: nothing is lost, nothing doubled.

``TENGEN_KILLS=30`` says how often; each part is killed about as often as the others.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from functools import partial
from typing import Final

import psutil  # type: ignore[import-untyped]
import psycopg2  # type: ignore[import-untyped]
import pytest

from deploy.processes import Child
from tests.benchmarks.load.recorded import RUN, RecordedGame, changes, games_play
from tests.e2e.kills import MOST_GAMES, Crowd
from tests.e2e.services import ComposedInstallation, missing_programs
from tests.e2e.system import System, running_system

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.timeout(5400),
    pytest.mark.skipif(bool(missing_programs()), reason=missing_programs()),
]

KILLS: Final = int(os.environ.get("TENGEN_KILLS", "12"))
CLIENTS: Final = 50
LENGTH: Final = 5
GAMES_BETWEEN: Final = 25
"""So many games are acknowledged after each kill before the next."""
VICTIMS: Final = ("web", "audit", "rabbitmq", "postgres", "ratings", "beat")
LEASE_S: Final = 20
_ACCOUNTS: Final = (
    "import json; from tests.benchmarks.load.prepare import accounts_make; print(json.dumps(accounts_make(10)))"
)
_CANDIDATE: Final = (
    "import tempfile; from pathlib import Path; from tests.server.factories import make_model; "
    "from server.gates.services import candidate_register; from server.networks.services import NewNetwork; "
    "from server.runs.models import Run; "
    "candidate_register(NewNetwork(run=Run.objects.get(), name='load-s{number}', "
    "model=make_model(Path(tempfile.mkdtemp()), {number})))"
)
_WATCH: Final = """
    CREATE TABLE decisions (gate bigint, was text, becomes text);
    CREATE FUNCTION note_decision() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO decisions VALUES (NEW.id, OLD.state, NEW.state); RETURN NEW; END $$;
    CREATE TRIGGER note AFTER UPDATE ON gates_gate FOR EACH ROW WHEN (OLD.state <> NEW.state)
        EXECUTE FUNCTION note_decision();
"""
"""Every change of a gate's state, kept by the transaction that makes it."""


@pytest.fixture
def system() -> Iterator[System]:
    with running_system(
        RUN,
        *("--data-board-len", str(LENGTH), "--architecture", "b2c16-bn", "--lease-seconds", str(LEASE_S)),
        *("--gate-games", "24", "--gate-required", "0.3", "--gating-share", "0.9", "--rating-share", "0.6"),
        *("--recheck-share", "0"),
        texts="7x7",
        selfplay=changes(LENGTH, "selfplay"),
        gating=changes(LENGTH, "gating"),
        training={},
        patience_s=300.0,
        make=ComposedInstallation,
        prefix="tengen-kills-",  # RabbitMQ's own scripts take no other names
        durable=True,  # what is killed must have nothing to lose
    ) as running:
        installation = running.installation
        assert isinstance(installation, ComposedInstallation)
        programs = [program for program in installation.server_programs() if program.name not in ("trainer", "recheck")]
        for program in [*installation.broker.programs(), installation.nginx.program(), *programs]:
            running.children[program.name] = Child(program, installation.logs, program.environment)
            if program.name == "rabbitmq":
                running.wait_until(installation.broker.answers, "RabbitMQ")
        yield running


@pytest.fixture(scope="module")
def games() -> list[RecordedGame]:
    """Some games of self-play, and some of matches."""
    found: list[RecordedGame] = []
    games_play(4 * KILLS + 100, LENGTH, 1, found.append)
    games_play(40, LENGTH, 2, found.append, kind="gating")
    return found


def kill_database(system: System) -> None:
    """End every process of PostgreSQL at once, and start it again."""
    installation = system.installation
    lines = (installation.folder / "postgres" / "postmaster.pid").read_text().split("\n")
    postmaster = psutil.Process(int(lines[0]))
    family = [postmaster, *postmaster.children(recursive=True)]
    for process in family:
        process.kill()
    psutil.wait_procs(family, 20)
    installation.start_database()
    reconnect(system)


def reconnect(system: System) -> None:
    system.connection.close()
    system.connection = psycopg2.connect(system.installation.environment()["DATABASE_URL"])
    system.connection.autocommit = True


def kill(system: System, name: str) -> None:
    if name == "postgres":
        kill_database(system)
    else:
        system.children[name].kill()
        system.children[name] = Child(system.children[name].program, system.installation.logs, os.environ)


def test_nothing_is_lost_or_doubled(system: System, games: list[RecordedGame]) -> None:
    installation = system.installation
    headers = json.loads(installation.manage("shell", "-v", "0", "-c", _ACCOUNTS).splitlines()[-1])
    with system.connection.cursor() as cursor:
        cursor.execute(_WATCH)
    crowd = Crowd(installation.url, headers, CLIENTS, games)
    told = crowd.told
    try:
        for number, name in zip(range(KILLS), itertools.cycle(VICTIMS), strict=False):
            if number % 4 == 0:
                installation.manage("shell", "-v", "0", "-c", _CANDIDATE.format(number=number))
            enough = len(told.acknowledged) + GAMES_BETWEEN
            system.wait_until(partial(told.has, enough), "games")
            assert told.faults == []
            kill(system, name)
        # The leases of what clients have forgotten end, and what a gate misses is given to others.
        system.wait_until(
            lambda: bool(told.faults) or system.one("select count(*) from gates_gate where state = 'open'") == 0,
            "the end of every gate",
        )
    finally:
        crowd.stop(120.0)
    assert told.faults == []
    waiting = "select count(*) from games_game where state = 'received'"
    system.wait_until(lambda: system.one(waiting) == 0, "the last audits")
    assert told.troubles > 0, "the kills were felt"

    uids = [uid for (uid,) in system.ask("select uid from games_game")]
    assert len(uids) == len(set(uids))
    assert set(uids) == told.acknowledged
    assert system.ask("select reason from games_game where state = 'refused' limit 3") == []

    decisions = system.ask("select gate, was, becomes from decisions")
    assert {was for _, was, _ in decisions} == {"open"}
    assert len({gate for gate, _, _ in decisions}) == len(decisions) >= KILLS // 4
    held = "select gate_id, count(*) from games_game join jobs_job on job_id = jobs_job.id where gate_id is not null"
    played = dict(system.ask(f"{held} group by 1"))
    for gate, of_gate, most in system.ask("select id, played, games from gates_gate where state = 'passed'"):
        assert 0 < of_gate <= min(most + MOST_GAMES * CLIENTS, played[gate])

    forgotten = "state = 'leased' and expires_at < now() - interval '2 minutes'"
    assert system.one(f"select count(*) from jobs_job where {forgotten}") == 0
    wrong = (
        "select count(*) from jobs_job where received <> (select count(*) from games_game where job_id = jobs_job.id)"
    )
    assert system.one(wrong) == 0
    assert "0 counters are wrong" in installation.manage("rebuild_counters", "--dry-run")
    print(f"{KILLS} kills, {len(uids)} games, {told.again} of them sent twice, {told.troubles} requests in vain")
