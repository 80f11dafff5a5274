"""What claims to be safe under concurrency, on two real connections: committed transactions, real locks, threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test import Client

from common.wire import TaskRequest
from server.accounts.models import Contributor
from server.games import auditing
from server.games.auditing import Accepted, Verdict, games_audit
from server.games.models import Game, GameState
from server.gates.models import Gate, GateState
from server.jobs.models import Job, JobKind
from server.jobs.services import job_request
from server.networks.models import NetworkState
from server.runs.models import Run, RunTotals
from tests.server.factories import KATAGO, accept, ask, game_form, make_network, upload, upload_training

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run(transactional_db: None) -> Run:
    """A run whose rows other connections see."""
    from tests.server.factories import make_run

    return make_run()


@pytest.fixture
def anna(transactional_db: None) -> Contributor:
    """A contributor whom other connections see."""
    from tests.server.factories import make_contributor

    return make_contributor()


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Results of calls that start at the same moment, each on a connection of its own."""
    barrier = threading.Barrier(len(calls))

    def one(call: Callable[[], Any]) -> Any:
        try:
            barrier.wait(timeout=30)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(timeout=60) for future in [pool.submit(one, call) for call in calls]]


def test_the_same_game_twice_at_the_same_moment(client: Client, anna: Contributor, run: Run) -> None:
    job = Job.objects.get(pk=ask(client, anna, task_rep_factor="1").json()["job_id"])
    form = game_form(job)
    answers = at_once(*[lambda: upload_training(Client(), anna, form, agent=KATAGO) for _ in range(4)])
    assert sorted(answer.status_code for answer in answers) == [201, 400, 400, 400]
    assert all("already exist" in answer.json()["detail"] for answer in answers if answer.status_code == 400)
    job.refresh_from_db()
    assert (Game.objects.count(), job.received) == (1, 1)


def test_a_duplicate_that_waits_for_the_first_is_told_so(client: Client, anna: Contributor, run: Run) -> None:
    """The second upload has passed its check for duplicates when the first commits."""
    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    form = game_form(job)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Job.objects.select_for_update(no_key=True).get(pk=job.pk)
            second = pool.submit(upload_and_close, anna, form)
            wait_until_blocked()
            assert upload_training(client, anna, form).status_code == 201
        answer = second.result(timeout=60)
    assert answer.status_code == 400
    assert "already exist" in answer.json()["detail"]
    assert Game.objects.count() == 1


def upload_and_close(contributor: Contributor, form: dict[str, Any]) -> Any:
    """Upload on a connection of this thread."""
    try:
        return upload_training(Client(), contributor, form, agent=KATAGO)
    finally:
        connections.close_all()


def wait_until_blocked() -> None:
    """Return when another connection to this database waits for a lock."""
    database = "SELECT oid FROM pg_database WHERE datname = current_database()"
    ours = f"SELECT pid FROM pg_locks WHERE database = ({database})"
    waiting = f"SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN ({ours})"
    for _ in range(10_000):
        with connection.cursor() as cursor:
            cursor.execute(waiting)
            if cursor.fetchone()[0]:
                return
            cursor.execute("SELECT pg_sleep(0.005)")
    pytest.fail("nobody waits for a lock")


def test_a_gate_is_not_handed_out_twice(anna: Contributor, run: Run, tmp_path: Path) -> None:
    Run.objects.update(gate_games=4)
    make_network(run, tmp_path)
    request = TaskRequest(task_rep_factor=4)
    jobs = at_once(*[lambda: job_request(contributor=anna, request=request, own_client=True) for _ in range(6)])
    kinds = sorted(job.kind for job in jobs)
    assert kinds.count(JobKind.GATING) == 1, kinds
    assert kinds.count(JobKind.SELFPLAY) == 5


def test_each_game_is_audited_by_one_worker(client: Client, anna: Contributor, run: Run) -> None:
    job = Job.objects.get(pk=ask(client, anna, task_rep_factor="20").json()["job_id"])
    for _ in range(20):
        assert upload_training(client, anna, game_form(job)).status_code == 201
    seen: list[int] = []

    def judge(game: Game, sgf: bytes, rows: bytes | None) -> Verdict:
        seen.append(game.pk)
        return Accepted()

    def drain() -> int:
        done = 0
        while count := games_audit(judge, limit=3):
            done += count
        return done

    assert sum(at_once(drain, drain, drain)) == 20
    assert len(seen) == len(set(seen)) == 20
    totals = RunTotals.objects.get()
    assert (totals.training_games, totals.training_rows, totals.last_number, totals.last_row) == (20, 60, 20, 60)
    anna.refresh_from_db()
    assert anna.training_games == 20
    numbers = Game.objects.order_by("number").values_list("number", flat=True)
    assert list(numbers) == list(range(1, 21))


def test_two_workers_decide_a_gate_once(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> None:
    Run.objects.update(gate_games=8)
    candidate = make_network(run, tmp_path)
    job = Job.objects.get(pk=ask(client, anna, task_rep_factor="8").json()["job_id"])
    for _ in range(8):
        assert upload(client, anna, game_form(job, winner="B")).status_code == 201
    at_once(lambda: games_audit(accept, limit=4), lambda: games_audit(accept, limit=4))
    gate = Gate.objects.get()
    candidate.refresh_from_db()
    run.refresh_from_db()
    assert gate.state == GateState.PASSED
    assert candidate.state == NetworkState.ACCEPTED
    assert run.current_network == candidate
    assert Gate.objects.count() == 1
    assert Game.objects.filter(state=GameState.COUNTED).count() == 8


def test_candidates_jobs_and_verdicts_at_once_do_not_deadlock(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    """Registering a candidate, asking for jobs and concluding gates take their locks in one order."""
    Run.objects.update(gate_games=2)
    request = TaskRequest(task_rep_factor=2)
    for _ in range(6):
        make_network(run, tmp_path)
        job = Job.objects.get(pk=ask(client, anna, task_rep_factor="2").json()["job_id"])
        assert job.kind == JobKind.GATING
        for _ in range(2):
            assert upload(client, anna, game_form(job, winner="B")).status_code == 201
        folder = tmp_path / f"other{job.pk}"
        folder.mkdir()
        at_once(
            lambda: games_audit(accept, limit=1),
            lambda: games_audit(accept, limit=1),
            partial(make_network, run, folder),
            lambda: job_request(contributor=anna, request=request, own_client=True),
        )
        games_audit(accept, limit=10)
    run.refresh_from_db()
    assert run.current_network is not None
    assert run.current_network.state == NetworkState.ACCEPTED
    assert not Gate.objects.filter(state=GateState.OPEN, candidate__state=NetworkState.REJECTED).exists()


def test_a_claim_survives_its_worker(client: Client, anna: Contributor, run: Run) -> None:
    """A claim is committed, so that a worker that dies has left its mark."""
    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    upload_training(client, anna, game_form(job))
    at_once(lambda: auditing._claim(1))
    game = Game.objects.get()
    assert game.audits == 1
    assert game.audit_until is not None
