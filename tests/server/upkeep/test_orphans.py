"""Files and rows: what is refused leaves no file, and a file that no row names goes after a safe time."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import DataError
from django.test import Client
from pytest_django import Settings

from server.accounts.models import Contributor
from server.errors import InvalidSettings
from server.games.models import Game
from server.jobs.models import Job
from server.networks.models import Network
from server.runs.models import Run
from server.storage import load, store_as
from server.training.models import TrainingState
from server.upkeep.orphans import SAFE_AGE
from server.upkeep.tasks import sweep_orphans
from tests.server.factories import (
    ask,
    game_form,
    make_contributor,
    make_network,
    make_run,
    new_uid,
    sgf_of,
    upload_training,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def job(client: Client, anna: Contributor, run: Run) -> Job:
    """A self-play job of Anna's."""
    return Job.objects.get(pk=ask(client, anna).json()["job_id"])


def files(settings: Settings) -> list[str]:
    root = Path(settings.MEDIA_ROOT)
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def age(settings: Settings, seconds: float) -> None:
    """Make every stored file as old as that."""
    for name in files(settings):
        os.utime(Path(settings.MEDIA_ROOT) / name, times=(time.time() - seconds,) * 2)


OLD = SAFE_AGE.total_seconds() + 60


def test_refused_uploads_leave_no_file(client: Client, anna: Contributor, job: Job, settings: Settings) -> None:
    berta = make_contributor("berta")
    other = make_run("other")
    wrong = {
        "a foreign job": (berta, {}),
        "an unknown job": (anna, {"job_id": "999999999"}),
        "an unknown run": (anna, {"run": "http://x/api/runs/none/"}),
        "another run": (anna, {"run": f"http://x/api/runs/{other.name}/"}),
        "an unknown network": (anna, {"black_network": "http://x/api/networks/seven-none/"}),
        "a board beyond the run": (anna, {"board_size_x": "9"}),
        "other rows": (anna, {"num_training_rows": "4"}),
    }
    for what, (contributor, changes) in wrong.items():
        for _ in range(3):
            form = game_form(job) | changes
            assert upload_training(client, contributor, form).status_code == 400, what
    assert files(settings) == []


def test_a_row_that_is_refused_takes_its_files_along(
    client: Client, anna: Contributor, job: Job, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = game_form(job)
    assert upload_training(client, anna, form).status_code == 201
    kept = files(settings)

    def refuse(*_: object, **__: object) -> None:
        raise DataError("value out of range")

    with monkeypatch.context() as patch:
        patch.setattr(Game, "save", refuse)
        assert upload_training(client, anna, form | {"kg_game_uid": new_uid()}).status_code == 400
    assert files(settings) == kept
    assert load(Game.objects.get().sgf_file) == sgf_of(form)


def test_a_network_that_is_refused_takes_its_file_along(
    run: Run, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidSettings):
        make_network(run, tmp_path, name="wrong name")

    def refuse(_: Network) -> None:
        raise RuntimeError("the gate cannot be opened")

    monkeypatch.setattr("server.gates.services.candidate_admit", refuse)
    with pytest.raises(RuntimeError):
        make_network(run, tmp_path)
    assert not Network.objects.filter(is_random=False).exists()
    assert files(settings) == []


def scatter(run: Run, tmp_path: Path) -> tuple[set[str], set[str]]:
    """Files of every kind: names that rows know, and names that none knows, old spellings among them."""
    network = make_network(run, tmp_path)
    for name in ("checkpoints/aa/current.safetensors", "checkpoints/bb/before.safetensors"):
        default_storage.save(name, open_bytes())
    TrainingState.objects.create(
        run=run,
        architecture="b2c32",
        samples=1,
        checkpoint="checkpoints/aa/current.safetensors",
        previous_checkpoint="checkpoints/bb/before.safetensors",
    )
    game = Game.objects.get()
    known = {game.sgf_file, game.rows_file, network.file, "checkpoints/aa/current.safetensors"}
    known |= {"checkpoints/bb/before.safetensors", "elsewhere/file"}
    unknown = {
        f"sgfs/seven/ab/{'ab' * 32}-{new_uid()}-01234567.sgf",
        f"rows/seven/ab/{'ab' * 32}-{new_uid()}-01234567.npz",
        f"rows/seven/ab/{'cd' * 32}-{game.uid}-01234567.npz",
        f"sgfs/seven/ab/{'ab' * 32}.sgf",
        f"networks/ab/{'ab' * 32}.bin.gz",
        f"checkpoints/ab/{'ab' * 32}.safetensors",
    }
    for name in unknown | {"elsewhere/file"}:
        default_storage.save(name, open_bytes())
    return known, unknown


def open_bytes() -> ContentFile[bytes]:
    return ContentFile(b"content")


def test_the_sweep_takes_what_no_row_names(
    client: Client, anna: Contributor, job: Job, tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep_orphans() == 0, "an empty storage"
    assert upload_training(client, anna, game_form(job)).status_code == 201
    known, unknown = scatter(job.run, tmp_path)
    age(settings, OLD - 120)
    assert sweep_orphans() == 0, "too young"
    age(settings, OLD)
    call_command("sweep_files", "--dry-run")
    told = capsys.readouterr().out
    assert all(name in told for name in unknown)
    assert not any(name in told for name in known)
    assert "6 files, 42 bytes would be removed" in told
    assert set(files(settings)) == known | unknown
    assert sweep_orphans() == 6
    assert set(files(settings)) == known


def test_the_command_takes_an_age(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    default_storage.save("rows/seven/ab/cd.npz", open_bytes())
    age(settings, 2 * 3600 + 60)
    call_command("sweep_files", "--hours", "3")
    assert files(settings) != []
    call_command("sweep_files", "--hours", "2")
    assert files(settings) == []
    for hours in ("0.5", "nan", "-1", "1e300"):
        with pytest.raises(CommandError, match="at least 1"):
            call_command("sweep_files", "--hours", hours)


def test_a_file_that_is_stored_again_is_new_again(settings: Settings) -> None:
    """So that nothing that is about to be named is old enough for a sweep."""
    store_as("checkpoints/ab/cd.safetensors", open_bytes())
    age(settings, OLD)
    store_as("checkpoints/ab/cd.safetensors", open_bytes())
    assert sweep_orphans() == 0
    assert files(settings) == ["checkpoints/ab/cd.safetensors"]
