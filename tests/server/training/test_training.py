"""Training in slices: sizes beside each other, candidates, kills, and the way of older states into the new table."""

from __future__ import annotations

import hashlib
import logging
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import Client
from pytest_django import Settings

from common.npz import to_bytes
from common.rows import ARRAYS, GlobalTarget, Rows
from server.accounts.models import Contributor
from server.games.auditing import games_audit
from server.jobs.models import Job
from server.networks.models import Network, NetworkState
from server.runs.models import Run
from server.storage import load
from server.training import services, tasks
from server.training.models import TrainingMetric
from server.training.selectors import activity, trouble
from server.training.services import training_slice
from server.training.sizes import TrainedNet, trained_nets
from tests.nets.made_rows import made_rows
from tests.server.factories import LENGTH, accept, ask, game_form, make_network, upload_training

pytestmark = pytest.mark.django_db

SMALL, NEXT = "b2c16-bn", "b4c32-bn"
SETTINGS = {
    "batch": 16,
    "precision": "float32",
    "shard_rows": 30,
    "slice_seconds": 60,
    "limit_reuse": False,
    "window": {"min_rows": 30},
    "bucket": {"samples_per_epoch": 64},
    "averaging": {"period_samples": 32},
}


@pytest.fixture
def run(run: Run, tmp_path: Path, settings: Settings) -> Run:
    settings.DATA_DIR = tmp_path / "data"
    run.architecture, run.training_settings = SMALL, SETTINGS
    run.save()
    return run


@pytest.fixture(autouse=True)
def no_session_is_left() -> Iterator[None]:
    yield
    crash()


@pytest.fixture
def rows(client: Client, anna: Contributor, run: Run) -> None:
    """Sixty counted rows."""
    count_rows(client, anna, [made_rows(30, LENGTH, seed) for seed in range(2)])


def count_rows(client: Client, anna: Contributor, games: list[Rows]) -> None:
    """Upload games of thirty rows each and let them count."""
    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    for made in games:
        arrays = {spec.member: getattr(made, spec.field) for spec in ARRAYS}
        form = game_form(job, num_training_rows="30")
        assert upload_training(client, anna, form, rows=to_bytes(arrays)).status_code == 201
    assert games_audit(accept, limit=10) == len(games)


def crash() -> None:
    """What is left when the process dies: nothing that it had not stored, and its lease."""
    for session in services._sessions.values():
        session.close()
    services._sessions.clear()


def train(net: TrainedNet) -> bool:
    return training_slice(net, threading.Event())


def measured(net: TrainedNet) -> dict[int, dict[str, float]]:
    found = TrainingMetric.objects.filter(run=net.run, architecture=net.architecture)
    return dict(found.values_list("samples", "losses"))


def test_a_slice_trains_to_the_end_of_the_epoch_and_offers_a_candidate(run: Run, rows: None) -> None:
    net = TrainedNet(run, SMALL)
    assert train(net)
    state = net.state.get()
    assert (state.samples, state.last_candidate_samples, state.lease_owner) == (64, 64, "")
    assert default_storage.exists(state.checkpoint)
    candidate = Network.objects.get(state=NetworkState.CANDIDATE)
    assert (candidate.architecture, candidate.train_step, candidate.data_rows) == (SMALL, 64, 60)
    assert set(measured(net)) == {64}


def test_a_report_that_fails_costs_nothing_that_was_trained(
    run: Run, rows: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("out of range")

    net = TrainedNet(run, SMALL)
    monkeypatch.setattr(services, "_record", fails)
    assert not train(net)
    assert net.state.get().samples == 64
    assert "ValueError: out of range" in trouble(run)


def test_bad_batches_are_set_aside_and_told(
    client: Client, anna: Contributor, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rows, "check", lambda rows: None)  # whatever it refuses by now, here it gets through
    games = [made_rows(30, LENGTH, seed) for seed in range(2)]
    games[1].global_targets[5, [GlobalTarget.SCORE, GlobalTarget.OUTCOME_WEIGHT]] = 3.0e38, 1
    run.training_settings = SETTINGS | {"recipe": "today", "batch": 8}
    run.save()
    count_rows(client, anna, games)
    net = TrainedNet(run, SMALL)
    for _ in range(2):
        assert train(net)
    assert trouble(run) == ""
    assert re.fullmatch(r"training in float32, .* samples/s; [1-9]\d? batches set aside \(see its log\)", activity(run))
    assert measured(net)
    assert all(0 < losses["total"] < 1000 for losses in measured(net).values())


def test_where_nearly_all_batches_are_bad_the_page_says_so(
    client: Client, anna: Contributor, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rows, "check", lambda rows: None)
    games = [made_rows(30, LENGTH, seed) for seed in range(2)]
    for made in games:
        made.global_targets[:, [GlobalTarget.SCORE, GlobalTarget.OUTCOME_WEIGHT]] = 3.0e38, 1
    run.training_settings = SETTINGS | {"recipe": "today"}
    run.save()
    count_rows(client, anna, games)
    while train(TrainedNet(run, SMALL)):  # a slow machine needs more than one slice for so many
        pass
    assert trouble(run).startswith("of the last 50 batches, 45 or more could not be trained on")
    assert not measured(TrainedNet(run, SMALL))


def test_a_precision_is_chosen_once_and_settings_may_name_another(run: Run, rows: None) -> None:
    run.training_settings = {name: value for name, value in SETTINGS.items() if name != "precision"}
    run.save()
    net = TrainedNet(run, SMALL)
    for precision in ("auto", "auto", "bfloat16", "auto"):
        run.training_settings |= {"precision": precision}
        run.save()
        assert train(net)
        session = services._sessions[net]
        now = session.trainer.precision.now
        assert activity(run).startswith(f"training in {now}, ")
        assert now.value == precision or precision == "auto"
        crash()
    assert now.value == "bfloat16", "the checkpoint's, which was named"


def test_rows_for_validation_are_measured_and_shown(client: Client, run: Run, rows: None) -> None:
    run.training_settings = SETTINGS | {"validation_share": 0.1, "window": {"min_rows": 20}}
    run.save()
    net = TrainedNet(run, SMALL)
    assert train(net)
    shards = (Path(site.DATA_DIR) / "training" / run.name / "rows").rglob("*.npz")
    kept = [path for path in shards if int(hashlib.md5(path.name.encode()).hexdigest()[:13], 16) >= 0.9 * 2**52]
    assert len(kept) == 1
    metric = TrainingMetric.objects.get()
    assert metric.rows == 30
    assert metric.validation["policy"] > 0
    page = client.get(f"/runs/{run.name}/").content.decode()
    assert f"policy, {SMALL}, validation" in page
    assert f"{SMALL}, validation: " in page


def test_after_a_kill_the_losses_are_those_of_training_that_was_not_killed(run: Run, rows: None) -> None:
    net = TrainedNet(run, SMALL)
    train(net)
    start = net.state.values("samples", "checkpoint", "previous_checkpoint", "last_candidate_samples").get()
    content = load(start["checkpoint"])  # the storage keeps the newest two only
    for _ in range(2):
        train(net)
    unkilled, networks = measured(net), set(Network.objects.values_list("name", "file_sha256"))
    assert sorted(unkilled) == [64, 128, 192]

    crash()
    TrainingMetric.objects.filter(samples__gt=64).delete()
    default_storage.save(start["checkpoint"], ContentFile(content))
    net.state.update(**start)
    for _ in range(2):
        train(net)
        crash()
    assert measured(net) == unkilled
    assert set(Network.objects.values_list("name", "file_sha256")) == networks, "the same files, so no network is new"
    assert trouble(run) == ""


def test_the_next_size_trains_beside_and_waits_for_its_losses(run: Run, rows: None) -> None:
    run.next_architecture = NEXT
    run.save()
    current, following = trained_nets(run)
    tasks.train()
    assert {net.state.get().samples for net in (current, following)} == {64}
    TrainingMetric.objects.filter(architecture=SMALL).update(losses={"policy": 1.0, "value": 1.0})
    TrainingMetric.objects.filter(architecture=NEXT).update(losses={"policy": 0.9, "value": 1.1})
    train(following)
    assert not Network.objects.filter(architecture=NEXT).exists(), "its value loss is above the current size's"
    TrainingMetric.objects.filter(architecture=NEXT).update(losses={"policy": 0.9, "value": 1.0})
    services._offer_candidate(following, services._sessions[following])
    candidate = Network.objects.get(architecture=NEXT)
    assert candidate.name == f"seven-b4c32-s{candidate.train_step}"
    assert candidate.state == NetworkState.CANDIDATE


def test_the_next_size_goes_on_where_it_was_when_it_becomes_the_size(run: Run, rows: None, tmp_path: Path) -> None:
    run.next_architecture = NEXT
    run.save()
    tasks.train()
    Run.objects.update(architecture=NEXT, next_architecture="")
    run.refresh_from_db()
    tasks.train()
    assert TrainedNet(run, NEXT).state.get().samples == 128
    assert TrainedNet(run, SMALL).state.get().samples == 64
    assert {net.architecture for net in services._sessions} == {NEXT}
    assert activity(run).startswith("training")


def test_a_wrong_next_size_does_not_stop_the_current_one(run: Run, rows: None) -> None:
    run.next_architecture = "b0c0"
    run.save()
    tasks.train()
    assert TrainedNet(run, SMALL).state.get().samples == 64
    assert trouble(run).startswith("b0c0: training settings of the run seven: ")


def test_two_trainers_of_one_size_take_turns(run: Run, rows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    net = TrainedNet(run, SMALL)
    assert services.lease_take(net)
    monkeypatch.setattr(services, "OWNER", "another process")
    assert not train(net)
    assert not measured(net)
    assert services.lease_take(TrainedNet(run, NEXT)), "another size is free"


@pytest.mark.django_db(transaction=True)
def test_states_from_before_sizes_are_kept(migrate: Callable[[list[tuple[str, str]]], Any]) -> None:
    old = migrate([("training", "0001_initial"), ("runs", "0001_initial")])
    run = old.get_model("runs", "Run").objects.create(
        name="old", selfplay_config="", gating_config="", data_board_len=7, architecture="b6c96"
    )
    old.get_model("training", "TrainingState").objects.create(run=run, samples=128, checkpoint="checkpoints/a")
    values = {"samples": 128, "rows": 50, "losses": {}, "samples_per_second": 1, "waiting_share": 0}
    old.get_model("training", "TrainingMetric").objects.create(run=run, **values)
    newer = migrate([("training", "0002_sizes")])
    state = newer.get_model("training", "TrainingState").objects.get()
    assert (state.architecture, state.samples, state.checkpoint, state.from_seed) == (
        "b6c96",
        128,
        "checkpoints/a",
        True,
    )
    assert newer.get_model("training", "TrainingMetric").objects.get().architecture == "b6c96"
    newest = migrate([])
    assert Run.objects.get().unfinished_games_count
    assert newest.get_model("training", "TrainingState").objects.get().samples == 128
    Run.objects.all().delete()


@pytest.fixture
def migrate() -> Iterator[Callable[[list[tuple[str, str]]], Any]]:
    """Bring the database to other migrations, or, with none, to the newest ones, which come back afterwards."""

    def to(targets: list[tuple[str, str]]) -> Any:
        executor = MigrationExecutor(connection)
        targets = targets or executor.loader.graph.leaf_nodes()
        executor.migrate(targets)
        return executor.loader.project_state(targets).apps

    yield to
    to([])


def test_a_candidate_of_a_size_that_is_neither_is_not_offered(run: Run, rows: None, tmp_path: Path) -> None:
    make_network(run, tmp_path)
    net = TrainedNet(run, SMALL)
    Run.objects.update(architecture="b2c32-bn")
    train(net)
    assert not Network.objects.filter(architecture=SMALL).exists()


def test_new_settings_hold_from_the_next_slice_on(run: Run, rows: None, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is lost: what was not saved yet is saved first."""
    caplog.set_level(logging.INFO, "server")
    net = TrainedNet(run, SMALL)
    assert train(net)
    first = services._sessions[net]
    assert train(net)
    assert services._sessions[net] is first, "without a change it goes on as it is"
    samples = first.trainer.samples
    run.training_settings = SETTINGS | {"batch": 8, "bucket": {"samples_per_epoch": 32}}
    run.save()
    net = TrainedNet(run, SMALL)
    assert train(net)
    second = services._sessions[net]
    assert second is not first
    assert (second.trainer.config.batch, second.trainer.samples > samples) == (8, True)
    assert "the settings were changed" in caplog.text


def test_a_setting_that_cannot_change_any_more_is_told(run: Run, rows: None) -> None:
    net = TrainedNet(run, SMALL)
    assert train(net)
    samples = net.state.get().samples
    run.training_settings = SETTINGS | {"optimizer": {"kind": "muon", "decay": "today"}}
    run.save()
    net = TrainedNet(run, SMALL)
    assert not train(net)
    assert "cannot go on with" in trouble(run)
    run.training_settings = SETTINGS
    run.save()
    net = TrainedNet(run, SMALL)
    assert train(net)
    assert trouble(run) == ""
    assert net.state.get().samples > samples, "what had been trained is still there"


def test_the_log_tells_slices_candidates_and_waits(run: Run, rows: None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "server")
    net = TrainedNet(run, SMALL)
    assert train(net)
    lines = [record.getMessage() for record in caplog.records]
    assert len([line for line in lines if "samples/s" in line and "64 samples in all" in line]) == 1
    candidate = Network.objects.get(state=NetworkState.CANDIDATE).name
    assert [line for line in lines if line.endswith(f"the network {candidate} is a candidate")]
    assert [line for line in lines if line.startswith(f"gate of {candidate} against")]
    caplog.clear()
    run.training_settings = SETTINGS | {"window": {"min_rows": 1000}}
    run.save()
    net = TrainedNet(run, SMALL)
    for _ in range(2):
        assert not train(net)
    waits = [record.getMessage() for record in caplog.records if "waiting" in record.getMessage()]
    assert len(waits) == 1, "a wait is told once"
    assert "60 rows here, training begins with 1,000, in shards of 30; a batch takes 16" in waits[0]
    assert "training begins with 1,000" in activity(run)


def test_workers_log_what_the_settings_say() -> None:
    """Celery's own set-up would leave nothing below WARNING where nobody gives it -l."""
    program = (
        "import logging, server.celery as c; c.app.log.setup_logging_subsystem(loglevel='WARNING'); "
        "logging.getLogger('server.gates.services').info('a verdict'); "
        "logging.getLogger('celery.app.trace').info('a message')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "INFO server.gates.services: a verdict" in done.stderr
    assert "a message" not in done.stderr
