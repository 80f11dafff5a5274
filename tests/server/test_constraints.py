"""A test tries to break each constraint of the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction
from django.db.models import CheckConstraint, F, Model, UniqueConstraint
from django.test import Client
from django.utils import timezone

from server.accounts.models import Contributor
from server.games.models import Exclusion, Game, GameBlock, GameState, MatchScore, Replay, UploadDay
from server.gates.models import Gate
from server.jobs.models import Job, WantedMatch
from server.networks.models import Network
from server.runs.models import Run
from server.trust.models import Decision, Tally, Trust
from server.trust.services import standing_of
from tests.server.factories import ask, game_form, make_network, upload, upload_training

OURS = ("runs", "networks", "gates", "jobs", "trust", "games")

BREAKS: dict[str, dict[str, Any]] = {
    # runs
    "run_name": {"name": "has-hyphen"},
    "run_state": {"state": "sleeping"},
    "run_promotion_rule": {"promotion_rule": "luck"},
    "run_data_board_len": {"data_board_len": 20},
    "run_inputs_version": {"inputs_version": 6},
    "run_search_threads": {"max_search_threads_allowed": 0},
    "run_gating_share": {"gating_share": 1.1},
    "run_rating_share": {"rating_share": -0.1},
    "run_lease_seconds": {"lease_seconds": 0},
    "run_gate_games": {"gate_games": 0},
    "run_gate_required": {"gate_required": 2},
    "run_gate_lease_seconds": {"gate_lease_seconds": 0},
    "run_pairing": {"pairing_strength": -1},
    "run_job_seconds": {"job_seconds": 0},
    "run_open_games": {"most_open_games": 0},
    "run_gate_login_share": {"gate_login_share": 0},
    "run_start_position_prob": {"start_position_prob": 1.1},
    "run_unproven_games": {"unproven_games": "tea"},
    "run_next_architecture": {"next_architecture": "b2c32"},
    "run_audience": {"audience": "few"},
    "run_sprt_elo": {"sprt_elo": 0.5},
    "run_recheck_share": {"recheck_share": 1.5},
    # networks
    "network_name": {"name": "seven"},
    "network_state": {"state": "unknown"},
    "network_has_a_file_or_is_random": {"is_random": False},
    # gates and jobs
    "gate_state": {"state": "unknown", "decided_at": timezone.now()},
    "gate_points": {"half_points": 1},
    "gate_decided_at": {"state": "passed"},
    "gate_sample": {"sample_since": timezone.now()},
    "job_kind": {"kind": "tea"},
    "job_state": {"state": "tea"},
    "job_games": {"games": 0},
    "job_gate": {"kind": "gating"},
    # trust
    "standing_trust": {"trust": "maybe"},
    "standing_quarantine_has_a_reason": {"trust": "quarantined", "reason": ""},
    "decision_trust": {"trust": "maybe"},
    # games
    "game_kind": {"kind": "tea"},
    "game_state": {"state": "tea", "judged_at": timezone.now()},
    "game_counted_has_number": {"state": "counted", "judged_at": timezone.now()},
    "game_judged_at": {"judged_at": timezone.now()},
    "game_reason": {"state": "refused", "judged_at": timezone.now()},
    "game_rows": {"rows_file": ""},
    "game_winner": {"winner": "X"},
    "score_two_networks": {"white_network": F("black_network")},
    "score_points": {"black_half_points": 1},
    "exclusion_kind": {"name": "a machine"},
    "exclusion_reason": {"reason": ""},
    "replay_outcome": {"outcome": "equal"},
}
ELSEWHERE = {
    "network_name_any_case", "gate_two_networks", "gate_one_open_per_candidate",
    "job_networks", "game_uid", "game_number", "game_of_job_once", "game_content", "game_two_networks",
    "uploadday_once", "wantedmatch_two_networks", "wantedmatch_games", "score_once", "block_once",
    "standing_one_per_run", "tally_one_per_stratum",
}  # fmt: skip


@pytest.fixture
def world(client: Client, anna: Contributor, run: Run, tmp_path: Path) -> dict[str, Model]:
    """One row of each table, all valid."""
    job = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    assert upload_training(client, anna, game_form(job)).status_code == 201
    make_network(run, tmp_path)
    standing = standing_of(run, anna)
    return {
        "run": run,
        "network": Network.objects.get(is_random=True),
        "gate": Gate.objects.get(),
        "job": job,
        "game": Game.objects.get(),
        "score": MatchScore.objects.create(
            run=run, black_network=Gate.objects.get().candidate, white_network=Gate.objects.get().opponent
        ),
        "block": GameBlock.objects.create(kind="training", block=0, games=1),
        "exclusion": Exclusion.objects.create(kind="user", contributor=anna, reason="for a test"),
        "standing": standing,
        "replay": Replay.objects.create(game=Game.objects.get()),
        "decision": Decision.objects.create(standing=standing, trust=Trust.TRUSTED, reason="a test"),
    }


def broken(error: IntegrityError) -> str:
    """Name of the constraint."""
    cause: Any = error.__cause__
    return str(cause.diag.constraint_name)


@pytest.mark.django_db
@pytest.mark.parametrize("name", sorted(BREAKS))
def test_a_row_that_breaks_it_is_not_written(world: dict[str, Model], name: str) -> None:
    row = world[name.partition("_")[0]]
    with pytest.raises(IntegrityError) as caught, transaction.atomic():
        type(row)._default_manager.filter(pk=row.pk).update(**BREAKS[name])
    assert broken(caught.value) == name


@pytest.mark.django_db
def test_pairs_and_uniqueness(client: Client, anna: Contributor, world: dict[str, Model], tmp_path: Path) -> None:
    run, random, gate, game = world["run"], world["network"], world["gate"], world["game"]
    assert isinstance(run, Run)
    assert isinstance(gate, Gate)
    assert isinstance(game, Game)
    candidate = gate.candidate
    match = Job.objects.get(pk=ask(client, anna).json()["job_id"])
    assert upload(client, anna, game_form(match)).status_code == 201
    rated = Game.objects.get(kind="rating")

    def breaks(name: str, change: Any) -> None:
        with pytest.raises(IntegrityError) as caught, transaction.atomic():
            change()
        assert broken(caught.value) == name

    def update(row: Model, **changes: Any) -> Any:
        return lambda: type(row)._default_manager.filter(pk=row.pk).update(**changes)

    def copy(row: Model, **changes: Any) -> Any:
        fields = {field.attname: getattr(row, field.attname) for field in row._meta.fields if not field.primary_key}
        return lambda: type(row)._default_manager.create(**fields | changes)

    breaks("network_name_any_case", copy(random, name="SEVEN-random"))
    breaks("gate_two_networks", update(gate, opponent=candidate))
    breaks("gate_one_open_per_candidate", copy(gate))
    breaks("job_networks", update(match, white_network=match.black_network))
    breaks("game_uid", copy(game))
    update(game, job_number=0)()
    breaks("game_of_job_once", copy(game, uid="1" * 32, job_number=0))
    breaks("game_content", copy(game, uid="2" * 32, job_number=None))
    breaks("uploadday_once", copy(UploadDay.objects.get()))
    wanted = WantedMatch.objects.create(run_id=run.pk, first=candidate, second_id=random.pk, games=2)
    breaks("wantedmatch_two_networks", update(wanted, second=candidate))
    breaks("wantedmatch_games", update(wanted, games=0))
    breaks("score_once", copy(world["score"]))
    breaks("block_once", copy(world["block"]))
    breaks("standing_one_per_run", copy(world["standing"]))
    tally = Tally.objects.create(run=run, black_network=candidate, white_network=candidate)
    breaks("tally_one_per_stratum", copy(tally))
    breaks("game_two_networks", update(rated, white_network=rated.black_network))
    counted = {"state": GameState.COUNTED, "judged_at": timezone.now(), "number": 5, "last_row": 3}
    update(game, **counted)()
    breaks("game_number", update(rated, **counted))
    assert run.pk == game.run_id


def test_every_constraint_is_tried() -> None:
    declared = {
        constraint.name
        for app in OURS
        for model in apps.get_app_config(app).get_models()
        for constraint in model._meta.constraints
        if isinstance(constraint, (CheckConstraint, UniqueConstraint))
    }
    assert declared == set(BREAKS) | ELSEWHERE


@pytest.mark.django_db
def test_migrations_are_complete() -> None:
    from django.core.management import call_command

    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
    assert connection.vendor == "postgresql"
