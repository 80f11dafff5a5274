"""Gates from the first job to the verdict, and what becomes of other candidates."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from server.accounts.models import Contributor
from server.games.auditing import games_audit
from server.games.models import Game
from server.gates.models import Gate, GateState
from server.jobs.models import Job
from server.networks.models import Network, NetworkState
from server.runs.models import Run
from tests.server.factories import accept, ask, game_form, make_network, upload

pytestmark = pytest.mark.django_db


def play_match(client: Client, contributor: Contributor, wins: str) -> None:
    """Play one job of a gate; ``wins`` has a letter for each game: c the candidate wins, o its opponent, d a draw."""
    answer = ask(client, contributor, task_rep_factor=str(len(wins))).json()
    assert answer["kind"] == "rating", answer
    job = Job.objects.get(pk=answer["job_id"])
    assert job.gate is not None
    colour = "B" if job.black_network == job.gate.candidate else "W"
    other = "W" if colour == "B" else "B"
    for letter in wins:
        winner = {"c": colour, "o": other, "d": "0"}[letter]
        form = game_form(job, winner=winner, score="0" if winner == "0" else "7.5")
        assert upload(client, contributor, form).status_code == 201


def test_passing_promotes(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> None:
    Run.objects.update(gate_games=8)
    candidate = make_network(run, tmp_path)
    play_match(client, anna, "cccd")
    run.refresh_from_db()
    assert run.current_network != candidate, "points count only after the audit"
    games_audit(accept, limit=10)
    gate = Gate.objects.get()
    assert (gate.state, gate.points, gate.played) == (GateState.OPEN, 3.5, 4)
    play_match(client, anna, "oc")
    games_audit(accept, limit=10)
    gate.refresh_from_db()
    candidate.refresh_from_db()
    run.refresh_from_db()
    assert (gate.state, gate.points, gate.played) == (GateState.PASSED, 4.5, 6), "decided before all eight were played"
    assert gate.decided_at is not None
    assert candidate.state == NetworkState.ACCEPTED
    assert candidate.training_games_enabled
    assert run.current_network == candidate
    assert ask(client, anna).json()["network"]["name"] == candidate.name


@pytest.mark.parametrize(("next_size", "sizes_after"), [("b3c32", ("b3c32", "")), ("b4c32", ("b2c32", "b4c32"))])
def test_a_promoted_network_of_the_next_size_makes_that_the_size(
    client: Client, anna: Contributor, run: Run, tmp_path: Path, next_size: str, sizes_after: tuple[str, str]
) -> None:
    Run.objects.update(gate_games=2, next_architecture=next_size)
    make_network(run, tmp_path, architecture="b3c32")
    play_match(client, anna, "cc")
    games_audit(accept, limit=10)
    run.refresh_from_db()
    assert run.current_network is not None
    assert run.current_network.architecture == "b3c32"
    assert (run.architecture, run.next_architecture) == sizes_after


def test_failing_rejects_early(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> None:
    Run.objects.update(gate_games=8)
    candidate = make_network(run, tmp_path)
    before = run.current_network
    play_match(client, anna, "ooooo")
    games_audit(accept, limit=10)
    candidate.refresh_from_db()
    run.refresh_from_db()
    assert Gate.objects.get().state == GateState.FAILED
    assert candidate.state == NetworkState.REJECTED
    assert run.current_network == before
    assert ask(client, anna).json()["kind"] == "selfplay"


def test_games_after_the_verdict_count_for_ratings_only(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    Run.objects.update(gate_games=4)
    make_network(run, tmp_path)
    late = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    Job.objects.update(expires_at=timezone.now() - timedelta(seconds=1))  # so its games are given to others
    play_match(client, anna, "oooo")
    candidate = "B" if late.black_network.state == NetworkState.CANDIDATE else "W"
    for _ in range(2):
        assert upload(client, anna, game_form(late, winner=candidate)).status_code == 201
    games_audit(accept, limit=3)
    gate = Gate.objects.get()
    assert (gate.state, gate.played, gate.half_points) == (GateState.FAILED, 3, 0)
    games_audit(accept, limit=3)
    gate.refresh_from_db()
    assert (gate.played, gate.half_points, gate.pending) == (3, 0, 0)
    assert Network.objects.get(is_random=True).match_games == 6


def test_a_newer_candidate_replaces_one_that_has_not_begun(run: Run, tmp_path: Path) -> None:
    older, newer = make_network(run, tmp_path), make_network(run, tmp_path)
    older.refresh_from_db()
    assert older.state == NetworkState.REJECTED
    assert list(Gate.objects.order_by("pk").values_list("candidate", "state")) == [
        (older.pk, GateState.SUPERSEDED),
        (newer.pk, GateState.OPEN),
    ]


def test_a_gate_that_has_begun_is_finished_first(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> None:
    Run.objects.update(gate_games=4)
    first = make_network(run, tmp_path)
    play_match(client, anna, "c")
    second = make_network(run, tmp_path)
    play_match(client, anna, "c")
    assert Gate.objects.get(candidate=first).handed_out == 2
    games_audit(accept, limit=10)
    run.refresh_from_db()
    assert run.current_network == first
    waiting = Gate.objects.get(candidate=second, state=GateState.OPEN)
    assert waiting.opponent == first, "the waiting candidate meets the new network"
    assert Gate.objects.get(candidate=second, state=GateState.SUPERSEDED)
    play_match(client, anna, "cc")
    games_audit(accept, limit=10)
    run.refresh_from_db()
    assert run.current_network == second


def test_an_older_candidate_is_rejected_when_a_newer_one_is_promoted(
    client: Client, anna: Contributor, run: Run, tmp_path: Path
) -> None:
    Run.objects.update(gate_games=2)
    older = make_network(run, tmp_path)
    play_match(client, anna, "d")  # begun, and so kept beside the newer one
    newer = make_network(run, tmp_path)
    play_match(client, anna, "d")  # now all games of the older one are given
    play_match(client, anna, "cc")
    older_games = Game.objects.filter(job__gate__candidate=older)
    older_games.update(audit_until=timezone.now() + timedelta(minutes=1))  # another worker is slow with them
    games_audit(accept, limit=10)
    older.refresh_from_db()
    newer.refresh_from_db()
    assert (older.state, newer.state) == (NetworkState.REJECTED, NetworkState.ACCEPTED)
    older_games.update(audit_until=None)
    games_audit(accept, limit=10)
    gate = Gate.objects.get(candidate=older)
    assert (gate.state, gate.played, gate.pending) == (GateState.SUPERSEDED, 0, 0)
    run.refresh_from_db()
    assert run.current_network == newer
