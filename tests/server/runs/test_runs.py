"""Making runs, and the faults that keep settings from being saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from common.config_text import overlay
from common.wire import MAX_LEASE_SECONDS
from server.errors import InvalidSettings
from server.networks.models import NetworkState
from server.runs.models import Run, RunTotals
from server.runs.services import run_save
from tests.server.factories import make_network, make_run

pytestmark = pytest.mark.django_db


def test_a_run_begins_with_the_random_network(run: Run) -> None:
    first = run.current_network
    assert first is not None
    assert (first.name, first.is_random, first.state) == ("seven-random", True, NetworkState.SEED)
    assert first.training_games_enabled
    assert run.totals.training_games == 0


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"name": "has-hyphen"}, "name: "),
        ({"name": "x" * 17}, "name: "),
        ({"data_board_len": 20}, "data_board_len: "),
        ({"gate_required": 1.5}, "gate_required"),
        ({"gating_share": -0.1}, "gating_share"),
        ({"gate_required": float("nan")}, "gate_required: This is no number; give one from 0 to 1."),
        ({"rating_share": float("nan")}, "rating_share: This is no number; give one from 0 to 1."),
        ({"architecture": "b2c32", "next_architecture": "b2c32"}, "next_architecture: This is the architecture itself"),
        ({"lease_seconds": MAX_LEASE_SECONDS + 1}, "lease_seconds: The protocol has at most 2,592,000."),
        ({"max_search_threads_allowed": 16_385}, "max_search_threads_allowed: The protocol has at most 16,384."),
        ({"client_revisions": "abc until tomorrow"}, "client_revisions: line 1"),
        ({"data_board_len": 5}, "selfplay_config: "),
    ],
)
def test_bad_settings_are_named(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidSettings) as caught:
        make_run(**{"name": "bad"} | changes)
    assert text in str(caught.value)
    assert "Constraint" not in str(caught.value)
    assert not Run.objects.exists()


@pytest.mark.parametrize("field", ["selfplay_config", "gating_config"])
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("maxVisits = many\n", "maxVisits"),
        ("bSizes = 9\nbSizeRelProbs = 1\n", "9"),
        ("numSearchThreads = 64\n", "max_search_threads_allowed"),
        ("handicapProb = 1.5\n", "handicapProb"),
    ],
)
def test_bad_configuration_texts_are_not_saved(run: Run, field: str, change: str, text: str) -> None:
    good = getattr(run, field)
    setattr(run, field, overlay(good, change))
    with pytest.raises(InvalidSettings) as caught:
        run_save(run)
    assert field in str(caught.value)
    assert text in str(caught.value)
    run.refresh_from_db()
    assert getattr(run, field) == good


def test_a_text_beyond_the_protocols_limit(run: Run) -> None:
    run.selfplay_config += "# " + "x" * 32768
    with pytest.raises(InvalidSettings, match="32768"):
        run_save(run)


# --------------------------------------------------------------------------------------------------------------- admin


def form_of(run: Run) -> dict[str, object]:
    """What the admin page of a run sends back."""
    skipped = {"id", "created_at"}
    values = {field.name: field.value_from_object(run) for field in Run._meta.fields if field.name not in skipped}
    values = {name: "" if value is None else value for name, value in values.items()}
    return values | {"training_settings": json.dumps(run.training_settings), "_save": "Save"}


def test_admin_saves_checked_settings_only(admin_client: Client, run: Run) -> None:
    url = f"/admin/runs/run/{run.pk}/change/"
    assert admin_client.get(url).status_code == 200
    assert admin_client.post(url, form_of(run) | {"gate_games": "50"}).status_code == 302
    run.refresh_from_db()
    assert run.gate_games == 50
    answer = admin_client.post(url, form_of(run) | {"selfplay_config": "maxVisits = many", "gate_games": "60"})
    assert answer.status_code == 200
    assert "maxVisits" in answer.content.decode()
    run.refresh_from_db()
    assert run.gate_games == 50
    assert admin_client.get("/admin/runs/run/add/").status_code == 403


def test_admin_refuses_what_would_spoil_a_run(admin_client: Client, run: Run, tmp_path: Path) -> None:
    candidate = make_network(run, tmp_path)
    RunTotals.objects.filter(run=run).update(last_row=10)
    url = f"/admin/runs/run/{run.pk}/change/"
    wrong = {
        "architecture": ("b99", "no net size is called"),
        "next_architecture": ("b99", "no net size is called"),
        "data_board_len": ("19", "make a new run"),
        "current_network": (str(candidate.pk), "a candidate passes by its gate"),
    }
    for field, (value, text) in wrong.items():
        answer = admin_client.post(url, form_of(run) | {field: value})
        assert answer.status_code == 200, field
        assert text in answer.content.decode(), field
    kept = Run.objects.get()
    assert (kept.architecture, kept.data_board_len, kept.current_network) == ("b2c32", 7, run.current_network)


@pytest.mark.parametrize(
    "page",
    ["accounts/contributor", "runs/run", "runs/runtotals", "networks/network", "gates/gate", "jobs/job", "games/game"],
)
def test_every_list_of_the_admin_opens(admin_client: Client, run: Run, page: str) -> None:
    assert admin_client.get(f"/admin/{page}/").status_code == 200
