"""Pausing and closing a run by command, and changing its settings."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from server.networks.models import Network
from server.runs.models import Run
from server.runs.options import setting_fields
from tests.server.factories import make_network

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


def set_run(*arguments: str) -> str:
    told = StringIO()
    call_command("set_run", "seven", *arguments, stdout=told)
    return told.getvalue()


def test_settings_are_listed_with_their_values(run: Run) -> None:
    told = dict(line.partition(" = ")[::2] for line in set_run().splitlines())
    assert set(told) == {"state", "current_network", *(field.name for field in setting_fields())}
    assert (told["state"], told["current_network"], told["lease_seconds"]) == ("active", "seven-random", "14400")
    assert told["selfplay_config"] == f"({len(run.selfplay_config.splitlines())} lines)"


def test_settings_are_changed_and_told(run: Run, tmp_path: Path) -> None:
    users, text = tmp_path / "users.txt", tmp_path / "text.cfg"
    users.write_text("anna\notto\n")
    text.write_text("maxVisits = 77\n")
    changes = (
        *("--watch-games", "16", "--quarantines", "--gate-login-share", "0.5", "--unproven-games", "train"),
        *("--allowed-users", str(users), "--selfplay-config", str(text), "--opens-at", "2030-01-31T12:00"),
        *("--most-open-games", "100", "--recheck-share", "0.1", "--gate-replays", "6"),
    )
    told = set_run(*changes)
    assert "watch_games: 0 -> 16" in told
    assert "quarantines: False -> True" in told
    was = run.selfplay_config
    run.refresh_from_db()
    assert (run.watch_games, run.quarantines, run.gate_login_share, run.unproven_games) == (16, True, 0.5, "train")
    assert (run.allowed_users, run.most_open_games, run.gate_replays) == ("anna\notto\n", 100, 6)
    assert run.opens_at == datetime(2030, 1, 31, 12, tzinfo=UTC)
    assert "maxVisits = 77" in run.selfplay_config
    assert len(run.selfplay_config.splitlines()) >= len(was.splitlines()), "the rest is as it was"
    set_run("--allowed-users", "none", "--opens-at", "none", "--no-quarantines")
    emptied = Run.objects.get()
    assert (emptied.allowed_users, emptied.opens_at, emptied.quarantines) == ("", None, False)


def test_another_network_is_made_current(run: Run, tmp_path: Path) -> None:
    seed = make_network(run, tmp_path, is_candidate=False)
    Network.objects.filter(pk=seed.pk).update(training_games_enabled=True)
    set_run("--current-network", seed.name)
    run.refresh_from_db()
    assert run.current_network == seed
    candidate = make_network(run, tmp_path)
    with pytest.raises(CommandError, match="a candidate passes by its gate"):
        set_run("--current-network", candidate.name)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--recheck-share", "2"], "recheck_share: Ensure this value is less than or equal to 1"),
        (["--gate-login-share", "0"], "gate_login_share: Nobody could play"),
        (["--selfplay-config", "missing.cfg"], "missing.cfg"),
        (["--opens-at", "soon"], "opens-at"),
        (["--training-settings", "bad.json"], "bad.json"),
        (["--architecture", "b6c97"], "no net size is called"),
        (["--unproven-games", "tea"], "invalid choice"),
    ],
)
def test_impossible_settings_are_refused_all_together(run: Run, arguments: list[str], text: str) -> None:
    with pytest.raises(CommandError, match=text):
        set_run("--watch-games", "5", *arguments)
    run.refresh_from_db()
    assert run.watch_games == 0


@pytest.mark.parametrize("command", ["create_run", "set_run"])
def test_every_setting_is_an_option(command: str) -> None:
    parser = load_command_class(get_commands()[command], command).create_parser("manage.py", command)
    options = {action.dest for action in parser._actions}
    assert {field.name for field in setting_fields()} <= options


def test_a_new_run_is_a_public_one_with_all_checks_on() -> None:
    call_command("create_run", "open", "--defaults", "7x7", "--data-board-len", "7", "--architecture", "b2c32")
    made = Run.objects.get()
    assert (made.watch_games, made.quarantines, made.prove_texts, made.gate_replays) == (32, True, True, 4)
    assert made.recheck_share > 0
