"""Pausing and closing a run by command."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from server.runs.models import Run

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", ["paused", "closed", "active"])
def test_a_run_is_paused_closed_and_goes_on(run: Run, state: str) -> None:
    Run.objects.update(gate_games=7)
    before, told = run.state_since, StringIO()
    call_command("set_run_state", "seven", state, stdout=told)
    assert told.getvalue() == f"run seven: active -> {state}\n"
    run.refresh_from_db()
    assert (run.state, run.gate_games) == (state, 7)
    assert run.state_since > before


def test_dates_that_stand_against_the_state_are_told(run: Run) -> None:
    Run.objects.update(state="paused", closes_at=datetime(2025, 1, 31, tzinfo=UTC))
    told = StringIO()
    call_command("set_run_state", "seven", "active", stdout=told)
    assert "closed -> closed; its dates say so (closes_at 2025-01-31 00:00 UTC)" in told.getvalue()


def test_nonsense_is_refused(run: Run) -> None:
    with pytest.raises(CommandError, match="no run"):
        call_command("set_run_state", "none", "paused")
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("set_run_state", "seven", "open")
