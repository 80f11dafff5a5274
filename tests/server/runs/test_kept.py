"""The runs that a process keeps are never older than the question."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from server.networks.models import Network
from server.networks.selectors import network_of_upload
from server.runs.kept import open_runs_kept
from server.runs.models import Run, RunState
from server.runs.selectors import current_run, run_of_upload
from tests.server.factories import make_network, make_run

pytestmark = pytest.mark.django_db


def kept() -> Run:
    (run,) = open_runs_kept()
    return run


def test_an_unchanged_run_is_asked_for_its_version_alone(run: Run) -> None:
    first = kept()
    with CaptureQueriesContext(connection) as asked:
        assert kept() is first
    assert [query["sql"].split()[:2] for query in asked.captured_queries] == [["SELECT", "run.id,"]]
    assert "config" not in asked.captured_queries[0]["sql"]


def test_every_change_is_seen_at_once(run: Run, tmp_path: Path) -> None:
    assert kept().gating_share == 1.0
    for share in (0.5, 0.25):  # twice in one transaction
        Run.objects.filter(pk=run.pk).update(gating_share=share)
        assert kept().gating_share == share
    network = make_network(run, tmp_path, is_candidate=False)
    Run.objects.filter(pk=run.pk).update(previous_network=network)
    assert kept().previous_network == network
    for field in ("current_network", "previous_network"):
        Network.objects.filter(pk=getattr(kept(), f"{field}_id")).update(training_games_enabled=False)
        assert getattr(kept(), field).training_games_enabled is False


def test_runs_come_and_go(run: Run) -> None:
    other = make_run("other")
    assert open_runs_kept() == [other, run]
    assert current_run(own_client=True) == other
    Run.objects.filter(pk=other.pk).update(state=RunState.CLOSED)
    assert open_runs_kept() == [run]
    assert run_of_upload("other") == other, "whoever sends a game is told that the run is closed"
    assert run_of_upload("seven") is kept()
    assert run_of_upload("none") is None


def test_networks_of_uploads_are_at_hand(run: Run, tmp_path: Path) -> None:
    other = make_network(run, tmp_path)
    elsewhere = make_network(make_run("other"), tmp_path)
    found = run_of_upload(run.name)
    assert found is not None
    assert found.current_network is not None
    assert network_of_upload(found.current_network.name, found) is found.current_network
    assert network_of_upload(other.name, found) == other
    assert network_of_upload(elsewhere.name, found) is None
