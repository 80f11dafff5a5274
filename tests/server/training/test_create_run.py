"""``manage.py create_run``: what it makes, and what it says of texts and settings that cannot be."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from common.config_text import overlay
from common.parameters import default_text, parse_match, parse_selfplay
from server.runs.models import Run

pytestmark = pytest.mark.django_db


def test_options_and_files_become_settings_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
        (["nine", "--lease-seconds", "2592001"], "lease_seconds: The protocol has at most 2,592,000"),
        (["nine", "--lease-seconds", str(10**30)], "lease_seconds: "),
        (["nine", "--gate-games", str(10**30)], "gate_games: Ensure this value is less than or equal to"),
        (["nine", "--data-board-len", "0"], "data_board_len: Ensure this value is greater than or equal to 3"),
        (["nine", "--data-board-len", "20"], "data_board_len: Ensure this value is less than or equal to 19"),
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
