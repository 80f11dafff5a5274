"""Pausing and closing a run by command."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from server.runs.models import Run

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", ["paused", "closed", "active"])
def test_a_run_is_paused_closed_and_goes_on(run: Run, state: str) -> None:
    Run.objects.update(gate_games=7)
    call_command("set_run_state", "seven", state)
    run.refresh_from_db()
    assert (run.state, run.gate_games) == (state, 7)


def test_nonsense_is_refused(run: Run) -> None:
    with pytest.raises(CommandError, match="no run"):
        call_command("set_run_state", "none", "paused")
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("set_run_state", "seven", "open")
