"""Making runs, and the faults that keep settings from being saved."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from common.config_text import overlay
from common.parameters import default_text, parse_match, parse_selfplay
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
        ("handicapProb = 0.5\n", "handicapProb"),
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


def test_create_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = tmp_path / "training.json"
    settings.write_text(json.dumps({"batch": 64}))
    call_command(
        *("create_run", "nine", "--data-board-len", "13", "--board-sizes", "9,13"),
        *("--architecture", "b6c96", "--gate-games", "100", "--training-settings", str(settings)),
    )
    assert "nine-random" in capsys.readouterr().out
    run = Run.objects.get()
    assert (run.name, run.gate_games, run.training_settings) == ("nine", 100, {"batch": 64})
    assert parse_selfplay(run.selfplay_config).init.b_sizes == (9, 13)
    assert parse_match(run.gating_config).init.b_sizes == (9, 13)


def test_create_run_takes_texts_from_files(tmp_path: Path) -> None:
    text = overlay(default_text("selfplay", "7x7"), "maxVisits = 77\n")
    path = tmp_path / "selfplay.cfg"
    path.write_text(text)
    call_command("create_run", "seven", "--defaults", "7x7", "--data-board-len", "7", "--selfplay-config", str(path))
    assert Run.objects.get().selfplay_config == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["no-hyphens"], "name: A run's name is 1 to 16 letters"),
        (["kyu nine"], "name: A run's name is 1 to 16 letters"),
        (["käse"], "name: A run's name is 1 to 16 letters"),
        ([""], "name"),
        (["a" * 17], "name: .*at most 16 characters"),
        (["nine", "--data-board-len", "9"], "selfplay_config"),
        (["nine", "--selfplay-config", "missing.cfg"], "missing.cfg"),
        (["nine", "--board-sizes", "nine"], "bSizes"),
        (["nine", "--gate-games", "0"], "gate_games: Ensure this value is greater than or equal to 1"),
        (["nine", "--gate-required", "7"], "gate_required: Ensure this value is less than or equal to 1"),
        (["nine", "--gating-share", "-1"], "gating_share: Ensure this value is greater than or equal to 0"),
        (["nine", "--lease-seconds", "0"], "lease_seconds: Ensure this value is greater than or equal to 1"),
        (["nine", "--architecture", "b6c97"], "no net size is called 'b6c97'"),
        (["nine", "--next-architecture", "b6c97"], "no net size is called 'b6c97'"),
    ],
)
def test_create_run_tells_what_is_wrong(arguments: list[str], text: str) -> None:
    with pytest.raises(CommandError, match=text):
        call_command("create_run", *arguments)
    assert not Run.objects.exists()


def test_create_run_wants_json(tmp_path: Path) -> None:
    wrong = (
        ("{", "is not JSON"),
        ("[]", "one JSON object"),
        ('{"batch_size": 64}', "there is no setting 'batch_size'"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
    )
    for content, text in wrong:
        path = tmp_path / "training.json"
        path.write_text(content, encoding="utf-8-sig")
        with pytest.raises(CommandError, match=text):
            call_command("create_run", "nine", "--training-settings", str(path))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_create_run_takes_a_text_of_changes(tmp_path: Path, encoding: str) -> None:
    small, out = tmp_path / "small.cfg", StringIO()
    small.write_text("bSizes = 9\nbSizeRelProbs = 1\nmaxVisits = 40\n", encoding=encoding)
    words = ["nine", "--defaults", "7x7", "--selfplay-config", str(small), "--data-board-len", "9"]
    call_command("create_run", *words, stdout=out)
    assert f"{small} gives what differs from the texts of --defaults 7x7" in out.getvalue()
    found = parse_selfplay(Run.objects.get().selfplay_config)
    assert (found.init.longest_side, found.search.max_visits, found.init.komi_mean) == (9, 40, 9.0)


def test_create_run_names_the_file_of_a_misspelt_change(tmp_path: Path) -> None:
    small = tmp_path / "small.cfg"
    small.write_text("\nmaxVisit = 40\n")
    with pytest.raises(CommandError, match=rf"{small}: line 2: unknown key maxVisit; is it maxVisits\?"):
        call_command("create_run", "nine", "--selfplay-config", str(small))


# --------------------------------------------------------------------------------------------------------------- admin


def form_of(run: Run) -> dict[str, object]:
    """What the admin page of a run sends back."""
    skipped = {"id", "created_at"}
    values = {field.name: field.value_from_object(run) for field in Run._meta.fields if field.name not in skipped}
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
